"""The kinds of files, each with a good one, how it is changed, and what Psi does with it."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from psidebug.blocks import blocks_of, drawn
from psidebug.cli.settings import settings_of
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.first_reading import check_labelled
from psidebug.intake import Roles, inputs_from
from psidebug.models import load_model
from psidebug.report.pictures import picture_of_file
from psidebug.task.data import Data
from tests.fuzz.mutations import bytes_changed, json_changed, table_changed

Change = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Kind:
    """``use`` opens the file that lies in a folder of its own; what it raises must be a PsiError."""

    file: str
    """Its name in the folder."""
    good: bytes
    use: Callable[[Path], object]
    changes: tuple[Change, ...] = (bytes_changed,)

    def changed(self, name: str, number: int) -> bytes:
        """Mutation ``number`` of this kind; 0 is the good file."""
        chance = random.Random(f"{name} {number}")
        return chance.choice(self.changes)(self.good, chance) if number else self.good


def table(rows: int = 40) -> Any:
    """Columns of every plain type, some of them with nothing in a few rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=rows)
    return pa.table(
        {
            "x": pa.array([None if i % 9 == 0 else float(each) for i, each in enumerate(x)]),
            "count": rng.integers(0, 9, rows),
            "city": pa.array(rng.choice(["Lima", "Oslo", "Pune é"], rows).tolist()),
            "kind": pa.array(rng.choice(["a", "b"], rows).tolist()).dictionary_encode(),
            "since": pa.array((np.datetime64("2020-01-01") + rng.integers(0, 900, rows)).tolist()),
            "text": [f"some words of row {i} and {'good' if i % 2 else 'bad'} ones" for i in range(rows)],
            "yes": pa.array((x > 1).tolist()),
            "label": np.where(x > 0, "yes", "no").tolist(),
        }
    )


def _parquet(compression: str = "snappy") -> bytes:
    written = io.BytesIO()
    pq.write_table(table(), written, compression=compression, row_group_size=20)
    return written.getvalue()


def _arrow(make: Any) -> bytes:
    written = io.BytesIO()
    with make(written, table().schema) as writer:
        writer.write_table(table())
    return written.getvalue()


def _csv() -> bytes:
    written = io.BytesIO()
    pa.csv.write_csv(table(), written)
    return written.getvalue()


def _records() -> list[dict[str, Any]]:
    return [{name: str(cell) if name == "since" else cell for name, cell in row.items()} for row in table().to_pylist()]


def as_training(path: Path) -> object:
    """As ``psi debug`` reads its training table, beside a good test table."""
    good = path.parent / "good.parquet"
    if not good.exists():
        good.write_bytes(_parquet())
    inputs = inputs_from(path, good, None, Roles("label"))
    return inputs.arguments(), inputs.about_test()


def as_test(path: Path) -> object:
    """As its test table."""
    good = path.parent / "good.parquet"
    if not good.exists():
        good.write_bytes(_parquet())
    inputs = inputs_from(good, path, None, Roles("label"))
    return inputs.arguments(), inputs.about_test()


def as_answers(path: Path) -> object:
    """As answers of annotators, beside good tables."""
    good = path.parent / "good.parquet"
    if not good.exists():
        good.write_bytes(_parquet())
    return inputs_from(good, good, None, Roles("label"), annotations=path).arguments()


def as_embeddings(path: Path) -> object:
    """As embeddings and as probabilities, each beside good tables."""
    good = path.parent / "good.parquet"
    if not good.exists():
        good.write_bytes(_parquet())
    found = inputs_from(good, good, None, Roles("label", learned=False), embeddings=(path, path))
    return found.arguments(), inputs_from(good, good, None, Roles("label"), probabilities=(path, path)).arguments()


def as_probabilities(path: Path) -> object:
    """As probabilities, up to where they are asked whether they are any."""
    good = path.parent / "good.parquet"
    if not good.exists():
        good.write_bytes(_parquet())
    inputs = inputs_from(good, good, None, Roles("label"), probabilities=(path, path))
    names = ("X_train", "y_train", "X_test", "y_test", "pred_probs", "pred_probs_test")
    given = {**inputs.arguments(), **inputs.about_test()}
    return Data.of(inputs.model, **{name: given[name] for name in names})


def as_blocks(path: Path) -> object:
    """As it reads a pattern of files: the columns checked, rows drawn, every value looked at."""
    blocks = blocks_of(path.parent / "many*.parquet")
    Columns.of(blocks, "label")
    check_labelled(blocks, "label")
    return drawn(blocks, 30, 0).to_pylist(), list(blocks.map(lambda block: block.table.to_pylist()))


def as_picture(path: Path) -> object:
    """As a report shows it."""
    with contextlib.chdir(path.parent):
        return picture_of_file(path.name)


def as_settings(path: Path) -> object:
    """As every command reads it."""
    from psidebug.cli.debug import debug

    assert isinstance(debug, click.Command)
    with contextlib.chdir(path.parent):
        return settings_of(debug)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)
TOML = b"""label = "label"
[debug]
id = "id"
ignore = ["a", "b"]
output = "run"
rounds = 2
"""


def _npy() -> bytes:
    written = io.BytesIO()
    np.save(written, np.full((40, 2), 0.5))
    return written.getvalue()


def header_changed(content: bytes, chance: random.Random) -> bytes:
    """An npy file with other characters in its header, which numpy reads as Python's text."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 2, 3))):
        changed[chance.randrange(10, 128)] = chance.choice(b"(){}[]'\",:0123456789-. \n\0OUVMcfiu<>|True")
    return bytes(changed)


def _answers() -> bytes:
    lines = [f"{row},{who},{'yes' if (row + who) % 3 else 'no'}" for row in range(40) for who in range(2)]
    return "\n".join(["row,annotator,label", *lines]).encode()


def _wide_answers() -> bytes:
    lines = [f"{row},{'yes' if row % 3 else 'no'},{'' if row % 5 else 'yes'}" for row in range(40)]
    return "\n".join(["row,ann,bob", *lines]).encode()


def _probabilities() -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table({"no": [0.25] * 40, "yes": [0.75] * 40}), written)
    return written.getvalue()


def _packed(codec: str) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, codec) as stream:
        stream.write(_csv())
    found: bytes = packed.getvalue().to_pybytes()
    return found


TABLES: dict[str, Callable[[], Kind]] = {
    "csv": lambda: Kind("t.csv", _csv(), as_training),
    "json lines": lambda: Kind("t.jsonl", "\n".join(map(json.dumps, _records())).encode(), as_training),
    "json array": lambda: Kind("t.json", json.dumps(_records()).encode(), as_training, (bytes_changed, json_changed)),
    "arrow file": lambda: Kind("t.arrow", _arrow(pa.ipc.new_file), as_training),
    "arrow stream": lambda: Kind("t.arrows", _arrow(pa.ipc.new_stream), as_training),
    "parquet": lambda: Kind("t.parquet", _parquet(), as_training),
    "parquet as test set": lambda: Kind("t.parquet", _parquet("zstd"), as_test),
    "parquet in blocks": lambda: Kind("many1.parquet", _parquet("gzip"), as_blocks),
    "gzip": lambda: Kind("t.csv.gz", gzip.compress(_csv(), mtime=0), as_training),
    "zstd": lambda: Kind("t.csv.zst", _packed("zstd"), as_training),
    "bz2": lambda: Kind("t.csv.bz2", _packed("bz2"), as_training),
    "lz4": lambda: Kind("t.csv.lz4", _packed("lz4"), as_training),
    "npy": lambda: Kind("e.npy", _npy(), as_embeddings, (bytes_changed, header_changed)),
    "answers": lambda: Kind("answers.csv", _answers(), as_answers),
    "answers, a column for each": lambda: Kind("answers.csv", _wide_answers(), as_answers),
    "probabilities": lambda: Kind("p.parquet", _probabilities(), as_probabilities, (bytes_changed, table_changed)),
    "picture": lambda: Kind("p.png", PNG, as_picture),
    "settings": lambda: Kind("psi.toml", TOML, as_settings),
}


def _skops(make: Callable[[], Any]) -> Callable[[], Kind]:
    def kind() -> Kind:
        import skops.io

        return Kind("m.skops", skops.io.dumps(make().fit(*_rows())), load_model, (bytes_changed, schema_changed))

    return kind


def _rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.integers(0, 2, 40)


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression())


def _trees() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=3)


def _lightgbm() -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)


def _xgboost(written: str) -> bytes:
    import xgboost

    return bytes(xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(*_rows()).get_booster().save_raw(written))


MODELS: dict[str, Callable[[], Kind]] = {
    "skops": _skops(_linear),
    "skops of trees": _skops(_trees),
    "skops of LightGBM": _skops(_lightgbm),
    "LightGBM": lambda: Kind("m.txt", _lightgbm().fit(*_rows()).booster_.model_to_string().encode(), load_model),
    "XGBoost JSON": lambda: Kind("m.json", _xgboost("json"), load_model, (bytes_changed, json_changed)),
    "XGBoost UBJSON": lambda: Kind("m.ubj", _xgboost("ubj"), load_model),
}
"""Fitted models in every format that is opened without trust."""


def schema_changed(content: bytes, chance: random.Random) -> bytes:
    """A skops file that is whole, with other values in its schema."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            change = json_changed if name == "schema.json" else bytes_changed
            new.writestr(name, change(part, chance) if name == "schema.json" or chance.random() < 0.1 else part)
    return made.getvalue()


def kinds(run: Path) -> Mapping[str, Callable[[], Kind]]:
    """All of them, each made when it is asked for; ``run`` is a good run, whose files are kinds of their own."""
    from tests.fuzz.runs import REVIEW, run_files

    if not (run / "run.json").exists():
        return {**TABLES, **MODELS}
    of_review = {name: partial(make, run) for name, make in REVIEW.items()}
    return {**TABLES, **MODELS, **run_files(run), **of_review}
