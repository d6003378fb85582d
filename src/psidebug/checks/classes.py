"""The classes: names that differ only in spelling, and shares that differ between training and test set."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from scipy.stats import chi2_contingency

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.task.data import Data
from psidebug.task.labels import Encoding, quoted, spelling


def spellings(data: Data) -> Check | None:
    """Classes that are probably one, spelled in two ways."""
    counts = np.bincount(data.train.codes, minlength=data.encoding.size)
    found = spelled_alike(data.encoding)
    if not found:
        return None
    told = " and ".join(f"{quoted(data.encoding.classes[code])} ({counts[code]:,} rows)" for code in found[0])
    more = f", and so do {len(found) - 1} more" if len(found) > 1 else ""
    return Check(
        "spelling of classes",
        f"The classes {told} differ only in spelling{more}. If they are one class, spell their labels the same.",
    )


def spelled_alike(encoding: Encoding) -> list[list[int]]:
    """Codes of classes that differ only in spelling, group by group."""
    alike: dict[Hashable, list[int]] = {}
    for code, label in enumerate(encoding.classes):
        alike.setdefault(_likeness(label), []).append(code)
    return [codes for codes in alike.values() if len(codes) > 1]


def _likeness(label: Hashable) -> Hashable:
    """The spelling of a class. In short names, such as letters a and A or genotypes Aa and AA, capitals count.

    1 and 01 are one number.
    """
    alike = spelling(label)
    if isinstance(alike, str) and alike.isdecimal():
        return str(int(alike))
    if isinstance(label, str) and isinstance(alike, str) and len(alike) < policy.LEAST_LETTERS:
        return " ".join(label.split())
    return alike


def shares(data: Data) -> Check | None:
    """Classes that have another share in the test set than in training, by more than chance."""
    trained, tested = (np.bincount(each.codes, minlength=data.encoding.size) for each in (data.train, data.test))
    both = np.flatnonzero((trained > 0) & (tested > 0))
    if len(both) < 2:
        return None
    counts = np.array([trained[both], tested[both]])
    apart = counts / counts.sum(axis=1, keepdims=True)
    differ = np.abs(apart[0] - apart[1])
    too_small = differ.sum() / 2 < policy.CLASS_SHARES_LEAST
    if too_small or chi2_contingency(counts).pvalue >= policy.CLASS_SHARES_DIFFER:
        return None
    place = int(differ.argmax())
    return Check(
        "class shares",
        f"{apart[0, place]:.0%} of the training labels but {apart[1, place]:.0%} of the test labels are "
        f"{quoted(data.encoding.classes[both[place]])}: many labels are wrong, or the sets were drawn differently. "
        f"Check how they were drawn.",
    )
