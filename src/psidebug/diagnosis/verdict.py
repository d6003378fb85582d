"""The result in words: two sentences, a third where PS is a guess, and notes that a reader should know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug import policy
from psidebug.diagnosis.repair import told
from psidebug.diagnosis.smallest import counted
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import FoundCause, VerifiedCorrection
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.surrogate import Surrogate
from psidebug.inference.estimates import Estimates
from psidebug.task.labels import quoted
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


def verdict_on_rows(came: Task, repaired: Task, causes: Sequence[FoundCause], about_labels: str) -> str:
    """What is wrong beside training labels, before what is said of these, and of the model after a repair."""
    wrong = int((came.predicted != came.test.codes).sum())
    left = int((repaired.predicted != repaired.test.codes).sum())
    first = causes[0]
    said = f"{_bugs(wrong, len(came.bugs))}, and the best explanation is: {first.said}. {first.advice}"
    more = [each.said for each in causes[1:] if each.cause != "training_labels"]
    if more:
        said += f" Also: {'; '.join(more)}."
    if repaired is not came:
        said += f" With that repaired, {left} {'is' if left == 1 else 'are'} left."
    return f"{said} Then: {about_labels}" if about_labels else said


def _repaired(correction: VerifiedCorrection) -> str:
    """What was proved. The error on the test rows is not told: they have chosen the correction (decision 24)."""
    after = correction.verified
    done = f"Correcting {counted(after.corrected, 'label')} is proved by retraining"
    if after.validation_before is not None and after.validation_after is not None:
        was, is_now = after.validation_before.rate, after.validation_after.rate
        done += f"; the error on validation rows, which had no say in it, goes from {was:.3f} to {is_now:.3f}"
    return done


def _not_the_labels(task: Task, hypotheses: Sequence[Hypothesis]) -> str:
    """Why no correction is proposed, with the evidence."""
    if not hypotheses:
        return (
            f"the test set is too small to say whether labels are to blame: it takes {policy.LEAST_TEST_ROWS} rows, "
            f"and {policy.LEAST_ROWS} of each of two classes. Suspects are ranked by PS, not corrected."
        )
    best = hypotheses[0]
    labels = _probably_wrong(task, best)
    if labels is None and best.likely:
        return "some labels may be wrong, but no single label is more likely wrong than right: nothing is corrected."
    if labels is None:
        gained = f"the best explanation gains {max(best.evidence, 0.0):.0f} nats of the {best.charge:.0f} needed"
        return f"wrong labels explain them no better than chance ({gained}). The labels are probably not to blame."
    return (
        f"{labels} and worth a look, but correcting them does not repair the model. The errors have another cause, "
        f"perhaps a model that cannot separate these classes."
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


def notes_on_classes(task: Task) -> tuple[str, ...]:
    """What the classes of the test set allow to be said."""
    tested = np.bincount(task.test.codes, minlength=task.encoding.size)
    if len(task.test) > 1 and (tested > 0).sum() == 1:
        return ("the test set has one class only: it cannot tell wrong labels from a biased model; none is corrected",)
    few = np.flatnonzero(tested < policy.LEAST_ROWS)
    names = ", ".join(quoted(task.encoding.classes[code]) for code in few)
    return (f"too few test rows have the class {names}: such labels are not judged",) if names else ()


def notes_on_estimates(box: GrayBox, measured: Fidelity | None, estimates: Estimates) -> tuple[str, ...]:
    """What the gray box and the engine have to say."""
    notes = tuple(getattr(box, "notes", ()))
    if isinstance(box, Surrogate):  # never without saying how good it is
        notes = (f"{notes[0]}; {'its fidelity was not measured' if measured is None else measured}", *notes[1:])
    return notes + tuple(estimates.warnings)
