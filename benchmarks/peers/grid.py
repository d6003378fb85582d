"""Which tasks are measured, in the order of their value: a run that is cut short has measured what matters most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from benchmarks.peers.contest import Contest
from psidebug.datasets import BENCHMARKS, DESIGNS, Benchmark, Learner, Noise
from psidebug.datasets.noise import scattered
from psidebug.errors import UnknownOption

DATA = (
    "breast_cancer", "linear", "two_gaussians", "odd_even", "concentric", "ten_digits", "income", "sentiment",
)  # fmt: skip
QUICK = ("breast_cancer", "linear", "two_gaussians")
NOISES: tuple[Noise, ...] = ("random", "one_sided", "systematic", "none")
TESTS = ("all", "100", "400", "50")
SEEDS = (0, 1, 2, 3, 4)
"""The reporting seeds; nothing is chosen by looking at them."""
FIRST_SEEDS = 3
WRONG_TEST_LABELS = 0.05


@dataclass(frozen=True)
class Cell:
    """One task: data × learner × noise × test points × whether 5% of the test labels are wrong × seed."""

    data: str
    learner: Learner
    noise: Noise
    test: str
    """Number of test points, or "all"."""
    wrong_test: bool
    seed: int

    def benchmark(self) -> Benchmark:
        """The rows and labels; the same training rows whatever the test points."""
        load = BENCHMARKS[self.data]
        return load(self.seed, noise=self.noise, **({} if self.test == "all" else {"test": int(self.test)}))

    def contest(self, data: Benchmark) -> Contest:
        """What peers see of it; wrong test labels are scattered as wrong training labels are."""
        y_test = data.y_test
        if self.wrong_test:
            rng = np.random.default_rng([self.seed, 5])
            y_test, _ = scattered(y_test, data.classes, rng, share=WRONG_TEST_LABELS)
        return Contest.of(data, self.learner, seed=self.seed, y_test=y_test)


def cells(
    data: Sequence[str] = DATA,
    *,
    learners: Sequence[Learner] = get_args(Learner),
    noises: Sequence[Noise] = NOISES,
    tests: Sequence[str] = TESTS,
    seeds: Sequence[int] = SEEDS,
    wrong_test: Sequence[bool] = (False, True),
) -> list[Cell]:
    """All cells of these columns; first the first three seeds, clean test labels, all test points and 100."""
    _check(data, noises, tests)
    found: dict[Cell, None] = {}
    for some_seeds in (seeds[:FIRST_SEEDS], seeds[FIRST_SEEDS:]):
        for wrong in sorted(wrong_test):
            for some_tests in (("all", "100"), tuple(test for test in tests if test not in ("all", "100"))):
                for name, seed, noise, learner, test in _product(data, some_seeds, noises, learners, some_tests):
                    if test in tests and _has(name, test):
                        found[Cell(name, learner, noise, test, wrong, seed)] = None
    return list(found)


def quick_cells(data: Sequence[str] = QUICK) -> list[Cell]:
    """A few minutes' worth: one seed, small data, all test points and 100."""
    return cells(data, tests=("all", "100"), seeds=(0,), wrong_test=(False,))


def _product(
    data: Sequence[str],
    seeds: Sequence[int],
    noises: Sequence[Noise],
    learners: Sequence[Learner],
    tests: Sequence[str],
) -> Iterator[tuple[str, int, Noise, Learner, str]]:
    """Test points innermost: methods that do not use them are measured once."""
    for name in data:
        for seed in seeds:
            for noise in noises:
                for learner in learners:
                    for test in tests:
                        yield name, seed, noise, learner, test


def _has(name: str, test: str) -> bool:
    """Whether the data have more test points than these; "all" they always have."""
    sizes = next(design.sizes for design in DESIGNS if design.name == name)
    return test == "all" or int(test) < sizes.test


def _check(data: Sequence[str], noises: Sequence[Noise], tests: Sequence[str]) -> None:
    for name in data:
        if name not in BENCHMARKS:
            raise UnknownOption(f"{name!r} is none of the data sets: {', '.join(BENCHMARKS)}.")
    for noise in noises:
        if noise not in get_args(Noise):
            raise UnknownOption(f"noise must be one of {', '.join(get_args(Noise))}, not {noise!r}.")
    for test in tests:
        if test != "all" and not (test.isdecimal() and int(test) > 0):
            raise UnknownOption(f"test points are 'all' or a number, not {test!r}.")
