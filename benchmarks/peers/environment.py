"""The peers' own environment: made once in the user's cache, never in the environment that Psi is installed in.

It is a virtual environment that also sees the packages of the present one, behind its own, so that Psi and its learners
need not be installed twice. Packages are installed one by one: one that does not install is absent, with the reason,
and the rest goes on. Without a network all are absent.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import pooch

from benchmarks import CHECKOUT

PACKAGES: Mapping[str, str] = {
    "cleanlab": "cleanlab>=2.9",
    "crowdkit": "crowd-kit>=1.4",
    "pydvl": "pyDVL>=0.10",
    "catboost": "catboost>=1.2",
    "datascope": "datascope>=0.0.32",
}
"""What is installed, by the module it brings."""
OLDER = ("numpy<2", "pyarrow<21")
"""What some of them need instead of what is here. They get a second environment, for processes of their own."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1")
NOT_INSTALLED: Mapping[str, str] = {
    "torch": "torch is not installed: it brings several GB, so it is used only where it is already there",
}
"""Modules that some peers need and that this command does not install."""
MINUTES = 15
TRIED = "tried.json"


def home() -> Path:
    """Where the environment is, or will be."""
    return Path(pooch.os_cache("psidebug")) / "peers" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def python_of(place: Path) -> Path:
    """The interpreter of an environment."""
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def variables() -> dict[str, str]:
    """The environment of a process that measures: one thread, and this Psi, which need not be the installed one."""
    ours = (str(CHECKOUT), str(CHECKOUT / "src"))
    paths = os.pathsep.join([*ours, *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | ONE_THREAD | {"PYTHONPATH": paths}


def interpreters(
    modules: Sequence[str], place: Path, *, install: bool = True, tell: Callable[[str], None] = print
) -> tuple[dict[str, Path], dict[str, str]]:
    """For processes of their own: the interpreter that has each module, and why there is none for the others."""
    first = prepare(place, install=install, tell=tell) or Path(sys.executable)
    found = {module: first for module in modules if _has(first, module)}
    missing = {module: PACKAGES[module] for module in modules if module not in found}
    if missing:
        beside = place.with_name(f"{place.name}-older")
        older = prepare(beside, install=install, packages=missing, pins=OLDER, tell=tell)
        found |= {module: older for module in missing if older is not None and _has(older, module)}
        place = beside
    reasons = absences(place)
    return found, {module: reasons[module] for module in modules if module not in found}


def prepare(
    place: Path,
    *,
    install: bool = True,
    packages: Mapping[str, str] | None = None,
    pins: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> Path | None:
    """The interpreter to measure with; None where there is no environment and none may be made.

    ``packages`` are all if left out; ``pins`` are requirements beside them, the present numpy if left out. What
    could not be installed is kept in a small file beside it, and tried again the next time.
    """
    python = python_of(place)
    if not install:
        return python if python.exists() else None
    if not python.exists():
        tell(f"making an environment for the peers in {place}")
        venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(place)
    _see_present_packages(python)
    reasons: dict[str, str] = {}
    for module, requirement in (PACKAGES if packages is None else packages).items():
        if not _has(python, module):
            tell(f"installing {requirement}")
            reasons |= _installed(python, module, requirement, pins or (f"numpy=={version('numpy')}",))
    (place / TRIED).write_text(json.dumps(reasons), encoding="utf-8")
    return python


def absences(place: Path) -> dict[str, str]:
    """Why each module that is not there is not there, as far as installing told."""
    told = place / TRIED
    tried: dict[str, str] = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {}
    return {module: f"{module} is not installed" for module in PACKAGES} | dict(NOT_INSTALLED) | tried


def _see_present_packages(python: Path) -> None:
    """Let the environment see the packages of the present one, behind its own; ``.pth`` files there are read, too."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(_said(python, asked))
    present = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    lines = [f"import site; site.addsitedir({folder!r})\n" for folder in present]
    (own / "psidebug_present.pth").write_text("".join(lines), encoding="utf-8")


def _installed(python: Path, module: str, requirement: str, pins: Sequence[str]) -> dict[str, str]:
    """Install one package; nothing if it can then be imported, else the reason.

    As a rule numpy stays as it is here: an older one would hide it, and Psi would be measured with that.
    """
    options = ["--quiet", "--disable-pip-version-check"]
    command = [str(python), "-m", "pip", "install", *options, requirement, *pins]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    except subprocess.TimeoutExpired:
        return {module: f"{requirement} was not installed in {MINUTES} minutes"}
    if done.returncode != 0:
        return {module: f"{requirement} did not install: {last_line(done.stderr)}"}
    if not _has(python, module):
        tried = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, text=True, check=False)
        return {module: f"{requirement} installs but cannot be imported: {last_line(tried.stderr)}"}
    return {}


def last_line(said: str) -> str:
    """The last line of a message, without addresses, folders of this machine, or pip's own marks."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no message"]
    errors = [line for line in lines if line.startswith("ERROR:")]
    chosen = (errors or lines)[-1].removeprefix("ERROR:").strip()
    return re.sub(r"\w+://\S+|(?<![\w.])(?:/[\w.+-]+){2,}/?", "…", chosen)[:200]


def _has(python: Path, module: str) -> bool:
    return subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def _said(python: Path, code: str) -> str:
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
