"""One meaning of "proved"."""

from __future__ import annotations

import pytest

from psidebug.findings.effects import ErrorRate, Verification
from psidebug.policy import proved


@pytest.mark.parametrize(
    ("gain", "fixed", "broken", "accused", "answer"),
    [
        (1.5, 5, 0, True, True),
        (1.5, 5, 0, False, False),
        (2.5, 5, 0, False, True),
        (0.5, 5, 0, True, False),
        (-9.0, 0, 0, True, False),
        (9.0, 0, 4, True, True),  # 4 broken is within 2 √4
        (9.0, 0, 5, True, False),
        (9.0, 4, 13, True, False),
        (9.0, 4, 12, True, True),
    ],
)
def test_proof_takes_a_gain_beyond_chance_and_no_more_broken_points_than_chance_breaks(
    gain: float, fixed: int, broken: int, accused: bool, answer: bool
) -> None:
    assert proved(gain, 1.0, fixed=fixed, broken=broken, accused=accused) is answer
    assert not proved(float("-inf"), float("inf"), fixed=fixed, broken=broken, accused=accused)


@pytest.mark.parametrize(("rows", "answer"), [(29, False), (30, True)])
def test_few_test_rows_prove_nothing_whoever_asks(rows: int, answer: bool) -> None:
    before, after = ErrorRate(20, rows), ErrorRate(0, rows)
    effect = Verification(9, before, after, None, None, 20, 0, gain=50.0, gain_error=5.0)
    assert effect.proved(accused=True) is answer
