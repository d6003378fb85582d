"""The workers that ``--workers`` starts: other users of the machine, who reach their ports, get nothing of them."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.blocks import parquet_blocks
from psidebug.cli.cluster import read_by


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("rows") / "0.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    with read_by(parquet_blocks(path), cluster=None, workers=1) as blocks:
        assert len(blocks) == 2
        yield blocks.client  # type: ignore[attr-defined]


NEIGHBOUR = """
import os, sys
from distributed import Client
from distributed.security import Security
own = Security.temporary()
for place in sys.argv[1:]:
    for address, more in ((f"tcp://{place}", {}), (f"tls://{place}", {"security": own})):
        try:
            Client(address, timeout=2, **more)
            print("let in at", address, flush=True)
        except OSError:
            print("kept out", flush=True)
os._exit(0)
"""


def test_nobody_else_gives_work_to_the_workers(client: Any) -> None:
    places = [each.partition("://")[2] for each in (client.scheduler.address, *client.scheduler_info()["workers"])]
    tried = subprocess.run([sys.executable, "-c", NEIGHBOUR, *places], capture_output=True, text=True, check=False)
    assert tried.stdout.splitlines() == ["kept out"] * 2 * len(places), tried.stderr


def test_no_page_tells_of_their_work(client: Any) -> None:
    for port in client.run_on_scheduler(_ports):
        for page in ("/status", "/info/main/workers.html", "/json/counts.json", "/metrics"):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as talk:
                talk.request("GET", page)
                assert talk.getresponse().status == 404, page


def _ports(dask_scheduler: Any) -> list[int]:
    """Of its web pages."""
    return [each.port for each in dask_scheduler.services.values()]


def test_what_they_lay_down_is_in_a_folder_of_the_owner(client: Any) -> None:
    """Dask takes a folder with a known name, which another user could have made before."""
    (place,) = client.run(lambda dask_worker: dask_worker.local_directory).values()
    assert Path(place).parents[1].stat().st_mode & 0o077 == 0
