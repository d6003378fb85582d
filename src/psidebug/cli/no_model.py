"""``psi debug`` without a model: files of embeddings and probabilities, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from psidebug.cli.options import Function


def pair_option(name: str, help: str) -> Callable[[Function], Function]:  # noqa: A002
    """An option that takes two files, one of the training rows and one of the test rows."""
    return click.option(name, metavar="TRAIN_FILE TEST_FILE", nargs=2, type=click.Path(path_type=Path), help=help)


def columns_are_learned(
    embeddings: Any, probabilities: Any, *, model: bool, learner: bool, validation: Path | None, category: Any
) -> bool:
    """Whether the learner sees columns of the tables; not without a model. What does not go with that is refused."""
    chosen = "--model" if model else "--learner" if learner else None
    if embeddings is not None and chosen is not None:
        raise click.UsageError(
            f"--embeddings and {chosen} do not go together: a logistic head is trained on embeddings. Leave one out."
        )
    if embeddings is None and (probabilities is None or chosen is not None):
        return True
    if validation is not None:
        raise click.UsageError(
            "--validation needs a model that can be asked about its rows: leave it out, or give --model or --learner, "
            "which learn from columns."
        )
    if category:
        raise click.UsageError("--category is for a learner of columns, and without a model none are learned from.")
    return False


def said_of(name: str, files: Mapping[str, Any]) -> str | None:
    """The file that an argument of ``debug`` came from, where it is no table: X_train, pred_probs_test and the like."""
    kind = "probabilities" if name.startswith("pred_probs") or not files.get("embeddings") else "embeddings"
    place = 1 if name.endswith("test") else 0
    return str(files[kind][place]) if files.get(kind) else None
