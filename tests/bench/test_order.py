"""The proof in small: relations between methods that must hold, whatever the machine."""

from __future__ import annotations

from benchmarks.measures import average_precision, order_of
from benchmarks.peers import baselines, psi
from benchmarks.peers.contest import Finding
from benchmarks.peers.harness import Ground, judged
from psidebug.datasets import Benchmark


def precision(finding: Finding, data: Benchmark) -> float:
    found = average_precision(order_of(finding.scores), data.wrong)
    assert found is not None
    return found


def test_a_slice(one_slice: tuple[Benchmark, Ground]) -> None:
    """A whole slice marked: what doubts the labels is blind, Psi is not, and its choice repairs the model."""
    data, ground = one_slice
    ours = psi.rank(ground.contest)
    assert precision(ours, data) > precision(baselines.training_loss(ground.contest), data) + 0.3
    assert precision(ours, data) > precision(baselines.judge(ground.contest), data)
    row = judged(ours, ground)
    assert row["clean"] < row["noisy"] - 0.02
    assert row["auto"] < row["noisy"] - 0.8 * (row["noisy"] - row["clean"])


def test_scattered_errors(scattered: tuple[Benchmark, Ground]) -> None:
    """Labels wrong at random: Psi is where those are that were made for it."""
    data, ground = scattered
    ours = precision(psi.rank(ground.contest), data)
    assert ours > precision(baselines.training_loss(ground.contest), data) - 0.05
    assert ours > precision(baselines.self_influence(ground.contest), data) - 0.05
    assert precision(baselines.random(ground.contest), data) < 0.2
