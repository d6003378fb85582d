"""``psi bench nets``: measure, then make the table.

>>> bench_nets(quick=True)  # doctest: +SKIP
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks import RESULTS as FOLDER
from benchmarks.lines import append
from benchmarks.nets.line import Line

RESULTS = FOLDER / "nets.csv"
DEVELOPED, REPORTED = 0, 1
"""Seeds: everything was tuned on the first, what is told is the second."""
CHANGES = 36


def bench_nets(
    *,
    quick: bool = False,
    out: Path = RESULTS,
    page: Path | None = None,
    tasks: Sequence[str] = (),
    seeds: Sequence[int] = (REPORTED,),
    tell: Callable[[str], None] = print,
) -> Path:
    """Measure the gray boxes of nets and who finds wrong labels, and return the file of results.

    ``quick`` measures digits alone. Tasks, kinds of error and seeds that are in the file are not measured again.
    """
    known = {(line["task"], line["errors"], int(line["seed"])) for line in _lines(out)}
    for name in tasks or (("digits",) if quick else _names()):
        for seed in seeds:
            for kind, measure in _measures(name, seed):
                if (name, kind, seed) not in known:
                    tell(f"{name}, {kind} errors, seed {seed}")
                    append(out, list(measure()))
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_of(_lines(out)), encoding="utf-8")
    return out


def _names() -> tuple[str, ...]:
    from benchmarks.nets import embeddings, from_probabilities
    from benchmarks.nets.tasks import FIDELITY, TASKS

    return (*TASKS, *map(from_probabilities.NAME.format, from_probabilities.TRUSTED), embeddings.NAME, FIDELITY)


def _measures(name: str, seed: int) -> Iterator[tuple[str, Callable[[], Iterator[Line]]]]:
    """Kinds of error of a task, and how each is measured."""
    from benchmarks.nets import embeddings, from_probabilities
    from benchmarks.nets.measured import fidelity_lines, finding_lines
    from benchmarks.nets.tasks import FIDELITY, KINDS, task_of

    trusted = {from_probabilities.NAME.format(each): each for each in from_probabilities.TRUSTED}
    if name in trusted:
        yield from_probabilities.ERRORS, partial(from_probabilities.human_lines, trusted[name], seed)
    elif name == embeddings.NAME:
        yield "random", partial(embeddings.embedding_lines, seed)
    else:
        task = task_of(name, seed)
        for kind in KINDS:
            if name == FIDELITY:
                yield kind, partial(fidelity_lines, task, kind, seed, CHANGES)
            else:
                yield kind, partial(finding_lines, task, kind, seed)


def _lines(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page_of(lines: Sequence[dict[str, str]]) -> str:
    """A table for each measure: methods down, tasks and kinds of error across, the mean over seeds."""
    parts = []
    for measure in dict.fromkeys(each["measure"] for each in lines):
        own = [each for each in lines if each["measure"] == measure]
        columns = list(dict.fromkeys((each["task"], each["errors"]) for each in own))
        told = [f"## {measure.capitalize()}", ""]
        told += ["| | " + " | ".join(f"{task}, {errors}" for task, errors in columns) + " |"]
        told += ["|" + "---|" * (len(columns) + 1)]
        for method in dict.fromkeys(each["method"] for each in own):
            cells = []
            for task, errors in columns:
                values = [
                    float(e["value"]) for e in own if (e["method"], e["task"], e["errors"]) == (method, task, errors)
                ]
                cells.append(f"{sum(values) / len(values):.3f}" if values else "")
            told.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append("\n".join(told))
    return "# Neural nets, measured\n\n" + "\n\n".join(parts) + "\n"
