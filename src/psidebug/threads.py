"""How many threads a fit gets: several only where it is worth it, also on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import Any

WORTH_THREADS = 50_000
"""Training rows from which several threads for one fit are worth it.

Boosted trees of scikit-learn, 1,500 rows, two cores with other work on them: 3.3 s a fit with two threads, 0.1 s with
one; 15,000 rows: 26 s and 0.3 s. LightGBM, 1,000 rows, three classes: 6 to 13 s of processor time, and 0.2 s.
"""
THREAD_OPTIONS = ("n_jobs", "nthread", "num_threads", "thread_count")


def few_threads(rows: int) -> AbstractContextManager[object]:
    """One thread for the loops of trees while there are few rows; as many as the library likes for many."""
    limits: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(
        limits=1 if rows < WORTH_THREADS else None, user_api="openmp"
    )
    return limits


def one_blas_thread() -> AbstractContextManager[object]:
    """One thread for linear algebra, around all that fits or infers, and around work on blocks, wherever it is done.

    Its sums depend on the number of threads in the last digit, and so would the order of near-equal suspects.
    """
    return _ONE


class _OneForAll:
    """A limit of the process, which several threads may ask for: the first sets it, the last takes it away."""

    def __init__(self) -> None:
        self._lock, self._asking, self._limit = Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            if self._asking == 0:
                with _any_thread_may_limit():
                    self._limit = _linear_algebra().limit(limits=1, user_api="blas")
            self._asking += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0:
                with _any_thread_may_limit():
                    self._limit.restore_original_limits()  # type: ignore[attr-defined]


@contextmanager
def _any_thread_may_limit() -> Iterator[None]:
    """From version 3.8 on threadpoolctl heeds the first thread alone that sets a limit, as long as it lives.

    Here the thread that takes the limit away need not be the one that set it, and none of them keeps the right.
    """
    _let_any_thread_limit()
    try:
        yield
    finally:
        _let_any_thread_limit()


def _let_any_thread_limit() -> None:
    for each in _linear_algebra().lib_controllers:
        if hasattr(each, "clear_controlling_thread"):
            each.clear_controlling_thread(force=True)


_ONE = _OneForAll()


def thread_options(model: Any) -> list[str]:
    """Names of the options of a classifier, or of its parts, that say how many threads it has, where that is not 1."""
    options = model.get_params()
    return [key for key in options if key.split("__")[-1] in THREAD_OPTIONS and options[key] != 1]


def open_threads(model: Any) -> dict[str, None]:
    """Those of LightGBM's and XGBoost's options that are left open (None).

    These then take every core, whatever the process says of OpenMP, and on a busy machine wait for each other.
    """
    options = model.get_params()
    owners = {key: options.get(key.rpartition("__")[0], model) for key in thread_options(model) if options[key] is None}
    return {
        key: None for key, owner in owners.items() if type(owner).__module__.split(".")[0] in ("lightgbm", "xgboost")
    }


@cache
def _linear_algebra() -> Any:
    """Found once: numpy and scipy bring their linear algebra with them."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=1)
def _libraries(loaded: int) -> Any:
    """Those with threads of their own, looked for once more when more modules were ``loaded``: it takes a while."""
    from threadpoolctl import ThreadpoolController  # looks at every library that is loaded: not before it is needed

    return ThreadpoolController()
