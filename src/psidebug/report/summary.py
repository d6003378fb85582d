"""A diagnosis as plain data: what every page, and every other program, is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.diagnosis.causes import Causes
from psidebug.report.effects import confusion_of, curve_of, distribution_of, effect_of, errors_of, fidelity_of
from psidebug.report.plain import Plain, plain, records
from psidebug.report.rows import Part, RowView, views
from psidebug.report.source import Predictions, Source, labels_of, origin_of, predictions_of, unexplained_of
from psidebug.store.run import Run

SCHEMA = 3
"""Version of the summary's form; it rises when a field changes its meaning."""
SUSPECTS, BUGS, CAUSES = 2_000, 10, 6
"""How many suspects are told by default, how many bugs, and of each how many causes."""
CELLS_OF_A_SUSPECT, LETTERS_OF_A_SUSPECT, LETTERS_OF_A_CAUSE = 5, 160, 360
ROOM, MARKUP = 1_100_000, 40
"""Characters of rows in all, so that the page stays below 3 MB, and what the markup of each piece of a row costs."""
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
    bugs: list[Plain]
    """Misclassified test rows, first some that the correction repairs, each with its causes; rows as
    :class:`~psidebug.report.rows.RowView`."""
    unexplained: str | None
    """Why no bug has causes; None if some have, or none is told."""
    curve: Plain | None
    distribution: list[Plain]
    """Of PS among the training labels."""
    confusion: Plain
    explanations: list[Plain]
    fidelity: Plain | None
    suspects: list[Plain]
    suspects_in_all: int
    settings: dict[str, str]
    origin: Plain
    """Version of Psi, seed, versions of libraries, fingerprint; when it was saved, and the names of the files."""
    notes: list[str]
    rounds: list[Plain]
    """Later rounds: their verdicts, and the numbers of labels that they correct."""


def summarise(source: Source, *, suspects: int = SUSPECTS, bugs: int = BUGS, rows: bool = True) -> Summary:
    """A diagnosis, made just now or saved, as plain data.

    With its first ``suspects`` suspects and the causes of ``bugs`` bugs; ``rows`` says whether the rows themselves are
    told, or only their ids and labels.
    """
    predictions, labels = predictions_of(source), labels_of(source)
    room = _Room(ROOM)
    told = _bugs(source, predictions, bugs, room) if rows and bugs else []
    return Summary(
        schema=SCHEMA,
        verdict=str(plain_text(source.verdict)),
        size={
            "rows": len(labels.ps),
            "test_rows": len(predictions.labels),
            "validation_rows": _validation_rows(source),
            "wrong": int((predictions.labels != predictions.before).sum()),
            "bugs": len(predictions.bugs),
            "classes": predictions.encoding.size,
        },
        effect=effect_of(source),
        errors=errors_of(source),
        slices=_slices(source),
        bugs=told,
        unexplained=unexplained_of(source) if told and not any(each["causes"] for each in told) else None,
        curve=curve_of(source),
        distribution=distribution_of(labels),
        confusion=confusion_of(predictions),
        explanations=records(source.explanations),
        fidelity=fidelity_of(source),
        suspects=_suspects(source, suspects, room if rows else None),
        suspects_in_all=len(source.order),
        settings={name: plain_text(value) for name, value in source.settings.items()},
        origin={name: dict(part) if isinstance(part, Mapping) else part for name, part in _origin(source)},
        notes=[plain_text(note) for note in source.notes],
        rounds=_rounds(source),
    )


def plain_text(text: str) -> str:
    """Text without half characters."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _validation_rows(source: Source) -> int:
    if isinstance(source, Run):
        return int(source.record["task"]["validation_rows"] or 0)
    return 0 if source.task.validation is None else len(source.task.validation)


def _origin(source: Source) -> Iterator[tuple[str, Any]]:
    origin = origin_of(source)
    for name in ("psidebug", "seed", "versions", "fingerprint", "created", "files"):
        yield name, getattr(origin, name)


def _slices(source: Source) -> list[Plain]:
    """``proved`` are those of the correction, whose effect is told by the same figures."""
    found = records(source.slices)
    best = None if source.correction is None else source.correction.verified
    for each in found:
        each["condition"] = plain_text(str(each["condition"]))
        each["proved"] = best is not None and (each["corrected"], each["gain"]) == (best.corrected, best.gain)
    return found


def _suspects(source: Source, most: int, room: _Room | None) -> list[Plain]:
    first = nw.from_native(source.suspects, eager_only=True).head(most)
    found = records(first.to_native())
    if room is not None:
        shown = _views(
            source, "train", source.order[:most], room, cells=CELLS_OF_A_SUSPECT, letters=LETTERS_OF_A_SUSPECT
        )
        for suspect, view in zip(found, shown, strict=True):
            suspect["view"] = view
    return found


def _bugs(source: Source, predictions: Predictions, most: int, room: _Room) -> list[Plain]:
    """Bugs with their causes; the first bugs where no causes are known."""
    explained = chosen_bugs(source.explained(), predictions, most)
    if not explained:
        return [_bug(source, predictions, row, room) | {"causes": []} for row in predictions.bugs[:most].tolist()]
    return [
        _bug(source, predictions, each.test_row, room) | {"causes": _causes(source, each, room)} for each in explained
    ]


def chosen_bugs(explained: Sequence[Causes], predictions: Predictions, most: int) -> list[Causes]:
    """First bugs that the correction repairs, up to half of those told, then others; each most confidently wrong first.

    By confidence alone the page would open with those that no correction of labels repairs.
    """
    after = predictions.after
    repaired = [
        each for each in explained if after is not None and after[each.test_row] == predictions.labels[each.test_row]
    ]
    others = [each for each in explained if each not in repaired]
    room = max(most - most // 2, most - len(others))
    shown = repaired[:room]
    return [*shown, *others[: most - len(shown)]]


def _bug(source: Source, predictions: Predictions, row: int, room: _Room) -> Plain:
    classes = predictions.encoding.classes
    view = _views(source, "test", [row], room)[0]
    return {
        "row": view["id"],
        "position": row,
        "label": plain(classes[predictions.labels[row]]),
        "predicted": plain(classes[predictions.before[row]]),
        "after": None if predictions.after is None else plain(classes[predictions.after[row]]),
        "view": view,
    }


def _causes(source: Source, found: Causes, room: _Room) -> list[Plain]:
    encoding = source.encoding if isinstance(source, Run) else source.task.encoding
    classes, rows = encoding.classes, found.positions[:CAUSES]
    p_wrong = source.files.labels["p_wrong"].to_numpy() if isinstance(source, Run) else source.p_wrong
    given = source.given if isinstance(source, Run) else source.task.train.codes
    shown = _views(source, "train", rows, room, letters=LETTERS_OF_A_CAUSE)
    return [
        {
            "row": view["id"],
            "given": plain(classes[given[row]]),
            "proposed": plain(classes[found.proposed[place]]),
            "ps": float(found.ps[place]),
            "p_wrong": float(p_wrong[row]),
            "view": view,
        }
        for place, (row, view) in enumerate(zip(rows.tolist(), shown, strict=True))
    ]


@dataclass
class _Room:
    """How many more characters of rows the page has room for."""

    left: int

    def takes(self, view: RowView) -> bool:
        """Whether the view still fits, and if so it is counted, each piece with some characters of markup."""
        pieces = [view.picture or "", *(each.text + (each.why or "") for each in view.text)]
        pieces += [each.name + each.value for each in view.cells]
        size = sum(len(each) + MARKUP for each in pieces)
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


def _views(source: Source, part: Part, positions: Sequence[int] | Any, room: _Room, **limits: int) -> list[Plain]:
    found = views(source, part, np.asarray(positions, np.intp), **limits)
    return [_plain_view(each if room.takes(each) else RowView(each.id, note=LEFT_OUT)) for each in found]


def _plain_view(view: RowView) -> Plain:
    shown = asdict(view)
    shown["id"] = plain(view.id)
    shown["text"] = [{**asdict(each), "text": plain_text(each.text)} for each in view.text]
    shown["cells"] = [
        {"name": plain_text(each.name), "value": plain_text(each.value), "deciding": each.deciding}
        for each in view.cells
    ]
    return shown


def _rounds(source: Source) -> list[Plain]:
    if isinstance(source, Run):
        return [
            {"verdict": plain_text(one["verdict"]), "corrected": one["corrected"]} for one in source.record["rounds"]
        ]
    return [{"verdict": plain_text(one.verdict), "corrected": one.corrected} for one in source.later]
