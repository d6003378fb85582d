"""``save_run``: a diagnosis as a directory of plain files."""

from __future__ import annotations

from os import PathLike

from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.runs.contents import contents
from psidebug.runs.fingerprint import fingerprint_of
from psidebug.runs.place import check_run_place, write_run


def save_run(diagnosis: Diagnosis, path: str | PathLike[str]) -> None:
    """Save everything that a diagnosis shows to the directory ``path``, which appears whole or not at all.

    A run of the same inputs that is already there is replaced in one step; anything else there is refused by an
    :class:`~psidebug.errors.OutputError`. The learner itself is not saved, only its class and parameters as text.
    """
    fingerprint = fingerprint_of(diagnosis.task)
    check_run_place(path, fingerprint)  # before the causes are worked out
    write_run(path, *contents(diagnosis, fingerprint))
