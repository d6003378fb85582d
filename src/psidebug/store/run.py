"""A saved run, opened and checked: findings, rows, spec and learner, from its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from psidebug.errors import LearnerMismatch, LearnerMissing, PsiError, UnreadableRun
from psidebug.findings.answers import Answers
from psidebug.findings.findings import Findings
from psidebug.models import from_skops
from psidebug.spec import Spec
from psidebug.store.manifest import RUN_FILE, read_run_file
from psidebug.store.run_files import RunFiles
from psidebug.store.save import OF_NET
from psidebug.store.sound import check_data, check_findings
from psidebug.store.stored_spec import spec_of
from psidebug.task import learner as learners
from psidebug.task.data import Data


def load_run(path: str | PathLike[str]) -> Run:
    """The run saved at ``path``, checked; its rows and learner are read when they are asked for."""
    files = RunFiles(Path(path), read_run_file(Path(path)))
    for name in files.record["files"]:
        files.check(name)
    with _told_as_damage(files.path):
        found = files.findings
        check_findings(found)
        stated = files.table("stated_prior") if files.has("stated_prior") else None
        return Run(files, found, spec_of(files.record["spec"], stated, found.labels.given))


OF_FORGED_VALUES = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
"""What Python, numpy and pandas raise of a part that has another type or form."""


@contextmanager
def _told_as_damage(path: Path) -> Iterator[None]:
    """Report a part of ``run.json`` that is missing, or of a wrong type, as damage."""
    try:
        yield
    except PsiError:
        raise
    except (*OF_FORGED_VALUES, pa.ArrowException) as error:
        raise UnreadableRun(
            f"{path / RUN_FILE} is damaged, or not of this run ({type(error).__name__}). Save the run again."
        ) from error


@dataclass(frozen=True, eq=False)
class Run(Answers):
    """What :func:`load_run` returns."""

    files: RunFiles
    found: Findings
    spec: Spec
    given_learner: Any = None
    """The learner given by :meth:`with_learner`; None for the saved one."""

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.files.path

    @property
    def findings(self) -> Findings:
        """What was found."""
        return self.found

    @cached_property
    def data(self) -> Data:
        """The rows."""
        with _told_as_damage(self.path):
            data = self.files.data(self.found)
            check_data(data, self.found)
            return data

    @cached_property
    def all_labels(self) -> Path | None:
        """The table of every label, checked, if the rows were read in blocks."""
        with _told_as_damage(self.path):
            return self.files.all_labels(self.findings.encoding)

    def with_learner(self, model: Any) -> Run:
        """The run with a learner, for one that could not be saved; it must be of the same class."""
        if self.files.record["no_learner"] == OF_NET:
            raise LearnerMismatch(f"{self.path} has no learner: {OF_NET}")
        learners.check_classifier(model)
        made_with = self.found.origin.fingerprint["learner"].partition("(")[0]
        name = f"{type(model).__module__}.{type(model).__qualname__}"
        if name != made_with:
            raise LearnerMismatch(f"the run was made with {made_with}, not with {name}. To change it, run debug again.")
        return replace(self, given_learner=learners.fresh(model))

    @property
    def has_learner(self) -> bool:
        """Whether it has a learner."""
        return self.given_learner is not None or self.files.has("learner")

    @property
    def learner(self) -> Any:
        """The learner, unfitted."""
        if self.given_learner is not None:
            return self.given_learner
        if not self.files.has("learner"):
            why = self.files.record["no_learner"] or "it is not among its files."
            give = (
                "" if why == OF_NET else " Give one with Diagnosis.load(path).with_learner(model), or run debug again."
            )
            raise LearnerMissing(f"{self.path} has no learner, so nothing can be trained: {why}{give}")
        return from_skops(self.files.content("learner"), name=str(self.files.place("learner")))

    def __repr__(self) -> str:
        return f"<Run {str(self.path)!r}: {self.verdict}>"
