"""Every engine of the registry through the same small tasks: its answer is what the paper's program means.

The truth is the meaning of figure "psi" in all worlds. An exact engine must meet it within the error that it states; a
sampled one must cover it as often as its intervals say, with a budget for chance that is fixed beforehand. Seeds are
fixed, and nothing is retried.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_type_hints

import numpy as np
import pytest

import psidebug.inference
from psidebug.errors import InvalidSymptom
from psidebug.inference.estimates import Estimates
from psidebug.sufficiency import ENGINES, REGISTRY, sufficiency
from tests.chance import allowed
from tests.conformance.engine_tasks import KNOWN, Case, Question, cases


@dataclass(frozen=True)
class Claim:
    """What an engine claims: which question it answers (None: it refuses), and whether exactly or by sampling."""

    answers: Callable[[Case], Question | None]
    exact: bool


CLAIMS = {
    "closed_form": Claim(lambda case: case.tangent, exact=True),
    "enumeration": Claim(lambda case: case.asked, exact=True),
    "sampling": Claim(lambda case: case.asked, exact=False),
    "tilting": Claim(lambda case: case.asked if case.box.name == "linear" else None, exact=False),
}
"""A new engine has a line here, or the suite fails."""

ROUNDING = 1e-9
NOMINAL = 0.95
"""How often a sampled interval covers the truth, by what it says of itself."""
INTERVALS = 120
"""Intervals checked of each sampled engine: one label a run, so that they are independent."""


def by_case(wanted: Callable[[str, Case], bool]) -> pytest.MarkDecorator:
    """Every registered engine with every case that is wanted of it."""
    chosen = [(engine, case) for engine in REGISTRY if engine in CLAIMS for case in cases() if wanted(engine, case)]
    return pytest.mark.parametrize(
        ("engine", "case"), chosen, ids=[f"{engine}: {case.name}" for engine, case in chosen]
    )


def ask(engine: str, case: Case, seed: int = 0) -> Estimates:
    return sufficiency(case.box, case.prior, case.symptom, engine=engine, rng=np.random.default_rng(seed))


def test_every_engine_is_registered_and_has_a_claim() -> None:
    """An engine is a module of ``psidebug.inference`` with a function of its own name that gives estimates."""
    found = set()
    for module in pkgutil.iter_modules(psidebug.inference.__path__):
        function = getattr(importlib.import_module(f"psidebug.inference.{module.name}"), module.name, None)
        if function is not None and get_type_hints(function).get("return") is Estimates:
            found.add(module.name)
    assert found == set(REGISTRY) == set(CLAIMS) == set(ENGINES) - {"auto"}


@by_case(lambda engine, case: CLAIMS[engine].answers(case) is None)
def test_what_an_engine_cannot_answer_it_refuses(engine: str, case: Case) -> None:
    with pytest.raises(InvalidSymptom, match="linear"):
        ask(engine, case)


@by_case(lambda engine, case: CLAIMS[engine].exact and CLAIMS[engine].answers(case) is not None)
def test_an_exact_engine_answers_the_program_within_its_stated_error(engine: str, case: Case) -> None:
    question = CLAIMS[engine].answers(case)
    assert question is not None
    found = ask(engine, case)
    assert np.all(found.low - ROUNDING <= question.ps)
    assert np.all(question.ps <= found.high + ROUNDING)
    assert np.all(found.high - found.low < 1e-3)
    assert np.all(found.standard_error == 0)
    np.testing.assert_allclose(found.p_wrong, question.p_wrong, atol=ROUNDING)
    assert found.log_p_without == pytest.approx(np.log(question.p_without))


@pytest.mark.chance(1e-3)
@pytest.mark.parametrize("engine", [engine for engine in REGISTRY if engine in CLAIMS and not CLAIMS[engine].exact])
def test_a_sampled_engine_covers_the_program_as_often_as_it_says(engine: str, budget: float) -> None:
    answered = [case for case in cases() if CLAIMS[engine].answers(case) is not None]
    missed, widths = [], []
    for run in range(INTERVALS):
        case = answered[run % len(answered)]
        movable = np.delete(np.arange(case.prior.size), KNOWN)
        i = int(movable[run // len(answered) % len(movable)])
        found = ask(engine, case, seed=run)
        widths.append(float(found.high[i] - found.low[i]))
        if not found.low[i] - ROUNDING <= case.asked.ps[i] <= found.high[i] + ROUNDING:
            missed.append((case.name, i, run))
    assert len(missed) <= allowed(INTERVALS, 1.0 - NOMINAL, budget), missed
    assert np.mean(widths) < 0.2  # an interval that says nothing covers everything


@by_case(lambda engine, case: CLAIMS[engine].answers(case) is not None)
def test_an_answer_is_whole(engine: str, case: Case) -> None:
    """Bounds around PS, probabilities, another class proposed for each label; a known label is no cause."""
    found = ask(engine, case)
    assert found.engine == engine
    assert found.reason
    for values in (found.ps, found.low, found.high, found.p_wrong):
        assert values.shape == (case.prior.size,)
        assert np.all((values >= 0) & (values <= 1))
    assert np.all((found.low <= found.ps) & (found.ps <= found.high))
    assert np.all(found.proposed != case.prior.given)
    assert found.ps[KNOWN] == found.p_wrong[KNOWN] == 0.0


@pytest.mark.parametrize("engine", REGISTRY)
def test_the_same_seed_gives_the_same_answer(engine: str) -> None:
    case = next(case for case in cases() if CLAIMS[engine].answers(case) is not None)
    first, second = ask(engine, case, seed=5), ask(engine, case, seed=5)
    for field in ("ps", "low", "high", "p_wrong", "proposed"):
        assert np.array_equal(getattr(first, field), getattr(second, field))
