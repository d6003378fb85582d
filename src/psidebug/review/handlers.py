"""What answers each address of the review: pages and parts of pages, files, and changes."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse

from psidebug.errors import UnknownOption
from psidebug.findings.effects import counted
from psidebug.review import pages
from psidebug.review.corrected import EXPORTS, offers
from psidebug.review.desk import Desk
from psidebug.review.exchange import read_verdicts
from psidebug.review.filters import Filter
from psidebug.review.history import history_plot
from psidebug.review.requests import key_of, part, visitor_of
from psidebug.review.verdicts import Verdict, part_named
from psidebug.review.work import Workbench


class Reads:
    """Answers that change nothing."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        self.desk, self.bench = desk, bench

    def page(self, request: Request) -> Response:
        """The whole page."""
        return _html("review.html", **self._page(request), **self._work())

    def board(self, request: Request) -> Response:
        """The page without its header, after a change of the filter."""
        data = self._page(request)
        answer = _html("board.html", **data, **self._work())
        answer.headers["HX-Push-Url"] = f"/?{data['filter'].address}"
        return answer

    def item(self, request: Request) -> Response:
        """The row in focus."""
        (wanted, at), visitor = self._asked(request), visitor_of(request)
        at = self.desk.first(wanted, visitor) if at is None else at
        return _html("item.html", **pages.item(self.desk, wanted, at, visitor))

    def reviewers(self, request: Request) -> Response:
        """Who has judged how many rows, and how far they agree."""
        with self.desk.lock:
            opens_with = self.desk.opens_with
        return _html("reviewers.html", **pages.reviewers(self.desk, Filter.read(request.query_params, part=opens_with)))

    def queue(self, request: Request) -> Response:
        """The list of rows, and the progress."""
        wanted, at = self._asked(request)
        return _html("queue.html", **pages.queue(self.desk, wanted, at, visitor_of(request)))

    def similar(self, request: Request) -> Response:
        """Rows similar to the one in focus."""
        wanted, at = self._asked(request)
        at = self.desk.position(at, wanted.part)  # one must be named
        return _html("similar.html", **pages.similar(self.desk, at, wanted.part))

    def changes(self, request: Request) -> Response:
        """Number of the last event, of any reviewer."""
        with self.desk.lock:
            return JSONResponse({"seen": self.desk.ledger().seen, "busy": self.bench.busy})

    def work(self, request: Request) -> Response:
        """Progress of the training."""
        return _html("work.html", **self._work())

    def history(self, request: Request) -> Response:
        """The plot of errors so far."""
        return JSONResponse(history_plot(self.bench.history()))

    def export(self, request: Request) -> Response:
        """A file to take away."""
        name = request.path_params["name"]
        if name not in EXPORTS:
            return PlainTextResponse("No such export.", 404)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        self.desk.check_there()
        return StreamingResponse(EXPORTS[name].write(self.desk), media_type=EXPORTS[name].type, headers=headers)

    def files(self, request: Request) -> Response:
        """The files that can be taken away."""
        self.desk.check_there()
        return _html("files.html", offers=offers(self.desk))

    def _asked(self, request: Request) -> tuple[Filter, int | None]:
        asked = request.query_params
        with self.desk.lock:
            wanted = Filter.read(asked, part=self.desk.opens_with)
        return wanted, None if asked.get("at") in (None, "") else self.desk.position(asked["at"], wanted.part)

    def _page(self, request: Request) -> dict[str, Any]:
        wanted, at = self._asked(request)
        return pages.page(self.desk, wanted, at, visitor_of(request))

    def _work(self) -> dict[str, Any]:
        job, history = self.bench.job, self.bench.history()  # the job first: when it has ended, so has its history
        with self.desk.lock:
            left, stale = self.desk.queue.left(), self.desk.is_model_stale()
        last = history[-1] if history else None
        return {"job": job, "last": last, "retrained": len(history), "still_wrong": left, "stale": stale}


class Changes:
    """Answers that come when the change is on disk."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        self.desk, self.bench = desk, bench

    def decide(self, request: Request, sent: Any) -> dict[str, Any]:
        """A verdict on one row."""
        of, action = part_named(part(sent, "set", "train")), part(sent, "action", "")
        at = self.desk.position(part(sent, "at", -1), of)
        verdict = self.desk.verdict(at, action, code=_code(sent), comment=part(sent, "comment", ""), part=of)
        self.desk.decide([verdict], visitor=visitor_of(request), key=key_of(sent))
        return {"at": at, "said": f"{_row(verdict)}: {pages.told(verdict)}"}

    def together(self, request: Request, sent: Any) -> dict[str, Any]:
        """The same verdict on chosen rows."""
        action, chosen = part(sent, "action", ""), part(sent, "rows", list[Any]())
        if any(type(each) is not int for each in chosen):
            raise UnknownOption("rows must be a list of positions.")
        count = self.desk.decide_together(
            chosen,
            action,
            code=_code(sent),
            part=part_named(part(sent, "set", "train")),
            visitor=visitor_of(request),
            key=key_of(sent),
        )
        return {"said": f"{counted(count, 'row')}: {pages.STATE_NAMES[action]}"}

    def bulk(self, request: Request, sent: Any) -> dict[str, Any]:
        """A verdict on every row of the filter, or on those that are probably wrong."""
        action = part(sent, "action", "")
        count = self.desk.bulk(
            Filter.read(part(sent, "filter", {})),
            action,
            code=_code(sent),
            only_wrong=part(sent, "only_wrong", False),
            expected=part(sent, "expected", 0),
            visitor=visitor_of(request),
            key=key_of(sent),
        )
        return {"said": f"{counted(count, 'row')}: {pages.STATE_NAMES.get(action, action)}"}

    def step_back(self, kind: str, request: Request, sent: Any) -> dict[str, Any]:
        """``undo`` the last step of this browser, or ``redo`` the step that was undone last."""
        who, act, done = visitor_of(request), getattr(self.desk.store, kind), {"undo": "undone", "redo": "redone"}[kind]
        number = act(reviewer=who.name, browser=who.browser, key=key_of(sent))
        if number is None:
            return {"said": f"nothing to {kind}", "nothing": True}
        with self.desk.lock:
            step = self.desk.ledger().step(number)
        if len(step) > 1:
            return {"said": f"{done}: {len(step):,} rows", "at": None, "set": step[0].part}
        return {"said": f"{done}: {_row(step[0])}", "at": step[0].position, "set": step[0].part}

    def begin(self, request: Request, sent: Any) -> dict[str, Any]:
        """Start to retrain, or to diagnose again."""
        self.bench.begin(part(sent, "kind", ""), reviewer=visitor_of(request).name)
        return {"said": "training started"}

    def take_in(self, request: Request, sent: Any) -> dict[str, Any]:
        """Import verdicts."""
        found = read_verdicts(part(sent, "text", ""), self.desk.findings)
        stored = self.desk.take_in(found.verdicts, visitor=visitor_of(request), key=key_of(sent))
        return {"said": found.told(stored)}


def _html(template: str, **data: Any) -> HTMLResponse:
    return HTMLResponse(pages.render(template, **data))


def _row(verdict: Verdict) -> str:
    return f"test row {verdict.row}" if verdict.part == "test" else str(verdict.row)


def _code(sent: Any) -> int | None:
    return None if sent.get("code") is None else part(sent, "code", 0)
