"""Small neural nets for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from torch import nn

INTS = npt.NDArray[np.intp]


class Perceptron(nn.Module):
    """A net of some widths after five columns, in double precision, with three scores."""

    def __init__(self, *widths: int, scores: int = 3, columns: int = 5) -> None:
        super().__init__()
        sizes = (columns, *widths)
        parts: list[nn.Module] = []
        for before, after in zip(sizes, widths, strict=False):
            parts += [nn.Linear(before, after), nn.Tanh()]
        self.layers = nn.Sequential(*parts, nn.Linear(sizes[-1], scores)).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layers(x)
        return scores


def perceptron(*widths: int, scores: int = 3) -> Perceptron:
    """The same at every call."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Perceptron(*widths, scores=scores)


class Digits:
    """Digits of 8 × 8 as pictures, some of whose training labels are wrong, and a small net that is trained on them."""

    def __init__(self, *, rate: float = 0.1, rows: int = 900) -> None:
        X, y = load_digits(return_X_y=True)
        rng = np.random.default_rng(0)
        order = rng.permutation(len(X))
        pictures = (X[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
        self.X_train, self.X_test, self.truth = pictures[:rows], pictures[rows:], y[order][:rows]
        self.y_test = y[order][rows:]
        self.wrong = rng.random(rows) < rate
        self.y_train = np.where(self.wrong, (self.truth + rng.integers(1, 10, rows)) % 10, self.truth)

    def train(self, labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None = None) -> nn.Module:
        """With torch's generator as it is."""
        net = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 24), nn.ReLU(), nn.Linear(24, 10)
        )
        steps = torch.optim.Adam(net.parameters(), lr=5e-3)
        X, y = torch.from_numpy(self.X_train), torch.as_tensor(labels)
        s = torch.ones(len(y)) if weights is None else torch.as_tensor(weights, dtype=torch.float32)
        for _ in range(10):
            for part in torch.split(torch.randperm(len(y)), 64):
                steps.zero_grad()
                losses = nn.functional.cross_entropy(net(X[part]), y[part], reduction="none")
                torch.autograd.backward((losses * s[part]).mean())
                steps.step()
        return net

    def net(self, seed: int = 0) -> nn.Module:
        """Trained on the labels as they are."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self.train(self.y_train)
