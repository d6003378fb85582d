"""``psi completion``: click's own completion scripts."""

from __future__ import annotations

import click

from psidebug.cli.options import command
from psidebug.cli.output import Output


@command(example="psi completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(output: Output, *, shell: str) -> None:
    """Print a completion script for your shell.

    bash: add 'eval "$(psi completion bash)"' to ~/.bashrc.

    zsh: add 'eval "$(psi completion zsh)"' to ~/.zshrc.

    fish: psi completion fish > ~/.config/fish/completions/psi.fish
    """
    from click.shell_completion import get_completion_class

    from psidebug.cli.group import psi

    found = get_completion_class(shell)
    assert found is not None  # the choices are click's
    script = found(psi, {}, "psi", "_PSI_COMPLETE").source()
    if output.as_json:
        output.result({"shell": shell, "script": script})
    else:
        click.echo(script)
