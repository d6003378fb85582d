"""Each promise in docs/security.md names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_tests_that_exist() -> None:
    lines = [line for line in (ROOT / "docs" / "security.md").read_text().splitlines() if line.startswith("| ")]
    promises = [line for line in lines if "`test" in line.rpartition("|")[0].rpartition("|")[2]]
    assert len(promises) > 15
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for line in promises:
        for name in re.findall(r"`(test[\w/.]+)`", line):
            assert (ROOT / name).is_file() if "/" in name else f"def {name}(" in sources, name
