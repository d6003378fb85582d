"""A neural net as a learner: the activations before its last linear layer, and that layer, the head.

To Psi a net is a Pipeline of two steps: :class:`Activations`, which look at features alone while the head is retrained,
and :class:`Head`, a logistic regression that stands where the net's own last layer stands. So whatever Psi knows about
logistic regressions behind encoders it knows about nets: gray box, opinions, slices, proof. What that leaves out, all
layers trained anew, is :class:`WholeNet`: it needs a way to train, and a budget.

The head's ridge λ, which the net does not state, is MacKay's: λ = γ / |θ|², where γ = Σ_j h_j / (h_j + λ) counts the
directions that the data determine (h: eigenvalues of the Hessian). No net is retrained for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression

from psidebug.errors import LearnerFailed, LearnerMismatch, PsiError, UnsupportedLearner
from psidebug.task.net_rows import RowShape
from psidebug.task.tables import Table

Floats = npt.NDArray[np.float64]
Train = Callable[[npt.NDArray[Any], Floats | None], Any]
"""Labels of all training rows, and their weights or None, to a trained net."""

BATCH = 256
KEPT = 4
"""Tables whose activations are kept: training, test and validation rows, and one more."""
ALIKE = 1e-3
"""Two sets of probabilities that differ by less are the same, in single precision."""


def is_module(model: Any) -> bool:
    """Whether it is a torch.nn.Module; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """The module in evaluation mode, without gradients; every part of it is as it was afterwards."""
    import torch

    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def outputs_of(answer: Any) -> Any:
    """Scores (rows, K) in what a net returns: a tensor, ``logits`` as of Hugging Face, or the first of several."""
    said: Any = answer.get("logits") if isinstance(answer, Mapping) else getattr(answer, "logits", answer)
    said = said[0] if isinstance(said, tuple | list) and said else said
    if not hasattr(said, "ndim"):
        raise UnsupportedLearner(
            f"the net returns a {type(answer).__name__} without scores: return a tensor with one row of scores for "
            f"each row, or what has it as logits."
        )
    return said[:, None] if said.ndim == 1 else said


def asked(module: Any, shape: RowShape, rows: Table) -> Any:
    """What a net, in evaluation mode, says of some rows (rows, K), or a sentence on why it does not."""
    name = type(module).__name__
    try:
        positional, named = shape.batch(rows, module)
        scores = outputs_of(module(*positional, **named))
    except PsiError:
        raise
    except Exception as error:
        said = str(error).strip().splitlines()
        raise LearnerFailed(
            f"{name} could not take rows of shape {shape.told}: {said[0] if said else type(error).__name__}. Give rows "
            f"as its forward takes them."
        ) from error
    if not scores.isfinite().all():
        raise LearnerFailed(
            f"{name} says NaN or infinite scores: its weights or its rows hold such numbers. Train it again with "
            f"smaller steps, or repair the rows."
        )
    return scores


def last_linear(module: Any, shape: RowShape, rows: Table) -> Any:
    """The linear layer that makes the net's scores, found by asking it about some rows.

    Raises :class:`UnsupportedLearner` for a net whose scores come from anywhere else.
    """
    import torch

    called: list[tuple[Any, Any]] = []
    layers = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
    hooks = [each.register_forward_hook(lambda part, _, out: called.append((part, out))) for each in layers]
    try:
        with evaluating(module):
            scores = asked(module, shape, rows)
    finally:
        for hook in hooks:
            hook.remove()
    if called:
        layer, out = called[-1]
        out = of_one_token(out, out, scores)
        if out.shape == scores.shape and any(_alike(form(out), scores) for form in _FORMS):
            return layer
    raise UnsupportedLearner(
        f"the scores of {type(module).__name__} do not come from a last torch.nn.Linear, once for each row. Give a "
        f"net that ends in one (a softmax after it may stay), or its embeddings as a table."
    )


def of_one_token(values: Any, out: Any, scores: Any) -> Any:
    """``values`` (rows, tokens, d) of a layer that is asked about every token, where its ``out`` are the net's scores.

    So GPT-2 and its like classify: by the last token that is no padding. Of a layer asked once for each row: as given.
    """
    if out.ndim != 3 or scores.ndim != 2 or out.shape[0] != scores.shape[0] or out.shape[2] != scores.shape[1]:
        return values
    place = (out - scores[:, None]).abs().sum(dim=2).argmin(dim=1)
    return values.gather(1, place[:, None, None].expand(-1, 1, values.shape[2]))[:, 0]


def _alike(left: Any, right: Any) -> bool:
    import torch

    return bool(torch.allclose(left.float(), right.float(), atol=ALIKE, rtol=ALIKE))


_FORMS: tuple[Callable[[Any], Any], ...] = (
    lambda out: out,
    lambda out: out.softmax(-1),
    lambda out: out.log_softmax(-1),
    lambda out: out.sigmoid(),
)
"""What a net may make of its last linear layer without another order of the classes."""


class Activations(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What reaches the last linear layer of a net, asked in batches, where the net lives."""

    label_free = True  # while the head alone is retrained

    def __init__(self, module: Any, shape: RowShape, layer: Any, outputs: npt.NDArray[np.intp]) -> None:
        self.module = module
        self.shape = shape
        self.layer = layer
        self.outputs = outputs
        self._known: list[tuple[Table, Floats]] = []

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Activations:
        return self  # a copy of the net would give the same

    def fit(self, X: Any, y: Any = None) -> Activations:
        """Nothing: the net is trained."""
        return self

    def transform(self, X: Table) -> Floats:
        """Activations (rows, d)."""
        for table, known in self._known:
            if table is X:
                return known
        made = self._asked(X)
        self._known = [(X, made), *self._known[: KEPT - 1]]
        return made

    @property
    def linear(self) -> tuple[Floats, Floats]:
        """Weights (K, d) and offsets (K,) of the outputs that are classes of the labels."""
        weight = self.layer.weight.detach().double().cpu().numpy()
        bias = self.layer.bias
        offset = np.zeros(len(weight)) if bias is None else bias.detach().double().cpu().numpy()
        return weight[self.outputs], offset[self.outputs]

    def scores(self, X: Table) -> Floats:
        """Scores (rows, K); one score is that of the second of two classes."""
        weight, offset = self.linear
        scores = self.transform(X) @ weight.T + offset
        return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores

    def _asked(self, X: Table) -> Floats:
        import torch

        caught: list[Any] = []

        def catch(_: Any, given: tuple[Any, ...], out: Any) -> None:
            caught[:] = [given[0].detach(), out.detach()]

        hook = self.layer.register_forward_hook(catch)
        made: list[Floats] = []
        try:
            with evaluating(self.module):
                for start in range(0, X.shape[0], BATCH):
                    scores = asked(self.module, self.shape, X[start : start + BATCH])
                    made.append(of_one_token(caught[0], caught[1], scores).to(torch.float64).cpu().numpy())
        finally:
            hook.remove()
        return np.concatenate(made)


class Head(LogisticRegression):  # type: ignore[misc]
    """The last linear layer: as it came (``as_it_came_``), or fitted as any logistic regression is."""

    @classmethod
    def of(cls, activations: Activations, classes: npt.NDArray[Any], X: Table) -> Head:
        """The layer's own weights, with the ridge that the activations of the training rows speak for."""
        (weight, offset), bias = activations.linear, activations.layer.bias
        ridge = _ridge(weight, offset, activations.transform(X))
        if len(weight) == 2:  # two scores say what their difference says; the ridge of both is half as much on it
            weight, offset, ridge = weight[1:] - weight[:1], offset[1:] - offset[:1], ridge / 2
        head = cls(C=1.0 / ridge, max_iter=1_000, fit_intercept=bias is not None)
        head.coef_, head.intercept_ = weight, offset if bias is not None else np.zeros(len(weight))
        head.classes_, head.n_iter_, head.n_features_in_ = classes, np.array([0]), weight.shape[1]
        head.as_it_came_ = True
        return head

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Head:
        """From here on it is its own best fit."""
        self.as_it_came_ = False
        super().fit(X, y, sample_weight=sample_weight)
        return self


def _ridge(weight: Floats, bias: Floats, activations: Floats) -> float:
    """λ = γ / |θ|², by the mean curvature of a class: K Hessians of the same eigenvalues."""
    scores = activations @ weight.T + bias
    if len(weight) == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    p = softmax(scores, axis=1)
    curvature = (p * (1 - p)).mean(axis=1)
    eigenvalues = np.linalg.eigvalsh((activations * curvature[:, None]).T @ activations)
    return evidence_ridge(np.tile(eigenvalues, len(weight)), float((weight**2).sum()))


def evidence_ridge(eigenvalues: Floats, squares: float) -> float:
    """MacKay's λ = γ / |θ|², γ = Σ_j h_j / (h_j + λ): where the evidence for a Gaussian prior of θ is greatest."""
    h = np.maximum(eigenvalues, 0.0)
    ridge = 1.0
    for _ in range(100):
        ridge = max(float((h / (h + ridge)).sum()) / max(squares, 1e-12), 1e-6)
    return ridge


def standing_ridge(gradient: Floats, squares: float) -> float:
    """λ = |g| / |θ|: the ridge under which parameters θ with this gradient of the loss would stand still.

    A net that was trained to the end with weight decay has its own; one that was stopped early has a gradient left, as
    if it were held back by that much.
    """
    return float(np.linalg.norm(gradient) / np.sqrt(max(squares, 1e-12)))


class WholeNet(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """All layers: ``fit`` is the user's own training of a net on the training rows, whose labels alone may differ."""

    def __init__(
        self,
        train: Train,
        shape: RowShape,
        classes: npt.NDArray[Any],
        outputs: npt.NDArray[np.intp],
        most_fits: int,
        random_state: int | None = None,
    ) -> None:
        self.train = train
        self.shape = shape
        self.classes = classes
        self.outputs = outputs
        self.most_fits = most_fits
        self.random_state = random_state

    def __sklearn_clone__(self) -> WholeNet:
        return WholeNet(self.train, self.shape, self.classes, self.outputs, self.most_fits, self.random_state)

    def fit(self, X: Table, y: npt.NDArray[Any], sample_weight: Floats | None = None) -> WholeNet:
        """Train, with torch's own generators seeded for as long as that takes."""
        import torch

        with torch.random.fork_rng():
            torch.manual_seed(0 if self.random_state is None else self.random_state)
            net = self.train(y, sample_weight)
        net = getattr(net, "module_", net)  # a skorch classifier will do
        if not is_module(net):
            raise LearnerMismatch(f"train(labels, weights) returns a {type(net).__name__}: return the trained net.")
        layer = last_linear(net, self.shape, X[:2])
        if (size := layer.weight.shape[0]) <= self.outputs.max():
            raise LearnerMismatch(f"train(labels, weights) returns a net of {size} scores: give it those of the first.")
        self.activations_, self.classes_ = Activations(net, self.shape, layer, self.outputs), self.classes
        return self

    def decision_function(self, X: Table) -> Floats:
        """The scores of the last layer; of two classes their difference."""
        scores = self.activations_.scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Table) -> npt.NDArray[Any]:
        """The class of the largest score."""
        return np.asarray(self.classes_[self.activations_.scores(X).argmax(axis=1)])
