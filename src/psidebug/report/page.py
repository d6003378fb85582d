"""The summary as one HTML page: no network, a strict security policy, all user data escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from functools import cache
from importlib.resources import files
from os import PathLike
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from psidebug.files import write_whole
from psidebug.findings.effects import counted
from psidebug.findings.findings import Findings
from psidebug.report.plots import plots_of
from psidebug.report.summary import Summary, summarise
from psidebug.task.data import Data

VEGA = ("vega/vega.min.js", "vega/vega-lite.min.js", "vega/vega-embed.min.js")


def render(summary: Summary) -> str:
    """The page as text."""
    return _environment().get_template("report.html").render(summary=summary, plots=plots_of(summary), inlined=inlined)


def write_report(findings: Findings, data: Data, path: str | PathLike[str]) -> None:
    """Write the page; a failure leaves no half-written file."""
    write_whole(path, render(summarise(findings, data)))


def page_of(template: str, **shown: Any) -> str:
    """A page of its own, which may inline files of ``static/``."""
    return _environment().get_template(template).render(inlined=inlined, **shown)


def notebook_part(template: str, **shown: Any) -> str:
    """A part of the output of a notebook's cell."""
    return _environment().get_template(template).render(**shown)


def policy(*, styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    """A Content-Security-Policy that allows just these inline styles and scripts, by their digests."""
    allowed = {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": " ".join(map(_digest, styles)),
        "script-src": " ".join(map(_digest, scripts)) or "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


@cache
def inlined(*names: str) -> Markup:
    """Files of ``static/`` joined, for a style or script element."""
    texts = [(files("psidebug.report") / "static" / name).read_text(encoding="utf-8") for name in names]
    text = "\n;".join(re.sub(r"\n//# sourceMappingURL=\S+\s*$", "", each) for each in texts)
    return Markup(text)  # our own files, not the user's data


@cache
def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    environment = environment_of(PackageLoader("psidebug.report"))
    environment.globals |= {"policy": policy, "VEGA": VEGA}
    environment.filters |= {"number": _number, "chance": _chance, "moment": _moment}
    return environment


def environment_of(*loaders: PackageLoader) -> Environment:
    """Templates that escape what they show and refuse undefined names."""
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"rate": _rate, "count": counted}
    return environment


def _rate(value: float | None) -> str:
    """An error or a probability, to three digits."""
    return "–" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    """A gain in nats."""
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")


def _chance(value: float | None) -> str:
    """A p-value."""
    return "–" if value is None else "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def _moment(text: str) -> str:
    """An ISO time as people write it; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".strip()
