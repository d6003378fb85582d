"""``psi`` as a process of its own."""

from __future__ import annotations

import os
import subprocess

from tests.cli.folder import PSI


def psi(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in this environment and these changes."""
    env = os.environ | {"COLUMNS": "200"} | environment
    return subprocess.run([*PSI, *arguments], capture_output=True, text=True, env=env, check=False, timeout=120)
