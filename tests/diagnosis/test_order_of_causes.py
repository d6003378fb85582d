"""The order of the causes: by PS × p_wrong, then PS, the posterior, and the position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psidebug.diagnosis.explanation import ranked
from psidebug.inference.estimates import no_causes
from psidebug.priors import Floats, noise


@pytest.mark.parametrize("values", [3, 40, 10**9], ids=["many ties", "some", "none"])
@pytest.mark.parametrize("known", [False, True])
def test_it_is_that_of_all_keys_at_once(values: int, known: bool) -> None:
    rng = np.random.default_rng(1)

    def drawn() -> Floats:
        return rng.integers(0, values, 500) / values

    nothing = no_causes(noise(np.zeros(500, dtype=np.intp), 2, 0.1), reason="")
    estimates = replace(nothing, ps=drawn(), p_wrong=drawn(), high=rng.choice([0.0, 1.0], 500))
    p_wrong = drawn() if known else None
    ps, rows = estimates.ps, np.flatnonzero(estimates.high > 0)
    first = ps if p_wrong is None else ps * p_wrong
    keys = sorted((-first[row], -ps[row], -estimates.p_wrong[row], row) for row in rows.tolist())
    assert ranked(estimates, p_wrong).tolist() == [int(key[-1]) for key in keys]
