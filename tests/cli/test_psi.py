"""The command as a whole: light to start, every mistake one sentence, settings from files and the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from psidebug.cli.group import COMMANDS
from psidebug.cli.group import psi as group
from psidebug.cli.options import Command, command
from psidebug.cli.output import Output
from psidebug.exports.table_files import plain
from tests.cli.folder import PSI, psi

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "narwhals", "rich", "jinja2", "starlette", "skops"}
CONTEXT = click.Context(group, info_name="psi")


def loaded(*arguments: str) -> set[str]:
    """Top-level modules that a command has imported when it ends."""
    code = (
        "import sys\n"
        "from psidebug.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('modules:', *{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(ran.stderr.split("modules:")[1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["debug", "--help"], ["debug", "a", "b"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert not loaded(*arguments) & HEAVY


def test_every_command_is_there_under_its_name_with_its_line() -> None:
    for name, line in COMMANDS.items():
        found = group.get_command(CONTEXT, name)
        assert isinstance(found, click.Command)
        assert found.name == name
        assert (found.help or "").partition("\n")[0] == line
        assert f"  {name} " in psi("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_and_the_common_options(name: str) -> None:
    said = psi(name, "--help").out
    assert f"Example: psi {name}" in said
    for option in ("--json", "-v, --verbose", "-q, --quiet", "-h, --help"):
        assert option in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["debgu"], "No such command 'debgu'. Did you mean 'debug'?"),
        (["debug", "a.csv"], "Missing argument 'TEST'"),
        (["debug", "a.csv", "b.csv"], "Missing option '--label'"),
        (["debug", "a.csv", "b.csv", "--label", "y", "--learner", "steam"], "'steam' is not one of 'logistic'"),
        (["debug", "a.csv", "b.csv", "--label", "y", "--fail-above", "-1"], "-1.0 is not in the range"),
        (["debug", "a.csv", "b.csv", "--label", "y", "--labl", "y"], "No such option '--labl'"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    ran = psi(*arguments, folder=tmp_path)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


# ── errors ──


def broken(error: Exception) -> Command:
    @command(example="psi demo")
    def demo(output: Output) -> None:
        raise error

    return demo


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("division by zero\nand more"), "internal error: ZeroDivisionError"),
        (OSError(28, "No space left on device", "/data/x"), "/data/x could not be read or written: No space left"),
        (MemoryError(), "do not fit into memory"),
        (RecursionError("maximum depth"), "RecursionError: maximum depth. Please report it"),
    ],
)
def test_what_nobody_foresaw_is_one_sentence_and_the_traceback_is_there_with_v(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    monkeypatch.setattr("psidebug.cli.demo.demo", broken(error))
    ran = psi("demo")
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    loud = psi("demo", "-v")
    assert loud.code == 2
    assert "Traceback (most recent call last)" in loud.err
    assert loud.err.splitlines()[-1] == ran.err.strip()


@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "debug --help", "--help", "completion bash"])
def test_a_closed_pipe_is_silent(arguments: str) -> None:
    """The reader is gone before the first word."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([*PSI, *arguments.split()], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "--help"])
def test_a_full_disk_is_one_sentence(arguments: str) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run([*PSI, *arguments.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == (
        "psi: the output could not be read or written: No space left on device. Free space, or choose another place.\n"
    )


# ── settings ──


def shown(folder: Path, *flags: str) -> dict[str, object]:
    """What the options of a command end up as."""
    seen: dict[str, object] = {}

    @command(example="psi demo")
    @click.option("--seed", type=int, default=0)
    @click.option("--ignore", multiple=True)
    @click.option("--trace", is_flag=True)
    def demo(output: Output, **options: object) -> None:
        seen.update(options, verbose=output.verbose)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psidebug.cli.demo.demo", demo)
        ran = psi("demo", *flags, folder=folder)
    assert ran.code == 0, ran.err
    return seen


def test_flags_win_over_the_environment_over_the_command_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(tmp_path)["seed"] == 0
    (tmp_path / "pyproject.toml").write_text("[tool.psi]\nseed = 1\n")
    assert shown(tmp_path)["seed"] == 1
    (tmp_path / "psi.toml").write_text("seed = 2\n")
    assert shown(tmp_path)["seed"] == 2
    (tmp_path / "psi.toml").write_text("seed = 2\n[demo]\nseed = 3\n[debug]\nseed = 9\n")
    assert shown(tmp_path)["seed"] == 3
    monkeypatch.setenv("PSI_SEED", "4")
    assert shown(tmp_path)["seed"] == 4
    monkeypatch.setenv("PSI_DEMO_SEED", "5")
    monkeypatch.setenv("PSI_DEBUG_SEED", "9")
    assert shown(tmp_path)["seed"] == 5
    assert shown(tmp_path, "--seed", "6")["seed"] == 6


def test_lists_and_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "psi.toml").write_text('ignore = ["a b", "c"]\ntrace = true\nverbose = true\n')
    found = shown(tmp_path)
    assert (found["ignore"], found["trace"], found["verbose"]) == (("a b", "c"), True, True)
    monkeypatch.setenv("PSI_IGNORE", "a b, d")
    monkeypatch.setenv("PSI_TRACE", "no")
    found = shown(tmp_path)
    assert (found["ignore"], found["trace"]) == (("a b", "d"), False)


@pytest.mark.parametrize(
    ("settings", "variable", "said"),
    [
        ("labell = 'y'", "", "psi.toml sets 'labell', which Psi does not know; such options are label"),
        ("[debgu]\nlabel = 'y'", "", "psi.toml has a table 'debgu', which Psi does not know; the commands are debug"),
        ("[debug]\nformat = 'y'", "", "psi.toml sets, for debug, 'format'"),
        ("seed = 'many'", "", "'many' is not a valid integer range (set in psi.toml)"),
        ("learner = 'steam'", "", "(set in psi.toml)"),
        ("seed = = 1", "", "psi.toml cannot be read"),
        ("seed = " + "[" * 5000, "", "psi.toml cannot be read"),
        ("", "PSI_SEED", "(set in PSI_SEED)"),
    ],
)
def test_settings_that_are_wrong_are_told_and_help_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, variable: str, said: str
) -> None:
    (tmp_path / "psi.toml").write_text(settings)
    if variable:
        monkeypatch.setenv(variable, "x")
    ran = psi("debug", "a.csv", "b.csv", "--label", "y", folder=tmp_path)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert psi("debug", "--help", folder=tmp_path).code == 0


def test_a_variable_of_another_program_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSI_LABELL", "x")
    monkeypatch.setenv("PSI_SQUARE_INCH", "1")
    ran = psi("datasets", "--json", folder=tmp_path)
    assert (ran.code, len(ran.err.splitlines())) == (0, 2)
    assert "PSI_LABELL is not a setting of Psi and is ignored. Did you mean PSI_LABEL?" in ran.err
    assert "PSI_SQUARE_INCH" in ran.err
    assert psi("datasets", "-q", folder=tmp_path).err == ""
    assert shown(tmp_path)["seed"] == 0


def test_the_folder_of_the_benchmarks_is_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSI_DATA", str(tmp_path))
    assert shown(tmp_path)["seed"] == 0


def test_a_required_option_may_be_set(tmp_path: Path) -> None:
    (tmp_path / "psi.toml").write_text('label = "y"\n')
    assert "there is no file a.csv" in psi("debug", "a.csv", "b.csv", folder=tmp_path).err


# ── completion ──


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_clicks(shell: str) -> None:
    ran = psi("completion", shell)
    assert ran.code == 0
    assert "_PSI_COMPLETE" in ran.out


def test_bash_completes_commands_and_options() -> None:
    def completed(words: str, number: int) -> list[str]:
        env = os.environ | {"_PSI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        ran = subprocess.run(PSI, env=env, capture_output=True, text=True, check=False)
        return [line.split(",")[1] for line in ran.stdout.splitlines()]

    assert completed("psi de", 1) == ["debug", "demo"]
    assert "--learner" in completed("psi debug --le", 2)
    assert completed("psi debug --learner l", 3) == ["logistic", "lightgbm"]


def test_json_has_no_nan_and_no_foreign_numbers() -> None:
    value = {"a": np.float64("nan"), "b": np.arange(2), "c": float("inf"), 3: (np.bool_(True), None)}
    assert plain(value) == {"a": None, "b": [0, 1], "c": None, "3": [True, None]}
