"""Files with real errors: read from PSI_DATA, else fetched from a fixed commit. Here they are forged."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pooch
import pytest

from benchmarks.real import load, loaders, tasks
from psidebug.datasets.sources import Source
from psidebug.errors import InputError

TEXTS = ("buy my song", "nice song", "no idea")


def npy(values: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


def votes(rows: list[tuple[str, int, list[int]]]) -> bytes:
    return json.dumps(
        {str(i): {"label": y, "weak_labels": said, "data": {"text": text}} for i, (text, y, said) in enumerate(rows)}
    ).encode()


def forged(source: Source, content: bytes, *, folder: Path | None = None, url: str = "") -> Source:
    """The source as if this were its file; written where PSI_DATA would have it, if there is a folder."""
    if folder is not None:
        path = folder / source.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return replace(source, sha256=hashlib.sha256(content).hexdigest(), url=url or source.url)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSI_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "data"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A server of files: its folder and address."""
    served = tmp_path / "served"
    served.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield served, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_every_address_is_of_a_fixed_commit_and_every_sum_is_there() -> None:
    sources = [*loaders.LABELME.values(), *loaders.WRENCH.values(), *loaders.MNIST.values()]
    assert all(re.fullmatch(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+", s.url) for s in sources)
    assert all(re.fullmatch(r"[0-9a-f]{64}", s.sha256) for s in [*sources, loaders.CIFAR10N])
    assert len({s.file for s in sources}) == len({s.sha256 for s in sources}) == len(sources)


def test_labelme_has_answers_only_where_people_were_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"LabelMe_VGG_avg_train.npy": npy(np.ones((2, 3), dtype=np.float32)), "LabelMe_Z_train.txt": b"4\n7\n"}
    files |= {"answers.txt": b"4 -1\n-1 2\n"}
    files |= {"LabelMe_VGG_avg_test.npy": npy(np.zeros((1, 3))), "LabelMe_Z_test.txt": b"1.0\n"}
    for name, content in files.items():
        monkeypatch.setitem(loaders.LABELME, name, forged(loaders.LABELME[name], content, folder=folder))
    train = loaders.labelme("train")
    assert train.X.shape == (2, 3)
    assert train.X.dtype == np.float64
    assert train.y.tolist() == [4, 7]
    assert train.said is not None
    assert train.said.tolist() == [[4, -1], [-1, 2]]
    assert train.take([1]).y.tolist() == [7]


def test_rows_and_classes_without_a_vote_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(TEXTS[0], 1, [1, 1, 0]), (TEXTS[1], 0, [-1, 0, -1]), (TEXTS[2], 1, [-1, -1, -1])]
    for part in ("train", "valid", "test"):
        source = loaders.WRENCH["youtube", part]
        content = votes([*rows, ("of a class without a vote", 2, [0, 0, 0])] if part == "valid" else rows)
        monkeypatch.setitem(loaders.WRENCH, ("youtube", part), forged(source, content, folder=folder))
    task = load("youtube_majority", 0)
    assert task.X_train.tolist() == list(TEXTS[:2])
    assert task.given.tolist() == [1, 0]
    assert task.annotations is not None
    assert task.annotations.shape == (2, 3)
    assert (len(task.y_trusted), len(task.y_test), task.size) == (3, 3, 2)


def test_cifar10n_is_read_only_from_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="packed from two repositories, so Psi cannot download it") as refused:
        loaders.cifar10n()
    assert str(refused.value).endswith("Set PSI_DATA to a folder that has it.")
    file = io.BytesIO()
    p = np.full((2, 3, 10), 0.1, dtype=np.float16)
    np.savez(file, pred_probs=p, models=np.array(["one", "two"]), noisy=np.array([1, 2, 3]), true=np.array([1, 2, 4]))
    monkeypatch.setattr(loaders, "CIFAR10N", forged(loaders.CIFAR10N, file.getvalue(), folder=folder))
    nets, given, clean = loaders.cifar10n()
    assert list(nets) == ["one", "two"]
    assert nets["one"].shape == (3, 10)
    assert (given != clean).tolist() == [False, False, True]


def test_a_digit_is_wrong_unless_three_workers_confirm_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flagged = [
        {"id": 0, "our_guessed_label": 6, "mturk": {"given": 3, "guessed": 2, "neither": 0}},
        {"id": 2, "our_guessed_label": 9, "mturk": {"given": 2, "guessed": 2, "neither": 1}},
    ]
    files = {"mnist_mturk.json": json.dumps(flagged).encode(), "mnist_test_original_labels.npy": npy([4, 5, 8])}
    files |= {"mnist_test_pyx.npy": npy(np.full((3, 10), 0.1))}
    for name, content in files.items():
        monkeypatch.setitem(loaders.MNIST, name, forged(loaders.MNIST[name], content, folder=folder))
    _, given, clean = loaders.mnist_errors()
    assert given.tolist() == [4, 5, 8]
    assert clean.tolist() == [4, 5, 9]


def test_what_the_folder_lacks_is_fetched_and_files_of_one_name_do_not_mix(
    folder: Path, home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are called train.json at home, and are kept apart in the cache."""
    served, address = home
    for name in ("youtube", "semeval"):
        (served / name).mkdir()
        content = votes([(f"a text of {name}", 0, [0])])
        (served / name / "train.json").write_bytes(content)
        source = forged(loaders.WRENCH[name, "train"], content, url=f"{address}/{name}/train.json")
        monkeypatch.setitem(loaders.WRENCH, (name, "train"), source)
    for _ in range(2):
        for name in ("youtube", "semeval"):
            assert loaders.wrench(name, "train").X.tolist() == [f"a text of {name}"]
    (served / "youtube" / "train.json").unlink()
    assert loaders.wrench("youtube", "train").X.tolist() == ["a text of youtube"], "it is downloaded once"


def test_a_file_with_another_sum_is_refused(
    folder: Path, home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, address = home
    (served / "train.json").write_bytes(b"another file")
    source = replace(loaders.WRENCH["youtube", "train"], url=f"{address}/train.json")
    monkeypatch.setitem(loaders.WRENCH, ("youtube", "train"), source)
    with pytest.raises(InputError, match="sha256 is not the expected one"):
        loaders.wrench("youtube", "train")
    forged(source, b"another file", folder=folder)
    with pytest.raises(InputError, match="not the file that Psi knows"):
        loaders.wrench("youtube", "train")


def test_the_label_of_a_row_from_several_answers() -> None:
    said = np.array([[2, 2, 1], [0, -1, -1], [-1, 1, 2]])
    drawn = [tasks.majority(said, np.random.default_rng(seed)).tolist() for seed in range(20)]
    assert {tuple(row[:2]) for row in drawn} == {(2, 0)}
    assert {row[2] for row in drawn} == {1, 2}, "ties are drawn"
    singles = np.array([tasks.one_drawn(said, np.random.default_rng(seed)) for seed in range(20)])
    assert [set(column) for column in singles.T.tolist()] == [{1, 2}, {0}, {1, 2}]
    # Right labels 1, 0, 2: annotators are right in 1 of 2, 0 of 2 and 2 of 2 cases.
    assert tasks.worst(said, np.array([1, 0, 2])).tolist() == [2, 0, 1]


def test_a_seed_draws_the_same_task_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(10), 20000)
    given = rng.integers(10, size=20000)
    monkeypatch.setattr(tasks, "_cifar", lambda: ({"resnet18": p, "efficientnet_b1": p}, given, given))
    one, same, other = (load("cifar10n_100", seed) for seed in (0, 0, 1))
    assert np.array_equal(one.X_train, same.X_train)
    assert not np.array_equal(one.X_train, other.X_train)
    rows = [len(one.given), len(one.y_trusted), len(one.y_test)]
    assert rows == [5000, 100, 10000]
    everything = np.concatenate([one.X_train, one.X_trusted, one.X_test])
    assert len(np.unique(everything[:, 0])) == sum(rows), "no row is in two parts"
    monkeypatch.setattr(tasks, "TESTED", 4000)
    hard = load("cifar10n_hard", 0)
    assert hard.X_train[:, :10].max() <= np.median(p.max(axis=1)) + 1e-9
