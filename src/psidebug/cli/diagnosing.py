"""The work of ``psi debug``: the model from its file, a place for the run, the diagnosis, errors in words of files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psidebug.cli.no_model import said_of
from psidebug.cli.output import Output
from psidebug.errors import PsiError

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.intake import Inputs

ARGUMENT = re.compile(r"\b(?:([Xy])_(train|test|validation)|pred_probs(?:_test)?)\b")
ANSWERS = re.compile(r"\bannotations\b")


def loaded(output: Output, model: Path, trust_pickle: bool) -> Any:
    """The model of a file; what its opening has to say is a remark."""
    from psidebug.models import load_model

    with warnings.catch_warnings(record=True) as caught:
        given = load_model(model, trust_pickle=trust_pickle)
    for each in caught:
        output.remark(f"psi: {each.message}")
    return given


@contextmanager
def in_words_of_files(files: Mapping[str, Any]) -> Iterator[None]:
    """Errors speak of ``train.csv`` and its label column where the library says X_train and y_train."""

    def named(found: re.Match[str]) -> str:
        if found[1] is None or (found[1] == "X" and files.get("learner") == "head"):
            return said_of(found[0], files) or found[0]
        file = files.get(found[2]) or f"the {found[2]} file"
        return file if found[1] == "X" else f"the label column of {file}"

    try:
        yield
    except PsiError as error:
        said = ARGUMENT.sub(named, str(error))
        if files.get("annotations"):
            said = ANSWERS.sub(str(files["annotations"]), said)
        if said == str(error):
            raise
        raise type(error)(said) from error


def check_run(run: Path, arguments: dict[str, Any], seed: int) -> None:
    """Refuse a place that cannot take the run before the work; only a fit tells whether a run there has this data."""
    from psidebug.store import check_run_place, fingerprint_of
    from psidebug.task.task import Task

    exists = (run / "run.json").exists()
    check_run_place(run, fingerprint_of(Task.of(**arguments, seed=seed)) if exists else {})


class _Watched:
    """Progress in words of the command line; whoever watches a terminal also sees the first suspects."""

    def __init__(self, output: Output, tick: Any, rows: str) -> None:
        self._output, self._tick, self._rows = output, tick, rows
        self.first_suspects = self._show if output.shows_early else None

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._tick(f"{stage} ({self._rows})", done, total)

    def _show(self, suspects: Any) -> None:
        from psidebug.cli.findings import show_first_suspects

        show_first_suspects(self._output.beside, suspects)


def diagnosed(
    output: Output, inputs: Inputs, arguments: dict[str, Any], options: dict[str, Any], seed: int, tick: Any
) -> Diagnosis:
    """The diagnosis of these files, watched from the terminal."""
    import psidebug
    from psidebug.cli.tables import counted

    return psidebug.debug(
        **arguments,
        **options,
        rng=seed,
        images=inputs.roles.image,
        text=inputs.source["text"],
        progress=_Watched(output, tick, counted(len(inputs.train.labels), "row")),
    )
