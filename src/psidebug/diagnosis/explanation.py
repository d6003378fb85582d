"""One bug explained: its causes, the smallest verified correction that repairs it, and doubt about its own label."""

from __future__ import annotations

import html
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug import policy
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.smallest import CorrectionSearch, SmallestCorrection, counted, expected_length
from psidebug.errors import InferenceError, NotMisclassified, NoWorldWithout, SymptomAbsent, UnknownRow
from psidebug.findings.findings import Causes, LabelFindings, Predictions
from psidebug.findings.frames import labels_frame, library_for
from psidebug.graybox.protocol import GrayBox, LinearGrayBox
from psidebug.inference.estimates import Estimates, no_causes
from psidebug.priors import Prior
from psidebug.report.notebook import ShownRows, explanation_in_a_notebook
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import misclassified
from psidebug.task.labels import Codes, quoted
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
BUGS_EXPLAINED, CAUSES_KEPT = 50, 20
"""Causes are told of so many bugs, those that are most confidently wrong, and of each the first so many."""
LONE_ROWS = 256
"""So many labels are moved one at a time in the gray box, where PS cannot order them: a limit on time."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The causes of one misclassified test point, as :meth:`psidebug.Diagnosis.explain` gives them.

    Examples
    --------
    >>> import psidebug
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> y_train = y[::2].copy()
    >>> y_train[X[::2, 0] > 6.5] = 0
    >>> model = LogisticRegression(max_iter=1000)
    >>> diagnosis = psidebug.debug(model, X[::2], y_train, X[1::2], y[1::2], effort="rank", progress=False)
    >>> bug = int(diagnosis.task.bugs[0])
    >>> explanation = diagnosis.explain(bug)
    >>> print(explanation)  # doctest: +ELLIPSIS
    Test row ... is labelled ... and classified ...
    >>> len(explanation.causes) > 10
    True
    """

    test_row: Any
    """Its id, or its position where test rows have none."""
    position: int
    given: Any
    """Its label in the test set."""
    predicted: Any
    """What the classifier says instead."""
    causes: Any
    """Data frame of training rows, best first: row, given, proposed, ps, ps_low, ps_high, p_wrong."""
    engine: str
    """The engine that PS is from; if it had no answer, why."""
    smallest: SmallestCorrection | None = None
    """None if no correction that was tried repairs the bug."""
    fits: int = 0
    """Fits that the search took."""
    pushed: int = 0
    """The largest number of corrections that were retrained together."""
    expected: int | None = None
    """How many corrections the gray box expected to repair the bug; None if it expected none to."""
    test_label_doubt: str | None = None
    """Why the label of the test row itself may be wrong; None if nothing says so."""
    rows: Callable[[Any], ShownRows] | None = field(default=None, repr=False)
    """The first rows of a frame such as ``causes`` with their values; None where nobody has the rows at hand."""

    def __repr__(self) -> str:
        shown = "" if self.rows is None or not len(self.causes) else f"\n\n{self.rows(self.causes)!r}"
        return f"{self}{shown}"

    def _repr_html_(self) -> str:
        if self.rows is None:
            return f"<p>{html.escape(str(self))}</p>"
        return explanation_in_a_notebook(str(self), self.position, self.rows(self.causes))

    def __str__(self) -> str:
        causes = f"{counted(len(self.causes), 'training label')} can be a cause" if len(self.causes) else self.engine
        if self.smallest is not None:
            repair = str(self.smallest)
        elif self.pushed == 0:
            repair = "No correction was tried."
        else:
            tried = f"up to {self.pushed} together, does not repair it (tried in {counted(self.fits, 'fit')})"
            repair = f"Correcting the likeliest causes, {tried}."
        told = f"Test row {self.test_row} is labelled {quoted(self.given)} and classified {quoted(self.predicted)}; "
        return f"{told}{causes}. {repair}" + ("" if self.test_label_doubt is None else f" {self.test_label_doubt}")


def explain(
    prover: Prover,
    graybox: GrayBox,
    prior: Prior,
    row: int,
    *,
    p_wrong: Floats | None = None,
    test_probability: Floats | None = None,
    budget: int = 12,
) -> Explanation:
    """The causes of one misclassified test point, and the smallest correction found that repairs it.

    Rows are ordered by PS × ``p_wrong``, where ``p_wrong`` (N,) says by other evidence how likely each label is wrong,
    or by PS alone; a label with p_wrong = 0 is never corrected. The gray box says how many of the first should be
    enough; retraining, at most ``budget`` times, says how many are, and which of those can be left out.
    ``test_probability`` (K,) is what the calibrated predictors say about this test row.
    """
    task = prover.task
    classes = task.encoding.classes
    estimates, engine = _estimated(task, graybox, prior, row)
    if estimates is None:
        order, proposed = _by_lone_effect(task, graybox, prior.rates if p_wrong is None else p_wrong, row)
    else:
        order, proposed = ranked(estimates, p_wrong), estimates.proposed
        possible = estimates.ps if p_wrong is None else estimates.ps * p_wrong
        order = order[possible[order] > 0]
    order = order[: max(policy.MANY, int(policy.MOST_SHARE_FOR_ONE_BUG * len(task.train)))]
    search = CorrectionSearch(prover, row, proposed, budget)
    expected = expected_length(graybox, search, order)
    smallest = search.smallest(order, expected)
    return Explanation(
        test_row=row,
        position=row,
        given=classes[task.test.codes[row]],
        predicted=classes[task.predicted[row]],
        causes=causes_of(task, no_causes(prior, reason=engine) if estimates is None else estimates, p_wrong),
        engine=engine,
        smallest=smallest,
        fits=search.fits,
        pushed=search.pushed,
        expected=expected,
        test_label_doubt=_doubt(search, smallest, len(order), p_wrong, test_probability),
    )


def ranked(estimates: Estimates, p_wrong: Floats | None = None) -> Rows:
    """Rows that can be a cause: by PS × p_wrong if that is known, then PS, the posterior of being wrong, position."""
    can_cause = np.flatnonzero(estimates.high > 0)
    ps = estimates.ps[can_cause]
    first = ps if p_wrong is None else ps * p_wrong[can_cause]
    order = np.argsort(-first)
    ties = first[order[1:]] == first[order[:-1]]
    places = np.flatnonzero(np.r_[ties, False] | np.r_[False, ties])
    tied = np.sort(order[places])  # few: to sort all rows by all keys takes five times as long
    keys = -estimates.p_wrong[can_cause[tied]], -ps[tied], -first[tied]  # the last is the first
    order[places] = tied[np.lexsort(keys)]
    return np.asarray(can_cause[order])


def causes_of(task: Task, estimates: Estimates, p_wrong: Floats | None = None) -> Any:
    """Data frame of the rows that can be a cause, in the user's library.

    The column p_wrong is what is known by other evidence, else the posterior P(Y_i ≠ y_i | ¬φ).
    """
    given, known = task.train.codes, estimates.p_wrong if p_wrong is None else p_wrong
    ps = estimates.ps, estimates.low, estimates.high
    order = ranked(estimates, p_wrong)
    found = LabelFindings(task.rows, given, estimates.proposed, given, *ps, known, given, 1.0 - known, order)
    return labels_frame(found, task.encoding, library_for(task.train.features))


def position_of(tests: Predictions, row: Any) -> int:
    """The position of a misclassified test row, by its id, or by its position where test rows have no ids."""
    names = tests.rows.tolist()
    if tests.ids is None:
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(names):
            raise UnknownRow(f"explain takes the position of a test row, 0 to {len(names) - 1}, not {row!r}.")
    elif isinstance(row, np.ndarray) or row not in names:
        raise UnknownRow(f"explain takes the id of a test row, such as {names[0]!r}, not {row!r:.60}.")
    position = names.index(row)
    if not tests.wrong[position]:
        wrong = [names[place] for place in np.flatnonzero(tests.wrong).tolist()]
        named = ", ".join(map(str, wrong[:6])) + (", …" if len(wrong) > 6 else "")
        others = f" The misclassified ones are {named}." if len(wrong) else ""
        raise NotMisclassified(f"test row {row} is classified correctly: there is no error to explain.{others}")
    return int(position)


def _estimated(task: Task, graybox: GrayBox, prior: Prior, row: int) -> tuple[Estimates | None, str]:
    """PS for this error alone and its engine; or nothing, and why: the error may be too rare an event to lose."""
    try:
        estimates = sufficiency(graybox, prior, misclassified(row), rng=np.random.default_rng(task.seed))
    except (NoWorldWithout, SymptomAbsent) as error:
        return None, f"PS is not known ({str(error).split('. ')[0].removesuffix('.')})"
    return estimates, estimates.engine


def _by_lone_effect(task: Task, graybox: GrayBox, p_wrong: Floats, row: int) -> tuple[Rows, Codes]:
    """Rows, where PS has no order, by p_wrong × what moving the label alone to the bug's class adds to its margin."""
    given, target, point = task.train.codes, task.test.codes[row], np.array([row])
    movable = np.flatnonzero((given != target) & (p_wrong > 0))
    effects = np.zeros(len(given))
    actual = graybox.margins(given[None], point).min()
    for each in movable[np.argsort(-p_wrong[movable], kind="stable")][:LONE_ROWS]:
        world = given.copy()
        world[each] = target
        effects[each] = p_wrong[each] * (graybox.margins(world[None], point).min() - actual)
    return np.argsort(-effects, kind="stable")[: int((effects > 0).sum())], np.full_like(given, target)


def _doubt(
    search: CorrectionSearch,
    smallest: SmallestCorrection | None,
    causes: int,
    p_wrong: Floats | None,
    said: Floats | None,
) -> str | None:
    """A sentence if the test label may be the wrong one.

    What predictors say clearly decides. Otherwise it is doubted if many training labels that are probably right must
    change, or if changing many, or all causes, brings the point not half of the way to the boundary. Without other
    evidence that says nothing: where a slice is mislabelled, half of the bugs take many corrections either way.
    """
    if said is None and p_wrong is None:
        return None
    task, code = search.task, search.task.test.codes[search.row]
    classes, rows = task.encoding.classes, len(task.train)
    many = max(policy.MANY_SHARE * rows, policy.MANY)
    reason = None
    if said is not None and said[code] < policy.DISBELIEVED:
        other = int(said.argmax())
        reason = (
            f"predictors that never saw it give it {said[code]:.2f}, and {quoted(classes[other])} {said[other]:.2f}"
        )
    elif said is not None and said[code] > 0.5:
        return None
    elif smallest is not None and smallest.size > many:
        if p_wrong is None or p_wrong[smallest.positions].mean() < 0.5:
            reason = f"repairing it takes {smallest.size} corrections, {smallest.size / rows:.0%} of the training set"
    elif smallest is None and 0 < min(many, causes) <= search.pushed and search.reached < search.margin / 2:
        reason = f"{counted(search.pushed, 'correction')} bring it not half of the way to the boundary"
    return None if reason is None else f"The test label {quoted(classes[code])} may itself be wrong: {reason}."


def causes_of_bugs(task: Task, graybox: GrayBox | None, prior: Prior, p_wrong: Floats | None) -> tuple[Causes, ...]:
    """The first causes of the bugs that are most confidently wrong, by PS × ``p_wrong``; without it, by PS.

    PS is by the closed form; a gray box that is not linear would take thousands of fits, and explains none.
    """
    if not isinstance(graybox, LinearGrayBox):
        return ()
    ahead = task.margins(task.learner, task.test)[task.bugs].min(axis=1)
    explained: list[Causes] = []
    for bug in task.bugs[np.argsort(ahead, kind="stable")][:BUGS_EXPLAINED].tolist():
        with suppress(InferenceError):  # no world of the prior is free of this bug: its causes are not known
            answer = sufficiency(graybox, prior, misclassified(bug), engine="closed_form")
            rows = ranked(answer, p_wrong)[:CAUSES_KEPT]
            bounds = answer.low[rows], answer.high[rows]
            explained.append(Causes(bug, rows, answer.proposed[rows], answer.ps[rows], *bounds))
    return tuple(explained)


def unexplained(graybox: GrayBox | None) -> str | None:
    """Why no bug of a diagnosis has causes, as a part of a sentence."""
    if graybox is None or isinstance(graybox, LinearGrayBox):
        return "no change of labels that the prior thinks possible makes one of these bugs go away"
    return f"the gray box {graybox.name!r} is not linear in the labels, so that they would take thousands of fits"
