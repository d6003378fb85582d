"""What was found about annotators as tables of a run, and back: who they are, what they said, whom to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psidebug.findings.annotators import NOBODY, AnnotatorFindings
from psidebug.findings.findings import Findings
from psidebug.store.sound import numbers_in, places_in, shares_in
from psidebug.store.values import Json, column, table_of, values_of
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Codes, Encoding, array_of

TABLES = ("annotators", "answers", "ask_again")


def annotator_tables(findings: Findings) -> dict[str, Any]:
    """A line for each annotator, for each answer, and for each row to ask again; no tables without answers.

    The consensus is in the table of labels, a line for each training row.
    """
    found = findings.annotators
    if found is None:
        return {}
    answers, rows = found.answers, findings.labels.rows
    classes = [*findings.encoding.classes, None]  # the last one stands for NOBODY
    who = [column("annotator", found.names.tolist())]
    who += [column(name, getattr(found, name).tolist()) for name in ("error_rate", "low", "high", "share")]
    who += [column(name, [classes[code] for code in getattr(found, name)]) for name in ("marks", "confused_as")]
    said = _about(rows, answers.rows, found.names, answers.annotators)
    said += [column("label", [classes[code] for code in answers.codes]), column("p_wrong", found.p_wrong.tolist())]
    asked = _about(rows, found.ask_rows, found.names, found.ask_whom)
    asked += [column("right", found.ask_right.tolist()), column("gain", found.ask_gain.tolist())]
    return dict(zip(TABLES, map(table_of, (who, said, asked)), strict=True))


def annotators_in(tables: Mapping[str, Any], told: Json, encoding: Encoding) -> AnnotatorFindings:
    """What :func:`annotator_tables` wrote, with the table of labels; ``told`` is the record of the findings."""
    who, said, asked = (tables[name] for name in TABLES)
    labels, names = tables["labels"], array_of(values_of(who, "annotator"))
    rows = labels.num_rows
    return AnnotatorFindings(
        answers=Annotations(
            places_in(said, "position", rows),
            places_in(said, "number", len(names)),
            encoding.encode(values_of(said, "label"), where="label"),
            names,
            rows,
        ),
        **{name: shares_in(who, name) for name in ("error_rate", "low", "high", "share")},
        marks=_codes_or_nobody(who, "marks", encoding),
        confused_as=_codes_or_nobody(who, "confused_as", encoding),
        p_wrong=shares_in(said, "p_wrong"),
        consensus=encoding.encode(values_of(labels, "consensus"), where="consensus"),
        certainty=shares_in(labels, "certainty"),
        follow=float(told["annotators"]["follow"]),
        ask_rows=places_in(asked, "position", rows),
        ask_whom=places_in(asked, "number", len(names)),
        ask_right=shares_in(asked, "right"),
        ask_gain=numbers_in(asked, "gain"),
    )


def _about(rows: Any, positions: Any, names: Any, who: Any) -> list[tuple[Any, Any]]:
    """Columns that say which training row and which annotator, by number and by name."""
    return [
        column("position", positions.tolist()),
        column("row", rows[positions].tolist()),
        column("number", who.tolist()),
        column("annotator", names[who].tolist()),
    ]


def _codes_or_nobody(table: Any, name: str, encoding: Encoding) -> Codes:
    """A column of labels as codes, NOBODY where there is none."""
    values = values_of(table, name)
    codes = np.full(len(values), NOBODY, dtype=np.intp)
    given = [place for place, value in enumerate(values) if value is not None]
    codes[given] = encoding.encode([values[place] for place in given], where=name)
    return codes
