"""Kinds of corruption that others plant, and two causes at once.

Cells that go missing, are scaled, swapped, shifted, noisy or garbled are those of Jenga (Schelter et al. 2021) and of
similar work. No number of Psi was chosen by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.causes import plants
from benchmarks.causes.plants import Plant, Planted, one_of_the_best, telling
from benchmarks.causes.tables import Tables

NO_CATEGORIES = "the table has no categories"
GARBLED = {"a": "Ã¤", "e": "Ã©", "i": "Ã¯", "o": "Ã¶", "u": "Ã¼", "A": "Ã„", "B": "ÃŸ", "C": "Ã‡"}
"""Letters as they look when one encoding is read as another."""


def missing_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A quarter of a test column is empty."""
    name = one_of_the_best(t, rng)
    values = t.X_test[name].astype(float).where(rng.random(len(t.X_test)) >= 0.25)
    return Planted(_in_test(t, name, values), "missing_code", name)


def swapped_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Two columns of numbers have changed places in the test set."""
    one = one_of_the_best(t, rng)
    other = str(rng.choice([name for name in telling(t, t.numbers)[:6] if name != one]))
    swapped = t.X_test.assign(**{one: t.X_test[other], other: t.X_test[one]})
    return Planted(replace(t, X_test=swapped), "swapped_columns", f"{one}|{other}")


def power_of_ten_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """A test column is 10, 100 or 1000 times too large or too small."""
    name, factor = one_of_the_best(t, rng), 10.0 ** int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return Planted(_in_test(t, name, t.X_test[name] * factor), "unit", name)


def scaled_cells_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Half of a test column, at random, is 10, 100 or 1000 times too large."""
    name, factor = one_of_the_best(t, rng), 10.0 ** int(rng.integers(1, 4))
    values = t.X_test[name].astype(float)
    return Planted(_in_test(t, name, values.where(rng.random(len(values)) < 0.5, values * factor)), "unit", name)


def shifted_categories(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Each value of a test column of categories is another one: the first is the second, and so on."""
    if not t.categories:
        return Planted(t, "dead_column", skipped=NO_CATEGORIES)
    name = str(rng.choice(telling(t, t.categories)[:2]))
    values = sorted(t.X_train[name].dropna().unique())
    following = dict(zip(values, [*values[1:], values[0]], strict=True))
    return Planted(_in_test(t, name, t.X_test[name].map(lambda each: following.get(each, each))), "dead_column", name)


def broken_characters(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """In half of a test column of categories, letters are garbled: such values are not there in training."""
    if not t.categories:
        return Planted(t, "under_represented", skipped=NO_CATEGORIES)
    name = str(rng.choice(telling(t, t.categories)[:2]))
    rows = rng.random(len(t.X_test)) < 0.5
    garbled = t.X_test[name].map(lambda each: "".join(GARBLED.get(letter, letter) for letter in str(each)))
    return Planted(_in_test(t, name, t.X_test[name].where(~rows, garbled)), "under_represented", name)


def noise_in_test(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
    """Noise of two to five standard deviations is added to a test column."""
    name = one_of_the_best(t, rng)
    values = t.X_test[name].astype(float)
    noisy = values + rng.uniform(2.0, 5.0) * float(values.std()) * rng.normal(size=len(values))
    return Planted(_in_test(t, name, noisy), "dead_column", name)


def _in_test(t: Tables, name: str, values: pd.Series) -> Tables:
    return replace(t, X_test=t.X_test.assign(**{name: values}))


MORE: Mapping[str, Plant] = {
    each.__name__: each
    for each in (
        missing_in_test, swapped_in_test, power_of_ten_in_test, scaled_cells_in_test, shifted_categories,
        broken_characters, noise_in_test,
    )
}  # fmt: skip


# ── two at once ──


def both(first: Plant, second: Plant) -> Plant:
    """One after the other; only the first may add or drop rows. Names are joined by "+"."""

    def planted(t: Tables, rng: np.random.Generator, learner: str) -> Planted:
        one = first(t, rng, learner)
        two = second(one.tables, rng, learner)
        return Planted(
            two.tables,
            f"{one.cause}+{two.cause}",
            f"{one.column or ''}+{two.column or ''}",
            two.wrong_train if one.wrong_train is None else one.wrong_train,
            two.wrong_test if one.wrong_test is None else one.wrong_test,
        )

    return planted


PAIRS: Mapping[str, Plant] = {
    f"{first.__name__}+{second.__name__}": both(first, second)
    for first, second in (
        (plants.unit_in_test, plants.labels_of_a_slice),
        (plants.code_in_training, plants.labels_at_random),
        (plants.duplicates, plants.unit_in_training),
        (plants.leak, plants.labels_of_a_slice),
        (plants.class_shares, plants.unit_in_test),
        (plants.spelling, plants.code_in_test),
        (plants.dead_in_training, plants.test_labels_at_random),
    )
}
