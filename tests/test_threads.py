"""Threads: sums of workers do not depend on how many their linear algebra has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from psidebug.blocks import Block
from psidebug.blocks.parts import mapped_run, merged_run, written_run
from psidebug.threads import _any_thread_may_limit, one_blas_thread


def _threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_the_last_of_several_takes_the_limit_away() -> None:
    with threadpool_limits(3, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # threads do not end in the order in which they began
        assert _threads() == {1}
        second.__exit__(None, None, None)
        assert _threads() == {3}


def test_a_thread_that_lives_on_keeps_no_limit() -> None:
    """Neither does the thread that took the limit away have to be the one that set it."""

    def limited() -> set[int]:
        with one_blas_thread():
            return _threads()

    limit = one_blas_thread()
    with threadpool_limits(3, user_api="blas"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(limited).result() == {1}
        assert _threads() == {3}
        with threadpool_limits(2, user_api="blas"):
            assert _threads() == {2}
            pool.submit(limit.__enter__).result()
            assert _threads() == {1}
            limit.__exit__(None, None, None)
            assert _threads() == {2}


def test_a_limit_that_fails_is_no_threads_own() -> None:
    """What was asked for in vain must not keep all other threads from setting limits."""
    with ThreadPoolExecutor(1) as pool:

        def failing() -> None:
            with _any_thread_may_limit():
                threadpool_limits(2, user_api="blas").restore_original_limits()
                raise RuntimeError("in vain")

        with pytest.raises(RuntimeError, match="in vain"):
            pool.submit(failing).result()
        with threadpool_limits(3, user_api="blas"):
            assert _threads() == {3}


def _as_table(block: Block) -> pa.Table:
    return pa.table({"threads": [max(_threads())]})


@pytest.mark.parametrize("way", ["merged", "mapped", "written"])
def test_work_of_a_partition_has_one_thread(way: str, tmp_path: Path) -> None:
    """A worker that is started without a nanny, or with an option of its own, has as many threads as cores."""
    blocks = [Block(0, pa.table({"x": np.zeros(3)}))]
    said: list[Any]
    with threadpool_limits(4, user_api="blas"):
        if way == "written":
            written_run(blocks, function=_as_table, folder=tmp_path)
            said = pa.parquet.read_table(tmp_path).column("threads").to_pylist()
        elif way == "mapped":
            said = [node.value for node in mapped_run(blocks, function=lambda block: max(_threads()))]
        else:
            said = [node.value for node in merged_run(blocks, function=lambda block: max(_threads()), merge=max)]
        assert _threads() == {4}
    assert said == [1]
