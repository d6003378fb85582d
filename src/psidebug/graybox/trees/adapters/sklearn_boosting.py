"""scikit-learn's ``GradientBoostingClassifier``: one Newton step per leaf, s = ρ Σ(y - p) / Σ p(1-p), no penalty.

With K > 2 classes the library multiplies leaf values by (K-1)/K. Bags are drawn from the fit's own random stream, which
an integer ``random_state`` lets one repeat; the leaf sizes stored with each tree prove that they are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Sigmoid, Softmax
from psidebug.graybox.trees.profile import Bag, Fitted, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Start, recognised

TAKES = frozenset({"many classes", "sparse", "weights"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``apply``, leaf values from each tree's ``value``."""
    model = fitted.model
    fitted.refuse_other(model.get_params(), {"loss": "log_loss", "warm_start": False})
    if model.init is not None and model.init != "zero":
        raise fitted.refuse(setting="an init estimator", instead="init=None or init='zero'")
    learned = _learned_rows(fitted)
    weighting = fitted.weighting(None, rows=fitted.rows * learned)
    columns = model.estimators_.shape[1]
    largest = max(tree.tree_.node_count for tree in model.estimators_.ravel())
    train, test = fitted.leaves(model.apply, largest=largest)
    bags = _bags(fitted, learned)
    rate = model.learning_rate * ((columns - 1) / columns if columns > 1 else 1.0)
    rounds, leaves = [], zip(train, test, strict=True)
    for number, stage in enumerate(model.estimators_):
        trees = []
        for column, estimator in enumerate(stage):
            values = model.learning_rate * estimator.tree_.value[:, 0, 0]
            tree = Tree(*next(leaves), values, column, rate, l2=np.zeros(len(values)), bag=bags[number])
            _check_bag(tree, estimator.tree_, weighting.rows)
            trees.append(tree)
        rounds.append(tuple(trees))
    start = _start(model, fitted.totals(weighting))
    loss = Sigmoid() if columns == 1 else Softmax()
    made = Profile(tuple(rounds), start, loss, weighting, columns, fitted.codes, fitted.classes)
    return checked(made, model.decision_function, fitted)


def _start(model: Any, totals: Floats) -> Start:
    columns = model.estimators_.shape[1]
    if model.init == "zero":
        return Start("constant", np.zeros(columns))
    share = model.init_.class_prior_
    value = np.log(share[1:] / share[:1]) if columns == 1 else np.log(share) - np.log(share).mean()
    return recognised(("log_odds",) if columns == 1 else ("centred",), value, totals)


def _learned_rows(fitted: Fitted) -> Floats:
    """1 for the rows that trees were fitted on, 0 for those set aside to stop early."""
    model, count = fitted.model, len(fitted.codes)
    if model.n_iter_no_change is None:
        return np.ones(count)
    if not isinstance(model.random_state, int | np.integer):
        raise fitted.refuse(setting="early stopping and no integer random_state", instead="random_state=0")
    return fitted.rows_kept(apart=model.validation_fraction, random_state=model.random_state)


def _bags(fitted: Fitted, learned: Floats) -> list[Bag | None]:
    model = fitted.model
    rounds, columns = model.estimators_.shape
    if model.subsample >= 1.0:
        return [None] * rounds
    if not isinstance(model.random_state, int | np.integer):
        raise fitted.refuse(setting="subsample < 1 and no integer random_state", instead="random_state=0")
    if model.n_iter_no_change is not None:
        raise fitted.refuse(setting="subsample < 1 and early stopping at once", instead="one of them")
    count = len(fitted.codes)
    inside = max(1, int(model.subsample * count))
    stream = np.random.RandomState(model.random_state)
    bags: list[Bag | None] = []
    for _ in range(rounds):
        bags.append(_bag(stream.uniform(size=count), inside))
        for _ in range(columns):
            stream.randint(0, np.iinfo(np.int32).max)  # each tree takes one number, for its splitter
    return bags


def _bag(uniform: Floats, inside: int) -> Bag:
    """Exactly ``inside`` rows, drawn one after the other as the library does."""
    bag, drawn, count = np.zeros(len(uniform), dtype=np.uint8), 0, len(uniform)
    for i, threshold in enumerate((uniform * (count - np.arange(count))).tolist()):
        if threshold < inside - drawn:
            bag[i] = 1
            drawn += 1
    return bag


def _check_bag(tree: Tree, own: Any, rows: Floats) -> None:
    weight = rows if tree.bag is None else rows * tree.bag
    sums = np.bincount(tree.train, weight, own.node_count)
    leaf = own.children_left == -1
    if not np.allclose(sums[leaf], own.weighted_n_node_samples[leaf], rtol=1e-6):
        raise LearnerMismatch(
            "the trees of this GradientBoostingClassifier were not grown on these rows: their leaves hold other "
            "numbers of rows. Give the data and the sample_weight it was fitted on, or give it unfitted."
        )
