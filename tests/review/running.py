"""``psi review`` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PSI = str(Path(sys.executable).parent / "psi")


@contextmanager
def running(*arguments: str, browser: str | None = None, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """It runs while the block does; ``browser`` is the command that it opens, by default none."""
    environment |= {} if browser is None else {"BROWSER": browser}
    process = subprocess.Popen(
        [PSI, "review", *arguments, *(["--no-browser"] if browser is None else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
