"""Program → Program, the meaning unchanged. Each is tested by enumeration on small programs."""

from __future__ import annotations

from dataclasses import replace

from psidebug.program.statements import Let, Observe, Program, Statement


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
        elif isinstance(statement, Let | Observe) and not statement.about_index:
            statements.append(statement)
        else:
            statements.extend([*waiting, statement])
            waiting = []
    return replace(program, statements=(*statements, *waiting))
