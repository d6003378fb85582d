"""``psi bench scale``: every size in a process of its own, a line for each, and a table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SIZES = (10**4, 10**5, 10**6, 3 * 10**6, 10**7)
QUICK = (10**4, 10**5)
Line = Mapping[str, float]


def bench_scale(*, quick: bool, out: Path, page: Path, tell: Callable[[str], None]) -> None:
    """Measure what is not yet in ``out`` (JSON lines), and write the table to ``page``."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    for size in QUICK if quick else SIZES:
        if any(each["rows"] == size for each in lines):
            continue
        tell(f"psi: {size:,} rows")
        folder = Path(tempfile.mkdtemp(prefix="psi-scale-"))
        try:
            command = [sys.executable, "-m", "benchmarks.scale.sizes", str(folder), str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        finally:
            shutil.rmtree(folder)
        lines.append(json.loads(done.stdout.splitlines()[-1]))
        out.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(table(sorted(lines, key=lambda each: each["rows"])))


def table(lines: Sequence[Line]) -> str:
    """The measurements as Markdown."""
    told = [
        "| rows | one Newton pass, s | µs a row | PS of every label, s | ÷ one pass | peak MB | decision, s | µs a row "
        "| readings | peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in lines:
        rows = each["rows"]
        cells = (
            f"{rows:,.0f}",
            f"{each['newton_pass']:.2f}",
            f"{each['newton_pass'] / rows * 1e6:.2f}",
            f"{each['ps']:.2f}",
            f"{each['ps'] / each['newton_pass']:.2f}",
            f"{each['memory_ps']:,.0f}",
            f"{each['decision']:.1f}",
            f"{each['decision'] / rows * 1e6:.1f}",
            f"{each['readings']:.0f}",
            f"{each['memory']:,.0f}",
        )
        told.append(f"| {' | '.join(cells)} |")
    return "\n".join(told) + "\n"
