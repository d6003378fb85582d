"""LightGBM's ``LGBMClassifier``: s = -ρ T(Σg) / (Σh + λ), the first score folded into the first round's leaves.

Everything is read from the model's own text, where settings stand as the library resolved them. A leaf under a split
by categories, unless one against the rest, has ``cat_l2`` added to its λ. Bags are drawn anew by the library's
generator (see ``_Bags``); the leaf counts in the text prove them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.errors import LearnerMismatch
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Sigmoid, Softmax
from psidebug.graybox.trees.profile import Bag, Fitted, Leaves, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Start, Weighting

ROWS_PER_GENERATOR = 1024
TAKES = frozenset({"many classes", "sparse", "missing", "weights"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``pred_leaf``, everything else from the model's text."""
    model = fitted.model
    text = model.booster_.model_to_string()
    head, *sections = text.split("\nTree=")
    settings = _settings(text)
    _check_supported(fitted, settings, head)
    columns = 1 if "\nobjective=binary " in head else fitted.classes  # "multiclass" may have two classes too
    weighting = _weighting(fitted, float(settings["scale_pos_weight"]) if columns == 1 else 1.0)
    start = _start(fitted, settings, weighting, columns)
    fields = [dict(line.split("=", 1) for line in section.splitlines() if "=" in line) for section in sections]
    largest = max(int(field["num_leaves"]) for field in fields)
    train, test = fitted.leaves(lambda block: model.predict(block, pred_leaf=True), largest=largest)
    bags = _Bags(settings, fitted, by_class=columns == 1)
    rounds = []
    for first in range(0, len(train), columns):
        bag, folded = bags.at(first // columns), None if first else start
        trees = range(first, first + columns)
        rounds.append(tuple(_tree(fields[n], train[n], test[n], n - first, bag, settings, folded, head) for n in trees))
    loss = Sigmoid() if columns == 1 else Softmax(scale=fitted.classes / (fitted.classes - 1))
    made = Profile(tuple(rounds), start, loss, weighting, columns, fitted.codes, fitted.classes)
    return checked(made, lambda table: model.predict(table, raw_score=True), fitted)


def _tree(
    field: dict[str, str],
    train: Leaves,
    test: Leaves,
    column: int,
    bag: Bag | None,
    settings: dict[str, str],
    start: Start | None,
    head: str,
) -> Tree:
    values = np.array(field["leaf_value"].split(), dtype=np.float64)
    fixed = len(values) == 1
    if not fixed:
        counts = np.bincount(train, bag, len(values))
        if np.any(counts != np.array(field["leaf_count"].split(), dtype=np.float64)):
            raise LearnerMismatch(
                "the trees of this LGBMClassifier were not grown on these rows: their leaves hold other numbers of "
                "rows. Give the data it was fitted on, or give it unfitted."
            )
    if start is not None:
        values = values - start.value[column]
    return Tree(
        train,
        test,
        values,
        column,
        float(settings["learning_rate"]),
        l2=float(settings["lambda_l2"]) + _category_l2(field, settings, head),
        l1=float(settings["lambda_l1"]),
        least_hessian=float(settings["min_sum_hessian_in_leaf"]),
        bag=bag,
        fixed=fixed,
    )


def _category_l2(field: dict[str, str], settings: dict[str, str], head: str) -> Floats:
    """``cat_l2`` for the leaves right under a split by categories, where the feature has many."""
    extra = np.zeros(int(field["num_leaves"]))
    if int(field["num_cat"]) == 0:
        return extra
    infos = next(line for line in head.splitlines() if line.startswith("feature_infos=")).split("=", 1)[1].split()
    kinds = np.array(field["decision_type"].split(), dtype=np.int64)
    features = np.array(field["split_feature"].split(), dtype=np.int64)
    for side in ("left_child", "right_child"):
        for node, child in enumerate(np.array(field[side].split(), dtype=np.int64)):
            categories = len(infos[features[node]].split(":"))
            if child < 0 and kinds[node] & 1 and categories > int(settings["max_cat_to_onehot"]):
                extra[-child - 1] = float(settings["cat_l2"])
    return extra


def _settings(text: str) -> dict[str, str]:
    lines = text.split("\nparameters:\n", 1)[1].split("\nend of parameters", 1)[0].splitlines()
    pairs = (line.strip("[]").split(":", 1) for line in lines if line.startswith("[") and ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _check_supported(fitted: Fitted, settings: dict[str, str], head: str) -> None:
    objective = next((line for line in head.splitlines() if line.startswith("objective=")), "objective=custom")
    if objective not in ("objective=binary sigmoid:1", f"objective=multiclass num_class:{fitted.classes}"):
        raise fitted.refuse(setting=objective, instead="objective 'binary' or 'multiclass'")
    wanted = {
        "boosting": "gbdt",
        "data_sample_strategy": "bagging",
        "linear_tree": "0",
        "use_quantized_grad": "0",
        "max_delta_step": "0",
        "path_smooth": "0",
        "is_unbalance": "0",
        "monotone_constraints": "",
    }
    fitted.refuse_other(settings, wanted)


def _weighting(fitted: Fitted, scale_pos_weight: float) -> Weighting:
    plain = fitted.weighting(fitted.model.class_weight)
    if scale_pos_weight == 1.0:
        return plain
    if fitted.model.class_weight is not None:
        raise fitted.refuse(setting="class_weight and scale_pos_weight at once", instead="one of them")
    return Weighting(plain.rows, np.array([1.0, scale_pos_weight]), start_uses_classes=False)


def _start(fitted: Fitted, settings: dict[str, str], weighting: Weighting, columns: int) -> Start:
    if settings["boost_from_average"] != "1":
        return Start("constant", np.zeros(columns))
    rule = Start("log_odds" if columns == 1 else "log_prior", np.zeros(columns))
    return Start(rule.kind, rule.scores(fitted.totals(weighting)[:, None])[:, 0])


class _Bags:
    """The library's bags, drawn anew: one linear congruential generator for every 1,024 rows.

    x ← 214013 x + 2531011 (mod 2³²), a row is in the bag where bits 16–30 of x, as a fraction, are below its rate.
    """

    def __init__(self, settings: dict[str, str], fitted: Fitted, *, by_class: bool) -> None:
        count, self._every = len(fitted.codes), int(settings["bagging_freq"])
        rate = np.full(count, float(settings["bagging_fraction"]))
        if by_class and (settings["pos_bagging_fraction"], settings["neg_bagging_fraction"]) != ("1", "1"):
            rates = [float(settings["neg_bagging_fraction"]), float(settings["pos_bagging_fraction"])]
            rate = np.array(rates)[fitted.codes]
        self._rate = rate.astype(np.float32)
        self._drawn = self._every > 0 and bool((rate < 1.0).any())
        self._sizes = np.diff(np.append(np.arange(0, count, ROWS_PER_GENERATOR), count))
        seeds = int(settings["bagging_seed"]) + np.arange(len(self._sizes))
        self._state = seeds.astype(np.uint64) & np.uint64(0xFFFFFFFF)
        self._jump = _jumps()
        self._bag: Bag | None = None

    def at(self, number: int) -> Bag | None:
        """The bag of a round; None when every row is in."""
        if self._drawn and number % self._every == 0:
            times, plus = self._jump
            x = (self._state[:, None] * times + plus) & np.uint64(0xFFFFFFFF)
            fraction = ((x >> np.uint64(16)) & np.uint64(0x7FFF)).astype(np.float32) / np.float32(32768.0)
            inside: npt.NDArray[np.bool_] = fraction.ravel()[: len(self._rate)] < self._rate
            self._state = x[np.arange(len(x)), self._sizes - 1]
            self._bag = inside.astype(np.uint8)
        return self._bag


def _jumps() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """(A, C) with x_n = A_n x_0 + C_n after n = 1 … 1,024 steps."""
    times, plus, a, c = [], [], 1, 0
    for _ in range(ROWS_PER_GENERATOR):
        a, c = (214013 * a) & 0xFFFFFFFF, (214013 * c + 2531011) & 0xFFFFFFFF
        times.append(a)
        plus.append(c)
    return np.array(times, dtype=np.uint64), np.array(plus, dtype=np.uint64)
