"""Files of a saved run, changed with digests that match, and of its review."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.exports.corrected_files import write_corrected
from psidebug.exports.suspects import cleanlab_frame, label_studio_tasks, suspects_table
from psidebug.findings.about_tests import about_tests
from psidebug.report import write_report
from psidebug.report.comparison import comparison_page
from psidebug.review import pages
from psidebug.review.desk import Desk
from psidebug.review.exchange import log_lines, read_verdicts
from psidebug.review.filters import Filter
from psidebug.review.security import Visitor
from psidebug.review.verdict_store import open_store
from psidebug.review.verdicts import Verdict
from psidebug.store import compare, load_run
from tests.fuzz.kinds import Change, Kind
from tests.fuzz.mutations import bytes_changed, json_changed, table_changed


def run_files(run: Path) -> dict[str, Callable[[], Kind]]:
    """``run.json``, and every file that it names."""
    record = json.loads((run / "run.json").read_text())
    paths = {name: run / entry["path"] for name, entry in record["files"].items()}
    found = {f"run: {name}": partial(_named, run, name, path) for name, path in paths.items()}
    return {"run.json": partial(_named, run, None, run / "run.json"), **found}


def _named(run: Path, name: str | None, path: Path) -> Kind:
    changes = {".json": (json_changed, json_changed, bytes_changed), ".parquet": (bytes_changed, table_changed)}
    return Kind(path.name, path.read_bytes(), in_run(run, name), changes.get(path.suffix, (bytes_changed,)))


def in_run(run: Path, name: str | None) -> Callable[[Path], object]:
    """A use of a changed file: in its place in a copy of the run, whose digest is forged to match."""

    def use(path: Path) -> object:
        place = path.parent / "run"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(run, place)
        content = path.read_bytes()
        if name is None:
            (place / "run.json").write_bytes(content)
        else:
            record = json.loads((place / "run.json").read_text())
            record["files"][name]["sha256"] = hashlib.sha256(content).hexdigest()
            (place / record["files"][name]["path"]).write_bytes(content)
            (place / "run.json").write_text(json.dumps(record))
        return show(place)

    return use


def show(place: Path) -> object:
    """What the commands and the review do with a run, but for training."""
    run = load_run(place)
    told = [str(run.suspects), str(run.slices), str(run.explanations), str(run.causes), repr(run), str(run.checks)]
    told += [str(compare(run, run)), str(suspects_table(run.findings, run.data).to_pylist())]
    told += [str(run.suspect_tests), str(cleanlab_frame(run.findings)), str(about_tests(run.findings))]
    label_studio_tasks(run.findings, run.data)
    write_report(run.findings, run.data, place / "page.html")
    told.append(comparison_page(run, run, names=("one", "other")))
    if run.all_labels is not None:
        pq.write_table(
            pa.table({"label": run.findings.encoding.decode(run.findings.labels.given)}), place / "t.parquet"
        )
        write_corrected([place / "t.parquet"], "label", run.all_labels, place / "fixed.parquet")
    if run.has_learner:
        told.append(str(run.learner))
    _ = Diagnosis.saved(run).task
    desk = Desk(place, Diagnosis.load)
    try:
        for part in ("train", "test"):
            visitor, wanted = Visitor("", ""), Filter(part=part)
            pages.page(desk, wanted, desk.first(wanted, visitor), visitor)
    finally:
        desk.close()
    return told


def _store(run: Path) -> Kind:
    """The store of verdicts, opened as a review opens it."""

    def use(path: Path) -> object:
        place = path.parent / "run"
        if not place.exists():
            shutil.copytree(run, place)
        for each in place.glob("verdicts.sqlite*"):
            each.unlink()
        (place / "verdicts.sqlite").write_bytes(path.read_bytes())
        return show_review(place)

    return Kind("v.sqlite", (_filled(run) / "verdicts.sqlite").read_bytes(), use)


def _import_of(run: Path, content: bytes, changes: tuple[Change, ...]) -> Kind:
    findings = load_run(run).findings

    def use(path: Path) -> object:
        return read_verdicts(path.read_text(encoding="utf-8", errors="replace"), findings)

    return Kind("verdicts", content, use, changes)


def _lines(run: Path) -> Kind:
    """The log of a review, as another one imports it."""
    with open_store(_filled(run)) as opened:
        lines = "\n".join(log_lines(opened.log(), load_run(run).findings)).encode()
    return _import_of(run, lines, (bytes_changed, lines_changed))


def _studio(run: Path) -> Kind:
    """Tasks as Label Studio gives them back, each with an annotation."""
    found = load_run(run)
    tasks = label_studio_tasks(found.findings, found.data, top=6)
    for task in tasks:
        value = {"choices": [task["data"]["given"]]}
        task["annotations"] = [{"completed_by": {"email": "a@b.c"}, "result": [{"type": "choices", "value": value}]}]
    return _import_of(run, json.dumps(tasks).encode(), (bytes_changed, json_changed))


REVIEW: dict[str, Callable[[Path], Kind]] = {
    "verdict store": _store,
    "import of verdicts": _lines,
    "import of Label Studio": _studio,
}


def lines_changed(content: bytes, chance: random.Random) -> bytes:
    """JSON lines with other values in them."""
    return b"\n".join(
        json_changed(line, chance) if chance.random() < 0.3 else line for line in content.splitlines() if line
    )


def show_review(place: Path) -> object:
    """What the review reads of its store, and a verdict more."""
    desk = Desk(place, Diagnosis.load)
    try:
        visitor, wanted = Visitor("", ""), Filter()
        found = pages.page(desk, wanted, desk.first(wanted, visitor), visitor)
        told = list(log_lines(desk.store.log(), desk.findings)), desk.settled(), desk.store.remarks("retrained")
        desk.store.undo(reviewer="ann")
        return found, told
    finally:
        desk.close()


def _filled(run: Path) -> Path:
    """A copy of the run with some verdicts."""
    place = run.parent / "filled"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(run, place)
    found = load_run(place).findings
    rows = found.labels.rows.tolist()
    with open_store(place) as store:
        for at in range(12):
            verdict = Verdict(at, rows[at], "keep", found.encoding.classes[found.labels.given[at]], f"because {at}")
            store.record([verdict], reviewer="ann")
        store.undo(reviewer="ann")
        store.remark("retrained", {"verified": 1}, reviewer="ann")
        with contextlib.suppress(Exception):
            store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return place
