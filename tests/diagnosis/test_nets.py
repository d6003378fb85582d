"""A diagnosis of a neural net: what is proved, for what, and how often the net is trained for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.metrics import average_precision_score
from torch import nn

import psidebug
from psidebug import Diagnosis
from psidebug.errors import LearnerMismatch, LearnerMissing
from tests.nets import Digits, perceptron


class Counting:
    """The training of digits, counted."""

    def __init__(self, digits: Digits) -> None:
        self.digits, self.times = digits, 0

    def __call__(self, labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None) -> nn.Module:
        self.times += 1
        return self.digits.train(labels, weights)


@pytest.fixture(scope="module")
def digits() -> Digits:
    return Digits()


def diagnosed(digits: Digits, **options: Any) -> Diagnosis:
    return psidebug.debug(
        digits.net(), digits.X_train, digits.y_train, digits.X_test, digits.y_test, causes="labels", **options
    )


def test_without_a_way_to_train_it_is_proved_for_the_head(digits: Digits) -> None:
    found = diagnosed(digits)
    assert "is proved for the head" in found.verdict
    suspects = digits.wrong[np.argsort(-found.findings.labels.p_wrong)[: digits.wrong.sum()]]
    assert suspects.mean() > 0.9
    assert found.findings.graybox == "last_layer"


def test_the_net_is_trained_to_prove_it_and_the_same_way_again(digits: Digits) -> None:
    train, state = Counting(digits), torch.random.get_rng_state()
    found = diagnosed(digits, train=train)
    assert train.times == 2  # on the labels as they are, and on the corrected ones
    assert "is proved by retraining the net" in found.verdict
    assert torch.equal(state, torch.random.get_rng_state())
    correction = found.findings.correction
    assert correction is not None
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(found.spec.seed)
        with torch.enable_grad():
            net = digits.train(correction.codes)
        errors = int((net(torch.from_numpy(digits.X_test)).argmax(dim=1).numpy() != digits.y_test).sum())
    assert correction.verified.test_after.wrong == errors


@pytest.mark.parametrize("fits", [0, 1])
def test_a_spent_budget_leaves_the_proof_to_the_head(digits: Digits, fits: int) -> None:
    train = Counting(digits)
    found = diagnosed(digits, train=train, fits=fits)
    assert train.times == fits
    assert "is proved for the head" in found.verdict


def test_what_the_net_does_not_confirm_is_not_proved(digits: Digits) -> None:
    """A way to train that never learns from labels: the head says yes, the net does not."""
    same = digits.net()
    found = diagnosed(digits, train=lambda labels, weights: same)
    assert found.findings.correction is None
    assert "proved by retraining the net" not in found.verdict


def test_what_a_nets_layers_have_lost_is_seen_in_its_rows() -> None:
    """Layers that pass on one column alone: the head knows nothing of what the labels are made of."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    right = (X[:, 1] > 0).astype(np.int64)
    given, wrong = right[:600].copy(), np.zeros(600, dtype=bool)
    wrong[rng.choice(600, 60, replace=False)] = True
    given[wrong] = 1 - given[wrong]
    net = perceptron(1, scores=2)
    net.layers[0].load_state_dict({"weight": torch.eye(1, 5)}, strict=False)
    found = psidebug.debug(net, X[:600], given, X[600:], right[600:], causes="labels", rng=0)
    assert average_precision_score(wrong, found.p_wrong) > 0.9


def test_a_saved_run_of_a_net_says_how_to_go_on(digits: Digits, tmp_path: Path) -> None:
    found = diagnosed(digits, effort="rank")
    found.save(tmp_path / "run")
    run = Diagnosis.load(tmp_path / "run")
    with pytest.raises(LearnerMissing, match=r"not written to a plain file\. Run debug again, with the net\.$"):
        run.verify([0])
    with pytest.raises(LearnerMismatch, match="Run debug again, with the net"):
        run.with_learner(digits.net())


@pytest.mark.parametrize("fails", [1, 2])
def test_that_training_the_net_failed_is_said(digits: Digits, fails: int) -> None:
    """At the first training, or at that on the corrected labels."""
    counted = Counting(digits)

    def train(labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None) -> nn.Module | None:
        net = counted(labels, weights)
        return None if counted.times == fails else net

    found = diagnosed(digits, train=train)
    assert "proved for the head, the net's last layer; training the net failed" in found.verdict
    assert any("returns a NoneType: return the trained net" in note for note in found.notes)


@pytest.mark.parametrize("wrong", ["train", "test"])
def test_a_net_that_has_learned_wrong_labels_does_not_accuse_the_test_labels(wrong: str) -> None:
    """Its activations tell all training labels apart, wrong ones, too; by the rows themselves it is these that err."""
    rng = np.random.default_rng(0)
    centres, right = rng.normal(size=(3, 64)), rng.integers(3, size=420)
    X = (centres[right] + 1.2 * rng.normal(size=(420, 64))).astype(np.float32)
    given = right.copy()
    at = np.flatnonzero(rng.random(420) < 0.15)
    given[at] = (given[at] + 1) % 3
    y, y_test = (given[:300], right[300:]) if wrong == "train" else (right[:300], given[300:])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 3))
        steps = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(40):
            for part in torch.split(torch.randperm(300), 64):
                steps.zero_grad()
                loss = nn.functional.cross_entropy(net(torch.from_numpy(X[part])), torch.from_numpy(y[part]))
                torch.autograd.backward(loss)
                steps.step()
    found = psidebug.debug(net, X[:300], y, X[300:], y_test)
    assert found.cause == {"train": "training_labels", "test": "test_labels"}[wrong]


class Words(nn.Module):
    """A net of texts that looks at the number of their letters, which says little."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 2)

    def forward(self, texts: list[str]) -> torch.Tensor:
        scores: torch.Tensor = self.head(torch.tensor([[len(text) % 3, len(text) % 5] for text in texts]).float())
        return scores


def test_of_a_net_of_texts_a_plain_learner_of_their_words_is_heard() -> None:
    rng = np.random.default_rng(0)
    right = rng.integers(2, size=360)
    likely = np.array([[4, 1, 2, 2, 2], [1, 4, 2, 2, 2]]) / 11
    texts = [" ".join(rng.choice(["good", "bad", "plot", "film", "actor"], 12, p=likely[each])) for each in right]
    wrong = rng.random(240) < 0.1
    given = np.where(wrong, 1 - right[:240], right[:240])
    found = psidebug.debug(Words(), texts[:240], given, texts[240:], right[240:], causes="labels")
    assert average_precision_score(wrong, found.findings.labels.p_wrong) > 0.6
