"""What the data say gives no commands to the terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
from pathlib import Path

import click
import pytest

from psidebug.cli.group import psi, run_command
from psidebug.cli.output import Output
from tests.cli.folder import PSI

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1A\u202ecat"


def everything(terminal: int) -> str:
    """What a terminal got: the kernel hands it over in parts, and says at the end that nobody writes any more."""
    said = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 10_000):
            said += part
    os.close(terminal)
    return said.decode()


def test_a_terminal_gets_no_commands_from_results(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def shown() -> None:
        output = Output()
        output.text(HOSTILE)
        output.result({"label": HOSTILE})
        click.echo(f"\x1b[1mbold\x1b[0m {HOSTILE}", color=True)

    monkeypatch.setattr(psi, "get_command", lambda context, name: shown)
    own, other = pty.openpty()
    with os.fdopen(other, "w") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        assert run_command(["suspects"]) == 0
    said = everything(own)
    assert "owned" in said
    assert "\x1b[1mbold" in said, "colours are Psi's own"
    for command in ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e"):
        assert command not in said


def test_error_messages_hold_no_commands(tmp_path: Path) -> None:
    command = [*PSI, "debug", HOSTILE, HOSTILE, "--label", "label"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "owned" in done.stderr
    assert not any(each in done.stderr for each in ("\x1b", "\x07", "\x9b", "\u202e"))
