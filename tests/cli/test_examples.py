"""The example that each command's help shows works as typed, in a folder with the data and the run that it names."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from psidebug.cli.group import COMMANDS
from psidebug.cli.group import psi as group
from tests.cli.folder import Ran, psi

ELSEWHERE = {
    "debug": "the folder is made by it",
    "review": "it runs until it is stopped: tests/review",
    "bench": "it takes minutes: tests/bench",
    "import": "a person has answered before: tests/cli/test_import.py",
}


def example(name: str) -> list[str]:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    (shown,) = re.findall(r"^Example: psi (.*)$", found.epilog or "")
    return shlex.split(shown)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_the_example_works_as_typed(name: str, debugged: tuple[Path, Ran], tmp_path: Path) -> None:
    shutil.copytree(debugged[0], tmp_path, dirs_exist_ok=True)
    arguments = example(name)
    assert arguments[0] == name
    ran = psi(*arguments, folder=tmp_path)
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ELSEWHERE)
def test_examples_run_elsewhere_are_examples_of_their_command(name: str, tmp_path: Path) -> None:
    assert example(name)[0] == name
    missing = {"debug": "there is no file train.csv", "review": "psi-run", "import": "psi-run"}.get(name)
    if missing is not None:
        assert missing in psi(*example(name), folder=tmp_path).err
