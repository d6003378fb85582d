"""What a diagnosis was made from, by what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Origin:
    """What a diagnosis was made from, by what, and when."""

    psidebug: str
    """Version of Psi."""
    seed: str
    """What to give again to repeat it."""
    versions: Mapping[str, str]
    """Of Python and of the libraries that the figures depend on."""
    fingerprint: Mapping[str, str]
    """Digests of training set, test set and row ids, and the learner as text."""
    created: str
    """When, UTC, in ISO form."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where the rows came from: the file, its columns, which of them is the label; empty if that was not said."""
    came_fitted: bool = False
    """Whether the learner came fitted, by ways that Psi does not know."""

    @property
    def files(self) -> dict[str, str]:
        """Names of the training, test and validation file, where the rows came from files."""
        return {name: str(self.source[name]) for name in ("train", "test", "validation") if self.source.get(name)}
