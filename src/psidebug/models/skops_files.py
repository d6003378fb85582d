"""Classifiers as skops files: opened if every type in them is known, and unfitted.

A fitted model holds what it learned: trees, boosters, matrices. Compiled code follows the numbers in them to addresses
in memory and checks little, so a forged file could crash or mislead it. Psi trains the model anyway. So only options
are opened: what was learned is replaced by nothing before skops makes an object of it.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

from psidebug.errors import UnreadableModel, first_line
from psidebug.model_caches import without_caches
from psidebug.models.booster_columns import booster_columns
from psidebug.models.lightgbm_options import check_stays_here
from psidebug.task.learner import fresh

TRUSTED = frozenset(
    {
        "builtins.object",  # these name columns by their type, in a column selector
        "numpy.number",
        "numpy.dtype",
        "collections.OrderedDict",
        "sklearn.compose._column_transformer.make_column_selector",
        "lightgbm.sklearn.LGBMClassifier",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
        "psidebug.intake.mixed.MixedColumns",
        "skrub._apply_to_cols.ApplyToCols",
        "skrub._apply_to_each_col.ApplyToEachCol",
        "skrub._apply_to_frame.ApplyToFrame",
        "skrub._clean_categories.CleanCategories",
        "skrub._clean_null_strings.CleanNullStrings",
        "skrub._datetime_encoder.DatetimeEncoder",
        "skrub._drop_uninformative.DropUninformative",
        "skrub._duration_to_float.DurationToFloat",
        "skrub._gap_encoder.GapEncoder",
        "skrub._minhash_encoder.MinHashEncoder",
        "skrub._select_cols.DropCols",
        "skrub._select_cols.SelectCols",
        "skrub._similarity_encoder.SimilarityEncoder",
        "skrub._squashing_scaler.SquashingScaler",
        "skrub._string_encoder.StringEncoder",
        "skrub._table_vectorizer.Cleaner",
        "skrub._table_vectorizer.PassThrough",
        "skrub._table_vectorizer.TableVectorizer",
        "skrub._to_categorical.ToCategorical",
        "skrub._to_datetime.ToDatetime",
        "skrub._to_float.ToFloat",
        "skrub._to_str.ToStr",
        "skrub.selectors._base.All",
        "skrub.selectors._base.Cols",
    }
)
"""Types that a skops file may hold besides those of skops' own list (scikit-learn, numpy, scipy): classes that hold
settings, by their full names. Never a function: with a function of the author's choice a file could run anything."""
LARGEST = 2 * 1024**3
"""Bytes that the parts of a skops file may unpack to."""
SAVE_AS = "Save it as skops (skops.io.dump), or in the format of LightGBM or XGBoost"
OPTIONS_TOO = ("_other_params", "_sklearn_version", "feature_names_in_")
"""Attributes that are kept though they do not look like options: LightGBM's further ones, the version of scikit-learn,
and the names of the columns that the model was fitted on."""
COLUMNS = "columns_in_file"
"""The attribute of a model from a file that names the columns it was fitted on, if the file does."""
OF_OTHER_LIBRARIES = tuple(f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "dask", "cupy"))
"""Packages inside scikit-learn that import another library, if it is installed."""
LEARNED = ("TreeNode", "LossNode", "SparseMatrixNode")
"""Kinds of parts, by skops' names, that only what was learned needs."""
NOTHING = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True}
"""None, as skops writes it."""


def as_skops(model: Any) -> bytes:
    """The unfitted classifier as a skops file; raises :class:`UnreadableModel` if it could not be opened again."""
    skops_io = _skops_io()
    name = type(model).__name__
    try:
        unfitted = fresh(model)
        content: bytes = skops_io.dumps(unfitted)
        unknown = skops_io.get_untrusted_types(data=content)
    except Exception as error:  # a part of any library, which may fail in any way
        raise UnreadableModel(f"{name} cannot be written as skops: {first_line(error)}.") from None
    if strange := sorted(set(unknown) - TRUSTED):
        raise UnreadableModel(f"{name} holds {', '.join(strange[:3])}, which Psi does not open from a file.")
    check_stays_here(unfitted, name)
    return content


def from_skops(content: bytes, *, name: str) -> Any:
    """The unfitted model in a skops file, without caches, if every type in it is known to be harmless."""
    skops_io = _skops_io()
    try:
        options = _options_alone(content, name)
        if strange := sorted(set(skops_io.get_untrusted_types(data=options)) - TRUSTED):
            raise UnreadableModel(
                f"{name} holds {', '.join(strange[:3])}, which Psi does not open from a file: it could run code. If "
                f"you trust it, load it in Python and call psidebug.debug."
            )
        opened = without_caches(skops_io.loads(options, trusted=sorted(TRUSTED)))
        made = fresh(opened)
        check_stays_here(made, name)
        names = getattr(opened, "feature_names_in_", None)
        setattr(made, COLUMNS, booster_columns(content) if names is None else [str(name) for name in names])
        return made
    except UnreadableModel:
        raise
    except ModuleNotFoundError as error:
        raise UnreadableModel(f"{name} needs {error.name}, which is not installed: pip install {error.name}.") from None
    except Exception as error:  # a damaged or hostile file may fail in any way
        raise UnreadableModel(f"{name} is damaged: {first_line(error)}. Save it again.") from None


def _skops_io() -> Any:
    """``skops.io``. It imports all of scikit-learn, to list the estimators; PyTorch and Dask are kept out of that.

    They would take seconds, for two packages in which there is no estimator.
    """
    held_back = [name for name in OF_OTHER_LIBRARIES if name not in sys.modules]
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(held_back))  # None: an import fails, and that of all packages goes on
    try:
        return importlib.import_module("skops.io")
    finally:
        for name in held_back:
            modules.pop(name, None)


def _options_alone(content: bytes, name: str) -> bytes:
    """The skops file without what was learned, and without the arrays that only this used."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if "schema.json" not in parts.namelist():
            raise UnreadableModel(f"{name} is a zip file but no skops file. {SAVE_AS}.")
        size = sum(each.file_size for each in parts.infolist())
        if size > LARGEST:
            raise UnreadableModel(f"{name} would unpack to {size / 1024**3:.0f} GB: it is no model, and is not opened.")
        schema = json.loads(parts.read("schema.json"))
        _forget(schema)
        used = {each["file"] for each in _nodes(schema) if isinstance(each.get("file"), str)}
        kept = io.BytesIO()
        with zipfile.ZipFile(kept, "w") as file:
            file.writestr("schema.json", json.dumps(schema))
            for each in used & set(parts.namelist()):
                file.writestr(each, parts.read(each))
    for each in _nodes(schema):
        if each.get("__loader__") in LEARNED:
            raise UnreadableModel(
                f"{name} has a {each.get('__class__')!s:.40} as an option, which Psi does not open from a file. "
                f"{SAVE_AS}."
            )
    return kept.getvalue()


def _forget(schema: Any) -> None:
    """Take out attributes that are no options: by scikit-learn's rule their names begin or end with a line."""
    for node in _nodes(schema):
        held = node.get("content")
        if node.get("__loader__") == "ObjectNode" and isinstance(held, dict) and isinstance(held.get("content"), dict):
            for name in held["content"]:
                if name.startswith("_") or name.endswith("_"):
                    held["content"][name] = held["content"][name] if name in OPTIONS_TOO else NOTHING


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All records of the schema, the outer before the inner, which may be replaced meanwhile."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
