"""What is shown: the whole screen, its parts, and files to take away."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from psidebug.review import pages
from psidebug.review.answers import visitor_of
from psidebug.review.desk import Desk
from psidebug.review.history import history_plot
from psidebug.review.outgoing import EXPORTS, offers
from psidebug.review.queue import Filter
from psidebug.review.work import Workbench


class Showing:
    """Answers that change nothing."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        self.desk, self.bench = desk, bench

    def page(self, request: Request) -> Response:
        """The whole screen."""
        return HTMLResponse(pages.render("review.html", **self._page(request), **self._work()))

    def board(self, request: Request) -> Response:
        """All but the head, after another filter was chosen."""
        data = self._page(request)
        headers = {"HX-Push-Url": f"/?{data['filter'].address}"}
        return HTMLResponse(pages.render("board.html", **data, **self._work()), headers=headers)

    def item(self, request: Request) -> Response:
        """The row in focus."""
        (wanted, at), visitor = self._asked(request), visitor_of(request)
        at = self.desk.first(wanted, visitor) if at is None else at
        return HTMLResponse(pages.render("item.html", **pages.item(self.desk, wanted, at, visitor)))

    def queue(self, request: Request) -> Response:
        """The list, and how far the review is."""
        wanted, at = self._asked(request)
        return HTMLResponse(pages.render("queue.html", **pages.queue(self.desk, wanted, at, visitor_of(request))))

    def similar(self, request: Request) -> Response:
        """Rows like the one in focus."""
        at = self.desk.position(request.query_params.get("at"))
        return HTMLResponse(pages.render("similar.html", **pages.similar(self.desk, at)))

    def changes(self, request: Request) -> Response:
        """Number of the last step, whoever made it."""
        with self.desk.lock:
            return JSONResponse({"seen": self.desk.ledger().seen, "busy": self.bench.busy})

    def work(self, request: Request) -> Response:
        """How the retraining goes."""
        return HTMLResponse(pages.render("work.html", **self._work()))

    def history(self, request: Request) -> Response:
        """The errors so far, to be plotted."""
        return JSONResponse(history_plot(self.bench.history()))

    def export(self, request: Request) -> Response:
        """A file to take away."""
        name = request.path_params["name"]
        if name not in EXPORTS:
            return Response("There is no such export.", 404, media_type="text/plain")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        self.desk.check_there()
        content = EXPORTS[name].write(self.desk)
        return StreamingResponse(content, media_type=EXPORTS[name].type, headers=headers)

    def files(self, request: Request) -> Response:
        """Which files can be taken away, with what should be known about each."""
        self.desk.check_there()
        return HTMLResponse(pages.render("files.html", offers=offers(self.desk)))

    def _asked(self, request: Request) -> tuple[Filter, int | None]:
        at = request.query_params.get("at")
        return Filter.read(request.query_params), None if at in (None, "") else self.desk.position(at)

    def _page(self, request: Request) -> dict[str, Any]:
        wanted, at = self._asked(request)
        return pages.page(self.desk, wanted, at, visitor_of(request))

    def _work(self) -> dict[str, Any]:
        job, history = self.bench.job, self.bench.history()  # the job first: when it has ended, so has its history
        with self.desk.lock:
            suspects, stale = self.desk.queue.left(), self.desk.is_model_stale()
        last = history[-1] if history else None
        return {"job": job, "last": last, "retrained": len(history), "suspects": suspects, "stale": stale}
