"""Several threads, one order: blocks are worked on at the same time, and their answers come in the order of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_order(function: Callable[[S], T], parts: Iterable[S], workers: int) -> Iterator[T]:
    """``function`` of each part; at most two parts for each worker are in memory."""
    if workers == 1:
        yield from map(function, parts)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(function, part))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()
