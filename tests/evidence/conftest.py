"""One thread for linear algebra, as in a diagnosis: several only wait for each other on small tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1):
        yield
