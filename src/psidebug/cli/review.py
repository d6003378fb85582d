"""``psi review``: review the suspects in a browser."""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import sys
from pathlib import Path

import click

from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output
from psidebug.cli.settings import FlagOnly


@command(example="psi review psi-run")
@run_argument
@click.option("--no-browser", is_flag=True, help="Print the link only.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default the last port if free, else any.")
@click.option("--reviewer", metavar="NAME", help="Name saved with the verdicts; by default your user name.")
@click.option("--listen", cls=FlagOnly, metavar="ADDRESS", help="Also accept other machines, here; needs a password.")
def review(output: Output, *, run: Path, no_browser: bool, port: int, reviewer: str | None, listen: str | None) -> None:
    """Review the suspects in a browser.

    The server listens on this machine only, and the link admits one browser, once. Every verdict is saved in the run
    directory at once; Ctrl-C ends the server. To admit other machines, give --listen and a password: it is read from
    PSI_REVIEW_PASSWORD, or psi asks for it.
    """
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.review.opening import browser_at
    from psidebug.review.serve import exposure, prepare

    password = None
    if listen is not None:
        password = os.environ.get("PSI_REVIEW_PASSWORD")
        if not password and sys.stdin.isatty():
            password = click.prompt("Password", hide_input=True, err=True)
    served = prepare(
        run,
        Diagnosis.load,
        reviewer=reviewer or getpass.getuser(),
        port=port,
        listen=listen,
        password=password,
        tell=lambda fresh: output.remark(f"For another browser: {fresh}"),
    )
    if listen is not None:
        output.remark(exposure(served.address))
    if output.as_json:
        output.result({"link": served.link})
    else:
        click.echo(served.link)
    output.remark("Ctrl-C ends the review. A verdict that the page calls saved is on disk.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends the review as Ctrl-C does
    shown = contextlib.nullcontext() if no_browser or listen is not None else browser_at(served.link, run)
    with contextlib.suppress(KeyboardInterrupt), shown:
        served.run()
    output.remark("The review has ended.")
