"""Options with which LightGBM opens connections or files: never from a model file.

With ``machines=…`` LightGBM listens on a port for other machines, and waits for them. Its options go to it as one text,
``name=value name=value``, so a value may hold further options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from psidebug.errors import UnreadableModel
from psidebug.model_caches import parts_of, tried

NAMES = (
    "machines", "workers", "nodes", "num_machines", "num_machine", "machine_list_filename", "machine_list_file",
    "machine_list", "mlist", "local_listen_port", "local_port", "port", "forcedsplits_filename", "fs",
    "forced_splits_filename", "forced_splits_file", "forced_splits", "forcedbins_filename", "config", "config_file",
    "parser_config_file", "input_model", "model_input", "model_in", "output_model", "model_output", "model_out",
    "convert_model", "convert_model_file",
)  # fmt: skip
"""LightGBM's names, and its other names for the same."""
OPTION = re.compile(rf"\b(?:{'|'.join(NAMES)})\s*=")


def check_stays_here(model: Any, name: str) -> None:
    """Raise :class:`UnreadableModel` if LightGBM, anywhere in the model, would open connections or files."""
    for option, value in _options(model):
        if found := OPTION.search(f"{option.rpartition('__')[2]}={value}"):
            raise UnreadableModel(
                f"{name} has LightGBM's option {found[0].rstrip(' =')}, which opens connections or files. Save the "
                f"model without it."
            )


def _options(model: Any) -> Iterator[tuple[str, Any]]:
    for part in parts_of(model):
        if type(part).__module__.startswith("lightgbm.") and hasattr(part, "get_params"):
            yield from part.get_params().items()
        for tries in tried(part):
            yield from ((str(option), values) for option, values in tries.items())
