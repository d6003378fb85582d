"""``psi debug`` of Parquet files that are read in blocks: from a pattern to the label of every row."""

from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.store.manifest import ALL_LABELS
from tests.cli.folder import Ran, psi

ROWS = 21_000


def people(rows: int, seed: int, *, wrong: bool) -> tuple[pa.Table, np.ndarray]:
    """Numbers, some missing, and a city; in Bonn nobody is labelled yes, if ``wrong``. And the right labels."""
    rng = np.random.default_rng(seed)
    x, city = rng.normal(size=(rows, 3)), rng.integers(0, 4, rows)
    right = (3 * x[:, 0] + 2 * x[:, 1] + 2 * (city == 1) - 0.5 + rng.logistic(size=rows) > 0).astype(int)
    given = np.where((city == 2) & wrong, 0, right)
    x[rng.random(rows) < 0.05, 2] = np.nan
    columns = {f"x{j}": pa.array(x[:, j], from_pandas=True) for j in range(3)}
    names, labels = np.array(["rome", "oslo", "bonn", "lima"]), np.array(["no", "yes"])
    return pa.table(columns | {"city": names[city], "label": labels[given]}), labels[right]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    folder = tmp_path_factory.mktemp("large")
    (folder / "train").mkdir()
    table, _ = people(ROWS, 0, wrong=True)
    pq.write_table(table.slice(0, 9_000), folder / "train" / "0.parquet")
    pq.write_table(table.slice(9_000), folder / "train" / "1.parquet")
    pq.write_table(people(600, 1, wrong=False)[0], folder / "test.parquet")
    return folder, psi(
        "debug",
        "train/*.parquet",
        "test.parquet",
        "--label",
        "label",
        "--causes",
        "labels",
        "-v",
        "-o",
        "run",
        folder=folder,
    )


def test_the_planted_cause_is_told_and_every_label_written(large: tuple[Path, Ran]) -> None:
    folder, ran = large
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "city = bonn, labelled 'no'" in said
    assert f"20,000 rows drawn from {ROWS:,}" in said
    assert "reading (1 MB read)" in ran.err
    assert "judging labels (" in ran.err
    labels = pq.read_table(folder / "run" / ALL_LABELS)
    right = people(ROWS, 0, wrong=True)[1]
    given, repaired = (np.array(labels.column(name).to_pylist()) for name in ("given", "repaired"))
    assert (repaired != right).sum() < 0.5 * (given != right).sum()
    assert "psi apply run -o fixed" in said
    assert (folder / "run" / ALL_LABELS).stat().st_mode & 0o077 == 0


def test_the_files_are_written_with_corrected_labels_and_nothing_else_changed(large: tuple[Path, Ran]) -> None:
    folder, _ = large
    ran = psi("apply", "run", "-o", "fixed", folder=folder)
    assert ran.code == 0, ran.err
    labels, done = pq.read_table(folder / "run" / ALL_LABELS), 0
    for name in ("0.parquet", "1.parquet"):
        before, after = (pq.read_table(folder / place / name) for place in ("train", "fixed"))
        wanted = labels.column("repaired").slice(done, len(before))
        assert after.equals(before.set_column(before.column_names.index("label"), "label", wanted))
        assert after.schema.equals(before.schema, check_metadata=True)
        done += len(before)
    changed = (np.array(labels["given"].to_pylist()) != np.array(labels["repaired"].to_pylist())).sum()
    assert f"{changed:,} of {ROWS:,} labels corrected" in ran.err + ran.out
    assert changed > 100
    again = psi("apply", "run", "-o", "first", "--top", "3", "--json", folder=folder)
    assert json.loads(again.out)["corrected"] == 3
    lost = pq.read_table(folder / "train" / "1.parquet").slice(1)
    whole = (folder / "train" / "1.parquet").read_bytes()
    try:
        pq.write_table(lost, folder / "train" / "1.parquet")
        refused = psi("apply", "run", "-o", "never", folder=folder)
    finally:
        (folder / "train" / "1.parquet").write_bytes(whole)
    assert refused.code == 2
    assert "1.parquet has other labels than the run was made from" in " ".join(refused.err.split())
    assert not (folder / "never").exists()


def test_labels_that_are_not_those_of_the_run_are_not_written(large: tuple[Path, Ran], tmp_path: Path) -> None:
    """The table of all labels is a part of the run: damaged, missing, forged or a pipe, it is told in a sentence."""
    folder, _ = large
    record = json.loads((folder / "run" / "run.json").read_text())
    place = record["files"]["labels_of_all"]["path"]
    table = pq.read_table(folder / "run" / place)
    nothing = table.set_column(table.column_names.index("repaired"), "repaired", pa.nulls(len(table), pa.string()))
    others = {"damaged": table.slice(1), "forged": nothing, "of others": pa.table({"x": [1]}), "missing": None}
    for name, other in others.items():
        run = tmp_path / name
        shutil.copytree(folder / "run", run)
        (run / place).unlink()
        if other is not None:
            pq.write_table(other, run / place)
        if name in ("forged", "of others"):
            forged = {**record["files"]["labels_of_all"], "sha256": sha256((run / place).read_bytes()).hexdigest()}
            files = {**record["files"], "labels_of_all": forged}
            (run / "run.json").write_text(json.dumps({**record, "files": files}))
        ran = psi("apply", str(run), "-o", str(tmp_path / "fixed"), folder=folder)
        assert ran.code == 2, name
        assert "labels_of_all.parquet" in ran.err or "run.json is damaged" in ran.err, ran.err
        assert "Traceback" not in ran.err
        assert "internal error" not in ran.err
        assert not (tmp_path / "fixed").exists()
    (folder / "run" / ALL_LABELS).rename(tmp_path / ALL_LABELS)  # the name for users is not what is read
    os.mkfifo(folder / "run" / ALL_LABELS)
    try:
        assert psi("apply", "run", "-o", "as ever", folder=folder).code == 0
    finally:
        (tmp_path / ALL_LABELS).replace(folder / "run" / ALL_LABELS)


def test_the_run_can_be_shown(large: tuple[Path, Ran]) -> None:
    folder, _ = large
    shown = psi("suspects", "run", "--json", folder=folder)
    assert shown.code == 0, shown.err
    first = json.loads(shown.out)
    labels = pq.read_table(folder / "run" / ALL_LABELS)
    listed = first if isinstance(first, list) else first["suspects"]
    assert listed[0]["p_wrong"] == pytest.approx(max(labels.column("p_wrong").to_pylist()), abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("apply", "run", "-o", "test.parquet"), "test.parquet is there already: name a new folder"),
        (("apply", "run", "-o", "never", "--trace"), "--trace is not for a run of rows in blocks"),
        (("debug", "train", "test.parquet", "--label", "label", "--learner", "forest"), "use --learner logistic"),
        (("debug", "train", "test.parquet", "--label", "label", "--id", "none"), "there is no column 'none'"),
        (("debug", "train", "test.parquet", "--label", "label", "--text", "city"), "--text is not for rows that are"),
        (("debug", "train", "test.parquet", "--label", "none"), "there is no column 'none'"),
        (("debug", "test.parquet", "test.parquet", "--label", "label", "--workers", "2"), "give a folder of Parquet"),
        (("debug", "train", "test.parquet", "--label", "label", "--cluster", "nowhere:x"), "no Dask scheduler answers"),
        (("debug", "no/*.parquet", "test.parquet", "--label", "label"), "no file matches no/*.parquet"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    large: tuple[Path, Ran], arguments: tuple[str, ...], says: str
) -> None:
    ran = psi(*arguments, folder=large[0])
    assert ran.code == 2
    assert says in " ".join(ran.err.split())


def test_rows_of_a_rare_class_are_always_drawn(tmp_path: Path) -> None:
    """Five of 21,000 rows are of the second class: the learner is built, and what is missing is told by its name."""
    table, _ = people(ROWS, 3, wrong=False)
    labels = np.array(["no"] * ROWS)
    labels[-5:] = "yes"
    pq.write_table(table.set_column(4, "label", pa.array(labels)), tmp_path / "train.parquet")
    pq.write_table(people(50, 4, wrong=False)[0].drop_columns(["x1"]), tmp_path / "test.parquet")
    (tmp_path / "train").mkdir()
    (tmp_path / "train.parquet").rename(tmp_path / "train" / "0.parquet")
    ran = psi("debug", "train", "test.parquet", "--label", "label", folder=tmp_path)
    assert ran.code == 2
    assert "test.parquet lacks the column 'x1' of train. Add it" in " ".join(ran.err.split())


@pytest.mark.thorough
def test_local_workers_say_the_same(large: tuple[Path, Ran]) -> None:
    folder, alone = large
    arguments = ("debug", "train/*.parquet", "test.parquet", "--label", "label", "--causes", "labels", "-v")
    ran = psi(*arguments, "-o", "duo", "--workers", "2", folder=folder)  # lines break alike: as many letters
    assert ran.code == 0, ran.err
    assert ran.out.replace("duo", "run") == alone.out
    one, two = (pq.read_table(folder / run / ALL_LABELS) for run in ("run", "duo"))
    assert two.equals(one)
    assert (folder / "duo" / ALL_LABELS).stat().st_mode & 0o077 == 0


@pytest.mark.thorough
def test_workers_run_no_module_of_the_folder(large: tuple[Path, Ran], tmp_path: Path) -> None:
    shutil.copytree(large[0] / "train", tmp_path / "train")
    shutil.copy(large[0] / "test.parquet", tmp_path)
    for name in ("struct", "random", "socket", "tempfile"):
        (tmp_path / f"{name}.py").write_text("open('sprung', 'w').close()\nraise ImportError('sprung')\n")
    ran = psi(
        "debug", "train", "test.parquet", "--label", "label", "--causes", "labels", "--workers", "2", folder=tmp_path
    )
    assert ran.code == 0, ran.err
    assert not (tmp_path / "sprung").exists()
    assert "PYTHONSAFEPATH" not in os.environ
