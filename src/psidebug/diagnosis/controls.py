"""What a correction is compared with: as many labels moved otherwise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.margins import best_rival, log_losses
from psidebug.task.labels import Codes


def moved_at_random(given: Codes, codes: Codes, rng: np.random.Generator) -> Codes:
    """The corrected labels, permuted at random among the rows of each given class.

    So as many rows move from class a to class b as in the correction, for every a and b, and the classes keep the sizes
    that it gives them. What a correction gains by shifting the balance of the classes alone, this control gains too;
    what is left between them is the choice of the rows.
    """
    control = codes.copy()
    for each in np.unique(given):
        members = np.flatnonzero(given == each)
        control[members] = rng.permutation(codes[members])
    return control


def highest_losses_moved(given: Codes, margins: npt.NDArray[np.float64], count: int) -> Codes:
    """The ``count`` labels of highest loss log(1 + Σ_r exp(-m_ir)) moved to the class that the model believes.

    ``margins`` (N, K-1) are those of the model on its own training rows. Of a row whose given class the model believes,
    the label moves to the next best.
    """
    control = given.copy()
    chosen = np.argsort(-log_losses(margins), kind="stable")[:count]
    control[chosen] = best_rival(margins[chosen], given[chosen])
    return control
