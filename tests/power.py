"""A disk that remembers what was forced to it, and what is left when the power goes at any moment.

The folder itself is the page cache. Beside it two images are kept up to date: what a file holds since it was last
forced, and which names a directory has since *it* was. From them come the two ways in which a disk may forget:

- *strict*: nothing is there that was not forced, neither contents nor names;
- *names first*: all names are there, renamed and removed as was asked, but contents that were not forced are empty.

They are asked for before and after each call of ``fsync``, ``rename`` and ``replace``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Tree = dict[str, bytes]
"""Paths of files, relative to the folder, with their contents."""


class Disk:
    """Watches a folder whose present state is on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.images: list[tuple[str, Tree]] = []
        """What a crash would leave, with the moment and the way, in order; the same one is kept once."""
        self._handles: dict[int, int] = {}  # inode → an open handle: no number is used twice
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._look()
        for inode in list(self._handles):
            self._force(inode)

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)

    @contextmanager
    def watched(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
        """Note every crash that could happen meanwhile."""
        with monkeypatch.context() as patched:
            for name in ("fsync", "rename", "replace"):
                patched.setattr(os, name, self._noted(name, getattr(os, name)))
            yield self
        self.note("at the end")

    def _noted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **options: Any) -> Any:
            self.note(f"before {name} {given[-1]}")
            answer = real(*given, **options)
            if name == "fsync":
                self._force(os.fstat(given[0]).st_ino)
            self.note(f"after {name} {given[-1]}")
            return answer

        return called

    def note(self, moment: str) -> None:
        self._look()
        for way, tree in (("strict", self._strict()), ("names first", self._names_first())):
            if not self.images or all(tree != other for _, other in self.images[-2:]):
                self.images.append((f"{moment}, {way}", tree))

    def _look(self) -> None:
        """Hold a handle of everything that is new."""
        for path in [self.folder, *self.folder.rglob("*")]:
            inode = path.stat().st_ino
            if inode not in self._handles:
                self._handles[inode] = os.open(path, os.O_RDONLY)

    def _force(self, inode: int) -> None:
        handle = self._handles.get(inode)
        if handle is None:
            return  # outside of the folder
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            self._contents[inode] = os.pread(handle, os.fstat(handle).st_size, 0)
            return
        with os.scandir(handle) as found:
            self._names[inode] = {each.name: each.inode() for each in found}

    def _strict(self) -> Tree:
        def inside(inode: int, path: str) -> Iterator[tuple[str, bytes]]:
            for name, each in self._names.get(inode, {}).items():
                if each in self._contents:
                    yield f"{path}{name}", self._contents[each]
                elif os.path.isdir(f"/proc/self/fd/{self._handles[each]}") or each in self._names:
                    yield from inside(each, f"{path}{name}/")
                else:
                    yield f"{path}{name}", b""

        return dict(inside(self.folder.stat().st_ino, ""))

    def _names_first(self) -> Tree:
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): self._contents.get(path.stat().st_ino, b"") for path in files}


def written(tree: Tree, folder: Path) -> Path:
    """A folder with what a crash left."""
    for name, content in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
