"""Models that fit scores to labels by a loss of the margin, as gray boxes.

::

    losses      the losses: slope and curvature        columns   several classes by two-class problems
    response    how scores answer to a force on a row, by features or by a kernel
    reading     from scikit-learn's classes to these   box       the gray box itself
"""

from __future__ import annotations

from psidebug.graybox.margin.box import MarginBox
from psidebug.graybox.margin.reading import supports

__all__ = ["MarginBox", "supports"]
