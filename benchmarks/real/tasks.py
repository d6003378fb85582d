"""The tasks: training labels that people or rules gave, rows that can be trusted, and rows for the final error.

Psi gets the trusted rows as its test set; the error is measured on rows that nobody has seen. Six tasks are reported.
The others (``extra``) are made from the same files in other ways: more kinds of error to develop on.

>>> task = load("labelme_majority", seed=0)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.real import loaders
from benchmarks.real.loaders import NONE, Codes, Floats, Part, Rows
from psidebug.datasets import BENCHMARKS, Noise
from psidebug.errors import UnknownOption
from psidebug.task.learner import Classifier

SEEDS = (0, 1, 2)
"""A seed draws answers, ties, and which rows of CIFAR-10N and MNIST are trained on, trusted and tested on."""


@dataclass(frozen=True, eq=False)
class RealTask:
    """Rows and labels of one task and seed; classes are 0 … K-1."""

    name: str
    seed: int
    learner: Classifier
    """What the user trains, unfitted."""
    X_train: Rows
    given: Codes
    clean: Codes
    """The right training labels, for measuring only."""
    X_trusted: Rows
    y_trusted: Codes
    X_test: Rows
    y_test: Codes
    size: int
    """K, the number of classes."""
    annotations: Codes | None = None
    """What every annotator or rule says of every training row, (N, annotators); -1 where nothing."""

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Training rows whose given label is not the right one."""
        return np.asarray(self.given != self.clean)


@dataclass(frozen=True)
class Kind:
    """A task before its seed is chosen."""

    title: str
    make: Callable[[int], RealTask]
    extra: bool = False
    """Made for development: not in the tables."""
    rare: bool = False
    """Fewer than 10% wrong: reported apart."""
    planted: bool = False
    """Errors that we planted, to be measured with the same measures."""


def load(name: str, seed: int = 0) -> RealTask:
    """A task by its name, one of :data:`TASKS`."""
    if name not in TASKS:
        raise UnknownOption(f"{name!r} is none of the tasks: {', '.join(TASKS)}.")
    return TASKS[name].make(seed)


# ── the label of a row, from what annotators or rules say ──


def one_drawn(said: Codes, rng: np.random.Generator) -> Codes:
    """One of each row's answers, all equally likely."""
    return np.array([rng.choice(row[row != NONE]) for row in said], dtype=np.intp)


def majority(said: Codes, rng: np.random.Generator) -> Codes:
    """The most frequent answer of each row, ties drawn: argmax_k of the count of k, plus less than ½ by chance."""
    counts = np.stack([(said == k).sum(axis=1) for k in range(said.max() + 1)], axis=1)
    return np.asarray((counts + 0.5 * rng.random(counts.shape)).argmax(axis=1))


def worst(said: Codes, clean: Codes) -> Codes:
    """The answer of the row's least accurate annotator."""
    asked = said != NONE
    accuracy = ((said == clean[:, None]) & asked).sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    who = np.where(asked, accuracy, np.inf).argmin(axis=1)
    return np.asarray(said[np.arange(len(said)), who])


# ── LabelMe ──


def _labelme(seed: int, *, name: str, label: str, trusted: int | None = None) -> RealTask:
    train, valid, test = (loaders.labelme(part) for part in ("train", "valid", "test"))
    assert train.said is not None
    rng = np.random.default_rng(seed)
    draw = {"single": one_drawn, "majority": majority}
    given = worst(train.said, train.y) if label == "worst" else draw[label](train.said, rng)
    if trusted is not None:
        valid = valid.take(rng.choice(len(valid), trusted, replace=False))
    # The penalty at which the errors of right and given labels are those of the first measurements: .065 and .212.
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    return _task(name, seed, learner, train, given, valid, test, size=8)


# ── texts that rules have labelled ──


def _wrench(
    seed: int, *, name: str, data: str, label: Callable[[Codes, np.random.Generator], Codes], swapped: int = 0
) -> RealTask:
    """``swapped``: train on the validation and test split, and trust so many rows of the training split."""
    train, valid, test = (loaders.wrench(data, part) for part in ("train", "valid", "test"))
    rng = np.random.default_rng(seed)
    if swapped:
        order = rng.permutation(len(train))
        joined = Part(*(np.concatenate([getattr(valid, of), getattr(test, of)]) for of in ("X", "y", "said")))
        train, valid, test = joined, train.take(order[:swapped]), train.take(order[swapped:])
    assert train.said is not None
    train = train.take((train.said != NONE).any(axis=1))  # where every rule abstains there is no label
    assert train.said is not None
    given = label(train.said, rng)
    valid = valid.take(
        np.isin(valid.y, given)
    )  # some rules never vote for a class, and Psi refuses one it cannot train
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    learner = make_pipeline(words, LogisticRegression(C=10, max_iter=1000))
    return _task(name, seed, learner, train, given, valid, test, size=int(test.y.max()) + 1)


# ── CIFAR-10N and MNIST: features are the probabilities of nets that have not seen the row ──

TRAINED, TESTED = 5000, 10000


@cache
def _cifar() -> tuple[dict[str, Floats], Codes, Codes]:
    return loaders.cifar10n()


def _cifar10n(seed: int, *, name: str, trusted: int, net: str | None = None, hard: bool = False) -> RealTask:
    """Features: the probabilities of all five nets side by side (50 columns), or of one ``net`` (10).

    Of the forms tried, all five as they are come closest to the errors first measured: .016 with right labels, .021
    with those given. Logarithms, means and single nets are further off. ``hard``: only the half of the rows of which
    these nets are least sure.
    """
    nets, given, clean = _cifar()
    chosen = list(nets.values()) if net is None else [nets[net]]
    rows = np.arange(len(clean))
    if hard:
        rows = np.argsort(np.mean(chosen, axis=0).max(axis=1), kind="stable")[: len(rows) // 2]
    order = rows[np.random.default_rng(seed).permutation(len(rows))]
    train, test, valid = np.split(order[: TRAINED + TESTED + trusted], [TRAINED, TRAINED + TESTED])
    everything = Part(np.concatenate(chosen, axis=1), clean)
    parts = (everything.take(each) for each in (valid, test))
    return _task(name, seed, LogisticRegression(max_iter=1000), everything.take(train), given[train], *parts, size=10)


def _mnist(seed: int, *, name: str) -> RealTask:
    """All 15 wrong labels are among the 8,000 to train on."""
    p, given, clean = loaders.mnist_errors()
    rng = np.random.default_rng(seed)
    wrong = np.flatnonzero(given != clean)
    others = rng.permutation(np.flatnonzero(given == clean))
    train, valid, test = np.split(np.concatenate([wrong, others]), [8000, 9000])
    everything = Part(p, clean)
    train = rng.permutation(train)
    parts = (everything.take(each) for each in (valid, test))
    return _task(name, seed, LogisticRegression(max_iter=1000), everything.take(train), given[train], *parts, size=10)


def _task(
    name: str, seed: int, learner: Classifier, train: Part, given: Codes, valid: Part, test: Part, *, size: int
) -> RealTask:
    return RealTask(
        name, seed, learner, train.X, given, train.y, valid.X, valid.y, test.X, test.y, size, annotations=train.said
    )


# ── planted, for comparison ──


def _planted(seed: int, *, name: str, data: str, noise: Noise) -> RealTask:
    """A benchmark of Psi's own: its test rows are trusted, its validation rows judge the repair."""
    made = BENCHMARKS[data](seed, noise=noise)
    return RealTask(
        name,
        seed,
        made.learner("logistic"),
        made.X_train,
        made.given,
        made.clean,
        made.X_test,
        made.y_test,
        made.X_validation,
        made.y_validation,
        len(made.classes),
    )


def _kinds() -> dict[str, Kind]:
    found: dict[str, Kind] = {}

    def add(
        name: str, title: str, make: Callable[..., RealTask], *, extra: bool = False, rare: bool = False, **how: object
    ) -> None:
        found[name] = Kind(title, partial(make, name=name, **how), extra, rare)

    add("labelme_single", "LabelMe, one answer a row", _labelme, label="single")
    add("labelme_majority", "LabelMe, majority", _labelme, label="majority")
    add("youtube_majority", "YouTube, rules", _wrench, data="youtube", label=majority)
    add("semeval_majority", "SemEval, rules", _wrench, data="semeval", label=majority)
    add("cifar10n_1000", "CIFAR-10N, 1,000 trusted", _cifar10n, trusted=1000)
    add("cifar10n_100", "CIFAR-10N, 100 trusted", _cifar10n, trusted=100)
    add("mnist", "MNIST, 15 wrong", _mnist, rare=True)
    add("labelme_single_100", "LabelMe, one answer, 100 trusted", _labelme, label="single", trusted=100, extra=True)
    add("labelme_worst", "LabelMe, the worst annotator's answer", _labelme, label="worst", extra=True)
    add("labelme_worst_100", "LabelMe, the worst, 100 trusted", _labelme, label="worst", trusted=100, extra=True)
    add("youtube_single", "YouTube, one rule a row", _wrench, data="youtube", label=one_drawn, extra=True)
    add("semeval_single", "SemEval, one rule a row", _wrench, data="semeval", label=one_drawn, extra=True)
    add("youtube_swapped", "YouTube, 337 rows", _wrench, data="youtube", label=majority, swapped=120, extra=True)
    add("semeval_swapped", "SemEval, 778 rows", _wrench, data="semeval", label=majority, swapped=178, extra=True)
    add(
        "cifar10n_weak", "CIFAR-10N, a weak net, 300 trusted", _cifar10n, net="efficientnet_b1", trusted=300, extra=True
    )
    add("cifar10n_hard", "CIFAR-10N, the hard half", _cifar10n, trusted=1000, hard=True, extra=True)
    add(
        "cifar10n_hard_100",
        "CIFAR-10N, a weak net, the hard half, 100 trusted",
        _cifar10n,
        net="resnet18",
        trusted=100,
        hard=True,
        extra=True,
    )
    kinds: dict[Noise, str] = {"random": "at random", "one_sided": "on one side", "systematic": "a slice"}
    for data in ("breast_cancer", "linear", "ten_digits"):
        for noise, told in kinds.items():
            name, title = f"{data}_{noise}", f"{data.replace('_', ' ')}, {told}"
            found[name] = Kind(title, partial(_planted, name=name, data=data, noise=noise), planted=True)
    return found


TASKS: Mapping[str, Kind] = _kinds()
MAIN = tuple(name for name, kind in TASKS.items() if not (kind.extra or kind.rare or kind.planted))
