"""Do the bounds of PS hold what they say? Of every engine, on random small tasks whose answer is known from all worlds.

Run ``python -m benchmarks.quality.coverage``: tasks of 5 to 7 labels, two and three classes, eight symptoms, a few
seeds. ``asked``: PS of the symptom itself. ``tangent``: of the symptom as one linear constraint, which is the question
that the closed form answers, and its bounds are about. Sampled engines (sampling, tilting) state 95% intervals; exact
ones (enumeration, closed form) state their arithmetic. In all of them the learner is the gray box: how far retraining
differs is in no bound, and is measured by ``diagnosis.fidelity``. Results go to ``results/coverage.csv``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from psidebug.errors import InvalidSymptom
from psidebug.sufficiency import REGISTRY, sufficiency
from tests.conformance.engine_tasks import LABELS_OF, SYMPTOMS, Case, CurvedBox, LinearBox, case_of

ROUNDING = 1e-9


def measured(case: Case, engine: str, seed: int) -> list[dict[str, Any]]:
    """For each question that the engine may be about: labels, those whose PS is within the bounds, width and error."""
    try:
        found = sufficiency(case.box, case.prior, case.symptom, engine=engine, rng=np.random.default_rng(seed))
    except InvalidSymptom:
        return []
    lines = []
    for name, question in (("asked", case.asked), ("tangent", case.tangent if engine == "closed_form" else None)):
        if question is not None:
            truth = question.ps
            within = (found.low - ROUNDING <= truth) & (truth <= found.high + ROUNDING)
            width, error = float((found.high - found.low).sum()), float(np.abs(found.ps - truth).sum())
            lines.append(
                {"engine": engine, "of": name, "labels": len(truth), "within": int(within.sum()), "width": width}
                | {"error": error}
            )
    return lines


def main() -> None:
    """Measure, and print a line for each engine and question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    given = parser.parse_args()
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for seed in range(given.first, given.first + given.seeds):
        for case in (case_of(*each, seed) for each in _kinds()):
            for engine in REGISTRY:
                for line in measured(case, engine, seed):
                    kept = sums.setdefault((line["engine"], line["of"]), dict.fromkeys(line, 0) | {"tasks": 0})
                    for name in ("labels", "within", "width", "error"):
                        kept[name] += line[name]
                    kept["tasks"] += 1
    lines = [
        {"engine": engine, "of": of, "tasks": each["tasks"], "labels": each["labels"], "within": each["within"]}
        | {f"mean_{name}": f"{each[name] / each['labels']:.2g}" for name in ("width", "error")}
        for (engine, of), each in sums.items()
    ]
    write(RESULTS / "coverage.csv", [line | {"first_seed": given.first} | made_with(np) for line in lines])
    print(f"{'engine':12} {'of':8} {'tasks':>6} {'labels':>7} {'within':>7} {'width':>8} {'error':>8}")
    for line in lines:
        numbers = (
            f"{line['tasks']:6} {line['labels']:7} {line['within']:7} {line['mean_width']:>8} {line['mean_error']:>8}"
        )
        print(f"{line['engine']:12} {line['of']:8} {numbers}")


def _kinds() -> list[tuple[int, type[LinearBox | CurvedBox], str]]:
    return [(classes, box, name) for classes in LABELS_OF for box in (LinearBox, CurvedBox) for name in SYMPTOMS]


if __name__ == "__main__":
    main()
