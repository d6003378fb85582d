"""The columns that a booster in a skops file was fitted on: LightGBM and XGBoost name them only beside their trees."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

from psidebug.models.ubjson import read_ubjson


def booster_columns(content: bytes) -> list[str]:
    """The names, if the file is of such a classifier and it was fitted on a table with names; else none."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        held = _attributes(json.loads(parts.read("schema.json")))
        handles = _attributes(held.get("_Booster"))
        if "handle" in handles:  # XGBoost's
            model = read_ubjson(parts.read(handles["handle"]["file"]))["Model"]
            return list(map(str, model["learner"]["feature_names"]))
        if "_handle" in handles:  # LightGBM's
            found = re.search(r"^feature_names=(.*)$", json.loads(handles["_handle"]["content"]), re.MULTILINE)
            names = found[1].split(" ") if found else []
            had = held.get("_fitted_with_feature_names")  # LightGBM 4.6 does not say; without names it makes some up
            made_up = names == [f"Column_{place}" for place in range(len(names))]
            return names if (not made_up if had is None else had["content"] == "true") else []
    return []


def _attributes(node: Any) -> dict[str, Any]:
    """What skops wrote of the attributes of an object."""
    held = node.get("content") if isinstance(node, dict) else None
    inner = held.get("content") if isinstance(held, dict) else None
    return inner if isinstance(inner, dict) else {}
