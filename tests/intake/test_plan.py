"""What each column is to the learner."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from psidebug.intake import plan_for

ROWS = 40
TABLE = pa.table(
    {
        "counted": list(range(1, ROWS + 1)),
        "age": [20 + (7 * k) % 31 for k in range(ROWS)],
        "day": [date(2020, 1, 1 + k % 28) for k in range(ROWS)],
        "city": ["Lima", "Oslo"] * (ROWS // 2),
        "member": [True, False] * (ROWS // 2),
        "review": [f"this film is the number {k} that I have seen" for k in range(ROWS)],
        "answer": ["yes, of course it is good", "no, it is not good at all"] * (ROWS // 2),
        "name": [f"person{k}" for k in range(ROWS)],
        "constant": ["same"] * ROWS,
        "empty": pa.nulls(ROWS, pa.float64()),
        "measured": [k / 7 for k in range(ROWS)],
    }
)


def test_columns_by_kind() -> None:
    plan = plan_for(TABLE)
    assert plan.numbers == ("age", "measured")
    assert plan.dates == ("day",)
    assert plan.categories == ("city", "member", "answer")
    assert plan.texts == ("review",)
    assert [name for name, _ in plan.kept] == ["counted", "name", "constant", "empty"]


def test_a_named_text_is_a_text_whatever_it_looks_like() -> None:
    plan = plan_for(TABLE, texts=["city", "name"])
    assert plan.texts == ("city", "review", "name")
    assert "name" not in dict(plan.kept)


def test_the_plan_says_every_column_once_and_why_some_are_kept() -> None:
    said = "\n".join(plan_for(TABLE).sentences())
    listed = [name for line in said.splitlines() for name in line.split(": ")[1].split(", ")]
    for name in TABLE.column_names:
        assert listed.count(name) == 1
    assert "hidden from it: name, nearly every row has its own value" in said
    assert "hidden from it: counted, it numbers the rows" in said


def test_many_columns_are_not_all_listed() -> None:
    table = pa.table({f"c{k}": [0.5, 1.5] for k in range(2000)})
    (line,) = plan_for(table).sentences()
    assert line.endswith("and 1,992 more")
