"""What every engine answers: the probability of sufficiency of each label, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimates:
    """PS of each label with its error bar, and the posterior that the label differs.

    ``ps[i]`` is P(φ(w[Y_i ← y_i]) | ¬φ(w), Y_i ≠ y_i); ``low`` and ``high`` bound it; ``p_wrong[i]`` is
    P(Y_i ≠ y_i | ¬φ(w)); ``proposed[i]`` is the other class that label i most likely has, given ¬φ.
    The product ``ps * p_wrong`` is what the paper's figure "parallel-psi" computes as printed.
    """

    ps: Floats
    low: Floats
    high: Floats
    p_wrong: Floats
    proposed: npt.NDArray[np.intp]
    log_p_without: float
    """log P(¬φ) under the prior: how rare the worlds without the symptom are."""
    engine: str
    reason: str
