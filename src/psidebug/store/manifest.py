"""``run.json``, read and checked: a run may name only plain files inside its own directory.

A run may come from anybody, and its ``run.json`` names the files that are read and, when the run is saved again,
removed. So each name is checked here, before it is used. A symbolic link could still lead out of the run, so links are
refused. Hard links are allowed: ``cp -al`` makes them, and only who may write a file can make one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from psidebug.errors import UnreadableRun
from psidebug.store.values import Json

SCHEMA = 2
"""Version of the format. It rises when something changes its meaning or goes away; readers ignore unknown fields."""
RUN_FILE = "run.json"
EVERY_LABEL = "labels_of_all"
"""The table of every label, of training rows that were read in blocks. The other tables have the rows that the run
keeps."""
ALL_LABELS = f"{EVERY_LABEL}.parquet"
"""Its file; beside ``run.json`` it has this name, too."""
PARTS: Mapping[str, type] = {
    "schema": int,
    "psidebug": str,
    "fingerprint": dict,
    "findings": dict,
    "data": dict,
    "spec": dict,
    "files": dict,
}
"""The parts of ``run.json``, with their types."""
FINGERPRINT = ("train", "test", "rows", "learner")
"""The parts of a fingerprint, each a string."""
TABLES = "tables-"
"""Prefix of directories with tables."""
OWN_NAME = re.compile(rf"{TABLES}[A-Za-z0-9._-]+/[A-Za-z0-9_][A-Za-z0-9._-]*")
"""A file of a run: two plain parts, neither hidden nor ``..``, and nothing special on Windows."""


def read_run_file(directory: Path) -> Json:
    """The content of ``run.json``, checked; its tables are not read."""
    file = directory / RUN_FILE
    if not directory.is_dir():
        raise UnreadableRun(f"{directory} is no directory. Give the directory of a saved run.")
    check_plain(file)
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadableRun(
            f"{directory} has no {RUN_FILE}, so it is not a saved run. Give another directory."
        ) from None
    except OSError as error:
        raise UnreadableRun(f"cannot read {file}: {error.strerror or error}.") from None
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deep
        raise UnreadableRun(f"{file} is damaged: it is not JSON. Save the run again.") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    if type(schema) is not int:
        raise UnreadableRun(f"{file} has no schema number, so it is not a saved run of Psi.")
    if schema != SCHEMA:
        raise UnreadableRun(
            f"{directory} was saved by Psi {record.get('psidebug')} (schema {schema}), and this one reads only schema "
            f"{SCHEMA}: {'pip install --upgrade psidebug' if schema > SCHEMA else 'run psi debug again'}."
        )
    _check_record(file, record)
    return record


def _check_record(file: Path, record: Json) -> None:
    lacking = [name for name in PARTS if name not in record]
    if lacking:
        raise UnreadableRun(f"{file} is damaged: it lacks {', '.join(lacking)}. Save the run again.")
    prints = record["fingerprint"]
    wrong = [name for name, kinds in PARTS.items() if not isinstance(record[name], kinds)]
    if "fingerprint" not in wrong and not all(isinstance(prints.get(name), str) for name in FINGERPRINT):
        wrong.append("fingerprint")
    if wrong:
        raise UnreadableRun(f"{file} is damaged: {', '.join(wrong)} has a wrong type. Save the run again.")
    for name, entry in record["files"].items():
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("path", "sha256")):
            raise UnreadableRun(
                f"{file} is damaged: the entry of {name!r:.60} has no path or digest. Save the run again."
            )
        if OWN_NAME.fullmatch(entry["path"]) is None:
            raise UnreadableRun(
                f"{file} names {entry['path']!r:.80}, which is not a table inside the run: someone changed it. Do not "
                f"trust this run; make it again with psi debug."
            )


def own_file(directory: Path, name: str) -> Path:
    """The path of a file of the run; raises :class:`UnreadableRun` for a link or a pipe, but not for a missing file."""
    path = directory / name
    check_plain(path.parent, stat.S_IFDIR)
    check_plain(path)
    return path


def check_plain(path: Path, kind: int = stat.S_IFREG) -> None:
    """Raise :class:`UnreadableRun` if ``path`` exists and is a link, or not a plain file (directory)."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # it does not exist, or cannot be opened
        return
    if stat.S_ISLNK(mode):
        raise UnreadableRun(f"{path} is a link, and could lead out of the run. Put the file itself in its place.")
    if stat.S_IFMT(mode) != kind:
        what = "directory" if kind == stat.S_IFDIR else "plain file"
        raise UnreadableRun(f"{path} is not a {what}. Save the run again.")


def tables_of(record: Json) -> set[str]:
    """Names of the directories with the tables of a run."""
    return {entry["path"].partition("/")[0] for entry in record["files"].values()}
