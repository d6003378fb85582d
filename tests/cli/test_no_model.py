"""``psi debug --embeddings --probabilities``: files in the place of a model, from the command line to the review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from psidebug.cli.settings import settings_of
from psidebug.store import load_run
from psidebug.task.tables import column_names
from tests.cli.folder import Ran, psi, write_csv

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id", "--causes", "labels")
EMBEDDINGS = ("--embeddings", "train.npy", "test.npy")
PROBABILITIES = ("--probabilities", "said.parquet", "said_test.parquet")
KINDS = ["ash", "beech", "oak"]
TRAIN, TEST = 300, 150


def leaves(rows: int, *, seed: int) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    """Leaves of three trees, pictured by a camera that no embedding shows."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=rows)
    table = {
        "id": np.arange(rows) + 1000 * seed,
        "camera": rng.choice(["new", "old"], size=rows, p=[0.7, 0.3]).tolist(),
        "note": [f"leaf number {n} of the walk in the wood near the house" for n in range(rows)],
        "label": np.array(KINDS)[kind].tolist(),
    }
    return table, (rng.normal(size=(rows, 8)) + 3 * np.eye(8)[kind]).astype(np.float32)


@pytest.fixture(scope="module")
def wood(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every beech of the old camera is labelled oak; embeddings as npy, probabilities out of fold as Parquet."""
    folder = tmp_path_factory.mktemp("wood")
    (train, X), (test, X_test) = leaves(TRAIN, seed=1), leaves(TEST, seed=2)
    wrong = [(label, camera) == ("beech", "old") for label, camera in zip(train["label"], train["camera"], strict=True)]
    given = ["oak" if bad else label for label, bad in zip(train["label"], wrong, strict=True)]
    write_csv(folder / "train.csv", train | {"label": given})
    write_csv(folder / "test.csv", test)
    np.save(folder / "train.npy", X)
    np.save(folder / "test.npy", X_test)
    own = LogisticRegression()
    for name, p in (
        ("said", cross_val_predict(own, X, given, method="predict_proba")),
        ("said_test", own.fit(X, given).predict_proba(X_test)),
    ):
        order = [2, 0, 1]  # the names of the columns tell
        columns = {KINDS[k]: p[:, k] for k in order}
        pa.parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
        np.save(folder / f"{name}.npy", p)
    return folder


@pytest.fixture(scope="module")
def debugged(wood: Path) -> Ran:
    return psi(*DEBUG, *EMBEDDINGS, *PROBABILITIES, "-o", "run", "--report", "page.html", folder=wood)


def test_the_planted_cause_is_found_and_proved_for_the_head(wood: Path, debugged: Ran) -> None:
    assert (debugged.code, debugged.err) == (0, "")
    said = " ".join(debugged.out.split())
    assert "camera = old, labelled 'oak'" in said
    assert "for a logistic head on what was given, not for your own model" in said
    assert "Learner: a logistic head on your embeddings, 8 numbers for each row" in said


def test_the_run_has_the_embeddings_the_probabilities_and_the_columns(wood: Path, debugged: Ran) -> None:
    run = load_run(wood / "run")
    np.testing.assert_array_equal(run.data.train.features, np.load(wood / "train.npy"))
    assert run.data.opinion is not None
    np.testing.assert_allclose(np.exp(run.data.opinion.train), np.load(wood / "said.npy"), atol=2e-4)
    assert run.findings.origin.source["embeddings"] == ["train.npy", "test.npy"]
    assert run.findings.origin.source["text"] == "note"
    assert column_names(run.data.metadata) == ["id", "camera", "note"]


@pytest.mark.parametrize(
    "command",
    [
        ("suspects", "run"), ("slices", "run"), ("explain", "run"), ("verify", "run", "--top", "5"),
        ("report", "run", "-o", "again.html"), ("apply", "run", "-o", "fixed.csv"),
        ("export", "run", "--format", "csv", "-o", "suspects.csv"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_every_command_works_on_the_run(wood: Path, debugged: Ran, command: tuple[str, ...]) -> None:
    ran = psi(*command, "-q", folder=wood)
    assert (ran.code, ran.err) == (0, "")


def test_what_is_written_has_the_columns_of_the_file_and_no_embeddings(wood: Path, debugged: Ran) -> None:
    for name, command in {
        "of_file.csv": ("apply", "run"),
        "of_copy.parquet": ("apply", "run"),
        "listed.csv": ("suspects", "run"),
    }.items():
        assert psi(*command, "-o", name, folder=wood).code == 0
    assert (wood / "of_file.csv").read_text().splitlines()[0] == '"id","camera","note","label"'
    assert pa.parquet.read_table(wood / "of_copy.parquet").column_names == ["id", "camera", "note", "label"]
    listed = (wood / "listed.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert {"camera", "note"} < set(listed)
    assert not {"0", "x0"} & set(listed)


def test_rows_are_reviewed_by_what_a_person_can_read(wood: Path, debugged: Ran) -> None:
    page = (wood / "page.html").read_text(encoding="utf-8")
    assert "of the walk in the wood" in page


def test_probabilities_alone_are_enough(wood: Path) -> None:
    ran = psi(*DEBUG, *PROBABILITIES, "-o", "alone", "--json", folder=wood)
    assert ran.code == 0
    found = json.loads(ran.out)
    assert found["built"] == ["a logistic head on the logarithms of your probabilities"]
    assert found["corrected"] > 10


def test_beside_a_learner_of_columns_they_are_an_opinion(wood: Path) -> None:
    ran = psi(*DEBUG, *PROBABILITIES, "--learner", "logistic", "-o", "beside", "--effort", "rank", folder=wood)
    assert (ran.code, "categories: camera" in ran.out) == (0, True)
    assert load_run(wood / "beside").data.opinion is not None


def test_rows_without_a_label_are_left_out_of_all_files(wood: Path, tmp_path: Path) -> None:
    table = pa.csv.read_csv(wood / "train.csv").to_pydict()
    write_csv(tmp_path / "train.csv", table | {"label": [None, *table["label"][1:]]})
    files = [str(wood / name) for name in (*EMBEDDINGS[1:], *PROBABILITIES[1:])]
    pairs = ("--embeddings", *files[:2], "--probabilities", *files[2:])
    test = str(wood / "test.csv")
    ran = psi(
        "debug", "train.csv", test, "--label", "label", *pairs, "--drop-unlabelled", "--effort", "rank", folder=tmp_path
    )
    assert ran.code == 0
    run = load_run(tmp_path / "psi-run")
    np.testing.assert_array_equal(run.data.train.features, np.load(wood / "train.npy")[1:])
    assert run.data.opinion is not None
    np.testing.assert_allclose(np.exp(run.data.opinion.train), np.load(wood / "said.npy")[1:], atol=2e-4)


def test_a_column_of_lists_is_embeddings_too(wood: Path, tmp_path: Path) -> None:
    for name in ("train", "test"):
        column = np.load(wood / f"{name}.npy").astype(float).tolist()
        pa.parquet.write_table(pa.table({"embedding": column}), tmp_path / f"{name}.parquet")
    pair = ("--embeddings", str(tmp_path / "train.parquet"), str(tmp_path / "test.parquet"))
    ran = psi(*DEBUG, *pair, "-o", str(tmp_path / "run"), "--effort", "rank", folder=wood)
    assert ran.code == 0
    np.testing.assert_allclose(load_run(tmp_path / "run").data.train.features, np.load(wood / "train.npy"), rtol=1e-6)


def changed(wood: Path, tmp_path: Path, option: str, made: Any) -> Ran:
    """``psi debug`` with another training file for one of the options."""
    made(np.load(wood / ("train.npy" if option == "--embeddings" else "said.npy")), tmp_path)
    file = next(tmp_path.iterdir())
    test = {"--embeddings": "test.npy", "--probabilities": "said_test.npy"}[option]
    return psi(*DEBUG, option, str(file), test, "-o", str(tmp_path / "run"), folder=wood)


def saved(change: Any) -> Any:
    return lambda X, folder: np.save(folder / "mine.npy", change(X), allow_pickle=True)


def blank(X: Any) -> Any:
    X[7, 1] = np.nan
    return X


def headed(header: bytes) -> Any:
    """An npy file with this header, which numpy reads as Python's text."""
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)
    return lambda X, folder: (folder / "mine.npy").write_bytes(content)


def torn(X: Any, folder: Path) -> None:
    np.save(folder / "mine.npy", X)
    (folder / "mine.npy").write_bytes((folder / "mine.npy").read_bytes()[:500])


def huge(X: Any, folder: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (300, 99999999999999), }".ljust(117) + "\n"
    (folder / "mine.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())


REFUSED: dict[str, tuple[str, Any, str]] = {
    "too few rows": ("--embeddings", saved(lambda X: X[:9]), "mine.npy has 9 rows, train.csv has 300"),
    "another width": ("--embeddings", saved(lambda X: X[:, :5]), "mine.npy has 5 numbers for each row, test.npy has 8"),
    "pictures": ("--embeddings", saved(lambda X: X.reshape(TRAIN, 4, 2)), "shape (300, 4, 2)"),
    "one number each": ("--embeddings", saved(lambda X: X[:, 0]), "shape (300,)"),
    "missing": ("--embeddings", saved(blank), "mine.npy has a number that is missing or infinite in row 7"),
    "objects": ("--embeddings", saved(lambda X: X.astype(object)), "holds Python objects, as a pickle"),
    "texts": ("--embeddings", saved(lambda X: X.astype(str)), "Save an array of numbers"),
    "torn": ("--embeddings", torn, "damaged or incomplete"),
    "a header of brackets": ("--embeddings", headed(b"(" * 3000), "damaged or incomplete"),
    "a header without an end": ("--probabilities", headed(b"'''{"), "damaged or incomplete"),
    "true rows": (
        "--embeddings",
        headed(b"{'descr': '<f8', 'fortran_order': False, 'shape': (True, 8)}"),
        "damaged or incomplete",
    ),
    "huge": ("--embeddings", huge, "damaged or incomplete"),
    "npz": ("--embeddings", lambda X, folder: np.savez(folder / "mine.npz", X), "numpy.save"),
    "a column of words": (
        "--embeddings",
        lambda X, folder: pa.parquet.write_table(pa.table({"a": ["b"] * TRAIN, "c": X[:, 0]}), folder / "mine.parquet"),
        "has the column 'a', which holds no numbers",
    ),
    "too few probabilities": ("--probabilities", saved(lambda p: p[:9]), "mine.npy has 9 rows, train.csv has 300"),
    "too few classes": (
        "--probabilities",
        saved(lambda p: p[:, :2]),
        "mine.npy has (300, 2): the columns must be the same",
    ),
    "no sum of 1": ("--probabilities", saved(lambda p: p * 2), "row 0 of mine.npy and 299 more"),
    "missing probability": ("--probabilities", saved(blank), "row 7 of mine.npy has no probabilities"),
    "probabilities in objects": ("--probabilities", saved(lambda p: p.astype(object)), "as a pickle"),
    "four dimensions": ("--probabilities", saved(lambda p: p[:, :, None]), "(rows, classes)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_the_name_of_its_file(wood: Path, tmp_path: Path, case: str) -> None:
    option, made, said = REFUSED[case]
    ran = changed(wood, tmp_path, option, made)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert ran.out == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((*EMBEDDINGS, "--learner", "forest"), "--embeddings and --learner do not go together"),
        ((*EMBEDDINGS, "--model", "m.skops"), "--embeddings and --model do not go together"),
        ((*EMBEDDINGS, "--validation", "test.csv"), "--validation needs a model"),
        ((*PROBABILITIES, "--category", "camera"), "--category is for a learner of columns"),
        (("--embeddings", "train.npy", "no.npy"), "there is no file no.npy"),
        (("--embeddings", "train.npy"), "requires 2 arguments"),
    ],
)
def test_options_that_do_not_go_together_are_refused(wood: Path, more: tuple[str, ...], said: str) -> None:
    ran = psi(*DEBUG, *more, folder=wood)
    assert (ran.code, said in ran.err) == (2, True)


def test_two_files_can_be_set_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from psidebug.cli.debug import debug

    monkeypatch.setenv("PSI_DEBUG_EMBEDDINGS", "a.npy, b.npy")
    assert settings_of(debug).values["embeddings"] == ["a.npy", "b.npy"]
