"""Label Studio's own server for tests: installed from the registry in an environment of its own, and started here."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2] / "build" / "label-studio"
"""The environment: it has 160 packages and pins many of them, so it is not ours."""
WANTED = "label-studio>=1.20"
STARTS = 300
"""Seconds until the server must answer; it makes its database first."""


def label_studio_program() -> Path:
    """The program, installed when it is first asked for; without an answer of the registry the test is skipped."""
    program = HOME / "bin" / "label-studio"
    stamp = HOME / "installed"
    if not stamp.exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        asked = subprocess.run([*pip, "index", "versions", "label-studio"], capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            pytest.skip(f"the registry does not answer, so Label Studio cannot be installed: {asked.stderr[-200:]}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        own = [str(HOME / "bin" / "python"), *pip[1:]]
        made = subprocess.run([*own, "install", "-q", "--prefer-binary", WANTED], stderr=subprocess.PIPE, check=False)
        assert made.returncode == 0, made.stderr.decode(errors="replace")[-2000:]
        stamp.write_text(WANTED, encoding="utf-8")
    return program


class LabelStudio:
    """What a person does there, by its API."""

    def __init__(self, port: int, token: str) -> None:
        self._address, self._token = f"http://127.0.0.1:{port}", token

    def ask(self, path: str, sent: Any = None) -> Any:
        """What the server answers; what is sent is JSON."""
        head = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        content = None if sent is None else json.dumps(sent).encode()
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self._address + path, content, head), timeout=120
            ) as got:
                return json.load(got)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode(errors='replace')[:2000]}") from error

    def project(self, config: str, tasks: Any) -> int:
        """A new project with tasks; its number."""
        number = int(self.ask("/api/projects/", {"title": "suspects of Psi", "label_config": config})["id"])
        imported = self.ask(f"/api/projects/{number}/import?commit_to_project=true", tasks)
        assert imported["task_count"] == imported["prediction_count"] == len(tasks)
        return number

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """Its tasks in order, with their predictions."""
        found = self.ask(f"/api/tasks/?project={project}&fields=all&page_size=100")["tasks"]
        return sorted(found, key=lambda each: int(each["id"]))

    def answer(self, task: dict[str, Any], choice: str | None) -> None:
        """Label a task as a person does who clicks on a choice; None is the button Skip."""
        asked = task["predictions"][0]["result"][0]
        result = [] if choice is None else [asked | {"value": {"choices": [choice]}}]
        self.ask(f"/api/tasks/{task['id']}/annotations/", {"result": result, "was_cancelled": choice is None})

    def export(self, project: int) -> Any:
        """Its JSON export, with tasks that nobody has labelled."""
        return self.ask(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")


@contextmanager
def label_studio(home: Path) -> Iterator[LabelStudio]:
    """A server of one's own, with its files in ``home``."""
    program, token = label_studio_program(), secrets.token_hex(20)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    own = {"LABEL_STUDIO_BASE_DATA_DIR": str(home / "data"), "HOME": str(home), "SENTRY_DSN": "", "DEBUG": "false"}
    own |= {"FRONTEND_SENTRY_DSN": "", "COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false"}
    own |= {"LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true"}
    who = ["--username", "ann@psi.example", "--password", secrets.token_hex(8), "--user-token", token]
    start = [str(program), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port), *who]
    home.mkdir(parents=True)
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(start, env=os.environ | own, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            end = time.monotonic() + STARTS
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                        break
                except OSError:
                    if time.monotonic() > end or server.poll() is not None:
                        said = (home / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
                        raise RuntimeError(f"Label Studio did not start: {said}") from None
                    time.sleep(0.5)
            yield LabelStudio(port, token)
        finally:
            server.terminate()
            server.wait(60)
