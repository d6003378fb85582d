"""One run on an accelerator: PS and p_wrong of very many labels, with torch and numpy alone.

    python benchmarks/nets/accelerator.py --out benchmarks/results/accelerator.json [--small]

Two tasks, generated on the device: 10^6 embeddings of 768 numbers, 10 classes; and 10^9 labels of 32 features, two
classes. For one linear symptom Σ_i c_i(w_i) < M a label's PS depends on its effect c and its rate ε alone, so effects
go into a histogram, the characteristic function comes from that, PS from a table over c. The threshold M is three
standard deviations above the mean of the sum under the prior.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

Tensor = torch.Tensor
BINS, NODES = 16_384, 256
CHUNK = 2**23
DEVIATIONS = 3.0


class Clock:
    """Seconds of each stage, with the device waited for."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.seconds = device, dict[str, float]()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time what is done inside."""
        self._wait()
        begun = time.perf_counter()
        yield
        self._wait()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + time.perf_counter() - begun, 4)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


class Histogram:
    """How many labels of each rate have which effect; two histograms of the same edges add up."""

    def __init__(self, low: float, high: float, rates: Tensor, bins: int = BINS) -> None:
        width = (high - low) / (bins - 2)
        first = np.floor(low / width) * width - width / 2  # so that 0 is the middle of a bin
        self.low, self.width, self.rates = float(first), float(width), rates.double()
        self.middles = first + width * (torch.arange(bins, device=rates.device, dtype=torch.float64) + 0.5)
        self.counts = torch.zeros(len(rates), bins, device=rates.device, dtype=torch.float64)

    def add(self, effects: Tensor, group: int) -> None:
        """Labels of one rate."""
        bins = self.counts.shape[1]
        self.counts[group] += torch.histc(effects.float(), bins, self.low, self.low + bins * self.width).double()

    def tables(self, deviations: float = DEVIATIONS, nodes: int = NODES) -> Tensor:
        """PS at the middle of every bin, for every rate (groups, bins)."""
        c, e, n = self.middles, self.rates[:, None], self.counts
        mean, spread = (n * e * c).sum(), (n * e * (1 - e) * c**2).sum().sqrt()
        threshold = mean + deviations * spread
        tilt = self._saddle_point(threshold)
        q = torch.sigmoid(torch.logit(e) + tilt * c)  # tilted rates
        log_norm = (n * torch.log1p(e * torch.expm1(tilt * c))).sum()
        deviation = (n * q * (1 - q) * c**2).sum().sqrt()
        period = torch.maximum((36.0 + tilt * threshold - log_norm) / tilt, 12.0 * deviation)
        step = 2 * torch.pi / period
        kept, back = torch.zeros_like(q), torch.zeros_like(q)
        for node in range(nodes):
            u = node * step
            turn = torch.polar(torch.ones_like(c), u * c)
            factors = 1 + q * (turn - 1)
            psi = (n * factors.log()).sum().exp()
            if node and psi.abs() < 1e-12:
                break
            share = psi * torch.exp(-1j * u * threshold) / (tilt + 1j * u) / factors * (0.5 if node == 0 else 1.0)
            kept += share.real
            back += (share * turn).real
        moved = back * torch.exp(tilt * c)
        return torch.where(c > self.width / 2, 1 - kept.clamp(min=0) / moved.clamp(min=1e-300), 0.0).clamp(0, 1)

    def _saddle_point(self, threshold: Tensor) -> Tensor:
        """λ with K'(λ) = M, by bisection: K' grows."""
        c, e, n = self.middles, self.rates[:, None], self.counts
        low, high = torch.zeros_like(threshold), torch.ones_like(threshold) / c.abs().max()

        def slope(tilt: Tensor) -> Any:
            return (n * c * torch.sigmoid(torch.logit(e) + tilt * c)).sum()

        while slope(high) < threshold:
            high = 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < threshold else (low, middle)
        return low

    def looked_up(self, table: Tensor, effects: Tensor) -> Tensor:
        """PS of these effects, between the middles of bins."""
        place = ((effects.float() - self.low) / self.width - 0.5).clamp(0, len(table) - 1.001)
        left = place.long()
        share = place - left
        return table[left] * (1 - share) + table[left + 1] * share


def conjugate_gradients(times: Callable[[Tensor], Tensor], rhs: Tensor, most: int = 200) -> Tensor:
    """H⁻¹ of one right-hand side."""
    x, r = torch.zeros_like(rhs), rhs.clone()
    d, rho = r.clone(), (rhs * rhs).sum()
    first = rho.clone()
    for _ in range(most):
        curved = times(d)
        step = rho / (d * curved).sum()
        x, r = x + step * d, r - step * curved
        new = (r * r).sum()
        if new < 1e-8 * first:
            break
        d, rho = r + new / rho * d, new
    return x


def embeddings(rows: int, width: int, classes: int, device: torch.device) -> dict[str, Any]:
    """A softmax head on embeddings: fitted, PS of every label, p_wrong by heads of other folds and rates by class."""
    torch.manual_seed(0)
    clock, tests = Clock(device), 10_000
    centres = torch.randn(classes, width, device=device) * 0.8 / width**0.5
    truth = torch.randint(classes, (rows + tests,), device=device)
    X = torch.randn(rows + tests, width, device=device) * 0.25
    X += centres[truth]
    wrong = torch.rand(rows, device=device) < 0.05
    y = torch.where(wrong, (truth[:rows] + torch.randint(1, classes, (rows,), device=device)) % classes, truth[:rows])
    train, test, right = X[:rows], X[rows:], truth[rows:]
    with clock("fit"):
        theta = _head(train, y, classes)
    with clock("effects"):
        p = (train @ theta.T).softmax(dim=1)
        u = (test @ theta.T).softmax(dim=1)
        u[torch.arange(tests, device=device), right] -= 1.0
        pull = -(u.T @ test) / tests  # what the mean test loss falls by, for each unit of θ
        answer = conjugate_gradients(lambda v: _curved(train, p, v), pull)
        scores = train @ answer.T
    with clock("p_wrong"):
        log_p = torch.empty(rows, classes, device=device)
        fold = torch.arange(rows, device=device) % 3
        for each in range(3):
            others = fold != each
            other = _head(train[others], y[others], classes)
            held = ~others
            log_p[held] = _calibrated(train[held] @ other.T, test @ other.T, right)
        rates = _rates(log_p.exp(), y, classes)
        posterior = (log_p.exp() * rates[:, y].T).clamp(min=1e-30)
        posterior /= posterior.sum(dim=1, keepdim=True)
        p_wrong = 1 - posterior.gather(1, y[:, None])[:, 0]
    with clock("ps"):
        others = posterior.scatter(1, y[:, None], 0.0)
        proposed = others.argmax(dim=1)
        effects = (scores.gather(1, proposed[:, None]) - scores.gather(1, y[:, None]))[:, 0]
        prior = 1 - rates.diagonal()[proposed]
        levels, group = torch.unique(prior, return_inverse=True)
        histogram = Histogram(float(effects.min()), float(effects.max()), levels)
        for each in range(len(levels)):
            histogram.add(effects[group == each], each)
        tables = histogram.tables().float()
        ps = torch.empty(rows, device=device)
        for each in range(len(levels)):
            own = group == each
            ps[own] = histogram.looked_up(tables[each], effects[own])
    return {
        "task": f"{rows:,} × {width} embeddings, {classes} classes",
        "seconds": clock.seconds,
        "total": round(sum(clock.seconds.values()), 3),
        "average precision of p_wrong": round(_average_precision(p_wrong, wrong), 4),
        "average precision of PS": round(_average_precision(ps, wrong), 4),
    }


def _head(X: Tensor, y: Tensor, classes: int) -> Tensor:
    """θ of a softmax regression with a ridge of 1: Newton steps by conjugate gradients."""
    theta = torch.zeros(classes, X.shape[1], device=X.device)
    for _ in range(6):
        p = (X @ theta.T).softmax(dim=1)
        errors = p.clone()
        errors[torch.arange(len(y), device=X.device), y] -= 1.0
        gradient = errors.T @ X + theta
        step = conjugate_gradients(lambda v, p=p: _curved(X, p, v), gradient, most=25)  # type: ignore[misc]
        theta = theta - step
        if step.abs().max() < 1e-4 * theta.abs().max():
            break
    return theta


def _curved(X: Tensor, p: Tensor, v: Tensor) -> Tensor:
    moved = X @ v.T
    moved = p * (moved - (p * moved).sum(dim=1, keepdim=True))
    return moved.T @ X + v


def _calibrated(scores: Tensor, trusted: Tensor, right: Tensor) -> Tensor:
    """Log probabilities at the temperature that is best on trusted rows."""
    heats = torch.logspace(-1, 1, 41, device=scores.device)
    losses = [torch.nn.functional.cross_entropy(trusted * each, right) for each in heats]
    return torch.log_softmax(scores * heats[torch.stack(losses).argmin()], dim=1)


def _rates(p: Tensor, y: Tensor, classes: int) -> Tensor:
    """P(given | true) (K, K), by expectation and maximisation."""
    given = torch.nn.functional.one_hot(y, classes).to(p.dtype)
    rates = 0.9 * torch.eye(classes, device=p.device) + 0.1 / classes
    for _ in range(20):
        joint = p * rates[:, y].T
        joint /= joint.sum(dim=1, keepdim=True)
        rates = (joint.T @ given).clamp(min=1e-6)
        rates /= rates.sum(dim=1, keepdim=True)
    return rates


def _average_precision(score: Tensor, wrong: Tensor) -> float:
    hits = wrong[score.argsort(descending=True)].double()
    precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1, device=hits.device)
    return float((precision * hits).sum() / hits.sum())


def many_labels(rows: int, width: int, device: torch.device) -> dict[str, Any]:
    """A logistic regression of two classes on rows in half precision: fitted, and PS of every label."""
    torch.manual_seed(0)
    clock, rate = Clock(device), 0.05
    half = torch.float16 if device.type == "cuda" else torch.float32
    X, y = torch.empty(rows, width, device=device, dtype=half), torch.empty(rows, device=device, dtype=torch.bool)
    true = torch.randn(width, device=device)
    parts = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
    for part in parts:
        X[part] = torch.randn(X[part].shape, device=device).to(half)
        y[part] = torch.rand(part.stop - part.start, device=device) < (X[part].float() @ true).sigmoid()
        y[part] ^= torch.rand(part.stop - part.start, device=device) < rate
    test = torch.randn(10_000, width, device=device)
    right = (torch.rand(len(test), device=device) < (test @ true).sigmoid()).float()
    theta, hessian = torch.zeros(width, device=device), torch.eye(width, device=device)
    with clock("fit"):
        for _ in range(8):
            gradient, hessian = theta.double(), torch.eye(width, device=device, dtype=torch.float64)
            for part in parts:
                x = X[part].float()
                p = (x @ theta).sigmoid()
                gradient += ((p - y[part].float()) @ x).double()
                hessian += ((x * (p * (1 - p))[:, None]).T @ x).double()
            step = torch.linalg.solve(hessian, gradient).float()
            theta = theta - step
            if step.abs().max() < 1e-5:
                break
    with clock("ps"):
        pull = ((right - (test @ theta).sigmoid()) @ test) / len(test)
        answer = torch.linalg.solve(hessian, pull.double()).float()
        # The largest effect is not known before all rows are read: no row is longer than the longest of a few parts.
        reach = max(float((X[part].float() @ answer).abs().max()) for part in parts[:: max(len(parts) // 4, 1)])
        histogram = Histogram(-1.3 * reach, 1.3 * reach, torch.tensor([rate], device=device))
        effects = torch.empty(rows, device=device, dtype=torch.float32)
        for part in parts:
            effects[part] = torch.where(y[part], -1.0, 1.0) * (X[part].float() @ answer)
            histogram.add(effects[part], 0)
        table = histogram.tables()[0].float()
        ps = torch.empty(rows, device=device, dtype=half)
        for part in parts:
            ps[part] = histogram.looked_up(table, effects[part]).to(half)
    return {
        "task": f"{rows:,} labels × {width} features, 2 classes",
        "seconds": clock.seconds,
        "total": round(sum(clock.seconds.values()), 3),
        "labels in the histogram": int(histogram.counts.sum()),
        "largest PS": round(float(ps[: 2**27].max()), 5),
    }


def main() -> None:
    """Both tasks, and a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true", help="a thousandth of the labels, to try it on a CPU")
    parser.add_argument("--machine", default=platform.node())
    asked = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    scale = 1_000 if asked.small else 1
    embeddings(20_000, 64, 10, device)  # kernels are loaded once, before the clock runs
    many_labels(100_000, 32, device)
    results = [embeddings(10**6 // scale, 768, 10, device), many_labels(10**9 // scale, 32, device)]
    name = torch.cuda.get_device_name(0) if device.type == "cuda" else platform.processor() or "CPU"
    told = {
        "machine": asked.machine,
        "device": name,
        "date": datetime.now(UTC).date().isoformat(),
        "torch": torch.__version__,
        "results": results,
    }
    asked.out.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(told, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
