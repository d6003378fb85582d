"""Data valuation: pyDVL's KNN-Shapley, Data-OOB and DirectInfluence, and DataScope's neighbour method.

A row is worth what it adds to a model's performance; the least worth is the most suspicious.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.peers.contest import Contest, Finding, Floats, Peer

NEIGHBOURS = 5
BAGS = 100
SECONDS_PER_PAIR = 5e-6
"""pyDVL's loop over training rows × test points, on an ordinary core."""


def knn_shapley(contest: Contest) -> Finding:
    """Exact Shapley values of the rows for five nearest neighbours (Jia and others 2019), over the test points."""
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.methods.knn_shapley import KNNShapleyValuation

    model = KNeighborsClassifier(NEIGHBOURS)
    valued = KNNShapleyValuation(model, Dataset(contest.near_test, contest.y_test), progress=False)
    valued.fit(Dataset(contest.near_train, contest.given))
    return Finding(-_in_order(valued.result, len(contest)))


def data_oob(contest: Contest) -> Finding:
    """How often models of bags without the row predict its label (Kwon and Zou 2023); 100 bags of the same learner."""
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.methods.data_oob import DataOOBValuation

    X = contest.X_train.toarray() if sp.issparse(contest.X_train) else contest.X_train
    bagged = BaggingClassifier(clone(contest.estimator), n_estimators=BAGS, random_state=contest.seed)
    valued = DataOOBValuation(bagged.fit(X, contest.given))
    valued.fit(Dataset(X, contest.given))
    return Finding(-_in_order(valued.result, len(contest)))


def direct_influence(contest: Contest) -> Finding:
    """pyDVL's influence function of the fitted logistic regression, over all test points."""
    import torch
    from pydvl.influence.torch import DirectInfluence

    fitted = contest.fit()
    # Two classes as a softmax of ± half the score would double the penalty's share: give class 0 the scores 0.
    coef, intercept = (np.atleast_1d(each) for each in (fitted.coef_, fitted.intercept_))
    if len(coef) == 1:
        coef, intercept = np.vstack([0.0 * coef, coef]), np.append(0.0, intercept)
    model = torch.nn.Linear(coef.shape[1], len(coef)).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor(coef))
        model.bias.copy_(torch.tensor(intercept))
    sets = [
        (torch.tensor(np.asarray(X, dtype=np.float64)), torch.tensor(y))
        for X, y in ((contest.X_train, contest.given), (contest.X_test, contest.y_test))
    ]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*sets[0]), batch_size=256)
    penalty = 1.0 / (contest.estimator.C * len(contest))
    influence = DirectInfluence(model, torch.nn.functional.cross_entropy, regularization=penalty).fit(loader)
    return Finding(influence.influences(*sets[1], *sets[0]).sum(dim=0).detach().numpy())


def datascope(contest: Contest) -> Finding:
    """Shapley values for the nearest neighbour (Karlaš and others 2023), over the test points."""
    from datascope.importance.shapley import ImportanceMethod, ShapleyImportance
    from datascope.importance.utility import SklearnModelAccuracy

    utility = SklearnModelAccuracy(KNeighborsClassifier(1))
    valued = ShapleyImportance(method=ImportanceMethod.NEIGHBOR, utility=utility)
    valued.fit(contest.near_train, contest.given)
    return Finding(-np.asarray(list(valued.score(contest.near_test, contest.y_test)), dtype=np.float64))


def _in_order(result: Any, rows: int) -> Floats:
    """Values by row: results come in an order of their own."""
    values = np.zeros(rows)
    values[np.asarray(result.indices, dtype=np.intp)] = np.asarray(result.values, dtype=np.float64)
    return values


PEERS = (
    Peer(
        "KNN-Shapley",
        knn_shapley,
        "pyDVL: Shapley value for five nearest neighbours",
        package="pydvl",
        seconds=lambda contest, one_fit: SECONDS_PER_PAIR * len(contest) * contest.points,
    ),
    Peer(
        "Data-OOB",
        data_oob,
        f"pyDVL: out-of-bag accuracy of {BAGS} bags",
        uses_test=False,
        package="pydvl",
        seconds=lambda contest, one_fit: 1.5 * BAGS * one_fit,
    ),
    Peer("DirectInfluence", direct_influence, "pyDVL: influence functions by torch", ("logistic",), package="torch"),
    Peer(
        "DataScope",
        datascope,
        "Shapley value for the nearest neighbour",
        package="datascope",
        seconds=lambda contest, one_fit: 2e-6 * len(contest) * contest.points,
    ),
)
