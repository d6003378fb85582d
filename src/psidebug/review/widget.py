"""The review in a notebook: one suspect at a time, decided by keys, in the store of the review app.

Python says what is shown and saves what is decided; ``static/widget.js`` draws it and sends keys. So a verdict given
here is seen in the app, and the other way round.
"""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import PsiError
from psidebug.report.rows import RowView, views
from psidebug.review.desk import Desk, ReviewedDiagnosis
from psidebug.review.filters import Filter
from psidebug.review.security import Visitor
from psidebug.review.verdicts import checked_name

STATIC = Path(__file__).parent / "static"
KEYS = {"c": "correct", "e": "keep", "s": "skip"}
"""Those of the app."""


def review_widget(run: str | PathLike[str], *, reviewer: str | None = None) -> Any:
    """A widget that pages through the suspects of a saved run; ``reviewer`` is the name beside the verdicts.

    Keys, while the widget has the focus: ``c`` correct, ``e`` keep, ``s`` skip, 1 to 9 for a class, ``u`` undo, ``j``
    and ``k`` for the next and the previous row. Every verdict is on disk when it is shown as saved.

    Examples
    --------
    >>> from psidebug.review.widget import review_widget  # doctest: +SKIP
    >>> diagnosis.save("psi-run")  # doctest: +SKIP
    >>> review_widget("psi-run")  # doctest: +SKIP
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise PsiError('a widget needs anywidget: pip install "psidebug[notebook]".') from error

    class ReviewWidget(anywidget.AnyWidget):
        """What :class:`Table` shows, and the keys that come back."""

        _esm = STATIC / "widget.js"
        shown = traitlets.Dict().tag(sync=True)

    table = Table(run, reviewer)
    widget = ReviewWidget(shown=table.shown())

    def told(_: Any, message: Any, __: Any) -> None:
        try:
            table.take(message)
            widget.shown = table.shown()
        except PsiError as error:
            widget.shown = table.shown() | {"said": str(error)}

    widget.on_msg(told)
    return widget


class Table:
    """One reviewer at the desk of a run: the row in view, and what may be done with it."""

    def __init__(self, run: str | PathLike[str], reviewer: str | None = None) -> None:
        self.desk = Desk(run, _nobody_trains)
        self.visitor = Visitor(checked_name(reviewer or getpass.getuser()), secrets.token_urlsafe(16))
        self._wanted, self._said = Filter(part=self.desk.opens_with), ""
        self._at = self.desk.first(self._wanted, self.visitor)

    def shown(self) -> dict[str, Any]:
        """Everything that the widget draws, as plain values."""
        queue, classes = self.desk.queues[self._wanted.part], self.desk.findings.encoding.classes
        with self.desk.lock:
            self.desk.ledger()
            left, total = queue.left(), queue.total()
        progress = {"left": left, "total": total, "said": self._said, "classes": [str(each) for each in classes]}
        if self._at is None:
            return progress | {"row": None}
        view, labels = self._view(self._at), queue.findings.labels
        row = {
            "id": view.id,
            "given": str(classes[queue.given[self._at]]),
            "proposed": str(classes[queue.proposed[self._at]]),
            "p_wrong": round(float(labels.p_wrong[self._at]), 3),
            "ps": round(float(labels.ps[self._at]), 3),
            "picture": view.picture,
            "text": "".join(each.text for each in view.text),
            "cells": [[each.name, each.value] for each in view.cells],
        }
        return progress | {"row": row}

    def take(self, message: Any) -> None:
        """A key of the reviewer, as ``{"key": "c", "row": id}``; keys that mean nothing do nothing."""
        if not isinstance(message, Mapping) or not isinstance(message.get("key"), str):
            return
        key, self._said = message["key"], ""
        if key == "u":
            undone = self.desk.store.undo(reviewer=self.visitor.name, browser=self.visitor.browser)
            self._said = "There is nothing to undo." if undone is None else "Undone."
            self._at = self._first() if undone is None else self._decided(undone)
        elif key in ("j", "k") and self._at is not None:
            self._move(forward=key == "j")
        elif (
            self._at is not None and message.get("row") == self._view(self._at).id
        ):  # a key for a row that has gone does nothing
            self._decide(key)

    def _decide(self, key: str) -> None:
        code = int(key) - 1 if key.isdecimal() and key != "0" else None
        if code is not None and code >= len(self.desk.findings.encoding.classes):
            return
        action = "correct" if code is not None else KEYS.get(key)
        if action is None or self._at is None:
            return
        row = self._view(self._at).id
        verdict = self.desk.verdict(self._at, action, code=code, part=self._wanted.part)
        self.desk.decide([verdict], visitor=self.visitor, key=secrets.token_urlsafe(16))
        self._said = f"Saved. {row}: {_in_words(verdict.action, verdict.label)}"
        self._at = self._first()

    def _move(self, *, forward: bool) -> None:
        with self.desk.lock:
            self.desk.ledger()
            chosen = self.desk.queues[self._wanted.part].select(self._wanted, self.visitor.browser)
            found = (chosen.next if forward else chosen.previous)(self._at or 0)
        self._at = self._at if found is None else found

    def _first(self) -> int | None:
        return self.desk.first(self._wanted, self.visitor)

    def _decided(self, step: int) -> int | None:
        """The row of a step that was undone, to be decided again."""
        with self.desk.lock:
            rows = [each.position for each in self.desk.ledger().step(step)]
        return rows[0] if rows else self._first()

    def _view(self, at: int) -> RowView:
        return views(self.desk.findings, self.desk.run.data, self._wanted.part, [at])[0]


def _in_words(action: str, label: Any) -> str:
    return {"correct": f"corrected to {label}", "keep": "kept"}.get(action, "skipped")


def _nobody_trains(path: Path) -> ReviewedDiagnosis:
    raise PsiError("the widget does not train: use psi review.")
