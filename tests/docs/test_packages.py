"""The container and the conda recipe: what they promise is what pyproject.toml says; no network is needed to see it."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import psidebug

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8"))
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_the_recipe_has_the_version_and_dependencies_of_the_project() -> None:
    project = PROJECT["project"]
    assert RECIPE["package"] == {"name": project["name"], "version": psidebug.__version__}
    named = [re.sub(r"\s", "", each) for each in RECIPE["requirements"]["run"]]
    assert named == [f"python{project['requires-python']}", *project["dependencies"]]
    host = [re.sub(r"\s", "", each) for each in RECIPE["requirements"]["host"]]
    assert set(PROJECT["build-system"]["requires"]) <= set(host)
    assert RECIPE["build"]["entry_points"] == [f"{name} = {where}" for name, where in project["scripts"].items()]
    assert RECIPE["about"]["summary"] == project["description"]


def test_the_container_installs_the_project_on_a_python_that_it_takes() -> None:
    lines = [line for line in CONTAINER.splitlines() if line and not line.startswith("#")]
    pythons = [re.findall(r"python:3\.(\d+)-slim", line)[0] for line in lines if line.startswith("FROM")]
    least = int(PROJECT["project"]["requires-python"].removeprefix(">=3."))
    assert len(set(pythons)) == 1
    assert int(pythons[0]) >= least
    assert 'ENTRYPOINT ["psi"]' in lines
    assert lines.index("USER psi") > max(at for at, line in enumerate(lines) if line.startswith("RUN"))


@pytest.mark.thorough
def test_what_the_container_copies_is_enough_to_build_the_wheel(tmp_path: Path) -> None:
    """The build context is made as .containerignore says, and the wheel built from it has all files of the package."""
    rules = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, listed):
        if any(fnmatch.fnmatch(name, f"{rule}/*") or name == rule for rule in kept):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    code = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    wheel = tmp_path / ran.stdout.split()[-1]
    assert psidebug.__version__ in wheel.name
    own = {name.removeprefix("src/") for name in listed if name.startswith("src/")}
    assert own <= set(zipfile.ZipFile(wheel).namelist())
