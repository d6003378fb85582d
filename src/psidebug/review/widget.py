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
from psidebug.review.desk import Desk, ReviewedDiagnosis
from psidebug.review.filters import Filter
from psidebug.review.pages import class_keys, item, told
from psidebug.review.security import Visitor
from psidebug.review.verdicts import checked_name

STATIC = Path(__file__).parent / "static"
KEYS = {"c": "correct", "e": "keep", "s": "skip", "o": "second_opinion"}
STEPS = {"u": "undo", "r": "redo"}
"""Those of the app; so are the keys of classes."""


def review_widget(run: str | PathLike[str], *, reviewer: str | None = None) -> Any:
    """A widget that pages through the suspects of a saved run; ``reviewer`` is the name beside the verdicts.

    Keys, while the widget has the focus: ``c`` correct, ``e`` keep, ``s`` skip, ``o`` second opinion, the digit on the
    button of a class, ``u`` undo, ``r`` redo, ``j`` and ``k`` for the next and the previous row. Every verdict is on
    disk when it is shown as saved.

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

        def __repr__(self) -> str:
            return (
                f"The review of {run}. If you read this in place of a row and buttons, this notebook shows no widgets: "
                f"'psi review {run}' opens the same review in a browser."
            )

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
        classes = class_keys([str(each) for each in self.desk.findings.encoding.classes])
        self._keys: dict[str, tuple[str, int | None]] = {key: ("correct", code) for key, code in classes.items()}
        self._keys |= {key: (action, None) for key, action in KEYS.items()}
        self._at = self.desk.first(self._wanted, self.visitor)

    def shown(self) -> dict[str, Any]:
        """Everything that the widget draws, as plain values."""
        queue = self.desk.queues[self._wanted.part]
        with self.desk.lock:
            self.desk.ledger()
            progress = {"left": queue.left(), "total": queue.total(), "said": self._said}
        if self._at is None:
            return progress | {"row": None}
        found = item(self.desk, self._wanted, self._at, self.visitor)
        classes, view = found["classes"], found["view"]
        row = {
            "id": view.id,
            "given": classes[found["given"]],
            "proposed": classes[found["proposed"]],
            "p_wrong": _rounded(found["p_wrong"]),
            "ps": _rounded(found["ps"]),
            "likely": found["likely"],
            "keys": {key: classes[code] for key, code in found["keys"].items()},
            "picture": view.picture,
            "note": view.note,
            "text": "".join(each.text for each in view.text),
            "cells": [[each.name, each.value] for each in view.cells],
            "more": view.more,
            "answers": [f"{each['annotator']}: {each['label']}" for each in found["answers"]],
            "predicted": found["test"] and str(found["test"]["predicted"]),
        }
        return progress | {"row": row}

    def take(self, message: Any) -> None:
        """A key of the reviewer, as ``{"key": "c", "row": id}``; keys that mean nothing do nothing."""
        if not isinstance(message, Mapping) or not isinstance(message.get("key"), str):
            return
        key, self._said = message["key"], ""
        if key in STEPS:
            self._step_back_or_forth(key)
        elif self._at is None:
            return
        elif key in ("j", "k"):
            self._at = _or_else(self._beside(forward=key == "j"), self._at)
        elif message.get("row") == self._id():
            self._decide(key, self._at)
        elif key in self._keys:
            self._said = "That key came before this row: nothing is decided. Look at it first."

    def _step_back_or_forth(self, key: str) -> None:
        self.desk.check_same()
        following = self._beside(forward=True)
        who = {"reviewer": self.visitor.name, "browser": self.visitor.browser}
        step = self.desk.store.undo(**who) if key == "u" else self.desk.store.redo(**who)
        if step is None:
            self._said = f"There is nothing to {STEPS[key]}."
            return
        self._said = "Undone." if key == "u" else "Done again."
        if key == "r":  # as the verdict did, it leads on to the next row
            self._at = _or_else(following, self.desk.first(self._wanted, self.visitor))
            return
        with self.desk.lock:
            self._at = next((each.position for each in self.desk.ledger().step(step)), self._at)

    def _decide(self, key: str, at: int) -> None:
        if key not in self._keys:
            return
        self.desk.check_same()
        action, code = self._keys[key]
        row, following = self._id(), self._beside(forward=True)
        verdict = self.desk.verdict(at, action, code=code, part=self._wanted.part)
        self.desk.decide([verdict], visitor=self.visitor, key=secrets.token_urlsafe(16))
        self._said = f"Saved. {row}: {told(verdict)}"
        self._at = _or_else(following, self.desk.first(self._wanted, self.visitor))

    def _beside(self, *, forward: bool) -> int | None:
        """The next or the previous row that is to be decided."""
        if self._at is None:
            return None
        with self.desk.lock:
            self.desk.ledger()
            chosen = self.desk.queues[self._wanted.part].select(self._wanted, self.visitor.browser)
            return chosen.next(self._at) if forward else chosen.previous(self._at)

    def _id(self) -> str:
        return str(self.desk.queues[self._wanted.part].findings.labels.rows[self._at])


def _or_else(found: int | None, other: int | None) -> int | None:
    return other if found is None else found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _nobody_trains(path: Path) -> ReviewedDiagnosis:
    raise PsiError("the widget does not train: use psi review.")
