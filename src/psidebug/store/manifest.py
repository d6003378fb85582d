"""What a run may call its own: plain files inside of its directory, under names that Psi gives, and never by links.

A run may come from anybody. Its ``run.json`` names the files that are read and, when the run is saved anew, removed; so
each name is checked where ``run.json`` is read, before anyone acts on it. A link inside a run could lead such an act
out of it all the same, so links are refused. Hard links are not: a copy by ``cp -al`` is full of them, and to make one
takes the right to write the file in the first place.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from psidebug.errors import UnreadableRun
from psidebug.store.format import FINGERPRINT, PARTS, RUN_FILE
from psidebug.store.values import Json

TABLES = "tables-"
"""How the name of a directory with tables begins."""
OWN_NAME = re.compile(rf"{TABLES}[A-Za-z0-9._-]+/[A-Za-z0-9_][A-Za-z0-9._-]*")
"""A file of a run: two plain parts, neither hidden nor a way up, and nothing that Windows reads otherwise."""


def check_record(directory: Path, record: Json) -> None:
    """Raise :class:`UnreadableRun` unless a record has its parts, each of its type, and names only files of its own."""
    file = directory / RUN_FILE
    lacking = [name for name in PARTS if name not in record]
    if lacking:
        raise UnreadableRun(f"{file} is damaged: it lacks {', '.join(lacking)}. Save the run again.")
    prints = record["fingerprint"]
    wrong = [name for name, kinds in PARTS.items() if not isinstance(record[name], kinds)]
    if "fingerprint" not in wrong and not all(isinstance(prints.get(name), str) for name in FINGERPRINT):
        wrong.append("fingerprint")
    if wrong:
        raise UnreadableRun(f"{file} is damaged: no run has such a {', '.join(wrong)}. Save the run again.")
    for name, entry in record["files"].items():
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("path", "sha256")):
            raise UnreadableRun(f"{file} is damaged: it does not say where {name!r:.60} is. Save the run again.")
        if OWN_NAME.fullmatch(entry["path"]) is None:
            raise UnreadableRun(
                f"{file} names {entry['path']!r:.80}, which is outside of the run or none of its tables: someone "
                f"changed it. Do not trust this run; make it again with psi debug."
            )


def own_file(directory: Path, name: str) -> Path:
    """The path of a file that the record names; raises :class:`UnreadableRun` where a link or a pipe is in its place.

    A file that is not there is left to whoever opens it.
    """
    path = directory / name
    check_plain(path.parent, stat.S_IFDIR)
    check_plain(path)
    return path


def check_plain(path: Path, kind: int = stat.S_IFREG) -> None:
    """Raise :class:`UnreadableRun` if what is at ``path``, in a run, is a link, or no plain file (directory)."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # nothing is there, or nothing that can be opened
        return
    if stat.S_ISLNK(mode):
        raise UnreadableRun(f"{path} is a link, and could lead out of the run. Put what it leads to in its place.")
    if stat.S_IFMT(mode) != kind:
        what = "directory" if kind == stat.S_IFDIR else "plain file"
        raise UnreadableRun(f"{path} is no {what}, as it is in every run. Save the run again.")


def tables_of(record: Json) -> set[str]:
    """Names of the directories with the tables of a run, by its checked record."""
    return {entry["path"].partition("/")[0] for entry in record["files"].values()}
