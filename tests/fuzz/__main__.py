"""``python -m tests.fuzz``: many mutations of each kind, as a table; the exit code is 1 if any was not answered."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy
import pyarrow

from benchmarks import RESULTS
from benchmarks.lines import made_with, read_lines, write
from tests.fuzz.kinds import kinds
from tests.fuzz.outcomes import good_run, outcomes


def main() -> int:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="mutations of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first one; 0 is the good file")
    parser.add_argument("--kind", action="append", help="only kinds whose names begin so; may be given several times")
    parser.add_argument("--write", action="store_true", help="to benchmarks/results/fuzz.csv, a line for each kind")
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        run = good_run(Path(folder))
        print(f"{'kind':24} {'files':>6} {'answers':>8} {'sentences':>10} {'neither':>8}")
        for kind in kinds(run):
            if given.kind and not kind.startswith(tuple(given.kind)):
                continue
            found = outcomes(run, given.count, kinds=[kind], first=given.first)[kind]
            answers, sentences, bad = found.counts["answer"], found.counts["sentence"], len(found.bad)
            print(f"{kind:24} {answers + sentences + bad:6} {answers:8} {sentences:10} {bad:8}", flush=True)
            for number, what in found.bad:
                print(f"  {kind} {number}: {what}", file=sys.stderr, flush=True)
            failed += bad
            if given.write:
                counts = {"answers": answers, "sentences": sentences, "failures": bad}
                numbers = {"first": given.first, "last": given.count, "files": answers + sentences + bad}
                _note({"kind": kind, **numbers, **counts, **made_with(numpy, pyarrow)})
    return int(failed > 0)


def _note(line: dict[str, object]) -> None:
    """Write a line in the place of the one of its kind. Mutations are drawn from the kind and their number: no seed."""
    path = RESULTS / "fuzz.csv"
    others: list[dict[str, object]] = [dict(each) for each in read_lines(path) if each["kind"] != line["kind"]]
    write(path, sorted([*others, line], key=lambda each: str(each["kind"])))


if __name__ == "__main__":
    sys.exit(main())
