"""The directory of a run, which holds a whole run, the old or the new one, at every moment.

::

    RUN/run.json                    what was found, and the names and digests of the tables
    RUN/tables-1a2b3c4d/*.parquet   the tables, and learner.skops beside them
    RUN/labels_of_all.parquet       of rows in blocks: the same file as labels_of_all.parquet of the tables

The tables of a new run are written beside those of the old one, under a hidden name, and forced to disk. Then
``run.json`` is replaced in one step, and only then are the old tables removed, and the leftovers of killed processes.
Other files in the directory, such as the verdicts of a review, are not touched. Only their owner can read the files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from psidebug.errors import OtherRun, OutputError, UnreadableRun
from psidebug.files import PARTIAL, force, is_left_behind, left_beside, marked, unwritten, write_whole
from psidebug.store.manifest import ALL_LABELS, EVERY_LABEL, RUN_FILE, TABLES, read_run_file, tables_of
from psidebug.store.values import Json


def check_run_place(path: str | PathLike[str], fingerprint: Mapping[str, str]) -> None:
    """Raise :class:`OutputError` if a run of these inputs cannot be saved at ``path``."""
    _replaced(Path(path), fingerprint)


def write_run(path: str | PathLike[str], record: Json, tables: Mapping[str, Any]) -> None:
    """Write a run; a failure leaves what was there.

    A table is one of Arrow, the bytes of a file, or the path of a file of Parquet, which stays.
    """
    old = _replaced(Path(path), record["fingerprint"])
    target = Path(path).resolve()  # a link stays a link
    try:
        if target.is_dir():
            _fill(target, record, tables)
            for each in [] if old is None else [target / name for name in tables_of(old)]:
                if each.name.startswith(TABLES) and each.is_dir() and not each.is_symlink():  # a link is not ours
                    shutil.rmtree(each, ignore_errors=True)
            _remove_leftovers(target)
            return
        built = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{marked(target.name)}", suffix=PARTIAL))
        try:
            _fill(built, record, tables)
            try:
                os.replace(built, target)
            except OSError:
                if not target.is_dir():
                    raise
                shutil.rmtree(built)  # another process has saved a run here meanwhile, which is replaced
                write_run(path, record, tables)
                return
            force(target.parent)
            _remove_leftovers(target)
        except BaseException:
            shutil.rmtree(built, ignore_errors=True)
            raise
    except OutputError:
        raise
    except OSError as error:
        raise unwritten(target, error) from error


def _remove_leftovers(run: Path) -> None:
    """Remove what killed processes left: unfinished runs beside this one, and files and tables in it.

    Tables that were finished when the process died have no hidden name, but ``run.json`` does not name them.
    """
    named = _tables_in(run)
    inside = [
        each
        for each in run.iterdir()
        if each.name.startswith((TABLES, *map(".{}".format, (TABLES, RUN_FILE, ALL_LABELS))))
    ]
    for each in [*left_beside(run), *(each for each in inside if each.name not in named and is_left_behind(each.name))]:
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)  # removes a link, not its target


def _replaced(target: Path, fingerprint: Mapping[str, str]) -> Json:
    """The record of the run to be replaced; None if there is none."""
    try:
        found = target.resolve().exists()
        if found and not target.is_dir():
            raise OutputError(f"could not write {target}: it is a file. A run is a directory; give another name.")
        if not found and not target.absolute().parent.is_dir():
            raise OutputError(f"could not write {target}: there is no directory {target.parent}. Make it first.")
        if not os.access(target if found else target.absolute().parent, os.W_OK | os.X_OK):
            raise OutputError(f"could not write {target}: it is not yours to write to. Choose another place.")
        names = [each.name for each in target.iterdir()] if found else []
    except OutputError:
        raise
    except (OSError, ValueError) as error:  # the name is too long or has a zero byte; the directory cannot be listed
        raise OutputError(f"could not write {str(target)!r}: {error}. Choose another place.") from error
    if all(name.startswith(".") and name.endswith(PARTIAL) for name in names):  # what a killed process left
        return None
    if RUN_FILE not in names:
        raise OtherRun(f"{target} holds other files and is not a saved run. Choose another place, or empty it.")
    try:
        old = read_run_file(target)
    except UnreadableRun as error:
        raise OtherRun(f"{target} holds a run that cannot be read ({error}) Choose another place.") from error
    if old["fingerprint"] != fingerprint:
        raise OtherRun(
            f"{target} holds a run of other data or another learner, which is not overwritten. Choose another "
            f"place, or remove it."
        )
    return old


def _fill(directory: Path, record: Json, tables: Mapping[str, Any]) -> None:
    """Write the tables and then, in one step, the ``run.json`` that names them."""
    hidden = Path(tempfile.mkdtemp(dir=directory, prefix=f".{marked(TABLES)}", suffix=PARTIAL))
    final = directory / hidden.name.removeprefix(".").removesuffix(PARTIAL)
    try:
        files = {}
        for name, table in tables.items():
            written = _written(hidden, name, table)
            force(written)
            with written.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            files[name] = {"path": f"{final.name}/{written.name}", "sha256": digest}
        force(hidden)
        os.rename(hidden, final)
        force(directory)
        text = json.dumps({**record, "files": files}, indent=1, allow_nan=False)
        write_whole(directory / RUN_FILE, text + "\n", through_links=False, private=True)
        if EVERY_LABEL in tables:
            _show_all_labels(directory, final)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        if final.name not in _tables_in(directory):  # else run.json was replaced, and the new run counts
            shutil.rmtree(final, ignore_errors=True)
        raise


def _written(directory: Path, name: str, table: Any) -> Path:
    """Write a table as Parquet, and bytes (the learner) as a skops file."""
    path = directory / f"{name}.{'skops' if isinstance(table, bytes) else 'parquet'}"
    if isinstance(table, Path):
        _link(table, path)
        path.chmod(0o600)
        return path
    path.touch(mode=0o600)  # a run holds the rows: other users do not read them
    if isinstance(table, bytes):
        path.write_bytes(table)
    else:
        pq.write_table(table, path, compression="zstd")
    return path


def _show_all_labels(run: Path, tables: Path) -> None:
    """Give the table of all labels a name that users know; what reads runs takes the one that ``run.json`` names."""
    unfinished = run / f".{marked(ALL_LABELS)}{PARTIAL}"
    unfinished.unlink(missing_ok=True)
    _link(tables / ALL_LABELS, unfinished)
    os.replace(unfinished, run / ALL_LABELS)
    force(run)


def _link(path: Path, name: Path) -> None:
    """The same file under one more name; a copy where the file system has one name for each file."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)
        force(name)


def _tables_in(directory: Path) -> set[str]:
    """Directories with tables of the run that is there, if any."""
    try:
        return tables_of(read_run_file(directory))
    except UnreadableRun:
        return set()
