"""``psi debug --cluster`` and ``--workers``: Parquet files that a Dask cluster reads, the user's own or a local one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from psidebug.errors import InputError, UnknownOption

if TYPE_CHECKING:
    from psidebug.blocks import Blocks, ParquetBlocks

SECONDS = 20
"""How long a scheduler may take to answer."""


@contextmanager
def read_by(files: ParquetBlocks, *, cluster: str | None, workers: int | None) -> Iterator[Blocks]:
    """The rows as the workers of a cluster read them, while it lasts; as they are read here, if none is asked for."""
    if cluster is None and workers is None:
        yield files
        return
    with ExitStack() as stack:
        client = _client(stack, cluster, workers)
        from psidebug.blocks.dask import DaskBlocks

        yield DaskBlocks.of_files(files, client)


def _client(stack: ExitStack, cluster: str | None, workers: int | None) -> Any:
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise UnknownOption(
            "--cluster and --workers need Dask, which is not installed: pip install 'psidebug[dask]'."
        ) from None
    if cluster is None:
        from psidebug.training.backends import no_modules_of_the_folder

        stack.enter_context(no_modules_of_the_folder())
        made = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        client = stack.enter_context(Client(stack.enter_context(made)))
        client.run(_quiet)
        return client
    try:
        return stack.enter_context(Client(cluster, timeout=SECONDS))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {cluster} ({type(error).__name__}): give its address, such as "
            f"tcp://10.0.0.5:8786, or --workers 2 for a cluster of this machine."
        ) from error


def _quiet() -> None:
    """What libraries print in a worker of ours does not mix with what is printed here."""
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
