"""Neural nets at the door: what they take, what they give, and that they are asked and not changed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from skorch import NeuralNetClassifier
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from psidebug.errors import (
    LearnerFailed,
    LearnerMismatch,
    PsiError,
    UnknownOption,
    UnsupportedFeatures,
    UnsupportedLearner,
)
from psidebug.graybox.logistic.design import DesignMatrix
from psidebug.graybox.logistic.objective import Quadratic
from psidebug.graybox.logistic.reading import objective_of
from psidebug.graybox.neural import AllLayers, LastLayer
from psidebug.graybox.neural.gradients import SketchedGradients
from psidebug.task.learner import final_step, scores
from psidebug.task.nets import evidence_ridge
from psidebug.task.task import Task
from tests.nets import Digits, perceptron


@pytest.fixture(scope="module")
def digits() -> Digits:
    return Digits(rows=300)


@pytest.fixture(scope="module")
def net(digits: Digits) -> nn.Module:
    return digits.net()


class Answering(nn.Module):
    """A net that makes something of its scores."""

    def __init__(self, made: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.layers, self.made = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), made

    def forward(self, x: torch.Tensor) -> Any:
        return self.made(self.layers(x))


def own_scores(net: nn.Module, X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    with torch.no_grad():
        return np.asarray(net(torch.from_numpy(X)).double().numpy())


def test_the_learner_scores_as_the_net_does(digits: Digits, net: nn.Module) -> None:
    task = Task.of(net, digits.X_train, digits.y_train, digits.X_test, digits.y_test)
    seen = scores(task.learner, task.test.features, task.encoding.native_codes, 10)
    np.testing.assert_allclose(seen, own_scores(net, digits.X_test), atol=1e-4)
    assert task.predicted.tolist() == own_scores(net, digits.X_test).argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", ["tensor", "dataset", "mappings", "channels in a frame's place"])
def test_rows_may_come_in_many_forms(digits: Digits, net: nn.Module, kind: str) -> None:
    def given(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> tuple[Any, Any]:
        if kind == "tensor":
            return torch.from_numpy(X), torch.from_numpy(y)
        if kind == "dataset":
            return TensorDataset(torch.from_numpy(X), torch.from_numpy(y)), None
        if kind == "mappings":
            return {"input": X, "label": y}, None
        return X.tolist(), y.tolist()

    plain = Task.of(net, digits.X_train, digits.y_train, digits.X_test, digits.y_test)
    lists = kind.startswith("channels")
    asked = net.double() if lists else net  # lists hold doubles; the net's own type decides
    try:
        task = Task.of(asked, *given(digits.X_train, digits.y_train), *given(digits.X_test, digits.y_test))
    finally:
        net.float()
    assert task.predicted.tolist() == plain.predicted.tolist()
    assert task.train.codes.tolist() == plain.train.codes.tolist()


class Classifier(nn.Module):
    """With the interface of a Hugging Face classifier of sequences: named arguments, pooled state, ``.logits``."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 6)
        self.classifier = nn.Linear(6, 2)

    def forward(self, input_ids: Any, attention_mask: Any = None, labels: Any = None) -> SimpleNamespace:
        mask = attention_mask[:, :, None].to(self.words.weight.dtype)
        pooled = (self.words(input_ids) * mask).sum(dim=1) / mask.sum(dim=1)
        return SimpleNamespace(logits=self.classifier(pooled), loss=None)


class Arrow:
    """What Psi asks of a Hugging Face dataset."""

    def __init__(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        self._columns = columns
        self.column_names = list(columns)

    def with_format(self, kind: str) -> Arrow:
        assert kind == "numpy"
        return self

    def __getitem__(self, rows: slice) -> dict[str, npt.NDArray[Any]]:
        return {name: values[rows] for name, values in self._columns.items()}


def test_token_ids_and_their_mask_reach_the_net_as_they_came() -> None:
    rng = np.random.default_rng(0)
    ids, mask = rng.integers(0, 50, (80, 7)), (rng.random((80, 7)) < 0.8).astype(np.int64)
    mask[:, 0] = 1
    y = rng.integers(0, 2, 80)
    torch.manual_seed(0)
    net = Classifier()
    parts = [{"input_ids": ids[s], "attention_mask": mask[s], "text": np.array(["a"] * len(ids[s])), "label": y[s]}
             for s in (slice(0, 50), slice(50, 80))]  # fmt: skip
    task = Task.of(net, Arrow(parts[0]), None, Arrow(parts[1]), None)
    with torch.no_grad():
        said = net(torch.from_numpy(ids[50:]), torch.from_numpy(mask[50:])).logits
    assert task.predicted.tolist() == said.argmax(dim=1).tolist()
    margins = task.margins(task.learner, task.test)[:, 0]
    right = np.where(y[50:] == 1, 1.0, -1.0)
    np.testing.assert_allclose(margins, right * (said[:, 1] - said[:, 0]).double().numpy(), atol=1e-5)


class OfTokens(Classifier):
    """As GPT-2 classifies: its head is asked about every token, the last one that is no padding has the say.

    And as nets of transformers do, it looks at the values of the mask to choose its way.
    """

    def forward(self, input_ids: Any, attention_mask: Any = None, labels: Any = None) -> SimpleNamespace:
        states = self.words(input_ids).cumsum(dim=1)
        scores = self.classifier(states if attention_mask.all() else states * attention_mask[:, :, None])
        last = (attention_mask * torch.arange(input_ids.shape[1])).argmax(dim=1)
        return SimpleNamespace(logits=scores[torch.arange(len(last)), last], loss=None)


def of_tokens() -> tuple[Task, OfTokens, npt.NDArray[np.float64]]:
    """90 rows of seven tokens, the last ones padding in half of them; and the net's own scores of the test rows."""
    rng = np.random.default_rng(0)
    ids, mask = rng.integers(0, 50, (90, 7)), np.ones((90, 7), dtype=np.int64)
    mask[::2, 4:] = 0
    y = rng.integers(0, 2, 90)
    torch.manual_seed(0)
    net = OfTokens()
    rows = [{"input_ids": ids[s], "attention_mask": mask[s]} for s in (slice(0, 60), slice(60, 90))]
    with torch.no_grad():
        said = net(**{name: torch.from_numpy(values) for name, values in rows[1].items()}).logits
    return Task.of(net, rows[0], y[:60], rows[1], y[60:]), net, said.double().numpy()


def test_a_head_that_is_asked_about_every_token_is_that_of_the_last_one() -> None:
    task, _, said = of_tokens()
    right = np.where(task.test.codes == 1, 1.0, -1.0)
    np.testing.assert_allclose(
        task.margins(task.learner, task.test)[:, 0], right * (said[:, 1] - said[:, 0]), atol=1e-5
    )


def test_gradients_of_a_net_that_looks_at_values_are_taken_row_by_row() -> None:
    task, net, _ = of_tokens()
    activations = task.learner.steps[0][1]
    gradients = SketchedGradients(activations, 2, size=10**6, seed=0)
    ((rows, phi),) = gradients.of(task.test.features, np.arange(5))
    for row in rows:
        positional, named = activations.shape.batch(task.test.features[row : row + 1], net)
        for place in (0, 1):
            score = net(*positional, **named).logits[0, place]
            slopes = torch.autograd.grad(score, list(net.parameters()))
            np.testing.assert_allclose(phi[row, place], torch.cat([each.flatten() for each in slopes]), atol=1e-6)


class Stream(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(())


class Splits(dict[str, Any]):
    """What Psi sees of Hugging Face's dictionary of splits."""

    column_names: ClassVar = {"train": ["input_ids"]}

    def with_format(self, kind: str) -> Splits:
        return self


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (Splits(train=Arrow({})), "splits train: give one of them"),
        (DataLoader(TensorDataset(torch.zeros(3, 7))), r"loader\.dataset"),
        (Stream(), "one order only"),
        (Arrow({"input_ids": np.array([[1, 2], [3]], dtype=object), "label": np.zeros(2)}), "input_ids in X_train dif"),
        (Arrow({"text": np.array(["a", "b"])}), "none of them numbers"),
    ],
)
def test_rows_that_a_net_cannot_be_given_are_refused_in_a_sentence(rows: Any, says: str) -> None:
    with pytest.raises(UnsupportedFeatures, match=says):
        Task.of(Classifier(), rows, [0, 1, 0], rows, [0, 1, 0])


def test_the_net_is_left_as_it_was(digits: Digits) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 10)).train()
    net[2].eval()
    before, modes = {k: v.clone() for k, v in net.state_dict().items()}, [part.training for part in net.modules()]
    state = torch.random.get_rng_state()
    Task.of(net, digits.X_train, digits.y_train, digits.X_test, digits.y_test)
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert torch.equal(state, torch.random.get_rng_state())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())


def test_scores_may_be_followed_by_a_softmax(digits: Digits, net: nn.Module) -> None:
    ended = nn.Sequential(net, nn.Softmax(dim=-1))
    task = Task.of(ended, digits.X_train, digits.y_train, digits.X_test, digits.y_test)
    assert task.predicted.tolist() == own_scores(net, digits.X_test).argmax(axis=1).tolist()


def test_one_score_is_that_of_the_second_class(digits: Digits) -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.Tanh(), nn.Linear(4, 1))
    task = Task.of(net, digits.X_train, digits.y_train % 2, digits.X_test, digits.y_test % 2)
    assert task.predicted.tolist() == (own_scores(net, digits.X_test)[:, 0] > 0).astype(int).tolist()


def test_scores_may_come_in_a_dict(digits: Digits) -> None:
    net = Answering(lambda scores: {"loss": None, "logits": scores})
    task = Task.of(net, digits.X_train, digits.y_train, digits.X_test, digits.y_test)
    assert task.predicted.tolist() == own_scores(net.layers, digits.X_test).argmax(axis=1).tolist()


def test_a_net_that_fails_at_a_later_row_says_so(digits: Digits) -> None:
    ids = np.zeros((300, 64), dtype=np.int64)
    ids[-1, 0] = 7
    net = nn.Sequential(nn.Embedding(3, 4), nn.Flatten(), nn.Linear(256, 10))
    with pytest.raises(LearnerFailed, match="could not take rows of shape 64: index out of range"):
        Task.of(net, ids[: len(digits.y_train)], digits.y_train, ids[-len(digits.y_test) :], digits.y_test)


@pytest.mark.parametrize("classes", [[0, 1], [2, 5, 7]])
def test_scores_that_no_label_names_are_left_out(digits: Digits, net: nn.Module, classes: list[int]) -> None:
    train, test = np.isin(digits.y_train, classes), np.isin(digits.y_test, classes)
    rows = digits.X_train[train], digits.y_train[train], digits.X_test[test], digits.y_test[test]
    task = Task.of(net, *rows, train=lambda labels, weights: net)
    said = own_scores(net, rows[2])[:, classes].argmax(axis=1)
    assert task.predicted.tolist() == said.tolist()
    assert task.encoding.classes == tuple(classes)
    assert task.whole is not None
    whole = task.whole.fit(task.train.features, rows[1])
    assert whole.predict(task.test.features).tolist() == np.array(classes)[said].tolist()
    moved = np.roll(task.train.codes, 1)[None]
    kept = LastLayer(task).margins(moved)
    assert kept.shape == (1, len(rows[3]), len(classes) - 1)
    assert AllLayers(task, projections=64).margins(moved).shape == kept.shape


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"model": nn.Sequential(nn.Conv2d(1, 10, 8), nn.Flatten())}, UnsupportedLearner, "last torch.nn.Linear"),
        ({"model": nn.Sequential(nn.Linear(8, 10), nn.ReLU(), nn.Flatten())}, UnsupportedLearner, "last torch.nn.Lin"),
        ({"model": nn.Sequential(nn.Flatten(), nn.Linear(64, 4))}, LearnerMismatch, "4 scores"),
        ({"model": nn.Linear(63, 10)}, LearnerFailed, "could not take rows"),
        ({"model": nn.Sequential(Answering(lambda scores: {"probs": scores}))}, UnsupportedLearner, "returns a dict"),
        ({"model": Answering(lambda scores: scores * float("nan"))}, LearnerFailed, "NaN or infinite scores"),
        ({"train": 3}, UnknownOption, "train takes a function"),
        ({"fits": -1}, UnknownOption, "fits takes a whole number"),
    ],
)
def test_what_is_wrong_is_said(digits: Digits, net: nn.Module, wrong: dict[str, Any], error: type[PsiError], says: str):  # type: ignore[no-untyped-def]
    options = {"model": net, **wrong}
    with pytest.raises(error, match=says):
        Task.of(options.pop("model"), digits.X_train, digits.y_train, digits.X_test, digits.y_test, **options)


def test_skorch_is_fitted_if_it_is_not_and_left_as_it_was() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    y = (X[:, 0] > 0).astype(np.int64)
    model = NeuralNetClassifier(
        perceptron(4, scores=2), criterion=nn.CrossEntropyLoss, max_epochs=3, train_split=None, verbose=0
    )
    task = Task.of(model, X[:60], y[:60], X[60:], y[60:], seed=3)
    again = Task.of(model, X[:60], y[:60], X[60:], y[60:], seed=3)
    assert not getattr(model, "history_", None)
    assert task.whole is not None
    names = np.array(["no", "yes"])
    named = Task.of(model, X[:60], names[y[:60]], X[60:], names[y[60:]], seed=3)
    assert named.predicted.tolist() == task.predicted.tolist()
    assert named.whole is not None
    assert set(named.whole.fit(X[:60], names[y[:60]]).predict(X[60:])) <= set(names)
    fitted = model.fit(X[:60], y[:60])
    taken = Task.of(fitted, X[:60], y[:60], X[60:], y[60:])
    assert taken.predicted.tolist() == fitted.predict(X[60:]).tolist()
    np.testing.assert_array_equal(task.margins(task.learner, task.test), again.margins(again.learner, again.test))


def test_the_ridge_is_where_the_evidence_is_greatest() -> None:
    """MacKay's fixed point against a search for the greatest Laplace evidence (J log λ - λ|θ|² - Σ log(h + λ)) / 2."""
    h, squares = np.array([900.0, 200.0, 30.0, 4.0, 0.5]), 7.0
    grid = np.exp(np.linspace(-6, 4, 4001))
    evidence = len(h) * np.log(grid) - grid * squares - np.log(h[:, None] + grid).sum(axis=0)
    assert evidence_ridge(h, squares) == pytest.approx(grid[evidence.argmax()], rel=5e-3)


@pytest.mark.parametrize("ridge", [20.0, 300.0])
def test_a_head_trained_to_the_end_has_the_ridge_that_it_was_trained_with(digits: Digits, ridge: float) -> None:
    """scikit-learn's fit stands still where the gradient of its loss is λθ; so does a net with weight decay."""
    X, y = digits.X_train.reshape(len(digits.y_train), -1), digits.y_train
    fitted = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=5000).fit(X, y)
    layer = nn.Linear(X.shape[1], len(fitted.classes_), dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(fitted.coef_))
        layer.bias.copy_(torch.from_numpy(fitted.intercept_))
    task = Task.of(nn.Sequential(layer), X.astype(np.float64), y, X.astype(np.float64), y)
    assert LastLayer(task).ridge == pytest.approx(ridge, rel=1e-3)


def test_the_head_of_two_scores_has_half_the_ridge_on_their_difference(digits: Digits) -> None:
    """The Hessian of both scores, restricted to what moves their difference, is twice that of the difference."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Tanh(), nn.Linear(3, 2))
    task = Task.of(net, digits.X_train, digits.y_train % 2, digits.X_test, digits.y_test % 2)
    head = final_step(task.learner)
    objective = objective_of(head, task)
    design = DesignMatrix(task.seen.train, intercept=True)
    p = objective.likelihood.probabilities(design.scores(objective.theta))
    own = Quadratic.at(objective, design, p, task.train.codes).block(0, 0)
    A = np.column_stack([task.seen.train, np.ones(len(p))])
    H = A.T @ (A * (p * (1 - p)))
    ridge = np.diag([2.0 / head.C] * 3 + [0.0])  # λ of each of the two scores is twice that of their difference
    both = np.block([[H + ridge, -H], [-H, H + ridge]])
    move = np.vstack([-np.eye(4), np.eye(4)]) / 2  # of the difference by one
    np.testing.assert_allclose(move.T @ both @ move, own, atol=1e-9)
