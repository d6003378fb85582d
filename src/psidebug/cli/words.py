"""What the library says about its arguments, in the words of the command line: files and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psidebug.errors import PsiError

ARGUMENT = re.compile(r"\b([Xy])_(train|test|validation)\b")


@contextmanager
def in_words_of_files(files: Mapping[str, str | None]) -> Iterator[None]:
    """Errors raised inside speak of ``train.csv`` and its label column where the library says X_train and y_train.

    ``files`` has the names of the files: train, test, validation.
    """
    try:
        yield
    except PsiError as error:
        said = ARGUMENT.sub(lambda found: _told(found[1], files.get(found[2]) or f"the {found[2]} file"), str(error))
        if said == str(error):
            raise
        raise type(error)(said) from error


def _told(argument: str, file: str) -> str:
    return file if argument == "X" else f"the label column of {file}"
