"""Statements of probabilistic programs, and programs as tuples of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from psidebug.program.expressions import Array, Expression


class Distribution(Protocol):
    """What a sample statement draws from."""

    def draw(self, count: int, rng: np.random.Generator, /) -> Array:
        """Independent draws, along the first axis."""
        ...


@dataclass(frozen=True)
class Bernoulli:
    """1 with probability ``mean``, else 0."""

    mean: float

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """``count`` booleans."""
        return rng.random(count) < self.mean

    def __str__(self) -> str:
        return f"Bernoulli({self.mean:g})"


class Statement:
    """One step of a program."""

    @property
    def about_index(self) -> bool:
        """Whether it mentions the index i."""
        return False


@dataclass(frozen=True, eq=False)
class Sample(Statement):
    """x := sample(D)."""

    target: str
    distribution: Distribution
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.target} := sample({self.name or self.distribution});"


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """x := e."""

    target: str
    value: Expression

    @property
    def about_index(self) -> bool:
        """Whether its expression mentions i."""
        return self.value.about_index

    def __str__(self) -> str:
        return f"{self.target} := {self.value};"


@dataclass(frozen=True, eq=False)
class Observe(Statement):
    """observe(e): worlds where e is false are blocked."""

    condition: Expression

    @property
    def about_index(self) -> bool:
        """Whether its condition mentions i."""
        return self.condition.about_index

    def __str__(self) -> str:
        return f"observe({self.condition});"


@dataclass(frozen=True, eq=False)
class Intervene(Statement):
    """Γ.Y_i := y^i: label i is put back to its given value, whatever the world says."""

    labels: str
    given: npt.NDArray[np.intp]

    @property
    def about_index(self) -> bool:
        """Always: it sets label i."""
        return True

    def __str__(self) -> str:
        return f"{self.labels}_i := y^i;"


@dataclass(frozen=True, eq=False)
class If(Statement):
    """if (e) { … }: the body runs in the worlds where e is true; worlds that return there are done."""

    condition: Expression
    body: tuple[Statement, ...]

    @property
    def about_index(self) -> bool:
        """Whether the condition or the body mentions i."""
        return self.condition.about_index or any(statement.about_index for statement in self.body)

    def __str__(self) -> str:
        return f"if ({self.condition})"


@dataclass(frozen=True, eq=False)
class Return(Statement):
    """return(e)."""

    value: Expression

    @property
    def about_index(self) -> bool:
        """Whether its value mentions i."""
        return self.value.about_index

    def __str__(self) -> str:
        return f"return({self.value});"


@dataclass(frozen=True, eq=False)
class Program:
    """A named sequence of statements; printed as the paper prints it."""

    title: str
    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        lines = list(_lines(self.statements))
        return "\n".join([self.title, *(f"{number}:  {line}" for number, line in enumerate(lines, start=1))])

    @property
    def shared(self) -> tuple[Statement, ...]:
        """The opening statements that do not mention i: their work serves every label."""
        for position, statement in enumerate(self.statements):
            if statement.about_index:
                return self.statements[:position]
        return self.statements


def _lines(statements: tuple[Statement, ...], indent: str = "") -> list[str]:
    lines = []
    for statement in statements:
        lines.append(f"{indent}{statement}")
        if isinstance(statement, If):
            lines.extend(_lines(statement.body, indent + "  "))
    return lines
