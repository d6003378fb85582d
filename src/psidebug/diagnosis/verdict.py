"""The result in words: two sentences, a third where PS is a guess, and notes that a reader should know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug import policy
from psidebug.diagnosis.rare_classes import notes_on_rare_classes
from psidebug.diagnosis.repair import told
from psidebug.diagnosis.smallest import counted
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.findings import Findings, FoundCause, VerifiedCorrection
from psidebug.graybox.fidelity import Fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.surrogate import Surrogate
from psidebug.inference.estimates import Estimates
from psidebug.task.labels import Codes, quoted
from psidebug.task.probabilities import is_head
from psidebug.task.task import Task

UNNOTICED = (
    f"with so few test rows, or classes that overlap so much, {policy.MOST_RATE:.0%} of wrong labels would go unnoticed"
)


ABOUT_LABELS = ("training_labels", "none", "cannot_say")
"""Causes with which the verdict is about the training labels first."""
OF_HEAD = "for a logistic head on what was given, not for your own model"
PROVED = {
    "learner": "by retraining",
    "stand-in": f"by retraining, {OF_HEAD}",
    "net": "by retraining the net",
    "head": "for the head, the net's last layer; the others were not retrained",
    "untrained": "for the head, the net's last layer; training the net failed, the notes say how",
}
"""By what was trained."""
UNMEASURED = "its fidelity was not measured"
RANKED = FoundCause(
    "cannot_say",
    "",
    "labels are ranked by PS, and nothing was decided",
    'Diagnose with the effort "decide".',
    0.0,
    0.0,
    False,
)
"""The cause where nothing but PS was asked for."""


def verdict(task: Task, correction: VerifiedCorrection | None, hypotheses: Sequence[Hypothesis]) -> str:
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
        return f"{bugs}, and {_not_the_labels(task, hypotheses)}"
    repaired = _repaired(correction)
    return f"{bugs}, and the best explanation is: {correction.explanation}. {repaired}."


def only_ranked(task: Task) -> str:
    """The verdict where nothing but PS was asked for."""
    bugs = _bugs(int((task.predicted != task.test.codes).sum()), len(task.bugs))
    return (
        f"{bugs}. The training labels are ranked by PS, how sufficient each is as a cause; nothing was decided. The "
        f'effort "decide" weighs whether labels are wrong, and proves what correcting them does.'
    )


def with_causes(came: Task, repaired: Task, found: Findings) -> str:
    """The verdict on the labels, after the cause that explains more, and before what else was found."""
    first, *more = found.causes
    wrong = int((came.predicted != came.test.codes).sum())
    if first.cause == "cannot_say" and first.where:
        unclear = f"it cannot be said which labels are to blame: {first.said}"
        said = f"{_bugs(wrong, len(came.bugs))}, and {unclear}. {first.advice}"
    elif first.cause in ABOUT_LABELS:
        said = found.verdict
    else:
        share = f", which makes up {first.share:.0%} of the log loss" if first.share >= 0.005 else ""
        said = f"{_bugs(wrong, len(came.bugs))}, and the best explanation is: {first.said}{share}. {first.advice}"
        if any(first.column in each.columns for each in found.changes):
            left = int((repaired.predicted != repaired.test.codes).sum())
            done = "that" if len(found.changes) == 1 else "all of this"
            said += (
                f" With {done} repaired, {counted(left, 'test point')} {'is' if left == 1 else 'are'} misclassified."
            )
        if found.correction is not None:
            done = _repaired(found.correction)
            said += f" Then, {found.correction.explanation}. {done}."
        elif first.cause in ("test_labels", "class_shares"):
            said += " No training label is changed."
    others = [each.said for each in more if each.cause != "training_labels"]
    return f"{said} Also: {'; '.join(others)}." if others else said


def _repaired(correction: VerifiedCorrection) -> str:
    """What was proved. The error on the test rows is not told: they have chosen the correction (decision 24)."""
    after, inside = correction.verified, correction.inside
    which = ""
    if inside is None:
        which = f", {'the one' if after.corrected == 1 else 'those'} more likely wrong than right,"
    elif inside < after.corrected:
        which = f", {inside} of them in these rows,"
    done = f"Correcting {counted(after.corrected, 'label')}{which} is proved {PROVED[correction.trained]}"
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
    if unnoticeable(hypotheses):
        return f"it cannot be said whether labels are to blame: {UNNOTICED}."
    if labels is None:
        chance = "wrong labels explain them no better than chance"
        if notes_on_rare_classes(task, hypotheses):
            return f"{chance}, as far as these test rows can tell: the notes say what would go unnoticed."
        return f"{chance}. The labels are probably not to blame."
    if best.surplus >= policy.CLEARLY_LIKELY:
        return (
            f"{labels}. Correcting them does not prove to make the model better on these test rows, so no label is "
            f"changed: look at the suspects."
        )
    return (
        f"{labels} and worth a look, but it is not proved that correcting them repairs the model. The errors may have "
        f"another cause, perhaps a model that cannot separate these classes."
    )


def unnoticeable(hypotheses: Sequence[Hypothesis]) -> bool:
    """Whether nothing speaks against the labels, and nothing would if many of them were wrong."""
    return bool(hypotheses) and not hypotheses[0].likely and not hypotheses[0].noticeable


def cannot_say(hypotheses: Sequence[Hypothesis]) -> tuple[FoundCause, ...]:
    """That nothing can be said, where many wrong labels would not be noticed."""
    cause = FoundCause("cannot_say", "", UNNOTICED, "Give more test rows, with right labels.", 0.0, 0.0, False)
    return (cause,) if unnoticeable(hypotheses) else ()


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


def with_doubt(said: str, decided: Findings, measured: Fidelity) -> str:
    """The verdict, and after what was decided that PS is a guess, where retraining says so and labels are blamed."""
    if measured.trustworthy or decided.causes[0].cause not in ABOUT_LABELS:
        return said
    doubt = " PS is a guess: on this task it does not follow retraining well enough."
    return f"{decided.verdict}{doubt}{said.removeprefix(decided.verdict)}"


def notes_on_head(task: Task) -> tuple[str, ...]:
    """What is said and proved of a head is not of the model that was not given."""
    return (f"errors, PS and the proof by retraining are {OF_HEAD}",) if is_head(task.learner) else ()


def notes_on_classes(task: Task, repaired: Codes) -> tuple[str, ...]:
    """What the classes of the test set allow to be said; of a class whose labels change, something was."""
    tested = np.bincount(task.test.codes, minlength=task.encoding.size)
    if len(task.test) > 1 and (tested > 0).sum() == 1:
        return ("the test set has one class only: it cannot tell wrong labels from a biased model; none is corrected",)
    changed = repaired != task.train.codes
    judged = np.union1d(task.train.codes[changed], repaired[changed])
    few = np.setdiff1d(np.flatnonzero(tested < policy.LEAST_ROWS), judged)
    names = ", ".join(quoted(task.encoding.classes[code]) for code in few)
    return (f"too few test rows have the class {names}: such labels are not judged",) if names else ()


def notes_on_estimates(box: GrayBox, estimates: Estimates) -> tuple[str, ...]:
    """What the gray box and the engine have to say."""
    notes = tuple(getattr(box, "notes", ()))
    if isinstance(box, Surrogate):  # never without saying how good it is, once that is known
        notes = (f"{notes[0]}; {UNMEASURED}", *notes[1:])
    return notes + tuple(estimates.warnings)


def with_fidelity(notes: Sequence[str], measured: Fidelity) -> tuple[str, ...]:
    """The notes, that on a surrogate with how good it is."""
    return tuple(f"{each.removesuffix(UNMEASURED)}{measured}" if each.endswith(UNMEASURED) else each for each in notes)
