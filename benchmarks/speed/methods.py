"""What is timed: one fit, five folds, Psi at each effort, and its rivals."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
from sklearn.model_selection import cross_val_predict

import psidebug
from benchmarks.peers.contest import Contest, Peer
from benchmarks.peers.roster import named
from benchmarks.speed.cases import Case

FIT, FOLDS = "one fit", "five folds"
EFFORTS = ("rank", "decide", "prove")
OF_NEIGHBOURS = ("KNN-Shapley", "DataScope")
"""Rivals that are given dense columns of one scale, and that never use the learner."""
RIVALS = (
    "cleanlab",
    *OF_NEIGHBOURS,
    "CatBoost object importance",
    "BoostIn, all test points",
    "influence, all test points",
)
LEARNER_WORDS = {"logistic": "logistic regression", "boosting": "boosted trees"}
Extra = dict[str, Any]
"""What a method tells of itself beside its time: ``fits`` and ``stages``."""


@dataclass(frozen=True)
class Method:
    """Something to time."""

    name: str
    work: Callable[[Contest], Extra]
    peer: Peer | None = None
    """The rival, if it is one."""
    effort: str | None = None

    def refusal(self, case: Case) -> str:
        """Why it does not apply to a case; empty if it does."""
        if self.effort is not None and self.effort != "prove" and not has_effort():
            return "this version of Psi has no effort to choose"
        if self.peer is not None and case.learner not in self.peer.learners:
            return f"for {' and '.join(LEARNER_WORDS[each] for each in self.peer.learners)} only"
        if self.peer is not None and self.peer.most_classes is not None and case.classes > self.peer.most_classes:
            return f"for {self.peer.most_classes} classes only"
        return ""


def psi_name(effort: str) -> str:
    """What Psi is called at an effort."""
    return f"Psi, {effort}"


def has_effort() -> bool:
    """Whether this Psi lets users choose how much it does."""
    return "effort" in inspect.signature(psidebug.debug).parameters


def _fit(contest: Contest) -> Extra:
    contest.fit()
    return {"fits": 1}


def _folds(contest: Contest) -> Extra:
    cross_val_predict(contest.model, contest.train, contest.given, cv=5, method="predict_proba")
    return {"fits": 5}


def _psi(contest: Contest, *, effort: str) -> Extra:
    options: dict[str, Any] = {"effort": effort} if has_effort() else {}
    task = (contest.model, contest.train, contest.given, contest.test, contest.y_test)
    found = psidebug.debug(*task, rng=contest.seed, **options)
    stages = getattr(found, "timings", None)
    told = [] if stages is None else list(nw.from_native(stages, eager_only=True).iter_rows(named=True))
    return {"fits": int(found.settings.get("fits", 1)), "stages": told}


def _rival(contest: Contest, *, peer: Peer) -> Extra:
    peer.rank(contest)
    return {}


METHODS: tuple[Method, ...] = (
    Method(FIT, _fit),
    Method(FOLDS, _folds),
    *(Method(psi_name(effort), partial(_psi, effort=effort), effort=effort) for effort in EFFORTS),
    *(Method(name, partial(_rival, peer=named(name)), peer=named(name)) for name in RIVALS),
)


def method_named(name: str) -> Method:
    """The method of this name."""
    return next(method for method in METHODS if method.name == name)
