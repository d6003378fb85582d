"""The summary as one HTML page: no network, no script, everything from the user's data escaped."""

from __future__ import annotations

from os import PathLike

from jinja2 import Environment, PackageLoader, StrictUndefined

from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.files import write_whole
from psidebug.report.summary import Summary, summarise
from psidebug.runs.run import Run

IN_A_NOTEBOOK = 10
"""Suspects that a notebook shows."""


def render(summary: Summary, template: str = "report.html") -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("psidebug.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template(template).render(summary=summary)


def write_report(diagnosis: Diagnosis | Run, path: str | PathLike[str]) -> None:
    """Write the page; the file appears whole or not at all."""
    write_whole(path, render(summarise(diagnosis)))


def in_a_notebook(diagnosis: Diagnosis | Run) -> str:
    """What a notebook shows of a diagnosis: the verdict, the slices and the first suspects."""
    return render(summarise(diagnosis, suspects=IN_A_NOTEBOOK), "notebook.html")
