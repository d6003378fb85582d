"""Logistic models as gray boxes, by one Newton or one gradient step from the fit.

::

    design      the features, with the intercept's constant, in products over blocks of rows
    likelihood  softmax, or separate sigmoids
    objective   what a fitted model minimises, and its Hessian      reading   from scikit-learn's classes to that
    fitted      whether the model is the fit of the data given
    solvers     the inverse of the Hessian, three ways
    newton      the Newton step                         reach     a row's answer to its own flip
    gradient    the paper's step, replayed
    left_out    scores of each row without it
    box         the gray box itself
"""

from __future__ import annotations

from psidebug.graybox.logistic.box import FORMS, LogisticBox
from psidebug.graybox.logistic.reading import supports

__all__ = ["FORMS", "LogisticBox", "supports"]
