"""The files of real data: tests that need them are skipped where there are none, but fail in CI."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def real_data() -> None:
    if os.environ.get("PSI_DATA"):
        return
    message = "set PSI_DATA to a folder with movie_reviews.zip and adult.data.gz"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
