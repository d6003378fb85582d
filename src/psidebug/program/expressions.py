"""Expressions: what statements compute, as data that can be evaluated over many worlds and printed as in the paper.

Every variable holds an array whose first axis is the world.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from psidebug.priors import Codes, Floats, Prior
from psidebug.symptoms import Symptom

Array = npt.NDArray[Any]
Learner = Callable[[Codes], Floats]
"""𝒜: labels of many worlds (worlds, N) → margins (worlds, points, K-1)."""


@dataclass(frozen=True)
class State:
    """Values of the variables in the worlds still running, their weights, and the index i the program is about."""

    variables: Mapping[str, Array]
    worlds: npt.NDArray[np.intp]
    log_weights: Floats
    index: int | None

    @classmethod
    def of(cls, worlds: int) -> State:
        """The state before the first statement."""
        return cls({}, np.arange(worlds), np.zeros(worlds), index=None)

    def only(self, kept: npt.NDArray[np.bool_]) -> State:
        """The same state in some of its worlds."""
        if kept.all():
            return self
        variables = {name: value[kept] for name, value in self.variables.items()}
        return State(variables, self.worlds[kept], self.log_weights[kept], self.index)

    def with_value(self, name: str, value: Array) -> State:
        """The same state with one variable set."""
        return replace(self, variables={**self.variables, name: value})


class Node:
    """An expression or a statement."""

    shown: ClassVar[str]
    """How it is printed, by its fields."""

    @property
    def about_index(self) -> bool:
        """Whether it, or a part of it, mentions the index i, so that its work cannot be shared between labels."""
        return any(getattr(part, "about_index", False) for part in self.made_of())

    def made_of(self) -> Iterator[object]:
        """The values of its fields."""
        for value in vars(self).values():
            yield from value if isinstance(value, tuple) else (value,)

    def __str__(self) -> str:
        return self.shown.format(**vars(self))


class Expression(Node, ABC):
    """Something with a value in every world."""

    variables_in: tuple[str, ...] = ()
    """Fields that name a variable."""

    @property
    def reads(self) -> frozenset[str]:
        """The variables it is computed from."""
        own = {getattr(self, field) for field in self.variables_in}
        return frozenset(own).union(*(part.reads for part in self.made_of() if isinstance(part, Expression)))

    @abstractmethod
    def evaluate(self, state: State) -> Array:
        """Its value in each world of the state."""


@dataclass(frozen=True)
class Variable(Expression):
    """A variable set before."""

    name: str
    variables_in = ("name",)
    shown = "{name}"

    def evaluate(self, state: State) -> Array:
        """The variable's value."""
        return state.variables[self.name]


@dataclass(frozen=True)
class Negation(Expression):
    """¬e."""

    part: Expression
    shown = "¬{part}"

    def evaluate(self, state: State) -> Array:
        """Negation."""
        return np.asarray(~self.part.evaluate(state).astype(bool))


@dataclass(frozen=True, eq=False)
class LabelDiffers(Expression):
    """Γ.Y_i ≠ y^i: label i is not the given one in this world."""

    labels: str
    given: npt.NDArray[np.intp]
    about_index = True
    variables_in = ("labels",)
    shown = "{labels}_i ≠ y^i"

    def evaluate(self, state: State) -> Array:
        """Comparison of label i with its given value."""
        return np.asarray(state.variables[self.labels][:, state.index] != self.given[state.index])


@dataclass(frozen=True, eq=False)
class GivenLabel(Expression):
    """y^i: the label that row i was given."""

    given: Codes
    about_index = True
    shown = "y^i"

    def evaluate(self, state: State) -> Array:
        """The code, once per world."""
        return np.full(len(state.worlds), self.given[state.index])


@dataclass(frozen=True, eq=False)
class LogRatio(Expression):
    """log p_T(Γ.Y) / q(Γ.Y): the weight that undoes drawing from q instead of p_T."""

    labels: str
    target: Prior
    drawn_from: Prior
    variables_in = ("labels",)
    shown = "log p_T({labels}) - log q({labels})"

    def evaluate(self, state: State) -> Array:
        """Difference of the log probabilities of each world."""
        worlds = state.variables[self.labels]
        return self.target.log_probability(worlds) - self.drawn_from.log_probability(worlds)


@dataclass(frozen=True, eq=False)
class Learned(Expression):
    """𝒜(Γ): the classifier learned from the labels of this world, known by its margins."""

    learner: Learner
    labels: str
    variables_in = ("labels",)
    shown = "𝒜(Γ)"

    def evaluate(self, state: State) -> Array:
        """Margins in each world."""
        return self.learner(state.variables[self.labels])


@dataclass(frozen=True)
class Shows(Expression):
    """φ(c): the classifier shows the symptom."""

    symptom: Symptom
    classifier: str
    variables_in = ("classifier",)
    shown = "φ({classifier})"

    def evaluate(self, state: State) -> Array:
        """Whether the symptom holds in each world."""
        return self.symptom.holds(state.variables[self.classifier])
