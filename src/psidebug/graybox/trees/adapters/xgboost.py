"""XGBoost's ``XGBClassifier``: s = -ρ T(Σg) / (Σh + λ), values and gradients in single precision.

Trees come from the model's JSON, where the leaf's value stands in place of a split's threshold. With several classes
the library's Hessian is 2p(1-p). Bags are drawn anew by the library's generator (see ``_bags``), and proved by the
trace.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from psidebug.graybox.trees.loss import Sigmoid, Softmax
from psidebug.graybox.trees.profile import Bag, Fitted, Leaves, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Start, Weighting, recognised

OBJECTIVES = ("binary:logistic", "multi:softprob", "multi:softmax")
TAKES = frozenset({"many classes", "sparse", "missing", "weights"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``apply``, leaf values from the model's JSON, settings as the library resolved them."""
    model, booster = fitted.model, fitted.model.get_booster()
    config = json.loads(booster.save_config())["learner"]
    _check_supported(fitted, config)
    settings = config["gradient_booster"]["tree_train_param"]
    grown = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    columns = max(int(config["learner_model_param"]["num_class"]), 1)
    largest = max(len(tree["left_children"]) for tree in grown["trees"])
    train, test = fitted.leaves(model.apply, largest=largest)
    weighting, start = _weighting(fitted, config, columns)
    bags = _bags(fitted, config, len(train))
    parallel = int(config["gradient_booster"]["gbtree_model_param"]["num_parallel_tree"])
    rate = float(settings["learning_rate"]) / parallel
    trees = [
        _tree(grown["trees"][n], train[n], test[n], grown["tree_info"][n], rate, settings, bags[n])
        for n in range(len(train))
    ]
    size = columns * parallel
    rounds = tuple(tuple(trees[begin : begin + size]) for begin in range(0, len(trees), size))
    loss = Sigmoid() if columns == 1 else Softmax(scale=2.0)
    made = Profile(rounds, start, loss, weighting, columns, fitted.codes, fitted.classes)
    return checked(made, lambda table: model.predict(table, output_margin=True), fitted)


def _tree(
    grown: dict[str, Any],
    train: Leaves,
    test: Leaves,
    column: int,
    rate: float,
    settings: dict[str, str],
    bag: Bag | None,
) -> Tree:
    leaf = np.array(grown["left_children"]) == -1
    values = np.where(leaf, np.array(grown["split_conditions"], dtype=np.float64), 0.0)
    least = float(settings["min_child_weight"])
    return Tree(
        train,
        test,
        values,
        column,
        rate,
        l2=np.full(len(values), float(settings["reg_lambda"])),
        l1=float(settings["reg_alpha"]),
        least_hessian=least,
        bag=bag,
        # The library gives no value to a tree without a split whose rows have less Hessian than a leaf needs.
        fixed=len(values) == 1 and grown["sum_hessian"][0] < least,
    )


def _check_supported(fitted: Fitted, config: dict[str, Any]) -> None:
    objective, booster = config["learner_train_param"]["objective"], config["learner_train_param"]["booster"]
    if objective not in OBJECTIVES or callable(fitted.model.objective):
        raise fitted.refuse(setting=f"objective={objective!r}", instead="binary:logistic or multi:softprob")
    if int(config["learner_model_param"]["num_class"]) not in (0, 1, fitted.classes):
        raise fitted.refuse(setting="a num_class other than the labels have", instead="no num_class")
    if booster != "gbtree":
        raise fitted.refuse(setting=f"booster={booster!r}", instead="booster='gbtree'")
    if config["learner_train_param"].get("multi_strategy", "one_output_per_tree") != "one_output_per_tree":
        raise fitted.refuse(setting="multi_strategy='multi_output_tree'", instead="one_output_per_tree")
    settings = config["gradient_booster"]["tree_train_param"]
    if float(settings["max_delta_step"]) != 0.0:
        raise fitted.refuse(setting="max_delta_step", instead="max_delta_step=0")
    if settings["monotone_constraints"].strip("()0, "):
        raise fitted.refuse(setting="monotone_constraints", instead="a model without them")
    if float(settings["subsample"]) < 1.0 and (
        settings["sampling_method"] != "uniform"
        or "grow_colmaker" in config["gradient_booster"]["gbtree_train_param"]["updater"]
        or config["generic_param"]["seed_per_iteration"] != "0"
        or config["generic_param"]["device"] != "cpu"
    ):
        raise fitted.refuse(
            setting="this way of drawing subsamples",
            instead="subsample=1, or tree_method='hist' with uniform sampling on the CPU",
        )


def _weighting(fitted: Fitted, config: dict[str, Any], columns: int) -> tuple[Weighting, Start]:
    """Weights and first score; whether ``scale_pos_weight`` counts in the latter changed between versions."""
    scale = float(config["objective"].get("reg_loss_param", {}).get("scale_pos_weight", 1.0))
    base = np.array(config["learner_model_param"]["base_score"].strip("[]").split(","), dtype=np.float64)
    base = np.log(base) - np.log1p(-base) if columns == 1 else np.broadcast_to(base, (columns,))
    classes = np.ones(fitted.classes)
    classes[1] = scale
    weighting, start = Weighting(fitted.rows, classes), Start("constant", base)
    if fitted.model.base_score is not None:
        return weighting, start
    for counted in (True, False):
        weighting = Weighting(fitted.rows, classes, start_uses_classes=counted)
        totals = fitted.totals(weighting)
        start = recognised(("log_odds", "newton") if columns == 1 else ("centred", "log_prior"), base, totals)
        if start.kind != "constant":
            break
    return weighting, start


def _bags(fitted: Fitted, config: dict[str, Any], trees: int) -> list[Bag | None]:
    """The library's bags, drawn anew.

    Each tree takes the next number z of a Mersenne twister started with the seed (the first goes to the sampling of
    columns); row i is in its bag where x_i = 16807^(i+1) z (mod 2⁶³), as a fraction, is below the rate.
    """
    rate = float(config["gradient_booster"]["tree_train_param"]["subsample"])
    if rate >= 1.0:
        return [None] * trees
    seeds = np.random.MT19937()
    seeds._legacy_seeding(int(config["generic_param"]["seed"]))
    seeds.random_raw()
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(len(fitted.codes), 16807, dtype=np.uint64), dtype=np.uint64)
        drawn = [np.uint64(seeds.random_raw()) * powers % np.uint64(2**63) for _ in range(trees)]
    return [((x - np.uint64(1)).astype(np.float64) / float(2**63 - 1) < rate).astype(np.uint8) for x in drawn]
