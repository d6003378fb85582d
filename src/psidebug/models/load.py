"""Classifiers in files, opened without running code from them.

A skops file names the type of every part; it is opened only if all types are known here, and its parts keep no caches
on disk (:mod:`psidebug.model_caches`). The formats of LightGBM and XGBoost are plain data. A pickle (joblib writes
pickles) can run any code: it is refused unless the user trusts its author.
"""

from __future__ import annotations

import io
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import NotAClassifier, UnreadableModel, first_line
from psidebug.models.lightgbm_files import from_lightgbm
from psidebug.models.skops_files import SAVE_AS, from_skops
from psidebug.models.xgboost_files import from_xgboost
from psidebug.task.learner import check_classifier

PICKLES = (".pkl", ".pickle", ".joblib")
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x04\x22\x4d\x18", b"\x5d\x00")
"""How joblib's compressed files begin."""


def load_model(path: str | PathLike[str], *, trust_pickle: bool = False) -> Any:
    """The classifier in a file: skops, LightGBM's text, XGBoost's JSON or UBJSON; its content tells which.

    It comes unfitted, with the options in the file. A pickle that is trusted comes as it was saved.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UnreadableModel(f"there is no file {file}. Give the file that the model was saved to.") from None
    except OSError as error:
        raise UnreadableModel(f"{file} cannot be read: {error.strerror or error}.") from None
    if zipfile.is_zipfile(io.BytesIO(content)):
        return _checked(from_skops(content, name=str(file)), file)
    if content.startswith((b"tree\n", b"tree\r\n")):
        return from_lightgbm(content, file)
    if content.startswith(b"{L") or content.lstrip()[:1] == b"{":
        return from_xgboost(content, file)
    if file.suffix.lower() in PICKLES or content[:1] == b"\x80" or content.startswith(COMPRESSED):
        return _checked(_from_pickle(file, trust_pickle), file)
    raise UnreadableModel(
        f"{file} is not a model that Psi can read: skops, LightGBM's text, XGBoost's JSON or UBJSON. {SAVE_AS}."
    )


def _from_pickle(file: Path, trusted: bool) -> Any:
    if not trusted:
        raise UnreadableModel(
            f"{file} is a pickle, and a pickle runs code when it is opened. {SAVE_AS}; or, if you trust its author, "
            f"use --trust-pickle (in Python: trust_pickle=True)."
        )
    import joblib

    try:
        return joblib.load(file)
    except Exception as error:
        raise UnreadableModel(f"{file} cannot be opened as a pickle: {first_line(error)}. Save it again.") from None


def _checked(model: Any, file: Path) -> Any:
    try:
        check_classifier(model)
    except NotAClassifier as error:
        raise NotAClassifier(f"{file}: {error}") from None
    except Exception as error:  # its library is asked what it is, and trips over options that cannot be
        raise UnreadableModel(f"{file} holds no whole model: {first_line(error)}. {SAVE_AS}.") from None
    return model
