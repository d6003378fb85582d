"""``label_spelling``: classes whose names differ in blanks, capitals or form only are one class."""

from __future__ import annotations

import numpy as np

from psidebug.causes.claim import Claim
from psidebug.changes import Relabel
from psidebug.checks.classes import spelled_alike
from psidebug.task.data import Data


def claims(data: Data) -> list[Claim]:
    """Each group of names that are one, with the most frequent in the test set, or else in training, to keep."""
    groups = spelled_alike(data.encoding)
    if not groups:
        return []
    tested, trained = (np.bincount(each.codes, minlength=data.encoding.size) for each in (data.test, data.train))
    codes, told = data.train.codes.copy(), []
    for group in groups:
        kept = max(group, key=lambda code: (tested[code], trained[code]))
        codes[np.isin(codes, group)] = kept
        names = [data.encoding.classes[code] for code in (kept, *(each for each in group if each != kept))]
        told.append(" and ".join(repr(name) for name in names))
    change = Relabel.of(data, codes)
    return [
        Claim(
            "label_spelling",
            f"{len(change.rows)} training labels",
            f"{'; '.join(told)} are one class, spelled differently",
            f"Spell each class in one way: {len(change.rows)} training labels change.",
            (change,),
            strength=1.0,
            rows=change.rows,
        )
    ]
