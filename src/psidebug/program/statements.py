"""Statements of probabilistic programs, and programs as tuples of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psidebug.program.distributions import Distribution
from psidebug.program.expressions import Expression, Node


class Statement(Node):
    """One step of a program."""


@dataclass(frozen=True, eq=False)
class Sample(Statement):
    """x := sample(D)."""

    target: str
    distribution: Distribution
    shown = "{target} := sample({distribution});"


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """x := e. Setting a variable that other statements have computed from is an intervention."""

    target: str
    value: Expression
    shown = "{target} := {value};"


@dataclass(frozen=True, eq=False)
class Observe(Statement):
    """observe(e): worlds where e is false are blocked."""

    condition: Expression
    shown = "observe({condition});"


@dataclass(frozen=True, eq=False)
class Factor(Statement):
    """factor(e): the world's weight is multiplied by exp(e)."""

    log_weight: Expression
    shown = "factor({log_weight});"


@dataclass(frozen=True, eq=False)
class Intervene(Statement):
    """Γ.Y_i := e: label i is set, whatever the world says."""

    labels: str
    value: Expression
    about_index = True
    shown = "{labels}_i := {value};"


@dataclass(frozen=True, eq=False)
class If(Statement):
    """if (e) { … }: the body runs in the worlds where e is true, and must end in return."""

    condition: Expression
    body: tuple[Statement, ...]
    shown = "if ({condition})"


@dataclass(frozen=True, eq=False)
class Return(Statement):
    """return(e)."""

    value: Expression
    shown = "return({value});"


@dataclass(frozen=True, eq=False)
class Program:
    """A named sequence of statements; printed as the paper prints it."""

    title: str
    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        lines = (f"{'  ' * depth}{each}" for depth, each in _each(self.statements))
        return "\n".join([self.title, *(f"{number}:  {line}" for number, line in enumerate(lines, start=1))])

    @property
    def shared(self) -> tuple[Statement, ...]:
        """The opening statements that neither mention i nor return: their work serves every label."""
        for position, statement in enumerate(self.statements):
            if statement.about_index or isinstance(statement, If | Return):
                return self.statements[:position]
        return self.statements

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All sample statements, those inside conditionals included."""
        return tuple(each for _, each in _each(self.statements) if isinstance(each, Sample))


def _each(statements: tuple[Statement, ...], depth: int = 0) -> Iterator[tuple[int, Statement]]:
    """Every statement with its depth, those inside conditionals included."""
    for statement in statements:
        yield depth, statement
        if isinstance(statement, If):
            yield from _each(statement.body, depth + 1)
