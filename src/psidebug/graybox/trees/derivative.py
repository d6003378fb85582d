"""Gray box "leaf_derivative": the leaf refit's own derivative, propagated through later trees.

A small change (Δa, ΔW) of the weighted labels moves the scores x at which a tree is fitted, and with them its step d:

    ΔG_l = Σ_{i∈l} b (Δa p - ΔW + a Δp),   ΔH_l = κ Σ_{i∈l} b (Δa q + a q' Δp),   Δp = (∂p/∂f) Δx,
    Δd_l = -(ΔG_l + d_l ΔH_l) / (H_l + λ_l),   Δf_i += ρ Δd_l.

``margins`` carries Δ forwards for whole worlds. ``effects`` runs the transpose backwards, once, for all rows: from
pulls u on the test scores and φ_i on the training scores after a tree,

    d̄_l = ρ (Σ_{t∈l} u_t + Σ_{i∈l} φ_i),   Ḡ_l = -d̄_l / (H_l + λ_l),   H̄_l = d_l Ḡ_l,
    W̄_i -= b Ḡ_l,   ā_i += b (p Ḡ_l + κ q H̄_l),   φ_i += (∂p/∂f) a b (Ḡ_l + κ q' H̄_l),

at a cost of O(trees · (N + |Δ|)). The scores before each tree are those after it less its values: nothing is stored.

Where the derivative is taken matters. At the given labels a booster is sure of most rows, q = p(1-p) is nearly 0, and
the derivative does not see that later trees will answer to a flip: it overstates a whole flip about twenty times. So
it is taken where labels are a little uncertain, in the mean world of a noise rate: each given label has weight 1 -
``softness``, the others share the rest. With 5% the slope against retraining is about 1
(benchmarks/quality/tree_fidelity.py); ``softness=0`` is the derivative at the given labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats, Worlds, solved_once
from psidebug.graybox.trees.ensemble import SOFTNESS, Ensemble
from psidebug.graybox.trees.refit import in_memory
from psidebug.graybox.trees.reverse import Reverse
from psidebug.graybox.trees.tangent import tangent
from psidebug.graybox.trees.trace import trace_at
from psidebug.graybox.trees.weighting import one_hot
from psidebug.task.task import Task


class LeafDerivative:
    """Linear in the labels, with the leaf refit's scale for small changes."""

    name = "leaf_derivative"

    def __init__(self, task: Task, ensemble: Ensemble | None = None, *, softness: float = SOFTNESS) -> None:
        self.ensemble = Ensemble.of(task) if ensemble is None else ensemble
        self.notes = self.ensemble.profile.notes
        self.actual = self.ensemble.actual
        profile = self.ensemble.profile
        given = one_hot(profile.given[None, :], profile.classes)
        self._at = (1.0 - softness) * given + softness * (1.0 - given) / (profile.classes - 1)
        self._traced = trace_at(profile, self._at) if softness else self.ensemble.traced

    @solved_once
    def effects(self, weights: Floats) -> Floats:
        """One pass backwards over the trees, for all rows and labels."""
        profile = self.ensemble.profile
        on_weights, on_start = Reverse(self._traced, self.ensemble.gathered(weights)).run()
        totals = profile.weighting.start_totals(self._at)[:, 0]
        pull = profile.start.slopes(totals).T @ on_start
        on_labels = profile.weighting.pulled(self._at[:, :, 0], on_weights, pull)
        return np.asarray((on_labels - np.take_along_axis(on_labels, profile.given[None, :], axis=0)).T)

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Actual margins plus the tangent of each world."""
        watched = slice(None) if points is None else points
        profile = self.ensemble.profile
        given = one_hot(profile.given[None, :], profile.classes)
        parts = [
            self.ensemble.moved(
                tangent(self._traced, self._at, one_hot(some, profile.classes) - given, watched), watched
            )
            for some in in_memory(worlds, profile.classes)
        ]
        return np.concatenate(parts) if parts else self.actual[watched][None][:0]
