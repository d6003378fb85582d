"""``dead_column``, ``swapped_columns`` and ``leak``: columns that hang together otherwise in the two sets.

Rank correlations r of a column with all others, in both sets: atanh(r) has the standard error 1/√(n-3). A column whose
rows were shuffled or shifted has lost all its correlations in one set and has them in the other. Labels have no part in
that, so wrong ones cannot cause it; a column that hangs together with no other cannot be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.causes.claim import Claim, Side, side_name
from psidebug.causes.columns import Floats, TwoSets, distance, unlike
from psidebug.causes.duplicates import row_keys
from psidebug.changes import Blank, Swap
from psidebug.task.data import Data
from psidebug.task.labels import Codes

Cells = npt.NDArray[np.intp]
BINS, ROWS_OF_A_BIN = 20, 30
UNLIKE = 0.3
"""How far apart columns must be to be taken for each other."""


@dataclass(frozen=True, eq=False)
class Together:
    """How columns hang together: z scores of all pairs of indicators, in both sets."""

    columns: Sequence[TwoSets]
    owner: Floats
    """Which column each indicator is of."""
    train: Floats
    test: Floats
    apart: Floats
    """z of the difference."""

    @classmethod
    def of(cls, data: Data, columns: Sequence[TwoSets]) -> Together:
        """All pairs, by rows that are not copies of others; indicators that hardly vary in a set say nothing."""
        once = [np.unique(keys, return_index=True)[1] for keys in row_keys(data)]
        blocks = [each.indicators() for each in columns]
        owner = np.concatenate([np.full(block[0].shape[1], place) for place, block in enumerate(blocks)])
        values = [np.hstack([block[at] for block in blocks])[once[at]] for at in (0, 1)]
        varies = np.logical_and.reduce([_unusual(each) >= policy.LEAST_TEST_ROWS for each in values])
        train, test = (_atanh(np.where(varies, each, 0.0)) for each in values)
        n, m = (max(len(each) - 3, 1) for each in once)
        return cls(columns, owner, train * np.sqrt(n), test * np.sqrt(m), (train - test) / np.sqrt(1 / n + 1 / m))

    def strongest(self, place: int) -> tuple[float, float, float]:
        """The largest |z| of a column with others in training, in the test set, and of the difference."""
        own = self.owner == place
        parts = (np.abs(each[np.ix_(own, ~own)]) for each in (self.train, self.test, self.apart))
        train, test, apart = (float(each.max(initial=0.0)) for each in parts)
        return train, test, apart


def _unusual(values: Floats) -> Floats:
    """Rows of each indicator (c,) that have another value than most."""
    ordered = np.sort(values, axis=0)
    return np.asarray(np.minimum((values != ordered[len(ordered) // 2]).sum(axis=0), len(values)))


def _atanh(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    centred = np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0)
    return np.asarray(np.arctanh(np.clip(centred.T @ centred, -0.9999, 0.9999)))


def claims(data: Data, columns: Sequence[TwoSets]) -> list[Claim]:
    """Columns that have lost their rows in one of the sets, and columns that know the training labels only."""
    if len(columns) < 2:
        return []
    together = Together.of(data, columns)
    swapped = _swapped(columns)
    told = {each.column for each in swapped}
    found = list(swapped)
    for place, column in enumerate(columns):
        if column.name in told:
            continue
        unlike_others = together.strongest(place)[2] > policy.CLEAR_Z  # wrong labels alone do not change that
        if unlike_others and (leak := leak_of(data, columns, place)) is not None:
            found.append(leak)
        elif (side := _dead_side(together, place)) is not None:
            found.append(_claim(column, side, together.strongest(place)))
    return found


def _dead_side(together: Together, place: int) -> Side | None:
    train, test, apart = together.strongest(place)
    if apart < policy.CLEAR_Z or max(train, test) < policy.CLEAR_Z or min(train, test) > policy.NO_MORE_THAN_CHANCE_Z:
        return None
    return "training" if train < test else "test"


def _claim(column: TwoSets, side: Side, z: tuple[float, float, float]) -> Claim:
    name, set_ = column.name, side_name(side)
    return Claim(
        "dead_column",
        f"column {name}, {set_}",
        f"{name} in {set_} no longer belongs to its rows: it has nothing to do with the other columns there",
        f"Look how {name} was joined to the rows of {set_}: it was shuffled or shifted. If it cannot be mended, leave "
        f"it out.",
        (Blank(name),),
        column=name,
        side=side,
        strength=z[2],
    )


def _swapped(columns: Sequence[TwoSets]) -> list[Claim]:
    """Pairs of numbers that have changed places between the sets."""
    odd = [each for each in columns if each.numeric and each.differ < policy.CLEARLY_DIFFERENT]
    found: list[Claim] = []
    for at, one in enumerate(odd):
        for other in odd[at + 1 :]:
            crossed = (
                unlike(one.present("training"), other.present("test")),
                unlike(other.present("training"), one.present("test")),
            )
            apart = distance(one.present("training"), other.present("training"))
            if min(crossed) < policy.STILL_DIFFERENT or apart < UNLIKE:
                continue
            names = f"{one.name} and {other.name}"
            found += [
                Claim(
                    "swapped_columns",
                    f"columns {names}, the test set",
                    f"{names} have changed places between training and the test set",
                    f"Give {names} their names back in the set where they are swapped.",
                    (Swap(one.name, other.name),),
                    column=each.name,
                    strength=1.0,
                )
                for each in (one, other)
            ]
    return found


def leak_of(data: Data, columns: Sequence[TwoSets], place: int) -> Claim | None:
    """The column, if alone it says far more of the training labels than any other, and little of the test labels."""
    train, test = told_alone(columns[place], data)
    entropy = entropy_of(data.train.codes, data.encoding.size)
    if train < policy.LEAK_LEAST * entropy or test > policy.LEAK_TELLS * train:
        return None
    others = [told_alone(each, data)[0] for at, each in enumerate(columns) if at != place]
    if train < min(policy.LEAK_TELLS_ALL * entropy, max(others, default=0.0) / policy.LEAK_TELLS):
        return None
    name = columns[place].name
    return Claim(
        "leak",
        f"column {name}",
        f"{name} alone tells {min(train / entropy, 1.0):.0%} of what there is to know about the training labels, and "
        f"{max(test / entropy, 0.0):.0%} about the test labels: it was made from the labels, or after them",
        f"Leave {name} out, and train again.",
        (Blank(name),),
        column=name,
        strength=train - test,
    )


def told_alone(column: TwoSets, data: Data) -> tuple[float, float]:
    """Nats per row that a table of this column alone says about labels that it was not made from: training, test."""
    if column.numeric:
        present = column.present("training")
        if not len(present):
            return 0.0, 0.0
        bins = min(BINS, max(2, len(present) // ROWS_OF_A_BIN))
        edges = np.unique(np.quantile(present, np.linspace(0, 1, bins + 1)[1:-1]))
        cells = [
            np.where(np.isfinite(each), np.searchsorted(edges, each), len(edges) + 1)
            for each in (column.train, column.test)
        ]
        width = len(edges) + 2
    else:
        assert column.values is not None
        cells, width = [column.train + 1, column.test + 1], len(column.values) + 1
    size, half = data.encoding.size, np.arange(len(data.train)) % 2 == 0
    codes = data.train.codes
    gained = [
        _gain(cells[0][~part], codes[~part], cells[0][part], codes[part], width, size).sum() for part in (half, ~half)
    ]
    test = _gain(cells[0], codes, cells[1], data.test.codes, width, size)
    return float(sum(gained)) / len(codes), float(test.mean())


def _gain(learn: Cells, learn_codes: Codes, cells: Cells, codes: Codes, width: int, size: int) -> Floats:
    shares = (np.bincount(learn_codes, minlength=size) + 1.0) / (len(learn_codes) + size)
    table = np.zeros((width, size))
    np.add.at(table, (learn, learn_codes), 1.0)
    table = (table + shares) / (table.sum(axis=1, keepdims=True) + 1.0)
    return np.asarray(np.log(table[cells, codes]) - np.log(shares[codes]))


def entropy_of(codes: Codes, size: int) -> float:
    """What there is to know about labels, in nats per row."""
    shares = np.bincount(codes, minlength=size) / len(codes)
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())
