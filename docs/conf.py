"""The documentation site; ``scripts/docs`` builds it."""

import psidebug

project = "Psi"
author = "The Psi developers"
version = release = psidebug.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["gallery", "decisions/README.md"]  # examples/ and decisions/index.rst are made of them
myst_heading_anchors = 3
numpydoc_show_class_members = False  # autodoc lists them, with their docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is taken
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "write_computation_times": False,
}

html_theme = "furo"
html_title = "Psi"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sphinx = html_show_copyright = False

OUTSIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files of the repository's root that have a page here."""


def setup(app):
    """Links to these files lead to their pages."""

    def inside(app, page, text):
        for file, its_page in OUTSIDE.items():
            text[0] = (
                text[0].replace(f"](../{file})", f"]({its_page})").replace(f"](../../{file})", f"](../{its_page})")
            )

    app.connect("source-read", inside)
