"""The histogram of the accelerator run against the engine that inverts for every label."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.nets.accelerator import DEVIATIONS, Histogram
from psidebug.inference.closed_form import closed_form
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import noise


def test_ps_by_histogram_is_ps_by_inversion() -> None:
    rng = np.random.default_rng(0)
    effects, rate = rng.standard_t(5, size=4_000) / 4_000, 0.05
    histogram = Histogram(effects.min(), effects.max(), torch.tensor([rate]))
    values = torch.from_numpy(effects)
    histogram.add(values, 0)
    looked_up = histogram.looked_up(histogram.tables()[0], values).numpy()
    prior = noise(np.zeros(len(effects), dtype=np.intp), 2, np.asarray(rate))
    threshold = rate * effects.sum() + DEVIATIONS * np.sqrt(rate * (1 - rate) * np.square(effects).sum())
    exact = closed_form(LinearSymptom(prior, np.column_stack([np.zeros(len(effects)), effects]), float(threshold))).ps
    np.testing.assert_allclose(looked_up, exact, atol=2e-3)
    assert exact.max() > 0.05
