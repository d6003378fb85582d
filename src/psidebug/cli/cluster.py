"""``psi debug --cluster`` and ``--workers``: Parquet files that a Dask cluster reads, the user's own or a local one."""

from __future__ import annotations

import os
import tempfile
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
        client = stack.enter_context(Client(_local_cluster(stack, LocalCluster, workers)))
        client.run(_quiet)
        return client
    try:
        return stack.enter_context(Client(cluster, timeout=SECONDS))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {cluster} ({type(error).__name__}): give its address, such as "
            f"tcp://10.0.0.5:8786, or --workers 2 for a cluster of this machine."
        ) from error


def _local_cluster(stack: ExitStack, local: Any, workers: int | None) -> Any:
    """Workers on this machine that take work from this process alone.

    Whoever reaches a Dask scheduler can run code in it, and any user of a machine reaches its ports. So whoever speaks
    to this one needs its certificate, which is in memory only; its web pages are off, and only the owner reads what
    workers lay down on disk.
    """
    import dask
    from distributed.security import Security

    from psidebug.training.backends import no_modules_of_the_folder

    try:
        security = Security.temporary()
    except ImportError:
        raise UnknownOption(
            "--workers needs cryptography, so that other users of this machine cannot give work to the workers: "
            "pip install 'psidebug[dask]'."
        ) from None
    stack.enter_context(no_modules_of_the_folder())
    stack.enter_context(dask.config.set({f"distributed.{each}.http.routes": [] for each in ("scheduler", "worker")}))
    return stack.enter_context(
        local(
            n_workers=workers,
            threads_per_worker=1,
            security=security,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-")),
            silence_logs=50,
        )
    )


def _quiet() -> None:
    """What libraries print in a worker of ours does not mix with what is printed here."""
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
