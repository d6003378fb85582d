"""``python -m tests.docs.manual > docs/commands.md``: the manual page of all commands, from their own help."""

from __future__ import annotations

import inspect

import click

from psidebug.cli import settings as settings_module
from psidebug.cli.group import COMMANDS, psi

HEAD = """# Commands

Generated from the help texts: `python -m tests.docs.manual > docs/commands.md`.

Results go to stdout, as text or with `--json` as [JSON](json.md). Errors go to stderr, and so does progress if stderr
is a terminal. `-v` prints details and tracebacks, `-q` only errors. `NO_COLOR=1` turns colours off.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | more labels are proved wrong than `--fail-above` allows |
| 2 | wrong usage or input, or an internal error; one sentence on stderr says what to do |
| 130 | interrupted; nothing was left half-written |
| 141 | the reader of the output is gone, as in `psi suspects psi-run \\| head` |
"""


def manual() -> str:
    """The page."""
    context = click.Context(psi, info_name="psi", max_content_width=100, terminal_width=100)
    listed = "\n".join(f"| [`psi {name}`](#psi-{name}) | {line} |" for name, line in COMMANDS.items())
    parts = [HEAD, f"| command | |\n|---|---|\n{listed}\n", _settings()]
    for name in COMMANDS:
        command = psi.get_command(context, name)
        assert command is not None
        with click.Context(command, info_name=name, parent=context, help_option_names=["-h", "--help"]) as its_own:
            text = command.get_help(its_own)
        parts.append(f"## psi {name}\n\n```\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def _settings() -> str:
    """The rules of settings, from their module."""
    first, _, rest = (inspect.getdoc(settings_module) or "").partition("\n\n")
    rest = rest.replace("``", "`")
    before, _, table = rest.partition("::\n\n")
    block, _, after = table.partition("\n\n")
    shown = "\n".join(line.removeprefix("    ") for line in block.splitlines())
    return f"## Settings\n\n{first} {before.strip()}:\n\n```\n{shown}\n```\n\n{after.strip()}\n"


if __name__ == "__main__":
    print(manual(), end="")
