"""Models without caches on disk.

A part with ``memory="folder"`` (Pipeline, FeatureAgglomeration and others of scikit-learn) keeps what it computes in
that folder, as pickles, and opens them in the next fit. A model's sender could send such a folder too, and a pickle
runs code. So a model from a file never keeps or opens a cache; it fits the same without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

CACHE = "memory"
"""scikit-learn's name of the parameter; in a nested part it is ``part__memory``."""
PARAMETERS_TO_TRY = ("param_grid", "param_distributions")
"""Where searches keep parameters and the values to try: dictionaries, or lists of them."""


def without_caches(model: Any) -> Any:
    """The same model, changed in place: no part of it, at any depth, fitted or not, has or gets a cache."""
    seen: dict[int, Any] = {}  # the parts themselves are kept, so that no number is used twice
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        own = getattr(part, "__dict__", None)
        if isinstance(own, dict) and not isinstance(part, type):
            for name in own:
                if _names_a_cache(name):
                    own[name] = None
                elif name in PARAMETERS_TO_TRY:
                    _without_tries(own[name])
            waiting += own.values()
        waiting += _inside(part)
    return model


def _without_tries(parameters: Any) -> None:
    """Take the caches out of the parameters that a search tries; other dictionaries may be of words or classes."""
    for each in parameters if isinstance(parameters, list | tuple) else [parameters]:
        if isinstance(each, dict):
            for name in [name for name in each if _names_a_cache(name)]:
                del each[name]


def _names_a_cache(name: Any) -> bool:
    return isinstance(name, str) and name.split("__")[-1] == CACHE


def _inside(part: Any) -> Iterator[Any]:
    """What a container holds."""
    if isinstance(part, dict):
        yield from part.keys()
        yield from part.values()
    elif isinstance(part, list | tuple | set | frozenset) or (isinstance(part, np.ndarray) and part.dtype == object):
        yield from part.flat if isinstance(part, np.ndarray) else part
