"""scikit-learn's ``DecisionTreeClassifier``, random forests and extra trees: a leaf's value is its mean label.

A forest's score is the mean over its trees. Its bootstrap samples follow from each tree's own ``random_state``; the
leaf sizes stored with each tree prove that they are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Mean
from psidebug.graybox.trees.profile import Fitted, Leaves, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Start, Weighting

TAKES = frozenset({"many classes", "sparse", "missing", "weights"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``apply``, class frequencies from each tree's ``value``."""
    model, K = fitted.model, fitted.classes
    if model.criterion not in ("gini", "entropy", "log_loss"):
        raise fitted.refuse(setting=f"criterion={model.criterion!r}", instead="criterion='gini'")
    if getattr(model, "monotonic_cst", None) is not None:
        raise fitted.refuse(setting="monotonic_cst", instead="a model without it")
    members = list(getattr(model, "estimators_", [model]))
    largest = max(member.tree_.node_count for member in members)
    train, test = fitted.leaves(model.apply, largest=largest)
    weighting = _weighting(fitted)
    trees = []
    for n, member in enumerate(members):
        bag = _bag(fitted, member, weighting, train[n])
        mean = member.tree_.value[:, 0, :] / member.tree_.value[:, 0, :].sum(axis=1, keepdims=True)
        none = np.zeros(len(mean))
        trees += [
            Tree(train[n], test[n], mean[:, k] / len(members), k, 1.0 / len(members), l2=none, bag=bag)
            for k in range(K)
        ]
    start = Start("constant", np.zeros(K))
    made = Profile((tuple(trees),), start, Mean(), weighting, K, fitted.codes, K, averaged=True)
    return checked(made, model.predict_proba, fitted)


def _bootstrapped(fitted: Fitted) -> bool:
    return bool(getattr(fitted.model, "bootstrap", False))


def _weighting(fitted: Fitted) -> Weighting:
    """Class weights as they enter leaf means; with a bootstrap they are part of the bags instead."""
    if _bootstrapped(fitted):
        return Weighting(np.ones(len(fitted.codes)), np.ones(fitted.classes))
    if fitted.model.class_weight == "balanced_subsample":
        return fitted.weighting("balanced")
    return fitted.weighting(fitted.model.class_weight)


def _bag(fitted: Fitted, member: Any, weighting: Weighting, leaves: Leaves) -> Floats | None:
    """How often each row counts in this tree: the first of the library's ways, old or new, that fits its leaf sizes."""
    own = member.tree_.weighted_n_node_samples
    leaf = member.tree_.children_left == -1
    c = weighting.classes[fitted.codes]
    for bag in _bags(fitted, member):
        weight = weighting.rows * c if bag is None else bag * c
        if np.allclose(np.bincount(leaves, weight, len(own))[leaf], own[leaf], rtol=1e-6):
            return bag
    raise LearnerMismatch(
        f"the trees of this {fitted.name} were not grown on these rows and labels: their leaves hold other weights. "
        f"Give the data and the sample_weight it was fitted on, or give it unfitted."
    )


def _bags(fitted: Fitted, member: Any) -> list[Floats | None]:
    if not _bootstrapped(fitted):
        return [None]
    model, count = fitted.model, len(fitted.codes)
    drawn = model._n_samples_bootstrap if hasattr(model, "_n_samples_bootstrap") else _drawn(model, count)
    s, class_weight = fitted.rows, model.class_weight
    in_sample = class_weight == "balanced_subsample"
    if class_weight is not None and not in_sample:
        by_class = fitted.weighting(class_weight)
        s = s * by_class.classes[fitted.codes]
    streams = [np.random.RandomState(member.random_state) for _ in range(3)]
    small, plain = streams[0].randint(0, count, drawn, dtype=np.int32), streams[1].randint(0, count, drawn)
    bags: list[Floats | None] = []
    for rows, weight in ((small, s), (plain, s), (streams[2].choice(count, drawn, p=s / s.sum()), 1.0)):
        bag: Floats = np.bincount(rows, minlength=count).astype(np.float64) * weight
        if in_sample:
            sizes = np.bincount(fitted.codes, bag, fitted.classes)
            bag = bag * (bag.sum() / (np.count_nonzero(sizes) * np.maximum(sizes, 1e-12)))[fitted.codes]
        bags.append(bag)
    return bags


def _drawn(model: Any, count: int) -> int:
    """How many rows a bootstrap sample has."""
    if model.max_samples is None:
        return count
    return int(model.max_samples) if isinstance(model.max_samples, int) else max(round(count * model.max_samples), 1)
