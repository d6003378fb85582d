"""Running a program in many worlds at once.

The worlds are given: an inference engine decides whether they are all of them, or a sample. What the interpreter says
is in which worlds the program returned, what, and with what weight; worlds that an observe statement blocked do not
return.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from psidebug.priors import Floats
from psidebug.program.expressions import Array, State
from psidebug.program.statements import Factor, If, Intervene, Let, Observe, Program, Return, Sample, Statement


@dataclass(frozen=True, eq=False)
class Returned:
    """The worlds in which a program returned, its value in each, and the log of the weight that factors gave it."""

    worlds: npt.NDArray[np.intp]
    values: Array
    log_weights: Floats


def start(program: Program, draws: Mapping[str, Array]) -> State:
    """The state after the part of the program that all labels share, run once; ``draws`` are the sampled values."""
    running, _ = _run(program.shared, State.of(len(next(iter(draws.values())))), draws)
    return running


def finish(program: Program, state: State, index: int) -> Returned:
    """Run the rest of the program, which samples nothing, from a started state, for label ``index``."""
    rest = program.statements[len(program.shared) :]
    _, returned = _run(rest, replace(state, index=index), {})
    return _joined(returned)


def interpret(
    program: Program, draws: Mapping[str, Array], index: int | None = None, *, worlds: int | None = None
) -> Returned:
    """Run the whole program in the worlds given by ``draws``: for each sample statement, one value per world.

    A program that samples nothing runs in as many ``worlds`` as are asked for.
    """
    state = State.of(len(next(iter(draws.values()))) if worlds is None else worlds)
    _, returned = _run(program.statements, replace(state, index=index), draws)
    return _joined(returned)


def _run(statements: tuple[Statement, ...], state: State, draws: Mapping[str, Array]) -> tuple[State, list[Returned]]:
    returned: list[Returned] = []
    for statement in statements:
        match statement:
            case Sample():
                state = state.with_value(statement.target, draws[statement.target][state.worlds])
            case Let():
                state = state.with_value(statement.target, statement.value.evaluate(state))
            case Observe():
                state = state.only(statement.condition.evaluate(state).astype(bool))
            case Factor():
                state = replace(state, log_weights=state.log_weights + statement.log_weight.evaluate(state))
            case Intervene():
                labels = state.variables[statement.labels].copy()
                labels[:, state.index] = statement.value.evaluate(state)
                state = state.with_value(statement.labels, labels)
            case If():
                taken = statement.condition.evaluate(state).astype(bool)
                inside, more = _run(statement.body, state.only(taken), draws)
                if len(inside.worlds):
                    raise ValueError("the body of an if statement must end in return")
                returned.extend(more)
                state = state.only(~taken)
            case Return():
                returned.append(Returned(state.worlds, statement.value.evaluate(state), state.log_weights))
                state = state.only(np.zeros(len(state.worlds), dtype=bool))
    return state, returned


def _joined(returned: list[Returned]) -> Returned:
    if not returned:
        raise ValueError("this program has no return statement")
    worlds = np.concatenate([part.worlds for part in returned])
    order = np.argsort(worlds, kind="stable")
    return Returned(
        worlds[order],
        np.concatenate([part.values for part in returned])[order],
        np.concatenate([part.log_weights for part in returned])[order],
    )
