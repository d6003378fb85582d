"""A few mutated files of each kind; ``python -m tests.fuzz`` opens a thousand, and ``PSI_FUZZ=1000`` does so here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from psidebug.errors import UnreadableTable
from tests.fuzz.child import opened
from tests.fuzz.kinds import MODELS, TABLES, Kind, kinds
from tests.fuzz.outcomes import Outcomes, good_run, outcomes

COUNT = int(os.environ.get("PSI_FUZZ", "20"))
OF_A_RUN = int(os.environ.get("PSI_FUZZ", "4"))
"""Fewer: a run has many files, and a page is made of each changed one."""


def assert_answered(found: dict[str, Outcomes], count: int) -> None:
    """Each file has an answer or a sentence, and the good one is answered."""
    for name, each in found.items():
        assert not each.bad, f"{name}: {each.bad[:3]}"
        assert sum(each.counts.values()) == count + 1
        assert each.counts["answer"] > 0, name


@pytest.mark.parametrize("wanted", [tuple(TABLES), tuple(MODELS)], ids=["tables and settings", "models"])
def test_mutated_files_get_an_answer_or_a_sentence(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    assert_answered(outcomes(tmp_path, COUNT, kinds=wanted), COUNT)


def test_mutated_runs_with_forged_digests_and_reviews_get_an_answer_or_a_sentence(tmp_path: Path) -> None:
    run = good_run(tmp_path)
    wanted = [name for name in kinds(run) if name not in (*TABLES, *MODELS)]
    assert len(wanted) > 12
    assert_answered(outcomes(run, OF_A_RUN, kinds=wanted), OF_A_RUN)


def test_the_fuzzer_tells_sentences_from_tracebacks(tmp_path: Path) -> None:
    def refused(path: Path) -> object:
        raise UnreadableTable(f"{path.name} is damaged. Copy it again.")

    assert opened(Kind("f", b"", lambda path: None), b"x", tmp_path) == "answer"
    assert opened(Kind("f", b"", refused), b"x", tmp_path) == "sentence"
    assert "ZeroDivisionError" in opened(Kind("f", b"", lambda path: 1 / 0), b"x", tmp_path)


def test_a_mutation_is_the_same_each_time_and_another_one_is_not() -> None:
    kind = TABLES["csv"]()
    some = [kind.changed("csv", number) for number in range(50)]
    assert some == [kind.changed("csv", number) for number in range(50)]
    assert some[0] == kind.good
    assert len(set(some)) > 45
