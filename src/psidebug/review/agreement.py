"""How far reviewers agree about the rows that several of them have judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

Judged = Mapping[int, Mapping[str, Any]]
"""Position → reviewer → the label that each settled."""


@dataclass(frozen=True)
class Agreement:
    """Two reviewers, and the rows that both have judged."""

    first: str
    second: str
    rows: int
    same: int
    """On how many they settled the same label."""
    kappa: float | None
    """Cohen's κ = (p - e) / (1 - e), where p is the share of equal labels and e the share that two people would have in
    common who give each label as often, but by chance; None where both gave one and the same label only."""

    @property
    def share(self) -> float:
        """The share of rows with the same label."""
        return self.same / self.rows


def reviewers(judged: Judged) -> dict[str, int]:
    """Reviewer → number of rows that they have judged, the busiest first."""
    return dict(Counter(name for labels in judged.values() for name in labels).most_common())


def agreements(judged: Judged) -> list[Agreement]:
    """Every pair of reviewers with rows in common, those with most rows first."""
    pairs: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for labels in judged.values():
        for one, other in combinations(sorted(labels), 2):
            pairs.setdefault((one, other), []).append((labels[one], labels[other]))
    found = [
        Agreement(*names, rows=len(both), same=sum(one == other for one, other in both), kappa=kappa(both))
        for names, both in pairs.items()
    ]
    return sorted(found, key=lambda each: -each.rows)


def kappa(both: Sequence[tuple[Any, Any]]) -> float | None:
    """Cohen's κ of pairs of labels."""
    count = len(both)
    one, other = (Counter(each) for each in zip(*both, strict=True))
    chance = sum(one[label] * other[label] for label in one) / count**2
    share = sum(first == second for first, second in both) / count
    return None if chance == 1.0 else (share - chance) / (1.0 - chance)
