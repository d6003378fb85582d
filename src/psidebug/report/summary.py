"""A diagnosis as plain data: what every page, and every other program, is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.findings import frames
from psidebug.findings.about_tests import OPTIMISTIC, error_without_suspects
from psidebug.findings.findings import Causes, Findings, FoundCause, Predictions
from psidebug.report.effects import (
    Plain,
    confusion_of,
    curve_of,
    distribution_of,
    effect_of,
    errors_of,
    fidelity_of,
    plain,
    records,
)
from psidebug.report.rows import Part, RowView, views
from psidebug.task.data import Data
from psidebug.task.tables import plain_text

SCHEMA = 3
"""Version of the summary's form; it rises when a field changes its meaning."""
SUSPECTS, BUGS, CAUSES = 2_000, 10, 6
"""Suspects and bugs that are shown by default, and the causes of each bug."""
ANNOTATORS, ASKED, TESTS = 200, 10, 100
"""Annotators that are shown, rows to ask again, and test labels that are probably wrong."""
CELLS_OF_A_SUSPECT, LETTERS_OF_A_SUSPECT, LETTERS_OF_A_CAUSE = 5, 160, 360
ROOM, MARKUP = 1_100_000, 40
"""Characters of all rows, so that the page stays below 3 MB, and what the markup of each piece of a row costs."""
LEFT_OUT = "left out to keep the page small"


@dataclass(frozen=True)
class Summary:
    """What a person needs to see of a diagnosis. Only strings, numbers, None, lists and dictionaries inside."""

    schema: int
    verdict: str
    size: dict[str, int]
    """Numbers of rows, of bugs, of classes."""
    effect: Plain | None
    """What the correction does, by retraining; None if there is none."""
    errors: list[Plain]
    """Error on each set of the model with given labels, with corrected ones, and of the two controls."""
    slices: list[Plain]
    repairs: list[Plain]
    """What to train on instead, as given first, with cross-fitted errors; none if that was not measured."""
    bugs: list[Plain]
    """Misclassified test rows, first some that the correction repairs, each with its causes; rows as
    :class:`~psidebug.report.rows.RowView`."""
    unexplained: str | None
    """Why no bug has causes; None if some have, or no bug is shown."""
    curve: Plain | None
    distribution: list[Plain]
    """A histogram of PS over the training labels."""
    confusion: Plain
    explanations: list[Plain]
    fidelity: Plain | None
    suspects: list[Plain]
    suspects_in_all: int
    settings: dict[str, str]
    origin: Plain
    """Version of Psi, seed, versions of libraries, fingerprint; when it was saved, and the names of the files."""
    causes: list[Plain]
    """What is wrong with the task, the most evidence first: ``cause``, ``where``, ``said``, ``advice``, ``share`` …"""
    suspect_tests: list[Plain]
    """Test labels that are probably wrong, the first of them."""
    suspect_tests_in_all: int
    suspect_tests_error: Plain | None
    """The error of the model with and without them: ``errors``, ``on_suspects``, ``as_given``, ``without``,
    ``as_proposed``, and ``caution``; None if there are none."""
    checks: list[Plain]
    """What was odd about the data before the diagnosis: ``check`` and ``sentence``."""
    notes: list[str]
    annotators: Plain | None
    """Who errs and how, and rows to ask again; None without answers of annotators."""
    rounds: list[Plain]
    """Later rounds: their verdicts, and the numbers of labels that they correct."""


def summarise(
    findings: Findings, data: Data, *, suspects: int = SUSPECTS, bugs: int = BUGS, rows: bool = True
) -> Summary:
    """Findings, made just now or saved, as plain data.

    It has the first ``suspects`` suspects, and ``bugs`` bugs with their causes. ``rows=False`` leaves the contents of
    rows out, and the bugs with them.
    """
    shown = _RowsOfThePage(findings, data, ROOM)
    predictions, origin = findings.predictions, findings.origin
    told = shown.bugs(bugs) if rows and bugs else []
    return Summary(
        schema=SCHEMA,
        verdict=plain_text(findings.verdict),
        size={
            "rows": len(findings.labels.given),
            "test_rows": len(predictions.labels),
            "validation_rows": 0 if data.validation is None else len(data.validation),
            "wrong": int(predictions.wrong.sum()),
            "bugs": len(predictions.bugs),
            "classes": findings.encoding.size,
        },
        effect=effect_of(findings),
        errors=errors_of(findings),
        repairs=records(frames.repairs_frame(findings)),
        slices=_slices(findings),
        bugs=told,
        unexplained=findings.unexplained if told and not any(each["causes"] for each in told) else None,
        curve=curve_of(findings),
        distribution=distribution_of(findings.labels),
        confusion=confusion_of(predictions, findings.encoding),
        explanations=records(frames.explanations_frame(findings)),
        fidelity=fidelity_of(findings),
        suspects=shown.suspects(suspects, rows=rows),
        suspects_in_all=len(findings.labels.order),
        settings={name: plain_text(value) for name, value in findings.settings.items()},
        origin={
            "psidebug": origin.psidebug,
            "seed": origin.seed,
            "versions": dict(origin.versions),
            "fingerprint": dict(origin.fingerprint),
            "created": origin.created,
            "files": origin.files,
        },
        causes=[_cause(each) for each in findings.causes],
        suspect_tests=records(frames.suspect_tests_frame(findings))[:TESTS],
        suspect_tests_in_all=0 if findings.suspect_tests is None else len(findings.suspect_tests.rows),
        suspect_tests_error=_error_without_suspects(findings),
        checks=[{"check": each.name, "sentence": plain_text(each.sentence)} for each in findings.checks],
        notes=[plain_text(note) for note in findings.notes],
        annotators=_annotators(findings),
        rounds=[{"verdict": plain_text(one.verdict), "corrected": one.corrected} for one in findings.rounds],
    )


def _cause(found: FoundCause) -> Plain:
    told = {name: plain_text(getattr(found, name)) for name in ("cause", "where", "said", "advice", "proof")}
    return told | {"evidence": plain(found.evidence), "share": plain(found.share), "proved": found.proved}


def _error_without_suspects(findings: Findings) -> Plain | None:
    error = error_without_suspects(findings)
    return None if error is None else error.as_data() | {"caution": OPTIMISTIC}


def _slices(findings: Findings) -> list[Plain]:
    """``proved`` are those of the correction."""
    found = records(frames.slices_frame(findings))
    for line, one in zip(found, findings.slices, strict=True):
        sentence = f"{one.said[:1].upper()}{one.said[1:]}." if one.said else f"{one.condition}."
        line |= {"condition": plain_text(one.condition), "proved": one.proved, "sentence": plain_text(sentence)}
    return found


def _annotators(findings: Findings) -> Plain | None:
    found = findings.annotators
    if found is None:
        return None
    return {
        "answers": len(found.answers),
        "rows": int(found.answers.answered.sum()),
        "annotators": records(frames.annotators_frame(findings))[:ANNOTATORS],
        "in_all": len(found.names),
        "ask_again": records(frames.ask_again_frame(findings))[:ASKED],
        "asked_in_all": len(found.ask_rows),
    }


def chosen_bugs(explained: Sequence[Causes], predictions: Predictions, most: int) -> list[Causes]:
    """Up to half are bugs that the correction repairs; these come first. Each group begins with the surest.

    By confidence alone the page would open with bugs that no correction of labels repairs.
    """
    after = predictions.after
    repaired = [
        each for each in explained if after is not None and after[each.test_row] == predictions.labels[each.test_row]
    ]
    others = [each for each in explained if each not in repaired]
    room = max(most - most // 2, most - len(others))
    shown = repaired[:room]
    return [*shown, *others[: most - len(shown)]]


@dataclass
class _RowsOfThePage:
    """Rows as the page shows them, while there is room for more characters of them."""

    findings: Findings
    data: Data
    room: int

    def suspects(self, most: int, *, rows: bool) -> list[Plain]:
        """The first suspects, with their rows if there is room for them."""
        first = nw.from_native(frames.suspects_frame(self.findings), eager_only=True).head(most)
        found = records(first.to_native())
        if rows:
            order = self.findings.labels.order[:most]
            shown = self._views("train", order, cells=CELLS_OF_A_SUSPECT, letters=LETTERS_OF_A_SUSPECT)
            for suspect, view in zip(found, shown, strict=True):
                suspect["view"] = view
        return found

    def bugs(self, most: int) -> list[Plain]:
        """Bugs with their causes; the first bugs where no causes are known."""
        predictions = self.findings.predictions
        explained = chosen_bugs(self.findings.bug_causes, predictions, most)
        if not explained:
            return [self._bug(row) | {"causes": []} for row in predictions.bugs[:most].tolist()]
        return [self._bug(each.test_row) | {"causes": self._causes(each)} for each in explained]

    def _bug(self, row: int) -> Plain:
        classes, said = self.findings.encoding.classes, self.findings.predictions
        view = self._views("test", [row])[0]
        return {
            "row": view["id"],
            "position": row,
            "label": plain(classes[said.labels[row]]),
            "predicted": plain(classes[said.before[row]]),
            "after": None if said.after is None else plain(classes[said.after[row]]),
            "view": view,
        }

    def _causes(self, found: Causes) -> list[Plain]:
        classes, labels, rows = self.findings.encoding.classes, self.findings.labels, found.positions[:CAUSES]
        shown = self._views("train", rows, letters=LETTERS_OF_A_CAUSE)
        return [
            {
                "row": view["id"],
                "given": plain(classes[labels.given[row]]),
                "proposed": plain(classes[found.proposed[place]]),
                "ps": float(found.ps[place]),
                "p_wrong": float(labels.p_wrong[row]),
                "view": view,
            }
            for place, (row, view) in enumerate(zip(rows.tolist(), shown, strict=True))
        ]

    def _views(self, part: Part, positions: Any, **limits: int) -> list[Plain]:
        found = views(self.findings, self.data, part, np.asarray(positions, np.intp), **limits)
        return [_plain_view(each if self._takes(each) else RowView(each.id, note=LEFT_OUT)) for each in found]

    def _takes(self, view: RowView) -> bool:
        """Whether the view still fits, and if so it is counted, each piece with some characters of markup."""
        pieces = [view.picture or "", *(each.text + (each.why or "") for each in view.text)]
        pieces += [each.name + each.value for each in view.cells]
        size = sum(len(each) + MARKUP for each in pieces)
        fits = size <= self.room
        self.room -= size if fits else 0
        return fits


def _plain_view(view: RowView) -> Plain:
    shown = asdict(view)
    shown["id"] = plain(view.id)
    shown["text"] = [{**asdict(each), "text": plain_text(each.text)} for each in view.text]
    shown["cells"] = [
        {"name": plain_text(each.name), "value": plain_text(each.value), "deciding": each.deciding}
        for each in view.cells
    ]
    return shown
