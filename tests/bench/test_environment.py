"""The peers' environment: made apart, seeing Psi, and honest about what is missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import psidebug
from benchmarks.peers import environment


@pytest.mark.thorough
def test_without_a_network_all_are_absent_and_psi_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr(environment, "PACKAGES", {"no_such_module": "no-such-module-of-psidebug>=1"})
    said: list[str] = []
    place = tmp_path / "peers"
    python = environment.prepare(place, tell=said.append)
    assert python is not None
    where = subprocess.run(
        [str(python), "-c", "import psidebug, sklearn, sys; print(psidebug.__file__, sys.prefix)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(Path(psidebug.__file__)) in where
    assert str(place) in where
    reason = environment.absences(place)["no_such_module"]
    assert reason.startswith("no-such-module-of-psidebug>=1 did not install: ")
    assert "No matching distribution" in reason
    assert len(said) == 2
    assert environment.prepare(place, install=False, tell=said.append) == python
    assert len(said) == 2


def test_nothing_is_made_where_nothing_may_be(tmp_path: Path) -> None:
    assert environment.prepare(tmp_path / "peers", install=False) is None
    assert list(tmp_path.iterdir()) == []
    assert "several GB" in environment.absences(tmp_path / "peers")["torch"]


def test_the_reason_has_no_address_and_no_folder() -> None:
    said = (
        "WARNING: Location 'file:///somewhere/simple/' is ignored\n"
        "ERROR: Could not fetch https://packages.example.org/simple/x/ into /home/me/.cache/pip: no route\n"
        "note: this is an issue with the package\n"
    )
    assert environment.last_line(said) == "Could not fetch … into …: no route"
    assert environment.last_line("") == "no message"
    assert environment.last_line("Traceback\nImportError: no and/or\n") == "ImportError: no and/or"
