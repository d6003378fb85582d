"""The process that opens mutated files, one after the other, and says before and after each how it went.

It has limits of memory and time, so that whatever a file does to it is seen from outside.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from psidebug.errors import PsiError
from tests.fuzz.kinds import Kind, kinds

MEMORY = 6 * 2**30
"""Bytes of addresses that it may have; libraries alone map two."""
PATIENCE = 120
"""Seconds for one file; a good one takes less than one, on a machine that does nothing else."""


def opened(kind: Kind, content: bytes, folder: Path) -> str:
    """``"answer"``, ``"sentence"``, or the traceback of anything else."""
    path = folder / kind.file
    path.write_bytes(content)
    try:
        kind.use(path)
    except PsiError as error:
        text = str(error)
        return "sentence" if text and "\n" not in text.strip() else f"no sentence: {text!r:.500}"
    except Exception:
        return traceback.format_exc()
    return "answer"


def main() -> None:
    """Open the mutations that stdin lists, with a line of JSON before and after each; the run is the argument."""
    warnings.simplefilter("ignore")
    made, every = {}, kinds(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        for name, number in json.load(sys.stdin):
            if name not in made:
                made = {name: every[name]()}
                place = Path(tempfile.mkdtemp(dir=folder))
            print(json.dumps([name, number]), flush=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            outcome = opened(made[name], made[name].changed(name, number), place)
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps([name, number, outcome]), flush=True)


if __name__ == "__main__":
    main()
