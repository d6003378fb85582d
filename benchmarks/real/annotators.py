"""Answers of several annotators: the consensus of Psi beside majority vote, Dawid and Skene, and cleanlab's CROWDLAB.

Run ``PSI_DATA=folder python -m benchmarks.real.annotators``; the folder has ``real/labelme`` and ``real/wrench``. It
goes on in the environment of the peers (:mod:`benchmarks.peers.environment`) where there is one: CROWDLAB is measured
only there. Results go to ``results/annotators.csv``.

All get the same rows. Labels of a few hundred *trusted* rows are there, too; only Psi and "Psi's P" use them.
``accuracy`` is that of the consensus on the training rows, ``log_loss`` that of the true class (at least 1e-6),
``answers`` the average precision of wrong answers.

No figure of Psi here is of rows that had no say. The look of a row, ρ and the pseudo-counts were chosen on LabelMe
(people, photographs), whose rows are the same for every seed: seeds only draw the label. YouTube and SemEval (rules,
texts) were looked at, too: for the limit of ρ, and to leave out what silence of a rule says. Every rule says one class
only, or nothing: to Dawid and Skene it then tells nothing, unless abstaining is an answer. The log loss of Psi on
SemEval with 178 trusted rows is that of 62 rows of two classes with two trusted rows each: Psi rules such classes out,
so these rows cost log 1e-6 each; without that rule it is 0.608.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from benchmarks.measures import average_precision, order_of
from benchmarks.peers.environment import home, prepare

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
LEAST = 1e-6
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Answered:
    """Training rows with answers (rows × annotators, -1 for none), their truth, and trusted rows."""

    name: str
    trusted: str
    learner: Any
    features: Any
    answers: Codes
    truth: Codes
    given: Codes
    """The majority, ties drawn; or one answer, drawn."""
    trusted_features: Any
    trusted_labels: Codes

    @property
    def of_rules(self) -> bool:
        """Whether each annotator says one class only: he has read every row, and is silent about the others."""
        return all(len(np.unique(column[column >= 0])) <= 1 for column in self.answers.T)

    @property
    def size(self) -> int:
        """K."""
        return int(max(self.truth.max(), self.answers.max())) + 1

    @property
    def votes(self) -> Floats:
        """Answers of each row by class (N, K)."""
        return np.stack([(self.answers == k).sum(axis=1) for k in range(self.size)], axis=1).astype(np.float64)

    @property
    def listed(self) -> tuple[Codes, Codes, Codes]:
        """Row, annotator and class of every answer."""
        rows, who = np.nonzero(self.answers >= 0)
        return rows, who, self.answers[rows, who]


@dataclass(frozen=True)
class Consensus:
    """What a method says: the class of each row, how likely each class is, and how likely each answer is right."""

    labels: Codes
    right: Floats
    """(A,), in the order of :attr:`Answered.listed`."""
    probability: Floats | None = None
    """(N, K); None where a method has none."""

    @classmethod
    def of(cls, task: Answered, probability: Floats, labels: Codes | None = None) -> Consensus:
        """By probabilities (N, K); the likeliest class unless labels are given."""
        rows, _, codes = task.listed
        found = np.asarray(probability.argmax(axis=1)) if labels is None else labels
        return cls(found, probability[rows, codes], probability)


def tasks(folder: Path) -> Iterator[Answered]:
    """LabelMe with two ways to make a label of several answers; rules with two sets of trusted rows."""
    for kind in ("majority", "single"):
        for seed in range(3):
            yield labelme(folder / "labelme", kind, seed)
    for name in ("youtube", "semeval"):
        for trusted in ("valid", "test"):
            yield rules(folder / "wrench", name, trusted)


def labelme(folder: Path, kind: str, seed: int) -> Answered:
    """1,000 photographs, 59 people; 500 trusted photographs."""
    X = {each: np.load(folder / f"LabelMe_VGG_avg_{each}.npy").astype(np.float64) for each in SPLITS}
    Z = {each: np.loadtxt(folder / f"LabelMe_Z_{each}.txt").astype(np.intp) for each in SPLITS}
    answers = np.loadtxt(folder / "answers.txt").astype(np.intp)
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    given = drawn(answers, np.random.default_rng(seed), majority=kind == "majority")
    return Answered(
        f"LabelMe, {kind}, seed {seed}",
        "valid",
        learner,
        X["train"],
        answers,
        Z["train"],
        given,
        X["valid"],
        Z["valid"],
    )


def rules(folder: Path, name: str, trusted: str) -> Answered:
    """Texts and the votes of rules; rows on which every rule abstains are left out."""
    parts = {
        each: list(json.loads((folder / f"{name}_{each}.json").read_text()).values()) for each in ("train", trusted)
    }
    parts["train"] = [each for each in parts["train"] if max(each["weak_labels"]) >= 0]
    X = {part: np.array([_text(each["data"]) for each in rows], dtype=object) for part, rows in parts.items()}
    Z = {part: np.array([each["label"] for each in rows], dtype=np.intp) for part, rows in parts.items()}
    answers = np.array([each["weak_labels"] for each in parts["train"]], dtype=np.intp)
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2, token_pattern=r"(?u)\b\w+\b")
    learner = make_pipeline(words, LogisticRegression(C=10, max_iter=500))
    given = drawn(answers, np.random.default_rng(0), majority=True)
    title = {"youtube": "YouTube", "semeval": "SemEval"}[name]
    return Answered(title, trusted, learner, X["train"], answers, Z["train"], given, X[trusted], Z[trusted])


def _text(data: dict[str, Any]) -> str:
    """The text; of a relation also its two ends and the words between them."""
    if "entity1" not in data:
        return str(data["text"])
    (_, begin), (end, _) = sorted([data["span1"], data["span2"]])
    between = " ".join(f"between_{word}" for word in data["text"][begin:end].split())
    ends = (f"e{place}_{data[f'entity{place}'].replace(' ', '_')}" for place in (1, 2))
    return " ".join([data["text"], between, *ends])


def drawn(answers: Codes, rng: np.random.Generator, *, majority: bool) -> Codes:
    """One label for each row: the majority, ties drawn, or one answer, drawn."""
    labels = []
    for row in answers:
        said = row[row >= 0]
        if majority:
            counts = np.bincount(said)
            said = np.flatnonzero(counts == counts.max())
        labels.append(rng.choice(said))
    return np.array(labels, dtype=np.intp)


def majority_vote(task: Answered) -> Consensus:
    """Shares of the answers; ties are drawn."""
    votes = task.votes
    labels = drawn(task.answers, np.random.default_rng(0), majority=True)
    return Consensus.of(task, votes / votes.sum(axis=1, keepdims=True), labels)


def dawid_skene(task: Answered) -> Consensus:
    """By crowd-kit where it is installed, else by :func:`plain_dawid_skene`."""
    if importlib.util.find_spec("crowdkit") is None:
        return Consensus.of(task, plain_dawid_skene(task.answers, task.size))
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    rows, who, codes = task.listed
    said = pd.DataFrame({"task": rows, "worker": who, "label": codes})
    found = DawidSkene(n_iter=100).fit_predict_proba(said).reindex(range(len(task.truth)))
    return Consensus.of(task, found.reindex(columns=range(task.size), fill_value=0.0).to_numpy())


def plain_dawid_skene(answers: Codes, size: int, rounds: int = 100) -> Floats:
    """Dawid and Skene (1979): confusions and shares of the classes by EM, begun with the shares of the answers.

    Codes from ``size`` on are answers that are no class.
    """
    said = (answers[:, :, None] == np.arange(max(answers.max() + 1, size))).astype(
        np.float64
    )  # rows, annotators, answer
    truth = said[:, :, :size].sum(axis=1) / said[:, :, :size].sum(axis=(1, 2))[:, None]
    for _ in range(rounds):
        confusion = np.einsum("ik,ijb->jkb", truth, said) + 1e-10
        confusion /= confusion.sum(axis=2, keepdims=True)
        logs = np.log(truth.mean(axis=0) + 1e-10) + np.einsum("ijb,jkb->ik", said, np.log(confusion))
        truth = np.exp(logs - logs.max(axis=1, keepdims=True))
        truth /= truth.sum(axis=1, keepdims=True)
    return np.asarray(truth)


def dawid_skene_with_silence(task: Answered) -> Consensus:
    """Abstaining is one more answer, as labelling rules are usually taken."""
    silent = np.where(task.answers < 0, task.size, task.answers)
    return Consensus.of(task, plain_dawid_skene(silent, task.size))


def crowdlab(task: Answered, probability: Floats) -> Consensus:
    """cleanlab's CROWDLAB with these predictions (N, K)."""
    import pandas as pd
    from cleanlab.multiannotator import get_label_quality_multiannotator

    table = pd.DataFrame(np.where(task.answers < 0, np.nan, task.answers))
    table = table.loc[:, table.notna().any()]
    found = get_label_quality_multiannotator(table, probability, verbose=False)
    quality = np.full(task.answers.shape, np.nan)
    detailed = found["detailed_label_quality"]
    places = [int(str(name).removeprefix("quality_annotator_")) for name in detailed.columns]
    quality[:, places] = detailed.to_numpy()
    rows, who, _ = task.listed
    return Consensus(found["label_quality"]["consensus_label"].to_numpy().astype(np.intp), quality[rows, who])


def out_of_fold(task: Answered) -> Floats:
    """The learner, five folds, trained on the labels that debug gets."""
    found = cross_val_predict(task.learner, task.features, task.given, cv=5, method="predict_proba")
    probability = np.full((len(task.truth), task.size), LEAST)
    probability[:, np.unique(task.given)] = found
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def methods(task: Answered) -> Iterator[tuple[str, Callable[[], Consensus]]]:
    """Every method that can run here; Psi is asked once."""
    found = psidebug.debug(
        task.learner,
        task.features,
        task.given,
        task.trusted_features,
        task.trusted_labels,
        annotations=task.answers,
        check_fidelity=False,
    )
    annotated = found.hypotheses[0].annotated
    assert annotated is not None
    alone = np.exp(annotated.log_probability)
    yield "majority vote", lambda: majority_vote(task)
    yield "Dawid-Skene", lambda: dawid_skene(task)
    if task.of_rules:
        yield "Dawid-Skene, abstaining is an answer", lambda: dawid_skene_with_silence(task)
    if importlib.util.find_spec("cleanlab") is not None:
        yield "CROWDLAB, five folds of the learner", lambda: crowdlab(task, out_of_fold(task))
        yield "CROWDLAB, Psi's P", lambda: crowdlab(task, alone)
    yield "Psi's P, without answers", lambda: Consensus.of(task, alone)
    yield "Psi", lambda: Consensus.of(task, found.hypotheses[0].posterior)


def measure(task: Answered) -> Iterator[dict[str, object]]:
    """A line for each method."""
    rows, _, codes = task.listed
    for name, run in methods(task):
        said = run()
        loss: float | str = ""
        if said.probability is not None:
            own = said.probability[np.arange(len(task.truth)), task.truth]
            loss = round(float(-np.log(np.maximum(own, LEAST)).mean()), 3)
        found = average_precision(order_of(1.0 - said.right), codes != task.truth[rows])
        assert found is not None
        yield {
            "task": task.name,
            "trusted": f"{task.trusted}, {len(task.trusted_labels)} rows",
            "method": name,
            "accuracy": round(float((said.labels == task.truth).mean()), 3),
            "log_loss": loss,
            "answers": round(found, 3),
        }


def main() -> None:
    """Measure all tasks; in the environment of the peers if there is one and this is another."""
    folder = os.environ.get("PSI_DATA")
    if not folder:
        raise SystemExit("set PSI_DATA to the folder that holds real/labelme and real/wrench")
    python = prepare(home(), install=False)
    if python is not None and importlib.util.find_spec("cleanlab") is None:
        raise SystemExit(subprocess.run([str(python), "-m", "benchmarks.real.annotators"], check=False).returncode)
    lines: list[dict[str, object]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in tasks(Path(folder) / "real"):
            for line in measure(task):
                lines.append(line)
                print(line, flush=True)
    modules = [sklearn, *(__import__(name) for name in ("cleanlab", "crowdkit") if importlib.util.find_spec(name))]
    write(RESULTS / "annotators.csv", [line | made_with(*modules) for line in lines])


if __name__ == "__main__":
    main()
