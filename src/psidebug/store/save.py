"""``save_run``: a diagnosis as a directory of plain files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.store.contents import contents
from psidebug.store.fingerprint import fingerprint_of
from psidebug.store.place import check_run_place, write_run
from psidebug.task.tables import Table


def save_run(
    diagnosis: Diagnosis,
    path: str | PathLike[str],
    *,
    source: Mapping[str, Any] | None = None,
    test_rows: Sequence[Any] | None = None,
    test_metadata: Table | None = None,
) -> None:
    """Save everything that a diagnosis shows to the directory ``path``, which appears whole or not at all.

    A run of the same inputs that is already there is replaced in one step; anything else there is refused by an
    :class:`~psidebug.errors.OutputError`. The learner is saved unfitted, as skops, if every part of it is of a type
    that is safe to open again (:data:`psidebug.models.TRUSTED`); else ``run.json`` says why not.

    ``source`` says where the rows came from, for the corrected data to look like them: ``label`` (the name of that
    column), ``id`` (or None), ``columns`` (all names, in order), ``train``, ``test`` and ``validation`` (names of the
    files). ``test_rows`` are the ids of the test rows, and ``test_metadata`` the columns of the task's metadata for
    them: they are shown, and nothing else is made of them.
    """
    fingerprint = fingerprint_of(diagnosis.task)
    check_run_place(path, fingerprint)  # before the causes are worked out
    about = {"test_rows": test_rows, "test_metadata": test_metadata}
    write_run(path, *contents(diagnosis, fingerprint, source=source, **about))
