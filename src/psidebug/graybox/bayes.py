"""Gray box of naive Bayes, exact in every world: each class is a few sums over its rows, and labels move the sums.

With weights s_i, n_k = Σ s_i, A_k = Σ s_i x_i and (Gaussian) B_k = Σ s_i x_i² over the rows of class k, the scores are

    Gaussian      log π_k - ½ Σ_j (log 2πσ_kj² + (x_j - μ_kj)²/σ_kj²),   μ = A/n,  σ² = B/n - μ² + ε
    multinomial   log π_k + Σ_j x_j log p_kj,   p_k = (A_k + α) / Σ_j (A_kj + α)
    complement    -Σ_j x_j log p_kj, the same of the rows of all other classes
    Bernoulli     log π_k + Σ_j (x_j log p_kj + (1 - x_j) log(1 - p_kj)),   p_k = (A_k + α) / (n_k + 2α)

with π_k = n_k / n where the learner counts it. ε, the smoothing of variances, does not depend on the labels. Margins of
a world are exact; effects are derivatives: ∂f_tk of one more row i in class k, s_i times what ``_Sums.gains`` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import log_softmax, softmax
from sklearn.preprocessing import binarize

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.class_scores import OfClassScores, class_of, sums_moved
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.task import learner as learners
from psidebug.task.task import Task

LEAST = 1e-15
"""The probability at which scores of learners without a decision function end: see ``task.learner.scores``."""


def supports(model: Any) -> bool:
    """Whether the model is a naive Bayes whose sums are known here."""
    kind = class_of(model, KINDS)
    return kind is not None and not getattr(model, "norm", False)


class NaiveBayes(OfClassScores):
    """Gray box of ``GaussianNB``, ``MultinomialNB``, ``ComplementNB`` and ``BernoulliNB``."""

    name = "naive_bayes"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        model = learners.final_step(task.learner)
        if not supports(model):
            raise UnsupportedLearner(
                f"{type(model).__name__} is no naive Bayes that Psi can read: {', '.join(KINDS)}, without norm. Use "
                f"graybox='auto'."
            )
        weights = task.data.sample_weight
        self._weights = np.ones(len(task.train)) if weights is None else weights
        self._sums = class_of(model, KINDS).of(model, task.seen.train, task.seen.test)
        members = np.eye(self._classes)[self._given] * self._weights[:, None]
        self._counts, self._totals = members.sum(axis=0), self._sums.gathered(sp.csr_array(members.T))
        self._check_reproduced(task)

    def _scores(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        moved = sums_moved(worlds, self._given, self._weights, self._classes)
        shape = len(worlds), self._classes
        counts = self._counts + np.asarray(moved.sum(axis=1)).reshape(shape)
        totals = self._totals + self._sums.gathered(moved).reshape(*shape, -1)
        scores = np.moveaxis(self._sums.scores(counts, totals, points), 0, 1)
        return np.asarray(np.maximum(log_softmax(scores, axis=-1), np.log(LEAST)))

    def _gains(self, pulls: Floats) -> Floats:
        """With log p_k = f_k - log Σ_l exp f_l, and probabilities that have come to their end left alone."""
        scores = self._sums.scores(self._counts[None], self._totals[None], np.arange(len(pulls)))[:, 0]
        p = softmax(scores, axis=1)
        felt = np.where(p > LEAST, pulls, 0.0)
        felt = felt - p * felt.sum(axis=1, keepdims=True)
        return np.asarray(self._weights[:, None] * self._sums.gains(self._counts, self._totals, felt))


@dataclass(frozen=True, eq=False)
class _Sums(ABC):
    """Rows as the learner takes them, and what its scores make of the sums over each class."""

    train: Any
    test: Any
    alpha: Any
    """α, or ε."""
    prior: Floats | None
    """log π (K,) that labels do not move; None where π is counted."""

    def gathered(self, mixing: Any) -> Floats:
        """mixing · X, dense."""
        return _dense(mixing @ self.train)

    def priors(self, counts: Floats) -> Floats:
        """log π."""
        with np.errstate(divide="ignore"):
            counted = np.log(counts) - np.log(counts.sum(axis=-1, keepdims=True))
        return np.asarray(counted if self.prior is None else np.broadcast_to(self.prior, counts.shape))

    def of_priors(self, counts: Floats, pulls: Floats) -> Floats:
        """Σ_t v_tk ∂ log π_k / ∂n_k; the total n stays."""
        return np.asarray(pulls.sum(axis=0) / counts if self.prior is None else np.zeros(len(counts)))

    @abstractmethod
    def scores(self, counts: Floats, totals: Floats, points: npt.NDArray[np.intp]) -> Floats:
        """(points, worlds, K) of counts (worlds, K) and totals (worlds, K, columns of sums)."""

    @abstractmethod
    def gains(self, counts: Floats, totals: Floats, pulls: Floats) -> Floats:
        """(N, K)."""


class _Gaussian(_Sums):
    """X and X², about the mean of all rows, side by side."""

    @classmethod
    def of(cls, model: Any, train: Any, test: Any) -> _Gaussian:
        """ε is a share of the largest variance of a column."""
        X, T = (np.asarray(table, dtype=np.float64) for table in (train, test))
        epsilon = model.var_smoothing * np.var(X, axis=0).max()
        centre = X.mean(axis=0)
        prior = None if model.priors is None else np.log(np.asarray(model.priors))
        return cls(np.hstack([X - centre, (X - centre) ** 2]), T - centre, epsilon, prior)

    def _moments(self, counts: Floats, totals: Floats) -> tuple[Floats, Floats]:
        mean, square = np.split(totals / counts[..., None], 2, axis=-1)
        return mean, square - mean**2 + self.alpha

    def scores(self, counts: Floats, totals: Floats, points: npt.NDArray[np.intp]) -> Floats:
        mean, variance = self._moments(counts, totals)
        x = self.test[points]
        flat = (-1, x.shape[1])
        quadratic = x**2 @ (1.0 / variance).reshape(flat).T - 2.0 * x @ (mean / variance).reshape(flat).T
        constant = (np.log(2.0 * np.pi * variance) + mean**2 / variance).sum(axis=-1)
        return np.asarray(self.priors(counts) - 0.5 * (quadratic.reshape(len(x), *counts.shape) + constant))

    def gains(self, counts: Floats, totals: Floats, pulls: Floats) -> Floats:
        """(of π + Σ_j (M_j (x_j - μ_j) + Q_j ((x_j - μ_j)² - σ_j² + ε)) / n, M, Q the slopes in μ and σ²."""
        mean, variance = self._moments(counts, totals)
        columns, constant = self.train.shape[1] // 2, self.of_priors(counts, pulls)
        gains = np.empty((len(self.train), len(counts)))
        for k, (m, v) in enumerate(zip(mean, variance, strict=True)):
            apart = self.test - m
            M = pulls[:, k] @ apart / v
            Q = 0.5 * (pulls[:, k] @ apart**2 / v**2 - pulls[:, k].sum() / v)
            x, squares = self.train[:, :columns], self.train[:, columns:]
            linear = x @ (M - 2.0 * Q * m) + squares @ Q
            gains[:, k] = constant[k] + (linear - M @ m + Q @ (m**2 - v + self.alpha)) / counts[k]
        return gains


class _Multinomial(_Sums):
    sign = 1.0

    @classmethod
    def of(cls, model: Any, train: Any, test: Any) -> _Multinomial:
        """π may be given, counted or uniform."""
        return cls(_numbers(train), _numbers(test), model._check_alpha(), _discrete_prior(model))

    def _smoothed(self, totals: Floats) -> Floats:
        return np.asarray(totals + self.alpha)

    def scores(self, counts: Floats, totals: Floats, points: npt.NDArray[np.intp]) -> Floats:
        smoothed = self._smoothed(totals)
        log_p = np.log(smoothed) - np.log(smoothed.sum(axis=-1, keepdims=True))
        said = self.test[points] @ log_p.reshape(-1, log_p.shape[-1]).T
        return np.asarray(self.priors(counts) + self.sign * said.reshape(len(points), *counts.shape))

    def gains(self, counts: Floats, totals: Floats, pulls: Floats) -> Floats:
        """of π + Σ_j x_j (G_j / (A_j + α) - Σ G / Σ (A + α)), G = Σ_t v_t x_t."""
        smoothed, G = self._smoothed(totals), _dense(self.test.T @ pulls).T
        slopes = G / smoothed - G.sum(axis=1, keepdims=True) / smoothed.sum(axis=1, keepdims=True)
        return np.asarray(self.train @ slopes.T + self.of_priors(counts, pulls))


class _Complement(_Multinomial):
    """One more row in class k is one less in its complement, and the score is minus its logarithm: signs cancel."""

    sign = -1.0

    @classmethod
    def of(cls, model: Any, train: Any, test: Any) -> _Complement:
        """π is of no account."""
        return cls(_numbers(train), _numbers(test), model._check_alpha(), np.zeros(1))

    def _smoothed(self, totals: Floats) -> Floats:
        return np.asarray(totals.sum(axis=-2, keepdims=True) - totals + self.alpha)


class _Bernoulli(_Sums):
    @classmethod
    def of(cls, model: Any, train: Any, test: Any) -> _Bernoulli:
        """Numbers above ``binarize`` count as 1."""
        train, test = _numbers(train), _numbers(test)
        if model.binarize is not None:
            train, test = (binarize(table, threshold=model.binarize) for table in (train, test))
        return cls(train, test, model._check_alpha(), _discrete_prior(model))

    def _rates(self, counts: Floats, totals: Floats) -> Floats:
        return np.asarray((totals + self.alpha) / (counts[..., None] + 2.0 * self.alpha))

    def scores(self, counts: Floats, totals: Floats, points: npt.NDArray[np.intp]) -> Floats:
        p = self._rates(counts, totals)
        odds, none = np.log(p) - np.log1p(-p), np.log1p(-p).sum(axis=-1)
        said = self.test[points] @ odds.reshape(-1, odds.shape[-1]).T
        return np.asarray(self.priors(counts) + said.reshape(len(points), *counts.shape) + none)

    def gains(self, counts: Floats, totals: Floats, pulls: Floats) -> Floats:
        """of π + Σ_j P_j (x_j - p_j) / (n + 2α), P = Σ_t v_t (x_t / p - (1 - x_t) / (1 - p))."""
        p, G = self._rates(counts, totals), _dense(self.test.T @ pulls).T
        P = (G / p - (pulls.sum(axis=0)[:, None] - G) / (1.0 - p)) / (counts[:, None] + 2.0 * self.alpha)
        return np.asarray(self.train @ P.T - (P * p).sum(axis=1) + self.of_priors(counts, pulls))


KINDS: dict[str, type[Any]] = {
    "GaussianNB": _Gaussian,
    "MultinomialNB": _Multinomial,
    "ComplementNB": _Complement,
    "BernoulliNB": _Bernoulli,
}


def _discrete_prior(model: Any) -> Floats | None:
    if model.class_prior is not None:
        return np.asarray(np.log(model.class_prior))
    return None if model.fit_prior else np.full(len(model.classes_), -np.log(len(model.classes_)))


def _numbers(table: Any) -> Any:
    return sp.csr_array(table) if sp.issparse(table) else np.asarray(table, dtype=np.float64)


def _dense(product: Any) -> Floats:
    return np.asarray(product.toarray() if sp.issparse(product) else product)
