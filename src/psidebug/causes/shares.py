"""``class_shares``: a class has another share in training than in the test set, and so have rows that look like it.

Wrong labels change the shares of the labels, and leave the rows as they are. Where the classes themselves have other
shares, the rows have, too. With μ_k, the mean prediction of training rows with label k, each by a model that did not
see it, the shares π_x solve Σ_k π_x(k) μ_k = mean prediction of the test rows (Lipton et al. 2018). λ says how far from
the shares of the training labels (0) to those of the test labels (1) they lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.stats import chi2_contingency

from psidebug import policy
from psidebug.causes.claim import Claim
from psidebug.causes.columns import Floats
from psidebug.changes import Weigh
from psidebug.evidence.held_out import LabelPredictions
from psidebug.task.data import Data
from psidebug.task.labels import Codes, quoted


def claims(data: Data, predictions: Sequence[LabelPredictions]) -> list[Claim]:
    """By what predictors say of rows that they were not trained on: λ is that of most of them."""
    size = data.encoding.size
    counts = np.array([np.bincount(each.codes, minlength=size) for each in (data.train, data.test)])
    both = (counts > 0).all(axis=0)
    if not _differ(counts):
        return []
    trained, tested = counts / counts.sum(axis=1, keepdims=True)
    moved, errors = np.median([_moved(data, each, trained, tested) for each in predictions], axis=0)
    if moved < max(policy.ROWS_MOVED, policy.LEAST_Z * errors):
        return []
    ratio = np.divide(tested, trained, out=np.ones(size), where=trained > 0)
    weights = ratio[data.train.codes] * (1.0 if data.sample_weight is None else data.sample_weight)
    most = int(np.argmax(np.where(both, np.abs(np.log(np.maximum(ratio, 1e-9))), 0.0)))
    name = quoted(data.encoding.classes[most])
    return [
        Claim(
            "class_shares",
            f"class {name}",
            f"{trained[most]:.0%} of the training labels are {name}, and {tested[most]:.0%} of the test labels, and "
            f"the rows have changed with them",
            "Weigh the training rows of each class by its share among new rows, or collect more of the rare one.",
            (Weigh(np.asarray(weights)),),
            strength=float(np.abs(tested - trained).sum()),
        )
    ]


def left_by(data: Data, codes: Codes) -> bool:
    """Whether the classes still have other shares than in the test set with these training labels in place."""
    size = data.encoding.size
    return _differ(np.array([np.bincount(each, minlength=size) for each in (codes, data.test.codes)]))


def _differ(counts: npt.NDArray[np.intp]) -> bool:
    """By a χ² test of the classes (2, K) that both sets have."""
    both = (counts > 0).all(axis=0)
    return bool(both.sum() >= 2 and chi2_contingency(counts[:, both]).pvalue <= policy.SHARES_DIFFER)


def _moved(data: Data, own: LabelPredictions, trained: Floats, tested: Floats) -> tuple[float, float]:
    """λ, and its standard error: by w·p(x), to which λ is linear but for π_x ≥ 0, in the rows of both sets."""
    codes, size = data.train.codes, data.encoding.size
    shown = np.flatnonzero(trained > 0)
    said = np.exp(own.train), np.exp(own.test)
    means = np.stack([said[0][codes == code].mean(axis=0) for code in shown], axis=1)
    heavy = 100.0  # the shares sum to one
    rows = np.vstack([means, np.full(len(shown), heavy)])
    by_rows = np.zeros(size)
    by_rows[shown] = nnls(rows, np.append(said[1].mean(axis=0), heavy))[0]
    way = tested - trained
    length = max(float(way @ way), 1e-12)
    weights = way[shown] @ np.linalg.pinv(rows)[:, :size] / length
    error = np.sqrt(sum(float((each @ weights).var()) / len(each) for each in said))
    return float((by_rows - trained) @ way / length), float(error)
