"""How many threads a fit gets: several only where it is worth it, also on a busy machine."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

WORTH_THREADS = 50_000
"""Training rows from which several threads for one fit are worth it.

Boosted trees of scikit-learn, 1,500 rows, two cores with other work on them: 3.3 s a fit with two threads, 0.1 s with
one; 15,000 rows: 26 s and 0.3 s.
"""


def few_threads(rows: int) -> AbstractContextManager[object]:
    """One thread for the loops of trees while there are few rows; as many as the library likes for many."""
    limits: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(
        limits=1 if rows < WORTH_THREADS else None, user_api="openmp"
    )
    return limits


@lru_cache(maxsize=1)
def _libraries(loaded: int) -> Any:
    """Those with threads of their own, looked for once more when more modules were ``loaded``: it takes a while."""
    from threadpoolctl import ThreadpoolController  # looks at every library that is loaded: not before it is needed

    return ThreadpoolController()
