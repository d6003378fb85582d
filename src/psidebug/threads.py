"""How many threads a fit gets: several only where it is worth it, also on a busy machine."""

from __future__ import annotations

from contextlib import AbstractContextManager

WORTH_THREADS = 50_000
"""Training rows from which several threads for one fit are worth it.

Boosted trees of scikit-learn, 1,500 rows, two cores with other work on them: 3.3 s a fit with two threads, 0.1 s with
one; 15,000 rows: 26 s and 0.3 s.
"""


def few_threads(rows: int) -> AbstractContextManager[object]:
    """One thread for the loops of trees while there are few rows; as many as the library likes for many."""
    from threadpoolctl import threadpool_limits  # looks at every library that is loaded: not before it is needed

    limits: AbstractContextManager[object] = threadpool_limits(
        limits=1 if rows < WORTH_THREADS else None, user_api="openmp"
    )
    return limits
