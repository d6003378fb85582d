"""The documentation site: every page has its place, every public name an example that runs; ten scripts."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import psidebug

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GALLERY = sorted((DOCS / "gallery").glob("*.py"))
REFERENCE = (DOCS / "api.rst").read_text(encoding="utf-8")


def examples_of(name: str) -> str:
    """The examples of a public name: in its docstring, or, of what has none, in its section of the reference."""
    if name == "__version__":
        return REFERENCE.split(f"\n{name}\n---")[1]
    return getattr(psidebug, name).__doc__ or ""


@pytest.mark.parametrize("name", psidebug.__all__)
def test_every_public_name_is_documented_with_an_example_that_runs(name: str) -> None:
    assert re.search(rf"^\.\. auto\w+:: psidebug\.{name}$", REFERENCE, re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(examples_of(name), {}, name, None, 0)
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=told.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(told)


def test_the_gallery_has_ten_pages_that_compile_and_will_be_run() -> None:
    assert [each.name[:8] for each in GALLERY] == [f"plot_{number:02d}_" for number in range(1, 11)]
    for each in GALLERY:
        text = each.read_text(encoding="utf-8")
        compile(text, each.name, "exec")
        assert re.match(r'"""\n(.+)\n=+\n\n', text), f"{each.name} begins with a title"


def test_every_page_is_under_learn_how_to_understand_or_look_up() -> None:
    """The order is that of Diátaxis; a page that is in none, or in two, is a page that nobody finds."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    captions = re.findall(r":caption: (.+)", index)
    assert captions == ["Learn", "How to", "Understand", "Look up"]
    listed = [line for block in index.split("```{toctree}")[1:] for line in block.split("```")[0].splitlines()]
    pages = [line for line in listed if line and not line.startswith(":")]
    found = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.glob("*.[mr][ds]*")} - {"index"}
    assert sorted(pages) == sorted(found | {"examples/index", "decisions/index", "recipes/new_adapter"})
