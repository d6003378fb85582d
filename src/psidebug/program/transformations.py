"""Program → Program, the meaning unchanged. Each is tested by enumeration on small generated programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from psidebug.priors import Prior
from psidebug.program.distributions import Alternative, Labels
from psidebug.program.expressions import Expression, LabelDiffers, Learned, Learner, LogRatio, Variable
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
        elif isinstance(statement, Let | Observe | Factor) and not statement.about_index:
            statements.append(statement)
        else:
            statements.extend([*waiting, statement])
            waiting = []
    return replace(program, statements=(*statements, *waiting))


def replace_learner(program: Program, graybox: Learner, name: str = "Â") -> Program:
    """The learner 𝒜 replaced by its gray box Â wherever it is called.

    The meaning is unchanged exactly where the gray box gives the symptom that the learner gives; fidelity measures how
    far that holds.
    """

    def swapped(expression: Expression) -> Expression:
        return replace(expression, learner=graybox, name=name) if isinstance(expression, Learned) else expression

    return replace(program, statements=tuple(_rewritten(statement, swapped) for statement in program.statements))


def tilt_prior(program: Program, drawn_from: Prior) -> Program:
    """Draw worlds from q instead of p_T, and give each the weight p_T/q that undoes it.

    The meaning is unchanged as long as q is positive wherever p_T is.
    """
    statements: list[Statement] = []
    for statement in program.statements:
        if isinstance(statement, Sample) and isinstance(statement.distribution, Labels):
            target = statement.distribution.prior
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
    prior: Prior | None = None
    for statement in program.statements:
        if isinstance(statement, Sample) and isinstance(statement.distribution, Labels):
            prior = statement.distribution.prior
        if (
            prior is not None
            and isinstance(statement, Observe)
            and isinstance(statement.condition, LabelDiffers)
            and isinstance(statements[-1], Sample)
        ):
            statements.append(Sample("k", Alternative(prior)))
            statements.append(Intervene(statement.condition.labels, Variable("k")))
        else:
            statements.append(statement)
    return replace(program, statements=tuple(statements))


def _rewritten(node: Any, change: Callable[[Expression], Expression]) -> Any:
    """A statement or expression with ``change`` applied to every expression inside it."""
    if isinstance(node, tuple):
        return tuple(_rewritten(part, change) for part in node)
    if not isinstance(node, Statement | Expression) or not is_dataclass(node):
        return node
    changed = replace(node, **{field.name: _rewritten(getattr(node, field.name), change) for field in fields(node)})
    return change(changed) if isinstance(changed, Expression) else changed
