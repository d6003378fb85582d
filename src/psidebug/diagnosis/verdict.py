"""The result in words: two sentences, and a third where PS is a guess."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug import policy
from psidebug.diagnosis.repair import told
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import VerifiedCorrection
from psidebug.graybox.fidelity import Fidelity
from psidebug.task.task import Task


def verdict(
    task: Task, correction: VerifiedCorrection | None, hypotheses: Sequence[Hypothesis], fidelity: Fidelity | None
) -> str:
    """What is wrong, and what was proved."""
    wrong = int((task.predicted != task.test.codes).sum())
    if len(task.bugs) == 0:
        if wrong:
            return "Nothing to debug: none of the misclassified test points was named as a bug."
        right = "Nothing to debug. The classifier gets every one of these test points right"
        labels = _probably_wrong(task, hypotheses[0]) if hypotheses else None
        return f"{right}." if labels is None else f"{right}; {labels} all the same: p_wrong says which."
    bugs = _bugs(wrong, len(task.bugs))
    if correction is None:
        return f"{bugs}, and {_not_the_labels(task, hypotheses)}{_doubt(fidelity)}"
    return f"{bugs}, and the best explanation is: {correction.explanation}. {_repaired(correction)}.{_doubt(fidelity)}"


def _repaired(correction: VerifiedCorrection) -> str:
    after = correction.verified
    before, now = after.test_before.rate, after.test_after.rate
    labels = "1 label" if after.corrected == 1 else f"{after.corrected} labels"
    done = f"Correcting {labels} takes the test error from {before:.3f} to {now:.3f}"
    if now >= before:
        done = (
            f"Correcting {labels} takes the log loss of the test set from {after.log_loss_before:.3f} "
            f"to {after.log_loss_after:.3f} (its error from {before:.3f} to {now:.3f}, no more than chance)"
        )
    if after.validation_before is not None and after.validation_after is not None:
        done += (
            f" and the error on validation rows, which had no say in it, from {after.validation_before.rate:.3f} "
            f"to {after.validation_after.rate:.3f}"
        )
    return done


def _not_the_labels(task: Task, hypotheses: Sequence[Hypothesis]) -> str:
    """Why no correction is proposed, with the evidence."""
    if not hypotheses:
        return (
            f"the test set is too small to say whether labels are to blame: it takes {policy.LEAST_TEST_ROWS} rows, "
            f"and {policy.LEAST_TEST_ROWS_OF_A_CLASS} of each of two classes. Suspects are in the order of PS, and "
            f"nothing is corrected."
        )
    best = hypotheses[0]
    labels = _probably_wrong(task, best)
    if labels is None:
        return (
            f"no explanation by wrong labels says more than chance would (the best gains {max(best.evidence, 0.0):.0f} "
            f"nats, and {best.charge:.0f} are asked for). The labels are probably not to blame."
        )
    return (
        f"{labels} and worth a look, but correcting them does not repair the model. The errors have another cause: "
        f"perhaps a model that cannot tell these classes apart."
    )


def _probably_wrong(task: Task, best: Hypothesis) -> str | None:
    """How many labels are, and by which explanation; None if there is no more to it than chance."""
    wrong = int(np.sum(best.corrected(task.train.codes) != task.train.codes))
    if not best.likely or wrong == 0:
        return None
    labels = "1 training label is" if wrong == 1 else f"{wrong} training labels are"
    return f"{labels} probably wrong ({told(task, best)})"


def _bugs(wrong: int, bugs: int) -> str:
    """How many test points are wrong, and how many of them were asked about if not all."""
    points = "1 test point is misclassified" if wrong == 1 else f"{wrong} test points are misclassified"
    return points if bugs == wrong else f"{points}, of which {bugs} {'was' if bugs == 1 else 'were'} asked about"


def _doubt(fidelity: Fidelity | None) -> str:
    """What the verdict adds when the gray box is not to be trusted."""
    if fidelity is None or fidelity.trustworthy:
        return ""
    return f" PS is a guess: on this task the gray box {fidelity.graybox!r} does not follow retraining well enough."
