"""Neural nets as gray boxes, linear in the labels: by the last layer, or by all.

::

    last_layer  the logistic gray box at the net's own head
    gradients   gradients of a net's scores, row by row, in few random projections
    all_layers  one Gauss-Newton step in these
    several     the mean over nets that differ by chance alone

torch is imported when it is needed, and not before.
"""

from __future__ import annotations

from psidebug.graybox.neural.all_layers import AllLayers
from psidebug.graybox.neural.last_layer import LastLayer
from psidebug.graybox.neural.several import Several

__all__ = ["AllLayers", "LastLayer", "Several"]
