"""Cells are replaced in the text of a file, in the way that it writes them; the rest stays to the last character."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psidebug.exports.cells import NewCells, OtherRows
from psidebug.exports.text_cells import changed_text

GIVEN = np.array([0, 1, 0])


def changed(text: str, kind: str = "csv", codec: str = "utf-8", **new: Any) -> str:
    columns = ["a", "b", "y"]
    return changed_text(text.encode(codec), kind, NewCells(columns, "y", GIVEN, **new)).decode(codec)


def test_a_decimal_comma_stays_one() -> None:
    text = "a;b;y\r\n1,50;2000;n\r\n2,25;3000;j\r\n;4000;n\r\n"
    made = changed(text, cells={"a": {0: 0.125, 1: 3.0}, "b": {0: 2.0, 1: 0.5, 2: None}}, added={"was_b": "b"})
    assert made == "a;b;y;was_b\r\n0,125;2;n;2000\r\n3,0;0,5;j;3000\r\n;;n;4000\r\n"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_are_left_out_with_their_lines(codec: str) -> None:
    text = 'a,b,y\n\n1,"x, ""y""\nz",n\n2,,j\n3,"é",n'
    assert changed(text, codec=codec, dropped={1}) == 'a,b,y\n\n1,"x, ""y""\nz",n\n3,"é",n'
    assert changed(text, codec=codec, dropped={0, 2}) == "a,b,y\n\n2,,j\n"
    assert (
        changed(text, codec=codec, cells={"b": {0: None, 1: 'a "b", c'}}) == 'a,b,y\n\n1,,n\n2,"a ""b"", c",j\n3,"é",n'
    )


def test_lines_of_json_may_lack_keys() -> None:
    text = '{"y": "n", "a" : 1000}\n{"a":2.50, "b":"?", "y":"j"}\n\n{"b": null, "y": "n"}\n'
    made = changed(text, "jsonl", cells={"a": {0: 1.0, 2: 7.5}, "b": {1: None}}, added={"was_b": "b"})
    assert made == (
        '{"y": "n", "a" : 1, "was_b": null}\n{"a":2.50, "b":null, "y":"j", "was_b": "?"}\n\n'
        '{"b": null, "y": "n", "a": 7.5, "was_b": null}\n'
    )
    assert changed(text, "jsonl", dropped={1}) == '{"y": "n", "a" : 1000}\n{"b": null, "y": "n"}\n'
    with pytest.raises(OtherRows):
        changed(text.replace('"y": "n"}', '"z": 1}'), "jsonl")


def test_a_label_is_copied_as_another_row_writes_it() -> None:
    text = "a,b,y\n1,2,'n'\n1,2,j\n1,2,'n'\n"
    made = changed(text, donors={1: 0}, added={"given": "y", "at": pa.array([0.5, None, 2.0])})
    assert made == "a,b,y,given,at\n1,2,'n','n',0.5\n1,2,'n',j,\n1,2,'n','n',2.0\n"
