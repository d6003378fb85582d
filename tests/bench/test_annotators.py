"""The benchmark of annotators: how labels are drawn, Dawid and Skene, and what is measured, where answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks import RESULTS
from benchmarks.lines import read
from benchmarks.real.annotators import Answered, drawn, majority_vote, measure, plain_dawid_skene

ANSWERS = np.array([[0, 0, 1], [1, -1, -1], [-1, 1, 0]])


def test_a_majority_is_that_and_a_tie_is_drawn() -> None:
    ties = {tuple(drawn(ANSWERS, np.random.default_rng(seed), majority=True).tolist()) for seed in range(30)}
    assert ties == {(0, 1, 0), (0, 1, 1)}
    single = {tuple(drawn(ANSWERS, np.random.default_rng(seed), majority=False).tolist()) for seed in range(60)}
    assert single == {(a, 1, b) for a in (0, 1) for b in (0, 1)}


def crowd() -> Answered:
    """Two good annotators and three who guess, on rows that a line tells apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    truth = (X[:, 0] > 0).astype(np.intp)
    answers = np.stack([np.where(rng.random(300) < error, 1 - truth[:300], truth[:300]) for error in
                        (0.05, 0.05, 0.5, 0.5, 0.5)], axis=1)  # fmt: skip
    given = drawn(answers, rng, majority=True)
    return Answered("planted", "test", LogisticRegression(), X[:300], answers, truth[:300], given, X[300:], truth[300:])


def test_dawid_and_skene_find_who_is_good() -> None:
    task = crowd()
    assert not task.of_rules
    found = plain_dawid_skene(task.answers, 2).argmax(axis=1)
    assert np.mean(found != task.truth) < 0.5 * np.mean(majority_vote(task).labels != task.truth)


def test_where_abstaining_is_an_answer_rules_of_one_class_tell_something() -> None:
    """A rule that says 1 on most rows of the class 1, and one that says 0: without silence they tell nothing."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=400)
    answers = np.stack(
        [np.where(rng.random(400) < np.where(truth == k, 0.7, 0.1), k, -1) for k in (0, 1, 0, 1, 0, 1)], axis=1
    )
    heard = (answers >= 0).any(axis=1)
    answers, truth = answers[heard], truth[heard]
    plain = plain_dawid_skene(answers, 2)
    assert np.abs(plain - plain[0]).max() < 1e-6, "the same for every row"
    silent = plain_dawid_skene(np.where(answers < 0, 2, answers), 2)
    assert np.mean(silent.argmax(axis=1) != truth) < 0.1


def test_every_method_is_measured_on_the_same_rows() -> None:
    lines = {str(line["method"]): line for line in measure(crowd())}
    assert {"majority vote", "Dawid-Skene", "Psi's P, without answers", "Psi"} <= set(lines)
    assert float(str(lines["Psi"]["accuracy"])) > float(str(lines["majority vote"]["accuracy"]))
    assert all(0 < float(str(line["answers"])) <= 1 for line in lines.values())


def test_the_page_has_the_measured_figures() -> None:
    """Each cell of the last line of docs/annotators.md."""
    lines = [line for line in read(RESULTS / "annotators.csv") if line["method"] == "Psi"]
    people = [line for line in lines if line["task"].startswith("LabelMe")]
    page = (RESULTS.parents[1] / "docs" / "annotators.md").read_text(encoding="utf-8")
    own = page.partition("| **Psi** |")[2].partition("\n")[0]
    means = [np.mean([line[name] for line in people]) for name in ("accuracy", "answers")]
    assert f" {means[0]:.3f}, {means[1]:.3f} |" in own
    rules = [line for line in lines if line not in people]
    assert len(rules) == 4
    for line in rules:
        assert f"{line['accuracy']:.3f}, {line['answers']:.3f}" in own


@pytest.mark.parametrize("method", ["CROWDLAB, Psi's P", "Dawid-Skene", "majority vote"])
def test_the_peers_are_among_the_measured_lines(method: str) -> None:
    assert sum(line["method"] == method for line in read(RESULTS / "annotators.csv")) == 10
