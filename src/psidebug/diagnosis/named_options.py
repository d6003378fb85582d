"""Short names and numbers for the options of :func:`psidebug.debug`, turned into the objects they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug import policy
from psidebug.errors import InvalidPrior, InvalidSymptom, UnknownOption
from psidebug.graybox.choose import check_name, graybox_for
from psidebug.graybox.protocol import GrayBox
from psidebug.margins import is_wrong
from psidebug.priors import Prior, noise, noise_by_group
from psidebug.spec import EFFORTS, NotKept, Spec, StatedPrior
from psidebug.sufficiency import ENGINES
from psidebug.symptoms import Symptom, at_least, log_loss_above_boundary, misclassified
from psidebug.task.columns import columns
from psidebug.task.dates import dates_in
from psidebug.task.task import Task

T = TypeVar("T")
SYMPTOMS: dict[str, Callable[[npt.NDArray[np.float64], npt.NDArray[np.intp]], Symptom]] = {
    "log_loss": log_loss_above_boundary,
    "misclassified": lambda margins, bugs: misclassified(*bugs.tolist()),
    "half": lambda margins, bugs: at_least(len(bugs) // 2 + 1, bugs.tolist()),
    "errors": lambda margins, bugs: at_least(max(int(is_wrong(margins).sum()) - len(bugs) // 2, 1)),
}


def check_spec(spec: Spec, points: int) -> None:
    """Raise :class:`UnknownOption` or :class:`InvalidSymptom` for what is wrong whether or not it will be needed.

    ``points`` is the number of test rows.
    """
    if not isinstance(spec.symptom, NotKept):
        _check_symptom(spec.symptom, points)
    if not hasattr(spec.graybox, "margins") and not isinstance(spec.graybox, NotKept):
        check_name(spec.graybox)
    if not callable(spec.engine) and not isinstance(spec.engine, NotKept):
        _chosen(spec.engine, dict.fromkeys(ENGINES), "engine")
    if isinstance(spec.rounds, bool) or not isinstance(spec.rounds, int | np.integer) or spec.rounds < 1:
        raise UnknownOption(f"rounds takes a whole number from 1, not {spec.rounds!r}.")
    _chosen(spec.causes, dict.fromkeys(("all", "labels")), "causes")
    _chosen(spec.effort, dict.fromkeys(EFFORTS), "effort")
    if spec.effort == "rank" and spec.rounds > 1:
        raise UnknownOption(
            f"rounds={spec.rounds} goes on from a correction, and effort='rank' makes none: leave out one."
        )
    if not isinstance(spec.check_fidelity, bool | np.bool_):
        raise UnknownOption(f"check_fidelity takes True or False, not {spec.check_fidelity!r}.")


def graybox_of(option: str | GrayBox, task: Task) -> GrayBox:
    """The gray box of this name (``"auto"``: the best that there is for the learner), or the object given."""
    return graybox_for(task, option) if isinstance(option, str) or not hasattr(option, "margins") else option


def prior_of(option: float | npt.ArrayLike | Mapping[str, Mapping[Any, float]] | Prior | None, task: Task) -> Prior:
    """One noise rate, one per training row, one for each value of a column, or a :class:`Prior`."""
    if isinstance(option, Prior):
        if option.moves.shape != (len(task.train), task.encoding.size) or np.any(option.given != task.train.codes):
            raise InvalidPrior("this prior was made for other labels: make it from the codes of this task.")
        return option
    if isinstance(option, Mapping):
        return _by_column(option, task)
    if isinstance(option, str | bool):
        raise InvalidPrior(
            f"prior={option!r} is not a noise rate: give a number such as 0.05, or one per training row."
        )
    try:
        rate = np.asarray(policy.DEFAULT_RATE if option is None else option)
        if rate.dtype.kind not in "fiu":  # numpy would read numbers out of strings
            raise TypeError
    except (TypeError, ValueError):
        raise InvalidPrior("a prior is a noise rate such as 0.05, or one number per training row.") from None
    return noise(task.train.codes, task.encoding.size, rate)


def stated_prior(option: StatedPrior, task: Task) -> Prior | None:
    """The prior that was stated, for the labels that the task has now, in which facts never move; None if none was."""
    if option is None:
        return None
    prior = option.carried(task.train.codes) if isinstance(option, Prior) else prior_of(option, task)
    return prior.sparing(task.data.known)


def _by_column(option: Mapping[str, Mapping[Any, float]], task: Task) -> Prior:
    if len(option) != 1 or not isinstance(rates := next(iter(option.values())), Mapping):
        raise InvalidPrior('a prior by column names one column: {"annotator": {"ann": 0.2, "bob": 0.01}}.')
    name = next(iter(option))
    described = [] if task.data.metadata is None else columns(task.data.metadata)
    found = {column.name: column for column in [*columns(task.train.features), *described]}
    if name not in found:
        raise InvalidPrior(
            f"there is no column {name!r} to take noise rates from: there are {', '.join(list(found)[:8])}."
        )
    values = found[name].values.tolist()
    if found[name].dated:  # the rates may name dates by their text, as the metadata had them
        values = found[name].values.astype("datetime64[us]").tolist()
        dates = dates_in(pa.array(map(str, rates), type=pa.string()))
        rates = rates if dates is None else dict(zip(dates.to_pylist(), rates.values(), strict=True))
    return noise_by_group(task.train.codes, task.encoding.size, values, rates, otherwise=policy.DEFAULT_RATE)


def symptom_of(option: str | Symptom, margins: npt.NDArray[np.float64], bugs: npt.NDArray[np.intp]) -> Symptom:
    """``"log_loss"``, ``"misclassified"`` (all bugs still are), ``"half"``, ``"errors"``, or a :class:`Symptom`."""
    _check_symptom(option, len(margins))
    return option if isinstance(option, Symptom) else SYMPTOMS[option](margins, bugs)


def rng_of(option: int | np.random.Generator | None) -> np.random.Generator:
    """A generator from a seed; None is the seed 0, so that a diagnosis can always be repeated."""
    if isinstance(option, np.random.Generator):
        return option
    if option is not None and (not isinstance(option, int | np.integer) or option < 0):
        raise UnknownOption(f"rng takes a seed (a whole number from 0) or a numpy Generator, not {option!r}.")
    return np.random.default_rng(0 if option is None else int(option))


def _check_symptom(option: Any, points: int) -> None:
    if not isinstance(option, Symptom):
        _chosen(option, SYMPTOMS, "symptom")
    elif option.points is not None and any(point < 0 or point >= points for point in option.points):
        raise InvalidSymptom(f"the symptom names a test point that is not there: the test set has {points} rows.")


def _chosen(name: Any, choices: dict[str, T], option: str) -> T:
    if not isinstance(name, str) or name not in choices:
        raise UnknownOption(f"{option}={name!r} is not one of {', '.join(sorted(choices))}.")
    return choices[name]
