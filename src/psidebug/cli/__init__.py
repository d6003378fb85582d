"""The command ``psi``: wiring only.

Exit codes: 0 done; 1 more labels are proved wrong than ``--fail-above`` allows; 2 wrong usage or input, or an internal
error; 130 interrupted; 141 the reader of the output is gone. Results go to stdout, all else to stderr.

Only the standard library is imported here, so that Ctrl-C ends with one sentence from the first moment on. A command's
module is imported when the command is used: ``psi --help`` imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

INTERRUPTED = "interrupted; nothing was left half-written"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every error is one sentence and an exit code."""
    foremost = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, _interrupt) if foremost else None
    # Waiting threads, as those of boosted trees, must not keep a core busy: on a machine with other work that made
    # fits 4 to 10 times slower. The library reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from psidebug.cli.group import run_command

        sys.exit(run_command(arguments))
    finally:
        if foremost:
            signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C: KeyboardInterrupt; but exit at once inside an import, where libraries turn it into other errors."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os.write(2, f"psi: {INTERRUPTED}\n".encode())
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt
