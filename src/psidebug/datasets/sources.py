"""Files of real data: read from the folder that ``PSI_DATA`` names, else downloaded once from their public homes.

A file is only used if its sha256 is the expected one, so that a benchmark has the same rows everywhere. Psi ships none
of the rows.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import pooch

from psidebug.errors import InputError

VARIABLE = "PSI_DATA"
"""Environment variable with the folder of the files; unset or empty, they are downloaded."""


@dataclass(frozen=True)
class Source:
    """Where data come from; ``file`` and ``url`` are empty for data that are generated or come with scikit-learn."""

    home: str
    licence: str
    file: str = ""
    """Name in the folder ``PSI_DATA``; what ends in .gz is unpacked."""
    url: str = ""
    sha256: str = ""
    """Of the unpacked content: the public copy of a file may be packed, or not."""

    def content(self) -> bytes:
        """The file's verified content, downloaded if there is no ``PSI_DATA``."""
        folder = os.environ.get(VARIABLE)
        if not folder:
            return self._downloaded()
        path = Path(folder) / self.file
        if not path.is_file():
            raise InputError(
                f"{VARIABLE} names {folder}, which has no {self.file}. Put the file there (from {self.url}), or unset "
                f"{VARIABLE} to let Psi download it."
            )
        content = _unpacked(path)
        if content is None or hashlib.sha256(content).hexdigest() != self.sha256:
            raise InputError(
                f"{path} is not the file that Psi knows, or is damaged: its sha256 differs. Replace it (from "
                f"{self.url}), or unset {VARIABLE} to let Psi download it."
            )
        return content

    def wherever(self) -> bytes:
        """The verified content, downloaded also if ``PSI_DATA`` is set but has no such file.

        For data that most such folders do not hold.
        """
        here = (Path(os.environ.get(VARIABLE) or "") / self.file).is_file()
        return self.content() if here or not self.url else self._downloaded()

    def whereabouts(self) -> str:
        """Where the file is now, in words; nothing is downloaded."""
        if not self.file:
            return "no file needed"
        if os.environ.get(VARIABLE):
            try:
                self.content()
            except InputError:
                present = (Path(os.environ[VARIABLE]) / self.file).is_file()
                return f"file damaged, in {VARIABLE}" if present else f"file not here, missing in {VARIABLE}"
            return f"file here, in {VARIABLE}"
        cached = (_cache() / self._cached_name).is_file()
        return "file here, downloaded" if cached else "file not here, downloaded when first used"

    @property
    def _cached_name(self) -> str:
        # A file in a folder of PSI_DATA has a name of its own there; at home it may be one of many called train.json.
        return self.file.replace("/", "-") if "/" in self.file else self.url.rsplit("/", 1)[-1]

    def _downloaded(self) -> bytes:
        known = f"sha256:{self.sha256}"
        try:  # a damaged copy in the cache is downloaded again
            return Path(pooch.retrieve(self.url, known, fname=self._cached_name, path=_cache())).read_bytes()
        except ValueError as error:
            raise InputError(
                f"{self.url} now holds another file: its sha256 is not the expected one. Set {VARIABLE} to a folder "
                f"that has the original {self.file}."
            ) from error
        except OSError as error:  # requests' errors are OSErrors, too
            raise InputError(
                f"{self.url} could not be downloaded ({type(error).__name__}). Connect to the network, or set "
                f"{VARIABLE} to a folder that has {self.file}."
            ) from error


def _cache() -> Path:
    return Path(pooch.os_cache("psidebug"))


def _unpacked(path: Path) -> bytes | None:
    """The content; None where it cannot be read or unpacked."""
    try:
        packed = path.read_bytes()
        return gzip.decompress(packed) if path.suffix == ".gz" else packed
    except (OSError, EOFError, zlib.error):
        return None
