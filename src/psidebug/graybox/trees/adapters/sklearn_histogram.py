"""scikit-learn's ``HistGradientBoostingClassifier``: s = -ρ Σg / (Σh + λ), gradients in single precision.

The library has no ``apply``. Its predictors are asked for leaf indices instead of leaf values: the node table is
copied, and each leaf's value replaced by its position. Missing values and categories thus go the way the library sends
them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Sigmoid, Softmax
from psidebug.graybox.trees.profile import Fitted, Leaves, Profile, Tree, checked
from psidebug.graybox.trees.weighting import recognised
from psidebug.task.tables import Table

LEAST_HESSIAN = 1e-3  # the library's own constant
TAKES = frozenset({"many classes", "missing", "weights", "categories"})


def profile(fitted: Fitted) -> Profile:
    """Regions from relabelled predictors, leaf values from their nodes."""
    model = fitted.model
    fitted.refuse_other(model.get_params(), {"loss": "log_loss", "warm_start": False})
    if model.monotonic_cst is not None:
        raise fitted.refuse(setting="monotonic_cst", instead="a model without it")
    weighting = fitted.weighting(model.class_weight, rows=fitted.rows * _learned_rows(fitted))
    columns = int(model.n_trees_per_iteration_)
    train, test = _leaves(fitted)
    rounds, leaves = [], zip(train, test, strict=True)
    for stage in model._predictors:
        trees = []
        for column, predictor in enumerate(stage):
            values = np.where(predictor.nodes["is_leaf"], predictor.nodes["value"], 0.0)
            trees.append(
                Tree(
                    *next(leaves),
                    values,
                    column,
                    float(model.learning_rate),
                    l2=np.full(len(values), float(model.l2_regularization)),
                    least_hessian=LEAST_HESSIAN,
                    fixed=len(values) == 1,
                )
            )
        rounds.append(tuple(trees))
    value = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    start = recognised(("log_odds",) if columns == 1 else ("centred",), value, fitted.totals(weighting))
    loss = Sigmoid() if columns == 1 else Softmax()
    made = Profile(tuple(rounds), start, loss, weighting, columns, fitted.codes, fitted.classes)
    return checked(made, model.decision_function, fitted)


def _leaves(fitted: Fitted) -> tuple[Leaves, Leaves]:
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    model, asked = fitted.model, []
    for predictor in (p for stage in model._predictors for p in stage):
        nodes = predictor.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        asked.append(TreePredictor(nodes, predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets))
    bitsets, feature_map = model._bin_mapper.make_known_categories_bitsets()

    def positions(block: Table) -> npt.NDArray[np.float64]:
        matrix = model._preprocess_X(block, reset=False)
        return np.column_stack([p.predict(matrix, bitsets, feature_map, 1) for p in asked])

    return fitted.leaves(positions, largest=max(len(p.nodes) for p in asked))


def _learned_rows(fitted: Fitted) -> Floats:
    """1 for the rows that trees were fitted on, 0 for those set aside to stop early."""
    model, count = fitted.model, len(fitted.codes)
    if int(model._predictors[0][0].nodes["count"][0]) == count:
        return np.ones(count)
    return fitted.rows_kept(apart=model.validation_fraction, random_state=model._random_seed)
