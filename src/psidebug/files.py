"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from psidebug.errors import OutputError


def check_place(path: str | PathLike[str]) -> None:
    """Raise :class:`OutputError` if no file can be written at ``path``, before the work whose result goes there."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"could not write {target}: it is a directory. Give the name of a file.")
    if not target.parent.is_dir():
        raise OutputError(f"could not write {target}: there is no directory {target.parent}. Make it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"could not write {target}: {target.parent} is not yours to write to. Choose another place.")


def write_whole(path: str | PathLike[str], text: str | bytes) -> None:
    """Write a file so that a reader, a full disk or a kill never meets half of it.

    The text goes to a hidden neighbour first, is forced to disk, and takes the name in one step.
    """
    target = Path(path)
    content = text if isinstance(text, bytes) else text.encode("utf-8", errors="backslashreplace")
    try:
        target = target.resolve()  # a link stays a link
        if target.exists() and not target.is_file():  # a pipe or a device takes the text itself
            target.write_bytes(content)
            return
        # The neighbour's name is cut so that it stays valid wherever the target's own is.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".partial")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
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
    except ValueError as error:  # a zero byte in the name
        raise OutputError(f"could not write {str(target)!r}: {error}. Choose another name.") from error
