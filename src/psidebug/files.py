"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from psidebug.errors import OutputError


def write_whole(path: str | PathLike[str], text: str) -> None:
    """Write a text file so that a reader, a full disk or a kill never meets half of it.

    The text goes to a hidden neighbour first, is forced to disk, and takes the name in one step.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(
            f"could not write {target}: {error.strerror or error}. Choose a place you can write to."
        ) from error
