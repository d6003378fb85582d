"""What retraining said, read from a saved run: correction, controls, curve and fidelity; and the causes of bugs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.diagnosis.causes import Causes
from psidebug.diagnosis.controls import Controls
from psidebug.diagnosis.curve import Curve, Point
from psidebug.diagnosis.verification import Verification
from psidebug.graybox.fidelity import Agreement, Fidelity
from psidebug.store.files import RunFiles
from psidebug.store.format import read_record
from psidebug.store.values import Json


@dataclass(frozen=True, eq=False)
class SavedCorrection:
    """The verified correction of a run."""

    explanation: str
    verified: Verification


def correction_in(files: RunFiles) -> SavedCorrection | None:
    """The correction to apply."""
    found = files.record["correction"]
    if found is None:
        return None
    return SavedCorrection(found["explanation"], files.verified(found["verified"], "correction"))


def controls_in(files: RunFiles, correction: SavedCorrection | None) -> Controls | None:
    """The correction beside the two controls."""
    found = files.record["controls"]
    if found is None or correction is None:
        return None
    names = ("at_random", "highest_loss")
    parts = {name: None if found[name] is None else files.verified(found[name], name) for name in names}
    return Controls(correction.verified, **parts)


def curve_in(files: RunFiles) -> Curve | None:
    """Error against number of corrections."""
    found = files.record["curve"]
    if found is None:
        return None
    points = tuple(
        read_record(Point, each, verified=files.verified(each["verified"], f"curve{place}"))
        for place, each in enumerate(found["points"])
    )
    return read_record(Curve, found, points=points, wrong=np.stack([each.verified.wrong_after for each in points]))


def fidelity_in(files: RunFiles) -> Fidelity | None:
    """How well the gray box followed retraining."""
    found: Json = files.record["fidelity"]
    if found is None:
        return None
    parts = {name: read_record(Agreement, found[name]) for name in ("groups", "singles")}
    return read_record(Fidelity, found, **parts)


def causes_in(files: RunFiles) -> tuple[Causes, ...]:
    """The bugs whose causes were saved, each with them."""
    table, bugs = files.table("causes"), files.record["explained"]
    of, positions = (table[name].to_numpy().astype(np.intp) for name in ("test_row", "position"))
    proposed = files.codes(table, "proposed")
    ps, low, high = (table[name].to_numpy() for name in ("ps", "ps_low", "ps_high"))
    own = [np.flatnonzero(of == bug) for bug in bugs]
    return tuple(
        Causes(bug, positions[rows], proposed[rows], ps[rows], low[rows], high[rows])
        for bug, rows in zip(bugs, own, strict=True)
    )
