"""Ctrl-C at any moment is one sentence and exit code 130, in the midst of an import too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AT = """
import os, signal, sys

class Interrupting:
    '''Ctrl-C as soon as this module is asked for; and, as some libraries do, an ImportError of whatever comes.'''
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("the interrupt was made an ImportError")

from psidebug.cli import main
sys.meta_path.insert(0, Interrupting())
main()
"""


@pytest.mark.parametrize("name", ["click", "numpy", "pyarrow.csv", "sklearn.pipeline", "psidebug.store.save"])
def test_in_the_midst_of_an_import(folder: Path, name: str) -> None:
    before = sorted(folder.iterdir())
    ran = subprocess.run(
        [sys.executable, "-c", AT.format(name=name), "debug", "train.csv", "test.csv", "--label", "label"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr == "psi: interrupted; nothing was left half-written\n"
    assert sorted(folder.iterdir()) == before
