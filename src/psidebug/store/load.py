"""Opening a saved run: whatever is wrong with it is said before anything is shown."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path

from psidebug.errors import UnreadableRun
from psidebug.store.format import RUN_FILE, SCHEMA
from psidebug.store.manifest import check_plain, check_record, own_file
from psidebug.store.run import Run
from psidebug.store.values import Json


def load_run(path: str | PathLike[str]) -> Run:
    """The run saved at ``path``, checked; its rows and learner are read when they are asked for."""
    directory = Path(path)
    record = read_run_file(directory)
    for each in record["files"].values():
        _check_file(directory, each)
    return Run.of(directory, record)


def read_run_file(directory: Path) -> Json:
    """``run.json`` of a run, checked, without a look at its tables: the names in it stay inside of the run."""
    if not directory.is_dir():
        raise UnreadableRun(f"{directory} is no directory. Give the directory that a run was saved to.")
    check_plain(directory / RUN_FILE)
    try:
        record = json.loads((directory / RUN_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadableRun(f"{directory} has no {RUN_FILE}, so it is no saved run. Give another directory.") from None
    except OSError as error:
        raise UnreadableRun(f"{directory / RUN_FILE} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):  # not JSON, or not UTF-8; or nested as deep as no run is
        raise UnreadableRun(f"{directory / RUN_FILE} is damaged: it is no JSON. Save the run again.") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise UnreadableRun(f"{directory / RUN_FILE} does not say its schema, so it is no saved run of Psi.")
    if schema > SCHEMA:
        raise UnreadableRun(
            f"{directory} was made by a newer Psi ({record.get('psidebug')}, schema {schema}; this one reads up to "
            f"{SCHEMA}): upgrade with pip install --upgrade psidebug."
        )
    if schema < SCHEMA:
        raise UnreadableRun(
            f"{directory} was made by Psi {record.get('psidebug')}, in a form that is not read any more: run psi debug "
            f"again."
        )
    check_record(directory, record)
    return record


def _check_file(directory: Path, entry: Json) -> None:
    path = own_file(directory, entry["path"])
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise UnreadableRun(
            f"{directory} lacks its file {entry['path']}. Copy the whole directory, or save again."
        ) from None
    except OSError as error:
        raise UnreadableRun(f"{path} cannot be read: {error.strerror or error}.") from None
    if digest != entry["sha256"]:
        raise UnreadableRun(f"{path} is not what was saved: it was changed or damaged. Save the run again.")
