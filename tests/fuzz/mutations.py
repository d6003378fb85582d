"""How a file is changed: bytes anywhere, values of JSON, columns of a table. Each change is drawn from a seed."""

from __future__ import annotations

import copy
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
WORDS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"[", b"{", b"]", b"}", b'"', b"'", b"\n", b"\r", b",", b":", b"=",
    b"1e400", b"-1", b"NaN", b"Infinity", b"null", b"true", b"99999999999999999999999", b"[" * 3000, b"0" * 5000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 3, 10**6, 2**31, 2**63, 10**400, -0.5, 1e308, "", "x", "\0", "\ud800", "../x", "x" * 5000, [],
    [[]], [None], [0], [1, 2], [10**9], {}, {"x": 1}, {"type": "tuple", "value": 3}, {"type": "Decimal", "value": "x"},
    {"type": "datetime64", "value": ["2020", "M8[xx]"]}, {"type": "bytes", "value": "zz"},
)  # fmt: skip


def bytes_changed(content: bytes, chance: random.Random) -> bytes:
    """One to four changes anywhere."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(_CHANGES)(changed, chance)
    return bytes(changed)


def _flip(changed: bytearray, chance: random.Random) -> None:
    if changed:
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)


def _number(changed: bytearray, chance: random.Random) -> None:
    size, at = chance.choice((1, 2, 4, 8)), chance.randrange(len(changed) + 1)
    number = (chance.choice(NUMBERS) % 256**size).to_bytes(size, chance.choice(("little", "big")))
    changed[at : at + size] = number


def _cut_end(changed: bytearray, chance: random.Random) -> None:
    del changed[chance.randrange(len(changed) + 1) :]


def _cut_out(changed: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(changed) + 1)
    del changed[at : at + chance.choice((1, 4, 8, 64, 1000))]


def _again(changed: bytearray, chance: random.Random) -> None:
    at, to = chance.randrange(len(changed) + 1), chance.randrange(len(changed) + 1)
    changed[to:to] = changed[at : at + chance.choice((1, 8, 64, 1000))]


def _over(changed: bytearray, chance: random.Random) -> None:
    at, to, size = chance.randrange(len(changed) + 1), chance.randrange(len(changed) + 1), chance.choice((4, 16, 256))
    changed[to : to + size] = changed[at : at + size]


def _word(changed: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(changed) + 1)
    changed[at:at] = chance.choice(WORDS)


_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _flip, _flip, _number, _number, _cut_end, _cut_out, _again, _over, _word,
)  # fmt: skip


def json_changed(content: bytes, chance: random.Random) -> bytes:
    """One or two values of a JSON file replaced, removed or doubled, at any depth."""
    found = json.loads(content)
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_places(found))
        holder, key = chance.choice(places)
        what = chance.random()
        if what < 0.15:
            del holder[key]
        elif what < 0.3 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif what < 0.45:
            other, name = chance.choice(places)
            holder[key] = copy.deepcopy(other[name])
        else:
            holder[key] = chance.choice(VALUES)
    return json.dumps(found).encode()


def _places(value: Any) -> Any:
    """Where each value within this one is: the list or record that holds it, and its place there."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from _places(each)


def table_changed(content: bytes, chance: random.Random) -> bytes:
    """A Parquet file that is whole, and whose columns, rows or values are not what they were."""
    table = pq.read_table(pa.BufferReader(content))
    what, place = chance.randrange(8), chance.randrange(max(table.num_columns, 1))
    if what == 0:
        table = table.remove_column(place)
    elif what == 1:
        table = table.rename_columns(
            [f"{name}x" if at == place else name for at, name in enumerate(table.schema.names)]
        )
    elif what == 2:
        table = table.slice(0, chance.choice((0, 1, table.num_rows // 2)))
    elif what == 3:
        table = pa.concat_tables([table, table])
    elif what == 4:
        table = table.take(chance.sample(range(table.num_rows), table.num_rows))
    else:
        values = _values(chance, table.num_rows)
        table = table.set_column(place, table.schema.field(place).name, values)
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def _values(chance: random.Random, rows: int) -> Any:
    """A column of something else."""
    return chance.choice(
        [
            pa.nulls(rows),
            pa.array([chance.choice((-1, 0, 5, 10**6, 2**62)) for _ in range(rows)]),
            pa.array([chance.choice((float("nan"), float("inf"), -1.0, 1e308)) for _ in range(rows)]),
            pa.array([chance.choice(("", "x", "\0", "{", "0")) for _ in range(rows)]),
            pa.array([chance.choice((b"", b"\xff")) for _ in range(rows)]),
            pa.array([[1, 2]] * rows),
            pa.array([{"x": 1}] * rows),
            pa.array([chance.choice((True, False, None)) for _ in range(rows)]),
        ]
    )
