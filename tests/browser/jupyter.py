"""A JupyterLab of its own for tests: started here, with a kernel of this environment, and ended after the test."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUIET = {"fetchNews": "false", "checkForUpdates": False}
"""No question about news over the notebook, and nothing asked of the internet."""
STARTS = 180
"""Seconds until it must answer."""


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of code cells."""
    empty: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    made = [empty | {"id": f"cell-{number}", "source": cell} for number, cell in enumerate(cells)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}), "utf-8")


@contextmanager
def jupyter_lab(folder: Path, *, home: Path) -> Iterator[str]:
    """JupyterLab on the files of a folder; gives the address of a path in it, without the path. ``home`` is its own."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET), encoding="utf-8")
    own = {f"JUPYTER_{name.upper()}_DIR": str(home / name) for name in ("config", "data", "runtime")}
    own |= {"IPYTHONDIR": str(home / "ipython"), "JUPYTERLAB_SETTINGS_DIR": str(home / "settings")}
    own |= {"JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"), "OMP_NUM_THREADS": "1"}
    token, port = secrets.token_hex(16), _free_port()
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    options += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=os.environ | own, stdout=log, stderr=log
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api?token={token}", server, home / "log")
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token={token}"
        finally:
            server.terminate()  # it ends its kernels
            server.wait(60)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + STARTS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
