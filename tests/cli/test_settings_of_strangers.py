"""Settings of a project that somebody else wrote: they neither weaken what protects the user nor write elsewhere."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from psidebug.cli.group import psi as group
from psidebug.cli.settings import FlagOnly, PlaceToWrite
from tests.cli.folder import Ran, fill, psi

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id")
FLAG_ONLY = {
    ("debug", "trust_pickle"),
    ("debug", "cluster"),
    ("apply", "overwrite"),
    ("new", "overwrite"),
    ("review", "listen"),
}
READ = {
    ("debug", "annotations"),
    ("debug", "embeddings"),
    ("debug", "model"),
    ("debug", "probabilities"),
    ("debug", "validation"),
    ("verify", "rows"),
}
"""Options with paths that are only read."""
ARGUMENTS = {
    "debug": DEBUG[1:],
    "apply": ("psi-run",),
    "new": ("train.csv", "test.csv"),
    "review": ("psi-run", "--no-browser"),
    "demo": (),
    "bench": ("speed", "--quick"),
    "report": ("psi-run",),
    "export": ("psi-run", "--format", "csv"),
    "suspects": ("psi-run",),
    "compare": ("psi-run", "psi-run"),
}


def options() -> Iterator[tuple[str, click.Option]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from ((name, each) for each in command.params if isinstance(each, click.Option))


def flag(option: click.Option) -> str:
    return next(each for each in option.opts if each.startswith("--")).removeprefix("--").replace("-", "_")


PLACES = {(command, flag(option)) for command, option in options() if isinstance(option, PlaceToWrite)}


class Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, ("sprung",)


def write_settings(folder: Path, file: str, text: str) -> None:
    """Settings for one command, as ``[debug]``, in either file."""
    (folder / file).write_text(text if file == "psi.toml" else text.replace("[", "[tool.psi.", 1))


def test_every_option_is_what_it_should_be() -> None:
    """A new option that takes a path, or weakens something, has to say so here and where it is declared."""
    flags = {(command, flag(option)) for command, option in options() if isinstance(option, FlagOnly)}
    paths = {(command, flag(option)) for command, option in options() if isinstance(option.type, click.Path)}
    assert flags == FLAG_ONLY
    assert paths == PLACES | READ
    assert {command for command, _ in PLACES} | {command for command, _ in FLAG_ONLY} == set(ARGUMENTS)


@pytest.mark.parametrize("file", ["psi.toml", "pyproject.toml"])
def test_a_project_cannot_make_psi_run_a_pickle(tmp_path: Path, file: str) -> None:
    fill(tmp_path)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Trap()))
    write_settings(tmp_path, file, '[debug]\nmodel = "model.pkl"\ntrust_pickle = true\n')
    ran = psi(*DEBUG, folder=tmp_path)
    assert ran.code == 2
    assert f"{file} sets trust_pickle" in ran.err
    assert "--trust-pickle" in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "sprung").exists()
    write_settings(tmp_path, file, '[debug]\nmodel = "model.pkl"\n')
    assert "a pickle runs code" in psi(*DEBUG, folder=tmp_path).err
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(("command", "name"), sorted(FLAG_ONLY))
def test_what_protects_the_user_is_weakened_by_flags_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    for text in (f"{name} = true\n", f"[{command}]\n{name} = '0.0.0.0'\n"):
        (tmp_path / "psi.toml").write_text(text)
        ran = psi(command, *ARGUMENTS[command], folder=tmp_path)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert f"psi.toml sets {name}" in ran.err
        assert f"only the flag --{name.replace('_', '-')}" in ran.err
    (tmp_path / "psi.toml").unlink()
    for variable in (f"PSI_{name.upper()}", f"PSI_{command.upper()}_{name.upper()}"):
        with monkeypatch.context() as environment:
            environment.setenv(variable, "1")
            ran = psi(command, *ARGUMENTS[command], folder=tmp_path)
            assert (ran.code, ran.err.count("\n")) == (2, 1)
            assert f"the environment sets {name} (by {variable})" in ran.err
            assert psi("datasets", folder=tmp_path).err == "", "other commands are not concerned"


@pytest.mark.parametrize(("command", "name"), sorted(PLACES))
@pytest.mark.parametrize("where", ["absolute", "up", "up inside", "through a link", "a link", "windows"])
def test_a_project_does_not_write_outside_of_its_folder(tmp_path: Path, command: str, name: str, where: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "precious").write_text("three years of work")
    (project / "folder").symlink_to(outside)
    (project / "page").symlink_to(outside / "precious")
    place = {
        "absolute": str(outside / "precious"),
        "up": "../outside/precious",
        "up inside": "a/../../outside/precious",
        "through a link": "folder/precious",
        "a link": "page",
        "windows": "C:\\precious",
    }[where]
    (project / "psi.toml").write_text(f"[{command}]\n{name} = '{place}'\n")
    ran = psi(command, *ARGUMENTS[command], folder=project)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"psi.toml sets {name} to" in ran.err
    assert "outside of the project" in ran.err
    assert (outside / "precious").read_text() == "three years of work"
    assert [each.name for each in outside.iterdir()] == ["precious"]


@pytest.mark.thorough
def test_a_place_inside_of_the_project_is_taken_and_the_environment_may_name_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project" / "pages").mkdir(parents=True)
    (tmp_path / "project" / "link").symlink_to(tmp_path / "project" / "pages")
    (tmp_path / "seen").symlink_to(tmp_path / "project")
    for place, found in (("pages/page.html", "pages/page.html"), ("link/other.html", "pages/other.html")):
        (tmp_path / "project" / "psi.toml").write_text(f'[demo]\nreport = "{place}"\n')
        ran = psi("demo", folder=tmp_path / "seen")  # the folder itself may be reached by a link
        assert ran.code == 0, ran.err
        assert (tmp_path / "project" / found).exists()
    monkeypatch.setenv("PSI_REPORT", str(tmp_path / "mine.html"))
    assert psi("demo", folder=tmp_path / "project").code == 0
    assert (tmp_path / "mine.html").exists()


def test_stdout_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "psi.toml").write_text('[export]\noutput = "-"\n')
    assert "is no directory" in psi("export", *ARGUMENTS["export"], folder=tmp_path).err


def test_the_file_beside_the_one_that_was_named_is_not_written_through_a_link(
    tmp_path: Path, debugged: tuple[Path, Ran]
) -> None:
    """Label Studio's configuration goes to tasks.xml, which nobody named."""
    project = tmp_path / "project"
    shutil.copytree(debugged[0] / "psi-run", project / "psi-run")
    (tmp_path / "precious").write_text("three years of work")
    (project / "tasks.xml").symlink_to(tmp_path / "precious")
    (project / "psi.toml").write_text('[export]\noutput = "tasks.json"\n')
    ran = psi("export", "psi-run", "--format", "label-studio", folder=project)
    assert ran.code == 0, ran.err
    assert (tmp_path / "precious").read_text() == "three years of work"
    assert "<View" in (project / "tasks.xml").read_text()
