"""``dead_column``, ``swapped_columns`` and ``leak``: columns that hang together otherwise in the two sets.

Rank correlations r of a column with all others, in both sets: atanh(r) has the standard error 1/√(n-3). A column whose
rows were shuffled or shifted has lost all its correlations in one set and has them in the other. Labels have no part in
that, so wrong ones cannot cause it. Only a column that hangs together with no other is judged by the labels, and that
whichever part of its values is left out: wrong labels of a slice are in one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """How columns and labels hang together: z scores of all pairs of indicators, in both sets."""

    columns: Sequence[TwoSets]
    owner: Floats
    """Which column each indicator is of; -1 for those of the labels."""
    train: Floats
    test: Floats
    apart: Floats
    """z of the difference."""
    values: tuple[Floats, Floats]
    """The indicators themselves, in both sets."""

    @classmethod
    def of(cls, data: Data, columns: Sequence[TwoSets]) -> Together:
        """All pairs, by rows that are not copies of others; indicators that hardly vary in a set say nothing."""
        size = data.encoding.size
        once = [np.unique(keys, return_index=True)[1] for keys in row_keys(data)]
        blocks = [each.indicators() for each in columns]
        labels = [np.eye(size)[each.codes][:, : 1 if size == 2 else size] for each in (data.train, data.test)]
        owner = np.concatenate([np.full(block[0].shape[1], place) for place, block in enumerate(blocks)])
        owner = np.append(owner, np.full(labels[0].shape[1], -1))
        values = [np.hstack([*(block[at] for block in blocks), labels[at]])[once[at]] for at in (0, 1)]
        varies = np.logical_and.reduce([_unusual(each) >= policy.LEAST_TEST_ROWS for each in values])
        train, test = (np.where(varies, each, 0.0) for each in values)
        return cls(columns, owner, *_scores(train, test), (train, test))

    def strongest(self, place: int, *, labels: bool) -> tuple[float, float, float]:
        """The largest |z| of a column in training, in the test set, and of the difference."""
        own = self.owner == place
        with_ = self.owner == -1 if labels else (self.owner != place) & (self.owner >= 0)
        return _largest((self.train, self.test, self.apart), own, with_)

    def strongest_without_parts(self, place: int) -> Iterator[tuple[float, float, float]]:
        """The same with the labels, each time without the rows of one value, or of half of the numbers."""
        own, labels = self.owner == place, self.owner == -1
        used = own | labels
        for left_out in self._parts(place):
            rows = [each[~out][:, used] for each, out in zip(self.values, left_out, strict=True)]
            if min(map(len, rows)) > 3:
                yield _largest(_scores(*rows), own[used], labels[used])
            else:
                yield 0.0, 0.0, 0.0

    def _parts(self, place: int) -> Iterator[list[npt.NDArray[np.bool_]]]:
        for indicator in np.flatnonzero(self.owner == place):
            values = [each[:, indicator] for each in self.values]
            if self.columns[place].numeric:
                for low in (0.0, 0.25, 0.5):
                    yield [(each >= low) & (each <= low + 0.5) for each in values]
            else:
                yield [each > 0 for each in values]


def _scores(train: Floats, test: Floats) -> tuple[Floats, Floats, Floats]:
    """z of all pairs of columns in either set, and of the difference."""
    one, other = _atanh(train), _atanh(test)
    n, m = (max(len(each) - 3, 1) for each in (train, test))
    return one * np.sqrt(n), other * np.sqrt(m), (one - other) / np.sqrt(1 / n + 1 / m)


def _largest(
    scores: tuple[Floats, Floats, Floats], own: npt.NDArray[np.bool_], with_: npt.NDArray[np.bool_]
) -> tuple[float, float, float]:
    train, test, apart = (float(np.abs(each[np.ix_(own, with_)]).max(initial=0.0)) for each in scores)
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
        if (leak := _leak(data, columns, place)) is not None:
            found.append(leak)
        elif (side := _dead_side(together, place)) is not None:
            found.append(_claim(column, side, together.strongest(place, labels=False)))
    return found


def _dead_side(together: Together, place: int) -> Side | None:
    for labels in (False, True):
        train, test, apart = together.strongest(place, labels=labels)
        if not labels and min(train, test) > policy.NO_MORE_THAN_CHANCE_Z:
            return None  # it belongs to its rows in both sets
        if apart < policy.CLEAR_Z or max(train, test) < policy.CLEAR_Z:
            continue
        weaker: Side = "training" if train < test else "test"
        if min(train, test) > policy.NO_MORE_THAN_CHANCE_Z:
            return None
        if labels and not (_others_speak(together, place, weaker) and _in_all_parts(together, place, weaker)):
            return None
        return weaker
    return None


def _in_all_parts(together: Together, place: int, side: Side) -> bool:
    """Whether it has lost the labels of this set without any one part of its values, too."""
    for train, test, apart in together.strongest_without_parts(place):
        lost, kept = (train, test) if side == "training" else (test, train)
        if not lost < policy.NO_MORE_THAN_CHANCE_Z < min(kept, apart):
            return False
    return True


def _others_speak(together: Together, place: int, side: Side) -> bool:
    """Whether another column says something about the labels of this set: else it is the labels that are dead."""
    of = 0 if side == "training" else 1
    others = [together.strongest(each, labels=True)[of] for each in range(len(together.columns)) if each != place]
    return max(others, default=0.0) > policy.CLEAR_Z


def _claim(column: TwoSets, side: Side, z: tuple[float, float, float]) -> Claim:
    name, set_ = column.name, side_name(side)
    return Claim(
        "dead_column",
        f"column {name}, {set_}",
        f"{name} in {set_} no longer belongs to its rows: it has nothing to do with the other columns there",
        f"Look how {name} was joined to the rows of {set_}: it was shuffled or shifted. Without it, leave it out.",
        (Blank(name),),
        column=name,
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


def _leak(data: Data, columns: Sequence[TwoSets], place: int) -> Claim | None:
    """The column, if alone it says far more of the training labels than any other, and little of the test labels."""
    train, test = told_alone(columns[place], data)
    entropy = entropy_of(data.train.codes, data.encoding.size)
    if train < policy.LEAK_TELLS * entropy or test > policy.LEAK_TELLS * train:
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
