"""``psi review`` as it is typed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.review.running import PSI, running
from tests.review.talking import Talk


def test_it_prints_a_link_that_lets_in_and_ends_on_ctrl_c(digits_run: Path) -> None:
    with running(str(digits_run), "--reviewer", "ann") as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:")
        talk = Talk(int(link.split(":")[2].split("/")[0]))
        assert talk.enter(link).status == 200
        assert talk.say("/verdict", at=3, action="keep").status == 200
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=30)[1]
        assert process.returncode == 0
        assert "Traceback" not in told
        assert "The review has ended" in told
    assert not list(digits_run.glob("verdicts.sqlite-*")), "nothing is left but the store"


def test_to_listen_elsewhere_it_says_what_that_exposes(digits_run: Path) -> None:
    asked = {"PSI_REVIEW_PASSWORD": "correct horse"}
    with running(str(digits_run), "--listen", "127.0.0.1", "--json", **asked) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert "knows the password can see and change the labels" in process.stderr.readline()
        written = ""
        while not written.rstrip().endswith("}"):
            written += process.stdout.readline()
        link = json.loads(written)["link"]
        assert "token" not in link
        assert Talk(int(link.split(":")[2].strip("/"))).ask("/").headers["location"] == "/login"


def test_a_port_that_is_taken_is_said(digits_run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [PSI, "review", str(digits_run), "--port", port], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


BROWSER = """#!{python} -IS
import json, pathlib, re, sys, urllib.request
page = pathlib.Path(sys.argv[1].removeprefix("file://"))
link = re.search("url=(http.*?)'", page.read_text().replace('"', "'"))[1]
status = urllib.request.urlopen(link, timeout=20).status
pathlib.Path({told!r}).write_text(json.dumps([sys.argv[1], page.stat().st_mode & 0o777, link, status]))
"""


def test_a_browser_that_waits_is_let_in_and_its_arguments_hold_no_token(digits_run: Path, tmp_path: Path) -> None:
    """Any user of the machine can list the arguments of its processes."""
    told, browser = tmp_path / "told.json", tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable, told=str(told)))
    browser.chmod(0o700)
    with running(str(digits_run), browser=f"{browser} %s") as process:
        end = time.monotonic() + 60  # on a machine that has other work, too
        while not told.exists() or not told.read_text():
            assert time.monotonic() < end, "the browser was not answered"
            time.sleep(0.05)
        argument, mode, link, status = json.loads(told.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert "token" not in argument
    assert (mode, status) == (0o600, 200)
    assert "/enter?token=" in link
    assert not list(digits_run.glob("*.html")), "the page with the link is gone"
