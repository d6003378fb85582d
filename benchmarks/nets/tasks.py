"""Rows and small nets for ``psi bench nets``: MNIST pictures, digits, film reviews; errors at random or in slices."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import HashingVectorizer
from torch import nn
from torch.func import functional_call, grad, vmap

from psidebug.datasets import BENCHMARKS
from psidebug.datasets.sources import VARIABLE
from psidebug.errors import InputError

Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
KINDS = ("random", "slice")
RATE = 0.1
EPOCHS = 12


@dataclass(frozen=True, eq=False)
class NetTask:
    """Rows in the shape that the net takes, right labels, and a way to make a net."""

    name: str
    X_train: npt.NDArray[np.float32]
    truth: Codes
    X_test: npt.NDArray[np.float32]
    y_test: Codes
    made: Callable[[], nn.Module]
    slices: npt.NDArray[np.bool_]
    """Training rows in which the labels of some classes may be wrong."""
    epochs: int = EPOCHS
    texts: npt.NDArray[Any] | None = None
    """Of training rows, then of test rows: what Psi gets in place of X."""

    @property
    def classes(self) -> int:
        """K."""
        return int(self.truth.max()) + 1

    def shown(self, net: nn.Module) -> tuple[nn.Module, Any, Any]:
        """A net, and the training and test rows that it takes, as somebody has them who asks Psi."""
        if self.texts is None:
            return net, self.X_train, self.X_test
        return OfTexts(net), self.texts[: len(self.truth)], self.texts[len(self.truth) :]

    def given(self, kind: str, seed: int) -> Codes:
        """Training labels, some of them wrong: a tenth at random, or all of some classes in the slice."""
        rng, K = np.random.default_rng(seed), self.classes
        if kind == "random":
            wrong = rng.random(len(self.truth)) < RATE
            return np.where(wrong, (self.truth + rng.integers(1, K, len(wrong))) % K, self.truth)
        given = self.truth.copy()
        for one, other in ((1, 0),) if K == 2 else ((4, 9), (7, 1), (3, 8)):
            given[(self.truth == one) & self.slices] = other
        return given

    def trained(self, labels: Codes, seed: int, weights: Floats | None = None) -> tuple[nn.Module, Floats]:
        """A net, and the mean over epochs of each row's margin for its label, which is the area under the margin."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self._trained(torch.from_numpy(labels), weights)

    def _trained(self, labels: torch.Tensor, weights: Floats | None) -> tuple[nn.Module, Floats]:
        net, X = self.made(), torch.from_numpy(self.X_train)
        s = torch.ones(len(labels)) if weights is None else torch.from_numpy(weights).float()
        rows = torch.nonzero(s).flatten()
        steps = torch.optim.Adam(net.parameters(), lr=2e-3)
        rate = torch.optim.lr_scheduler.LinearLR(steps, 1.0, 0.05, self.epochs)
        area = torch.zeros(len(labels))
        for _ in range(self.epochs):
            for part in torch.split(rows[torch.randperm(len(rows))], 64):
                steps.zero_grad()
                torch.autograd.backward(nn.functional.cross_entropy(net(X[part]), labels[part]))
                steps.step()
            rate.step()
            with torch.no_grad():
                scores = net(X)
                own = scores.gather(1, labels[:, None])[:, 0]
                area += own - scores.scatter(1, labels[:, None], -torch.inf).max(dim=1).values
        return net.eval(), (area / self.epochs).double().numpy()

    def scores_after(self, worlds: Codes, seed: int) -> Floats:
        """Test scores (worlds, rows, K) of nets trained alike but for their labels, all at once: many times quicker.

        Adam treats every number by itself, so each is the net that it would be alone.
        """
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            net, X, Y = self.made(), torch.from_numpy(self.X_train), torch.from_numpy(worlds)
            own = {name: each.detach().expand(len(Y), *each.shape).clone() for name, each in net.named_parameters()}
            steps = torch.optim.Adam(own.values(), lr=2e-3)
            rate = torch.optim.lr_scheduler.LinearLR(steps, 1.0, 0.05, self.epochs)

            def loss(parameters: dict[str, torch.Tensor], rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
                return nn.functional.cross_entropy(functional_call(net, parameters, (rows,)), labels)

            slopes = vmap(grad(loss), in_dims=(0, None, 0))
            for _ in range(self.epochs):
                for part in torch.split(torch.randperm(len(X)), 64):
                    made = slopes(own, X[part], Y[:, part])
                    for name, each in own.items():
                        each.grad = made[name]
                    steps.step()
                rate.step()
            asked = vmap(lambda parameters: functional_call(net, parameters, (torch.from_numpy(self.X_test),)))
            with torch.no_grad():
                return np.asarray(asked(own).double().numpy())


class OfTexts(nn.Module):
    """A net that counts the words of texts before it looks at them."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, texts: list[str]) -> torch.Tensor:
        """Scores of the texts."""
        scores: torch.Tensor = self.net(torch.from_numpy(_hashed(texts)))
        return scores


def task_of(name: str, seed: int) -> NetTask:
    """The task of this name, split by the seed."""
    X, y, made, sizes, *more = _LOADERS[name]()
    order = np.random.default_rng(seed).permutation(len(y))[: sum(sizes)]
    train, test = order[: sizes[0]], order[sizes[0] :]
    ink = X[train].reshape(len(train), -1).mean(axis=1)  # dark pictures, long texts
    inside = np.zeros(len(train), dtype=bool)
    for each in np.unique(y):
        own = y[train] == each
        inside[own] = ink[own] > np.median(ink[own])
    task = NetTask(name, X[train], y[train], X[test], y[test], made, inside, *more)
    return replace(task, texts=_review_texts()[0][order]) if name == AS_TEXTS else task


def _mnist() -> tuple[Any, ...]:
    folder = Path(os.environ.get(VARIABLE) or "") / "real" / "mnist_errors"
    if not folder.is_dir():
        raise InputError(
            f"the MNIST task reads real/mnist_errors in the folder that {VARIABLE} names: it is not there."
        )
    pixels = gzip.decompress((folder / "mnist_t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / "mnist_t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    X = np.frombuffer(pixels, np.uint8).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return X, np.frombuffer(labels, np.uint8).astype(np.intp), lambda: _convolutions(2, 576, 10), (5_000, 1_000)


def _retrained_mnist() -> tuple[Any, ...]:
    """The same rows and a net of 10,000 parameters, so that hundreds of them can be trained."""
    X, y, _, sizes = _mnist()
    return X, y, lambda: _convolutions(2, 288, 10, width=4), sizes, 20


def _digits() -> tuple[Any, ...]:
    X, y = load_digits(return_X_y=True)
    pictures = (X / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return pictures, y.astype(np.intp), lambda: _convolutions(1, 64, 10), (1_200, 597)


def _convolutions(stride: int, flat: int, classes: int, width: int = 8) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, stride=stride), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(flat, 8 * width), nn.ReLU(), nn.Linear(8 * width, classes),
    )  # fmt: skip


def _reviews() -> tuple[Any, ...]:
    texts, y = _review_texts()
    return _hashed(texts), np.unique(y, return_inverse=True)[1].astype(np.intp), _words, (1_200, 400)


def _review_texts() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    drawn = BENCHMARKS["sentiment"](0)
    return np.array([*drawn.X_train, *drawn.X_test], dtype=object), np.concatenate([drawn.clean, drawn.y_test])


def _hashed(texts: Any) -> npt.NDArray[np.float32]:
    counts = HashingVectorizer(n_features=1_024, alternate_sign=False, norm=None, stop_words="english")
    return np.asarray(np.log1p(counts.transform(texts).toarray()), dtype=np.float32)


def _words() -> nn.Module:
    return nn.Sequential(nn.Linear(1_024, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))


AS_TEXTS = "reviews as texts"
"""The same rows and net as "reviews"; Psi gets the texts, and the net counts their words."""
_LOADERS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "mnist": _mnist, "digits": _digits, "reviews": _reviews, AS_TEXTS: _reviews
}  # fmt: skip
TASKS = tuple(_LOADERS)
_LOADERS["mnist, retrained"] = _retrained_mnist
FIDELITY = "mnist, retrained"
"""The task on which the gray boxes are compared with retraining."""
