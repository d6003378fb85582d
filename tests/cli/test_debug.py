"""``psi debug``: the planted cause is found from files alone, saved whole, and no run is ever mixed with another."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import skops.io
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from psidebug.cli.debug import fixed_like
from psidebug.cli.options import allowed
from psidebug.report import summarise, views
from psidebug.report.pictures import picture_of_array
from psidebug.store import load_run
from psidebug.threads import few_threads
from tests.cli.folder import PSI, Ran, people, psi, spoiled, write_csv
from tests.cli.json_page import KEYS

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id")


def test_the_planted_cause_is_told_and_proved(debugged: tuple[Path, Ran]) -> None:
    _, ran = debugged
    assert (ran.code, ran.err) == (0, "")
    assert "city = Pune, labelled 'no'" in " ".join(ran.out.split())
    figures = r" +[\d,]+ +([\d.]+) +([\d.]+)"  # rows, test error, validation error
    names = ("as given", "relabelled")
    (before,), (after,) = (re.findall(rf"^  {name}{figures}", ran.out, re.MULTILINE) for name in names)
    for was, now in zip(before, after, strict=True):
        assert float(now) < float(was) - 0.05
    assert ran.out.count("take this one") == 1
    assert "psi apply psi-run -o fixed.csv" in ran.out


def test_what_was_built_is_told_column_by_column(debugged: tuple[Path, Ran]) -> None:
    said = debugged[1].out
    assert "Learner: logistic regression" in said
    assert "  numbers: income\n" in said
    assert "  dates (day, month, weekday, hour): since\n" in said
    assert "  categories: city\n" in said


def test_the_run_and_the_page_are_there(debugged: tuple[Path, Ran]) -> None:
    folder, _ = debugged
    run = load_run(folder / "psi-run")
    assert run.findings.origin.source["label"] == "label"
    assert run.findings.origin.source["columns"] == ["id", "income", "city", "since", "source", "label"]
    assert set(run.findings.labels.rows.tolist()) == set(range(1000, 1240))
    assert "city = Pune" in (folder / "page.html").read_text(encoding="utf-8")
    assert not [path for path in folder.iterdir() if "partial" in path.name]


def test_json_says_the_same(folder: Path, debugged: tuple[Path, Ran]) -> None:
    ran = psi(*DEBUG, "--validation", "validation.csv", "--ignore", "source", "--json", "--full", folder=folder)
    found = json.loads(ran.out)
    run = load_run(debugged[0] / "psi-run")
    assert found["verdict"] == run.verdict
    assert found["corrected"] == run.corrected > 10
    assert [each["row"] for each in found["suspects"][:50]] == run.findings.labels.rows[run.order[:50]].tolist()
    assert found["run"] == "psi-run"
    assert found["failed"] is False
    assert {*found} == KEYS["debug"]
    assert {*found["repairs"][0]} == KEYS["debug, each of repairs"]
    assert {*found["slices"][0]} | {"slice"} == KEYS["slices, a list, each"]


@pytest.mark.parametrize(("limit", "code"), [("0.05", 1), ("200", 0)])
def test_fail_above_is_exit_code_1(folder: Path, limit: str, code: int) -> None:
    """Of 240 labels some 40 are wrong: above 5%, below 200."""
    ran = psi(*DEBUG, "--fail-above", limit, "-q", folder=folder)
    assert ran.code == code
    assert "Pune" in ran.out


@pytest.mark.parametrize(("limit", "allows"), [(0, 0), (0.01, 10), (0.5, 500), (1, 1), (40, 40)])
def test_below_1_it_is_a_share_of_the_rows(limit: float, allows: int) -> None:
    assert allowed(limit, 1000) == allows


def test_the_same_data_may_be_debugged_again_but_other_data_are_refused_before_the_work(folder: Path) -> None:
    assert psi(*DEBUG, "-o", "a", folder=folder).code == 0
    first = (folder / "a" / "run.json").read_bytes()
    assert psi(*DEBUG, "-o", "a", folder=folder).code == 0
    again = (folder / "a" / "run.json").read_bytes()
    assert again != first, "made anew"
    write_csv(folder / "test.csv", people(160, seed=9))
    ran = psi(*DEBUG, "-o", "a", folder=folder)
    assert ran.code == 2
    assert "holds a run of other data" in ran.err
    assert ran.out == ""
    assert (folder / "a" / "run.json").read_bytes() == again
    assert psi("debug", "no.csv", "test.csv", "--label", "label", "-o", "train.csv", folder=folder).code == 2


def test_a_directory_with_other_files_is_refused(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("precious")
    ran = psi(*DEBUG, "-o", "mine", folder=folder)
    assert ran.code == 2
    assert "holds other files" in ran.err
    assert [path.name for path in (folder / "mine").iterdir()] == ["thesis.tex"]


def started(folder: Path, command: list[str]) -> subprocess.Popen[str]:
    """``psi debug -v``, once the long work has begun."""
    running = subprocess.Popen(
        [*command, *DEBUG, "-v"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert running.stderr is not None
    while "profiling" not in (line := running.stderr.readline()):
        assert line, "it ended before the work began"
    return running


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_debug_leaves_nothing(folder: Path, which: signal.Signals) -> None:
    before = sorted(path.name for path in folder.iterdir())
    running = started(folder, PSI)
    running.send_signal(which)
    _, err = running.communicate(timeout=60)
    assert sorted(path.name for path in folder.iterdir()) == before
    if which is signal.SIGINT:
        assert running.returncode == 130
        assert err.splitlines()[-1] == "psi: interrupted; nothing was left half-written"
        assert "Traceback" not in err


HELD = """
import sys, time
import psidebug.store.place as place
def held(*arguments, **options):
    print("tables are written", file=sys.stderr, flush=True)
    time.sleep(600)
place.write_whole = held
from psidebug.cli import main
main()
"""
"""psi, held at the worst moment: the new tables are on disk, the run.json that names them is not."""


@pytest.mark.parametrize("before", ["nothing", "a run of the same data"])
@pytest.mark.thorough
def test_a_kill_in_the_midst_of_writing_leaves_the_old_run_or_none(folder: Path, before: str) -> None:
    if before != "nothing":
        assert psi(*DEBUG, folder=folder).code == 0
    old = load_run(folder / "psi-run").files.record if before != "nothing" else None
    running = started(folder, [sys.executable, "-c", HELD])
    assert running.stderr is not None
    while "tables are written" not in (line := running.stderr.readline()):
        assert line, "it ended before it wrote"
    running.kill()
    running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL
    if old is None:
        assert not (folder / "psi-run").exists()
    else:
        assert load_run(folder / "psi-run").files.record == old
    assert psi(*DEBUG, folder=folder).code == 0, "what a killed process left is no hindrance"
    assert "city = Pune" in load_run(folder / "psi-run").verdict


def test_a_full_disk_is_one_sentence(folder: Path) -> None:
    """/dev/full takes no byte."""
    ran = psi(*DEBUG, "--report", "/dev/full", folder=folder)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert ran.err.count("\n") == 1


def test_a_table_from_stdin(folder: Path) -> None:
    done = subprocess.run(
        [*PSI, "debug", "-", "test.csv", "--label", "label", "--id", "id", "--json"],
        cwd=folder,
        input=(folder / "train.csv").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "city = Pune" in json.loads(done.stdout)["verdict"]


def test_your_own_model_from_a_file(folder: Path) -> None:
    """Fitted on two columns of three numbers, in another order than the file has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    given = np.where((X[:, 1] > 0.5) & (y == "up"), "down", y)
    names = ["a", "b", "unseen"]
    for name, rows, labels in (("train", slice(0, 200), given), ("test", slice(200, 300), y)):
        table = {**dict(zip(names, X[rows].T, strict=True)), "y": labels[rows]}
        pa.parquet.write_table(pa.table(table), folder / f"{name}.parquet")
    frame = pa.table({"b": X[:200, 1], "a": X[:200, 0]}).to_pandas()
    skops.io.dump(LogisticRegression().fit(frame, given[:200]), folder / "model.skops")
    arguments = ("debug", "train.parquet", "test.parquet", "--label", "y", "--json")
    found = json.loads(psi(*arguments, "--model", "model.skops", "-o", "r", folder=folder).out)
    assert re.search(r"b > 0\.\d+ and a > -?0\.\d+, labelled 'down'", found["verdict"])
    assert found["built"] == []
    assert load_run(folder / "r").data.train.features.shape == (200, 2)
    wrong = psi("debug", "train.csv", "test.csv", "--label", "label", "--model", "model.skops", folder=folder)
    assert wrong.code == 2
    assert "fitted on the column 'b', which train.csv does not have" in wrong.err
    assert psi(*arguments, "--model", "train.csv", "-o", "s", folder=folder).code == 2
    both = psi(*arguments, "--model", "model.skops", "--learner", "forest", folder=folder)
    assert (both.code, both.out) == (2, "")
    assert "--model and --learner do not go together" in both.err


def test_a_model_of_texts_gets_texts(folder: Path) -> None:
    words = np.array([["fine", "dull", "cheap", "grand", "slow", "quick", "warm", "cold"]]).ravel()
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, size=6)) for _ in range(260)]
    labels = ["good" if "fine" in text or "grand" in text else "bad" for text in texts]
    given = ["bad" if "quick" in text else label for text, label in zip(texts, labels, strict=True)]
    write_csv(folder / "t.csv", {"review": texts[:160], "y": given[:160]})
    write_csv(folder / "u.csv", {"review": texts[160:], "y": labels[160:]})
    skops.io.dump(make_pipeline(CountVectorizer(), LogisticRegression()), folder / "m.skops")
    ran = psi("debug", "t.csv", "u.csv", "--label", "y", "--model", "m.skops", "--json", folder=folder)
    assert ran.code == 0, ran.err
    assert "quick" in json.loads(ran.out)["verdict"]


def test_columns_kept_from_the_model_serve_slices(folder: Path) -> None:
    """One annotator is careless; the model must not see who labelled what."""
    table = people(300, seed=4)
    rng = np.random.default_rng(5)
    who = rng.choice(["ann", "bob", "eve"], size=300)
    labels = ["no" if name == "eve" else label for name, label in zip(who, table["label"], strict=True)]
    write_csv(folder / "train.csv", {**table, "annotator": who.tolist(), "label": labels})
    ran = psi("debug", "train.csv", "test.csv", "--label", "label", "--ignore", "annotator", folder=folder)
    assert ran.code == 0, ran.err
    assert "annotator = eve, labelled 'no'" in " ".join(ran.out.split())


def test_a_test_file_of_training_rows_is_told(folder: Path) -> None:
    table = people(240, seed=1)
    del table["since"], table["source"]
    write_csv(folder / "train.csv", table)
    half = {name: [*values[:150], *values[150:180]] for name, values in table.items()}
    half["income"] = [*table["income"][:150], *(7.0 + place for place in range(30))]
    write_csv(folder / "test.csv", half)
    ran = psi(*DEBUG, folder=folder)
    before, _, after = ran.out.partition("Verdict")
    assert "Before the diagnosis 150 of 180 test rows are also training rows" in " ".join(before.split())
    assert "training rows:" not in after, "it is said once"
    assert load_run(folder / "psi-run").found.checks[0].sentence.startswith("150 of 180 test rows")


def test_many_classes_are_told_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 400
    write_csv(
        folder / "many.csv",
        {"x": [place % 97 for place in range(rows)], "label": [f"c{place % 64}" for place in range(rows)]},
    )

    def begun(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("psidebug.cli.debug.diagnosed", begun)
    ran = psi("debug", "many.csv", "many.csv", "--label", "label", folder=folder)
    assert ran.code == 130
    assert ran.err.startswith("psi: the label column 'label' has 64 classes, so every fit is slow")
    few = psi(*DEBUG, folder=folder)
    assert few.err.strip() == "psi: interrupted; nothing was left half-written"


def test_a_few_rows_are_fitted_with_one_thread() -> None:
    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"}

    before = threads()
    with few_threads(1000):
        assert threads() == {1}
    with few_threads(10**6):
        assert threads() == before


def test_pictures_of_training_and_test_rows_are_on_the_page_of_a_run(folder: Path) -> None:
    """A column of arrays, from Parquet to the run and from there to the page."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 120), ("test", 80)):
        table = people(rows, seed=rows)
        pictures = rng.integers(0, 256, size=(rows, 3, 2)).astype(float).tolist()
        table = (spoiled(table) if name == "train" else table) | {"picture": pictures}
        pa.parquet.write_table(pa.table(table), folder / f"{name}.parquet")
    arguments = ("train.parquet", "test.parquet", "--label", "label", "--id", "id", "--image", "picture")
    assert psi("debug", *arguments, folder=folder).code == 0
    run = load_run(folder / "psi-run")
    shown = {
        "train": views(run.findings, run.data, "train", [7])[0],
        "test": views(run.findings, run.data, "test", [7])[0],
    }
    for name, view in shown.items():
        pixels = np.array(pa.parquet.read_table(folder / f"{name}.parquet")["picture"][7].as_py())
        assert view.picture == picture_of_array(pixels, spread=(0, 255))
    assert all(bug["view"]["picture"] for bug in summarise(run.findings, run.data).bugs)


def test_pictures_alone_are_nothing_to_learn_from(tmp_path: Path) -> None:
    table = pa.table({"picture": [[[0.0, 1.0]], [[1.0, 0.0]]] * 20, "label": ["no", "yes"] * 20})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    ran = psi("debug", "t.parquet", "t.parquet", "--label", "label", "--image", "picture", folder=tmp_path)
    assert ran.code == 2
    assert "pictures, as in 'picture', are shown but not learned from. Give it numbers" in ran.err


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("train.parquet", "fixed.parquet"),
        ("a.b/Train.CSV.gz", "fixed.csv.gz"),
        ("rows.ndjson", "fixed.ndjson"),
        ("rows.tsv", "fixed.csv"),
        ("stdin", "fixed.csv"),
    ],
)
def test_the_corrected_file_is_named_after_the_training_file(name: str, fixed: str) -> None:
    assert fixed_like(name) == fixed


def test_the_next_step_is_in_the_format_of_the_training_file(folder: Path) -> None:
    pa.parquet.write_table(pa.csv.read_csv(folder / "train.csv"), folder / "train.parquet")
    ran = psi("debug", "train.parquet", "test.csv", "--label", "label", folder=folder)
    assert ran.code == 0, ran.err
    assert "psi apply psi-run -o fixed.parquet " in ran.out


class Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, ("sprung",)


def test_a_cache_beside_a_model_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline's cache is of pickles, and with the project a stranger could send what the fit would look for."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 120), ("test", 80)):
        a, b = rng.normal(size=(2, rows))
        labels = np.where(a + 0.5 * rng.normal(size=rows) > 0, "yes", "no").tolist()
        write_csv(tmp_path / f"{name}.csv", {"a": a, "b": b, "label": labels})
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory="cache")
    skops.io.dump(model, tmp_path / "model.skops")
    debugging = ("debug", "train.csv", "test.csv", "--label", "label", "--model", "model.skops")
    with monkeypatch.context() as as_before:
        as_before.setattr("psidebug.models.skops_files.without_caches", lambda model: model)
        for command in (debugging, ("verify", "psi-run", "--top", "3")):
            assert psi(*command, folder=tmp_path).code == 0
    poisoned = [*tmp_path.rglob("output.pkl")]
    assert poisoned
    for file in poisoned:
        file.write_bytes(pickle.dumps(Trap()))
    for again in ((*debugging, "-o", "another"), ("verify", "psi-run", "--top", "3")):
        ran = psi(*again, folder=tmp_path)
        assert (ran.code, (tmp_path / "sprung").exists()) == (0, False), ran.err
    assert [*tmp_path.rglob("output.pkl")] == poisoned
