"""``psi datasets`` lists what there is, says where the files are, and downloads nothing."""

from __future__ import annotations

from pathlib import Path

from psidebug.datasets import DESIGNS
from tests.cli.processes import psi


def test_every_benchmark_is_listed_with_its_size_noise_source_and_licence(tmp_path: Path) -> None:
    ran = psi("datasets", PSI_DATA=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (0, "")
    for design in DESIGNS:
        assert f"\n{design.name} " in f"\n{ran.stdout}"
        for said in (design.summary, design.source.home, design.source.licence, f"{design.sizes.train:,} + "):
            assert said in ran.stdout
    assert "1,200 + 400 + 400 rows, text" in ran.stdout
    assert "4,000 + 4,000 + 8,000 rows, 13 columns" in ran.stdout


def test_the_list_says_whether_the_files_are_here(tmp_path: Path) -> None:
    (tmp_path / "adult.data.gz").write_bytes(b"not the census")
    ran = psi("datasets", PSI_DATA=str(tmp_path))
    assert ran.stdout.count("file not here, missing in PSI_DATA") == 1
    assert ran.stdout.count("file damaged, in PSI_DATA") == 1
    assert ran.stdout.count("no file needed") == 6


def test_nothing_is_downloaded(tmp_path: Path) -> None:
    ran = psi("datasets", PSI_DATA="", XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path))
    assert ran.stdout.count("file not here, downloaded when first used") == 2
    assert list(tmp_path.rglob("*.zip")) == list(tmp_path.rglob("adult*")) == []


def test_help_has_an_example() -> None:
    ran = psi("datasets", "--help")
    assert ran.returncode == 0
    assert "Example: psi datasets" in ran.stdout
