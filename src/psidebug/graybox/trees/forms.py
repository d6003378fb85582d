"""The tree gray boxes by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.refit import LeafRefit
from psidebug.graybox.trees.refits import LeafRefits

FORMS: dict[str, Callable[..., Any]] = {
    box.name: box for box in (Leaf, LeafResidual, LeafRefit, LeafRefits, LeafDerivative)
}
