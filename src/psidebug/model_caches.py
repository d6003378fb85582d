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
    for part in parts_of(model):
        own = _attributes(part)
        for name in own:
            if _names_a_cache(name):
                own[name] = None
        for tries in tried(part):
            for name in [name for name in tries if _names_a_cache(name)]:
                del tries[name]
    return model


def parts_of(model: Any) -> Iterator[Any]:
    """Whatever the model holds, at any depth; what is changed in a part is seen."""
    seen: dict[int, Any] = {}  # the parts themselves are kept, so that no number is used twice
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        waiting += _attributes(part).values()
        waiting += _inside(part)


def tried(part: Any) -> Iterator[dict[Any, Any]]:
    """The parameters that a search tries, with their values; other dictionaries may be of words or classes."""
    for name in PARAMETERS_TO_TRY:
        held = _attributes(part).get(name)
        yield from (each for each in (held if isinstance(held, list | tuple) else [held]) if isinstance(each, dict))


def _attributes(part: Any) -> dict[str, Any]:
    own = getattr(part, "__dict__", None)
    return own if isinstance(own, dict) and not isinstance(part, type) else {}


def _names_a_cache(name: Any) -> bool:
    return isinstance(name, str) and name.split("__")[-1] == CACHE


def _inside(part: Any) -> Iterator[Any]:
    """What a container holds."""
    if isinstance(part, dict):
        yield from part.keys()
        yield from part.values()
    elif isinstance(part, list | tuple | set | frozenset) or (isinstance(part, np.ndarray) and part.dtype == object):
        yield from part.flat if isinstance(part, np.ndarray) else part
