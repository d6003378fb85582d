"""Every option of a diagnosis that is not data. Stored with a run, it makes the same diagnosis again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from psidebug.display import Display
from psidebug.errors import UnknownOption
from psidebug.graybox.protocol import GrayBox
from psidebug.priors import Prior
from psidebug.sufficiency import Engine
from psidebug.symptoms import Symptom

Effort = Literal["rank", "decide", "prove"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
StatedPrior = float | npt.NDArray[np.float64] | Mapping[str, Mapping[Any, float]] | Prior | None


@dataclass(frozen=True)
class NotKept:
    """Stands in a stored spec where an option was an object that no file can hold."""

    what: str


@dataclass(frozen=True, eq=False)
class Spec:
    """The options of :func:`psidebug.debug`, as it documents them, checked."""

    symptom: str | Symptom | NotKept = "log_loss"
    prior: StatedPrior = None
    graybox: str | GrayBox | NotKept = "auto"
    engine: str | Engine | NotKept = "auto"
    rounds: int = 1
    check_fidelity: bool = True
    causes: Literal["all", "labels"] = "all"
    display: Display = field(default_factory=Display)
    """``images`` and ``text``."""
    seed: int = 0
    """Of the task: what was drawn from ``rng``."""
    effort: Effort = "decide"

    def check_kept(self) -> None:
        """Raise :class:`UnknownOption` if an option was an object that was not kept."""
        for name in ("symptom", "graybox", "engine"):
            kept(getattr(self, name), name)


def kept(option: Any, name: str) -> Any:
    """The option of this name, if it was kept."""
    if isinstance(option, NotKept):
        raise UnknownOption(
            f"the run was made with {name}={option.what}, an object that no file can hold. Give it again, by "
            f"diagnosis.with_options({name}=…), or another one in its place."
        )
    return option
