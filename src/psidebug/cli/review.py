"""``psi review``: look through the suspects in a browser, and say what is right."""

from __future__ import annotations

from pathlib import Path

import click

from psidebug.cli.guarded import FlagOnly
from psidebug.cli.options import command, run_argument
from psidebug.cli.output import Output


@command(example="psi review psi-run")
@run_argument
@click.option("--no-browser", is_flag=True, help="Print the link only.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Where to listen; by default where it was last, if free, else any.",
)
@click.option("--reviewer", metavar="NAME", help="Who stands beside the verdicts; by default your user name.")
@click.option(
    "--listen",
    cls=FlagOnly,
    metavar="ADDRESS",
    help="Listen on this address, not on this machine only; takes a password.",
)
def review(output: Output, *, run: Path, no_browser: bool, port: int, reviewer: str | None, listen: str | None) -> None:
    """Look through the suspects in a browser, and say what is right.

    The server listens on this machine only, and the link lets one browser in, once. Verdicts are saved in the run
    directory as they are made; Ctrl-C ends the server. To listen elsewhere takes --listen and a password, from
    PSI_REVIEW_PASSWORD or asked for.
    """
    import contextlib
    import getpass
    import os
    import signal
    import sys
    import webbrowser

    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.review.serve import exposure, prepare

    password = None
    if listen is not None:
        password = os.environ.get("PSI_REVIEW_PASSWORD")
        if not password and sys.stdin.isatty():
            password = click.prompt("Password", hide_input=True, err=True)
    who = reviewer or getpass.getuser()

    def tell(fresh: str) -> None:
        output.remark(f"For another browser: {fresh}")

    served = prepare(run, Diagnosis.load, reviewer=who, port=port, listen=listen, password=password, tell=tell)
    if listen is not None:
        output.remark(exposure(served.address))
    link = served.link
    if output.as_json:
        output.result({"link": link})
    else:
        click.echo(link)
    output.remark("Ctrl-C ends the review; every verdict that the page calls saved is on disk.")
    if not no_browser and listen is None:
        webbrowser.open(link)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to be ended by another process is as good as Ctrl-C
    with contextlib.suppress(KeyboardInterrupt):
        served.run()
    output.remark("The review has ended.")
