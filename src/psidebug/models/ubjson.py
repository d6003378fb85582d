"""Universal Binary JSON, as far as XGBoost writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "u": ">u2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
"""Marks of numbers → numpy's names of their types."""
CONSTANTS = {"Z": None, "T": True, "F": False}


def read_ubjson(content: bytes) -> Any:
    """The value in the file; raises ``ValueError``, ``IndexError`` or ``RecursionError`` if there is none."""
    return _Reader(content).value()


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def value(self) -> Any:
        mark = self.mark()
        if mark in CONSTANTS:
            return CONSTANTS[mark]
        if mark in NUMBERS:
            return self.numbers(mark, 1)[0]
        if mark in "SC":
            return self.text(self.length() if mark == "S" else 1)
        if mark == "{":
            return self.record()
        if mark == "[":
            return self.array()
        raise ValueError(f"a mark {mark!r} at byte {self.at - 1}")

    def record(self) -> dict[str, Any]:
        made = {}
        while not self.ends("}"):
            name = self.text(self.length())
            made[name] = self.value()
        return made

    def array(self) -> list[Any]:
        if self.ends("$"):  # all of one type
            kind = self.mark()
            if self.mark() != "#":
                raise ValueError(f"a typed array without a length at byte {self.at - 1}")
            return self.numbers(kind, self.length())
        if self.ends("#"):
            return [self.value() for _ in range(self.length())]
        made = []
        while not self.ends("]"):
            made.append(self.value())
        return made

    def numbers(self, mark: str, count: int) -> list[Any]:
        if mark not in NUMBERS:
            raise ValueError(f"no type of numbers {mark!r} at byte {self.at - 1}")
        kind = np.dtype(NUMBERS[mark])
        found: list[Any] = np.frombuffer(self.taken(count * kind.itemsize), dtype=kind).tolist()
        return found

    def length(self) -> int:
        mark = self.mark()
        if mark not in "iUIulL":
            raise ValueError(f"no length at byte {self.at - 1}")
        return int(self.numbers(mark, 1)[0])

    def text(self, length: int) -> str:
        return self.taken(length).decode("utf-8")

    def mark(self) -> str:
        return chr(self.taken(1)[0])

    def ends(self, mark: str) -> bool:
        """Whether this mark comes next; then it is taken."""
        found = self.content[self.at] == ord(mark)
        self.at += found
        return found

    def taken(self, length: int) -> bytes:
        if not 0 <= length <= len(self.content) - self.at:
            raise ValueError(f"{length} bytes are wanted at byte {self.at}, and there are {len(self.content)}")
        self.at += length
        return self.content[self.at - length : self.at]
