"""From the answers of annotators, weighed, to what is told of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug.evidence.annotators import Annotated
from psidebug.evidence.asking import ask_again
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.annotators import NOBODY, AnnotatorFindings
from psidebug.findings.effects import Floats
from psidebug.inference.estimates import wilson_interval
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Codes
from psidebug.task.task import Task


def annotator_findings(
    task: Task, hypotheses: Sequence[Hypothesis], known: Codes | None = None
) -> AnnotatorFindings | None:
    """By the best hypothesis, or by the answers alone where the test set is too small for one; None without answers.

    ``known`` holds the labels that a person has settled, -1 elsewhere.
    """
    answers, best = task.data.annotations, next(iter(hypotheses), None)
    if answers is None:
        return None
    annotated = None if best is None else best.annotated
    if best is None or annotated is None:
        annotated = Annotated.without_predictors(answers, task.encoding.size, known)
        posterior = annotated.fit.posterior
    else:
        posterior = best.posterior
    p_wrong = 1.0 - posterior[answers.rows, answers.codes]
    counts = np.bincount(answers.annotators)
    wrong = np.bincount(answers.annotators, weights=p_wrong)
    low, high = wilson_interval(wrong, counts)
    marks, confused_as, share = _worst_confusions(answers, posterior)
    asked = ask_again(annotated, None if known is None else known >= 0)
    return AnnotatorFindings(
        answers=answers,
        error_rate=wrong / counts,
        low=low,
        high=high,
        marks=marks,
        confused_as=confused_as,
        share=share,
        p_wrong=p_wrong,
        consensus=np.asarray(posterior.argmax(axis=1)),
        certainty=np.asarray(posterior.max(axis=1)),
        follow=annotated.fit.follow,
        ask_rows=asked.rows,
        ask_whom=asked.annotators,
        ask_right=asked.right,
        ask_gain=asked.gain,
    )


def _worst_confusions(answers: Annotations, posterior: Floats) -> tuple[Codes, Codes, Floats]:
    """Of each annotator the classes k, b with the most expected wrong answers Σ_i W_ik [a_ij = b], and their share."""
    size = posterior.shape[1]
    counts = np.zeros((len(answers.names), size, size))  # annotator, answer, truth
    np.add.at(counts, (answers.annotators, answers.codes), posterior[answers.rows])
    counts = counts.transpose(0, 2, 1)
    of_truth = counts.sum(axis=2)
    wrong = np.where(np.eye(size) == 1, 0.0, counts).reshape(len(counts), -1)
    worst = wrong.argmax(axis=1)
    most = wrong[np.arange(len(wrong)), worst]
    true, said = np.divmod(worst, size)
    share = most / np.maximum(of_truth[np.arange(len(wrong)), true], 1e-300)
    few = most < 1.0  # not one wrong answer is expected: no confusion is told
    return np.where(few, NOBODY, true), np.where(few, NOBODY, said), np.where(few, np.nan, share)
