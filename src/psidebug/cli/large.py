"""``psi debug`` of Parquet files that are read in blocks: a pattern, or a folder, as the training table.

The files are looked at here; a cluster, if one is asked for, reads their rows.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psidebug.errors import UnknownOption

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.intake import Inputs, Roles

LEARNERS = ("logistic", "lightgbm", "xgboost")


def is_large(train: Path) -> bool:
    """Whether these are files to be read in blocks: a folder, or a pattern such as train/*.parquet."""
    return train.is_dir() or (any(sign in str(train) for sign in "*?[") and not train.exists())


def check_options(**given: Any) -> None:
    """Refuse options that have no meaning there, where one is given."""
    for name, value in given.items():
        if value:
            raise UnknownOption(
                f"--{name} is not for rows that are read in blocks: leave it out, or give one file that fits in memory."
            )


def diagnosed_over_blocks(
    train: Path,
    test: Path,
    validation: Path | None,
    roles: Roles,
    run: Path,
    tick: Any,
    *,
    model: Any,
    learner: str,
    seed: int,
    cluster: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> tuple[Diagnosis, Inputs]:
    """The diagnosis, and what it was made from; the learner is built for drawn rows, if none is given."""
    import pyarrow.parquet as pq

    from psidebug.blocks import parquet_blocks
    from psidebug.cli.cluster import read_by
    from psidebug.diagnosis.block_columns import Columns
    from psidebug.diagnosis.debug_blocks import WithBytes, debug_blocks
    from psidebug.diagnosis.first_reading import check_labelled, read_first
    from psidebug.diagnosis.learner_over_blocks import kind_for
    from psidebug.diagnosis.named_options import rng_of
    from psidebug.intake import inputs_from

    if model is None and learner not in LEARNERS:
        raise UnknownOption(
            f"--learner {learner} cannot be trained over blocks of rows: use --learner logistic, lightgbm or xgboost."
        )
    if model is not None:
        kind_for(model)
    told = WithBytes(tick)
    files = parquet_blocks(train, seen=told.seen)
    columns = Columns.of(files, roles.label, ids=roles.id, metadata=list(roles.ignored))
    check_labelled(files, roles.label)
    with read_by(files, cluster=cluster, workers=workers) as blocks:
        drawn_by = int(rng_of(seed).integers(2**31))
        first = read_first(blocks, columns, drawn_by, complete=False)
        with tempfile.TemporaryDirectory(prefix="psi-") as folder:
            sample = Path(folder) / "drawn.parquet"
            pq.write_table(first.drawn.select([name for name in files.schema.names if name in columns.all]), sample)
            hidden = (*filter(None, [roles.id]), *columns.metadata)
            unnamed = replace(roles, id=None, ignored=hidden)  # its ids are looked at by whoever has all rows
            inputs = inputs_from(
                sample, test, validation, unnamed, called=str(train), model=model, learner=learner, seed=seed
            )
        arguments = inputs.arguments()
        sets = {name: arguments.get(name) for name in ("X_test", "y_test", "X_validation", "y_validation")}
        found = debug_blocks(
            inputs.model,
            blocks,
            roles.label,
            **sets,  # type: ignore[arg-type]
            features=inputs.features,
            ids=roles.id,
            metadata=[] if arguments["metadata"] is None else arguments["metadata"].column_names,
            source={name: inputs.source[name] for name in ("test", "test_path", "validation", "learner")},
            seed=drawn_by,
            again=str(seed),
            run=run,
            progress=told,
            **options,
        )
        return found, replace(inputs, roles=roles)
