"""The browser, opened with the link that lets it in.

Any user of a machine can list the arguments of its processes, so the link with its token is not among them: the browser
gets a page that only its owner can read, and the page leads to the link.
"""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={link}">
<title>Psi review</title>
<a href="{link}">Open the review</a>
"""


@contextmanager
def browser_at(link: str, folder: Path) -> Iterator[None]:
    """Open the link in a browser; its page is in ``folder`` until the end.

    The browser is started beside the server: some commands end only with the browser, which waits for the server.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix="open-review-", suffix=".html")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(PAGE.format(link=escape(link)))
        threading.Thread(target=webbrowser.open, args=(Path(name).resolve().as_uri(),), daemon=True).start()
        yield
    finally:
        Path(name).unlink(missing_ok=True)
