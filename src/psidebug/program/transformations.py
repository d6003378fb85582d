"""Program → Program, the meaning unchanged. Each is tested by enumeration on small generated programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psidebug.errors import InvalidPrior
from psidebug.priors import Prior
from psidebug.program.distributions import Alternative, Labels
from psidebug.program.expressions import LabelDiffers, LogRatio, Variable
from psidebug.program.statements import Factor, Intervene, Let, Observe, Program, Sample, Statement


def reuse_samples(program: Program) -> Program:
    """Move observations about label i behind the work that does not mention i, so that all labels share that work.

    An observation has no effect but to block worlds, so it commutes with definitions and with other observations. The
    paper's figure "parallel-psi" then rewrites it as a conditional that returns 0, which turns PS(i) into the joint
    probability PS(i)·P(Y_i ≠ y_i | ¬φ); blocking the world keeps PS(i).
    """
    statements: list[Statement] = []
    waiting: list[Statement] = []
    for statement in program.statements:
        if isinstance(statement, Observe) and statement.about_index:
            waiting.append(statement)
        elif _commutes(statement, waiting):
            statements.append(statement)
        else:
            statements.extend([*waiting, statement])
            waiting = []
    return replace(program, statements=(*statements, *waiting))


def tilt_prior(program: Program, drawn_from: Prior) -> Program:
    """Draw worlds from q, which must be positive where p_T is, and give each the weight p_T/q that undoes it."""
    statements: list[Statement] = []
    for statement in program.statements:
        if isinstance(statement, Sample) and isinstance(statement.distribution, Labels):
            target = statement.distribution.prior
            if np.any((drawn_from.moves <= 0) & (target.moves > 0)):
                raise InvalidPrior("the tilted prior rules out worlds that p_T allows: no weight can undo that.")
            statements.append(replace(statement, distribution=Labels(drawn_from, name="q")))
            statements.append(Factor(LogRatio(statement.target, target, drawn_from)))
        else:
            statements.append(statement)
    return replace(program, statements=tuple(statements))


def marginalise_label(program: Program) -> Program:
    """Set label i to another value instead of waiting for a world where it has one; every world then serves every i.

    Labels are independent under p_T, so conditioning on Y_i ≠ y_i is drawing Y_i from π_i: ``observe(Γ.Y_i ≠ y^i)``
    directly behind the sample becomes ``k := sample(π_i); Γ.Y_i := k``. A world's weight then belongs to the labels
    other than i: tilt the prior after this, not before.
    """
    statements: list[Statement] = []
    name = _unused("k", program)
    for statement in program.statements:
        before = statements[-1] if statements else None
        if (
            isinstance(before, Sample)
            and isinstance(before.distribution, Labels)
            and isinstance(statement, Observe)
            and isinstance(statement.condition, LabelDiffers)
            and statement.condition.labels == before.target
            and np.array_equal(statement.condition.given, before.distribution.prior.given)
        ):
            statements.append(Sample(name, Alternative(before.distribution.prior)))
            statements.append(Intervene(before.target, Variable(name)))
        else:
            statements.append(statement)
    return replace(program, statements=tuple(statements))


def _commutes(statement: Statement, waiting: list[Statement]) -> bool:
    """Whether a statement may go before the observations that wait: it does not mention i, nor set what they read."""
    if statement.about_index or not isinstance(statement, Let | Observe | Factor):
        return False
    read = frozenset[str]().union(*(each.condition.reads for each in waiting if isinstance(each, Observe)))
    return not (isinstance(statement, Let) and statement.target in read)


def _unused(name: str, program: Program) -> str:
    """A variable name that the program does not set."""
    taken = {statement.target for statement in program.statements if isinstance(statement, Let | Sample)}
    taken |= {sample.target for sample in program.samples}
    while name in taken:
        name += "′"
    return name
