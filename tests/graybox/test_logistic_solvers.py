"""Three ways to H⁻¹ that agree, features of every kind, and Hessians that have no inverse."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from psidebug.errors import NoBestFit
from psidebug.graybox.logistic import LogisticBox
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.likelihood import Multinomial, Separate
from psidebug.graybox.logistic.newton import NewtonStep
from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.logistic.solvers import Dual, Primal, conjugate_gradients
from tests.graybox.logistic_tasks import Data, agreement, census_like, precise, text_like


def quadratic(*, rows: int, width: int, classes: int = 2, sparse: bool = False, **options: Any) -> Quadratic:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < options.pop("density", 0.3))
    separate = options.pop("separate", classes == 2)
    likelihood = (Separate if separate else Multinomial)(classes, np.ones(classes))
    intercept = options.pop("intercept", True)
    design = DesignMatrix(sp.csr_array(X) if sparse else X, intercept=intercept)
    shape = (likelihood.free, design.width)
    ridge = np.full(shape, options.pop("ridge", 0.5))
    if intercept:
        ridge[:, -1] = options.pop("intercept_ridge", 0.0)
    active = rng.random(shape) < options.pop("active", 1.0)
    p = likelihood.probabilities(rng.normal(size=(rows, likelihood.free)))
    return Quadratic(design, likelihood, p, rng.uniform(0.5, 2.0, size=(rows, 1)), ridge, active)


def right_hand_sides(problem: Quadratic) -> Any:
    rhs = np.random.default_rng(1).normal(size=(3, *problem.shape))
    if problem.likelihood.coupled:  # forces on all classes of a softmax always add up to 0
        rhs -= rhs.mean(axis=1, keepdims=True)
    return rhs


SHAPES: dict[str, dict[str, Any]] = {
    "more rows": {"rows": 90, "width": 20},
    "more columns": {"rows": 25, "width": 120},
    "sparse": {"rows": 25, "width": 120, "sparse": True},
    "no intercept": {"rows": 25, "width": 120, "intercept": False},
    "penalised intercept": {"rows": 25, "width": 120, "intercept_ridge": 0.3},
    "active set": {"rows": 25, "width": 120, "active": 0.5},
    "against the rest": {"rows": 25, "width": 120, "classes": 4, "separate": True},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_primal_dual_and_conjugate_gradients_agree(shape: str) -> None:
    problem = quadratic(**SHAPES[shape])
    rhs = right_hand_sides(problem)
    primal = Primal(problem).solve(rhs)
    iterated, good = conjugate_gradients(problem, rhs, most=500)
    assert Dual.possible(problem)
    assert good.all()
    np.testing.assert_allclose(Dual(problem).solve(rhs), primal, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(iterated, primal, rtol=1e-5, atol=1e-5)
    assert (primal[:, ~problem.active] == 0).all()
    np.testing.assert_allclose(problem.times(primal), np.where(problem.active, rhs, 0.0), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"width": 40}, {"classes": 3}, {"intercept": False}, {"sparse": True}])
def test_the_hessian_of_a_softmax_is_the_formula(options: dict[str, Any]) -> None:
    """H = Σ_i s_i x_i x_iᵀ ⊗ (diag p_i - p_i p_iᵀ) + diag λ, by the shapes that are summed in one way or another."""
    shape = {"rows": 700, "width": 12, "classes": 7} | options
    problem = quadratic(**shape)
    p, free = problem.probabilities, problem.shape[0]
    X = problem.design.scores(np.eye(problem.shape[1]))
    curved = p[:, :, None] * (np.eye(free) - p[:, None, :])
    expected = np.einsum("i,iab,ij,ik->abjk", problem.weights[:, 0], curved, X, X, optimize=True)
    for a in range(free):
        expected[a, a] += np.diag(problem.ridge[a])
    found = [[problem.block(a, b) for b in range(free)] for a in range(free)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_the_hessian_of_many_classes_and_few_columns_takes_little_memory() -> None:
    """40 classes have 820 pairs: products of probabilities for all rows would take 26 MB, several times."""
    problem = quadratic(rows=4000, width=3, classes=40)
    tracemalloc.start()
    block = problem.block(0, 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    p = problem.probabilities
    np.testing.assert_allclose(block, -problem.design.gram(problem.weights[:, 0] * p[:, 0] * p[:, 1]), rtol=1e-10)
    assert most < 16e6


@pytest.mark.parametrize("options", [{}, {"ridge": 0.0}, {"intercept": False}, {"active": 0.6}])
def test_softmax_is_solved_although_a_common_shift_is_free(options: dict[str, Any]) -> None:
    problem = quadratic(rows=90, width=8, classes=4, **options)
    rhs = right_hand_sides(problem)
    solver = Primal(problem)
    solved = solver.solve(rhs)
    iterated, good = conjugate_gradients(problem, rhs, most=1000)
    assert not Dual.possible(problem)
    if "active" not in options:  # an active set that differs between classes need not leave the forces balanced
        assert good.all()
        assert not solver.singular
        np.testing.assert_allclose(problem.times(solved), rhs, atol=1e-8)
        difference = solved - iterated
        np.testing.assert_allclose(difference, difference.mean(axis=1, keepdims=True) + 0 * difference, atol=1e-5)
    assert np.isfinite(solved).all()


def test_two_classes_by_softmax_are_two_classes_by_sigmoid() -> None:
    """θ_1 - θ_0 = θ: the same probabilities, with twice the penalty on each half."""
    single = quadratic(rows=60, width=10)
    p = np.column_stack([1.0 - single.probabilities, single.probabilities])
    double = Quadratic(
        single.design,
        Multinomial(2, np.ones(2)),
        p,
        single.weights,
        np.repeat(2.0 * single.ridge, 2, axis=0),
        np.ones((2, 11), dtype=bool),
    )
    rhs = right_hand_sides(single)
    both = Primal(double).solve(np.concatenate([-rhs, rhs], axis=1))
    np.testing.assert_allclose((both[:, 1] - both[:, 0])[:, None], Primal(single).solve(rhs), rtol=1e-9, atol=1e-11)


def test_the_cheapest_solver_is_chosen_and_asking_often_brings_a_factorisation() -> None:
    tall = NewtonStep(quadratic(rows=3000, width=10))
    tall(right_hand_sides(quadratic(rows=3000, width=10)))
    assert isinstance(tall.factor, Primal)
    wide_problem = quadratic(rows=1200, width=4000, sparse=True, density=0.01)
    wide = NewtonStep(wide_problem)
    one = right_hand_sides(wide_problem)[:1]
    first = wide(one)
    assert wide.factor is None
    for _ in range(200):
        last = wide(one)
        if wide.factor is not None:
            break
    assert isinstance(wide.factor, Dual)
    np.testing.assert_allclose(first, last, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["sparse", "csc", "frame", "float32", "integers", "fortran"])
def test_features_of_every_kind_give_the_same_answer(kind: str, classes: int) -> None:
    data = census_like(classes=classes)
    whole = Data(np.round(data.X_train * 2), data.y_train, np.round(data.X_test * 2), data.y_test)
    make: dict[str, Any] = {
        "sparse": sp.csr_matrix,
        "csc": sp.csc_array,
        "frame": pd.DataFrame,
        "float32": lambda X: X.astype(np.float32),
        "integers": lambda X: X.astype(np.int8),
        "fortran": np.asfortranarray,
    }
    other = Data(make[kind](whole.X_train), whole.y_train, make[kind](whole.X_test), whole.y_test)
    model = precise().fit(whole.X_train, whole.y_train)
    if kind == "frame":
        model = precise().fit(other.X_train, whole.y_train)
    weights = np.random.default_rng(0).normal(size=(60, classes - 1))
    expected = LogisticBox(whole.task(model)).effects(weights)
    np.testing.assert_allclose(LogisticBox(other.task(model)).effects(weights), expected, rtol=1e-7, atol=1e-9)


def test_sparse_text_and_dense_text_give_the_same_answer() -> None:
    data = text_like()
    dense = Data(data.X_train.toarray(), data.y_train, data.X_test.toarray(), data.y_test)
    model = precise(solver="lbfgs").fit(data.X_train, data.y_train)
    weights = np.random.default_rng(0).normal(size=(40, 1))
    expected = LogisticBox(dense.task(model)).effects(weights)
    found = LogisticBox(data.task(model)).effects(weights)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def _with(data: Data, make: Any) -> Data:
    return Data(
        np.column_stack([data.X_train, make(data.X_train)]),
        data.y_train,
        np.column_stack([data.X_test, make(data.X_test)]),
        data.y_test,
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "column",
    [lambda X: X[:, 0], lambda X: np.ones(len(X)), lambda X: X[:, 0] + X[:, 1]],
    ids=["twice", "constant", "sum"],
)
def test_without_a_penalty_a_repeated_or_constant_column_changes_nothing(column: Any, classes: int) -> None:
    plain = census_like(classes=classes)
    task = _with(plain, column).task(precise(C=np.inf, solver="lbfgs", tol=1e-7))
    box = LogisticBox(task)
    weights = np.random.default_rng(0).normal(size=box.actual.shape)
    expected = LogisticBox(plain.task(precise(C=np.inf))).effects(weights)
    np.testing.assert_allclose(box.effects(weights), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert any("singular" in note for note in box.notes)


def test_a_column_of_zeros_is_left_alone() -> None:
    data = _with(census_like(), lambda X: np.zeros(len(X)))
    task = data.task(precise(C=np.inf, solver="lbfgs", tol=1e-7))
    box = LogisticBox(task)
    assert np.isfinite(box.effects(np.ones((60, 1)))).all()
    assert box.notes == ()


@pytest.mark.parametrize("classes", [2, 3])
def test_separated_classes_without_a_penalty_have_no_best_fit(classes: int) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % classes
    X = 10.0 * np.eye(classes)[y] + rng.normal(size=(60, classes))
    X_test, y_test = X[:5], (y[:5] + 1) % classes
    task = Data(X, y, X_test, y_test).task(LogisticRegression(C=np.inf))
    with pytest.raises(NoBestFit, match="Regularise"):
        LogisticBox(task)
    assert np.isfinite(LogisticBox(task, form="gradient").effects(np.ones((5, classes - 1)))).all()


def test_a_value_that_only_one_class_has_is_noted_where_no_penalty_holds_its_coefficient() -> None:
    data = census_like()
    odd = _with(data, lambda X: np.arange(len(X)) < 3)
    odd.y_train[:3] = 0
    unbounded = LogisticBox(odd.task(LogisticRegression(C=np.inf, max_iter=500)))
    assert any("1 columns never occur with one of the classes" in note for note in unbounded.notes)
    assert np.isfinite(unbounded.effects(np.ones((60, 1)))).all()
    assert LogisticBox(odd.task(precise())).notes == ()


def test_separated_classes_with_a_penalty_are_fine() -> None:
    X = np.concatenate(
        [np.random.default_rng(0).normal(size=(40, 2)) + 5, np.random.default_rng(1).normal(size=(40, 2)) - 5]
    )
    task = Data(X, np.repeat([0, 1], 40), X[:3], np.array([1, 0, 0])).task(precise())
    assert agreement(task, LogisticBox(task)) > 0.9


def test_a_class_with_one_row_is_a_class() -> None:
    data = census_like(classes=3)
    y = np.where(data.y_train == 2, 0, data.y_train)
    y[7] = 2
    box = LogisticBox(Data(data.X_train, y, data.X_test, np.minimum(data.y_test, 1)).task(precise()))
    effects = box.effects(np.ones_like(box.actual))
    assert np.isfinite(effects).all()
    assert effects[7, 0] != 0
