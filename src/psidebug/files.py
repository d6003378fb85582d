"""Files that appear whole or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import re
import tempfile
from os import PathLike
from pathlib import Path

from psidebug.errors import OutputError

PARTIAL = ".partial"
"""How the name of a half-written file ends."""
MARK = re.compile(r"\.([0-9a-f]{8})-(\d+)\.")


def marked(name: str) -> str:
    """The start of the name of a temporary neighbour, with the machine and process that write it.

    It is cut, so that the neighbour's name is valid wherever the name itself is.
    """
    return f"{name[:40]}.{_machine()}-{os.getpid()}."


def is_left_behind(name: str) -> bool:
    """Whether a file with a marked name was left by a process of this machine that has ended."""
    mark = MARK.search(name)
    if mark is None or mark[1] != _machine() or os.name == "nt":  # on Windows there is no harmless way to ask
        return False
    try:
        os.kill(int(mark[2]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def check_place(path: str | PathLike[str]) -> None:
    """Raise :class:`OutputError` if no file can be written at ``path``, before the work whose result goes there."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"could not write {target}: it is a directory. Give the name of a file.")
    if not target.parent.is_dir():
        raise OutputError(f"could not write {target}: there is no directory {target.parent}. Make it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"could not write {target}: {target.parent} is not yours to write to. Choose another place.")


def _as_any_new(path: str) -> None:
    """Give a temporary file, which is private, the permissions of any new one."""
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(path, 0o666 & ~umask)


def unwritten(target: Path, error: OSError) -> OutputError:
    """The error for a place that cannot be written to."""
    return OutputError(f"could not write {target}: {error.strerror or error}. Choose a place you can write to.")


def force(path: Path) -> None:
    """Force a file, or the names in a directory, to disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open directories, and need not
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def left_beside(target: Path) -> list[Path]:
    """The hidden neighbours of a file or directory that killed processes left."""
    found = target.parent.glob(f".{glob.escape(target.name[:40])}.*{PARTIAL}")
    return [each for each in found if is_left_behind(each.name)]


def write_whole(
    path: str | PathLike[str], text: str | bytes, *, through_links: bool = True, private: bool = False
) -> None:
    """Write a file so that it is never half-written, even after a full disk or a kill.

    The text goes to a hidden neighbour, is forced to disk, and takes the name in one step. A link stays a link, and its
    target is written. With ``through_links=False``, for names that the user did not choose, the file replaces whatever
    has the name. A ``private`` file can be read by its owner only.
    """
    target = Path(path)
    content = text if isinstance(text, bytes) else text.encode("utf-8", errors="backslashreplace")
    try:
        if through_links:
            target = target.resolve()
            if target.exists() and not target.is_file():  # a pipe or a device takes the text itself
                target.write_bytes(content)
                return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{marked(target.name)}", suffix=PARTIAL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if not private:
                _as_any_new(name)
            os.replace(name, target)
            force(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        for each in left_beside(target):
            each.unlink(missing_ok=True)
    except OSError as error:
        raise unwritten(target, error) from error
    except ValueError as error:  # a zero byte in the name
        raise OutputError(f"could not write {str(target)!r}: {error}. Choose another name.") from error
