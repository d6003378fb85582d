"""Pictures as ``data:`` addresses, so that a page needs no other file: arrays as PNG, and small files as they are."""

from __future__ import annotations

import base64
import os
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.display import pixels_of
from psidebug.task.tables import is_missing

LARGEST_SIDE = 96
"""Pixels; of a larger array every second, third … pixel is shown."""
LARGEST_FILE = 60_000
"""Bytes; larger files are named, not shown."""
VARIABLE = "PSI_PICTURES"
"""Names a folder whose pictures are shown, too, besides the current one."""
MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""How files of each kind begin. A file is shown by what it is, whatever it is called; SVG, which may hold scripts, is
not among them."""

Range = tuple[float, float]


def picture_of_array(values: Any, *, shape: tuple[int, ...] | None = None, spread: Range) -> str | None:
    """Numbers as a picture, gray or in three colours, the lowest of ``spread`` black and the highest white."""
    try:
        pixels = np.asarray(pixels_of(values), dtype=np.float64)
        pixels = pixels if shape is None else pixels.reshape(shape)
    except (TypeError, ValueError):
        return None
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)):
        return None
    step = -(-max(pixels.shape[:2]) // LARGEST_SIDE)
    low, high = spread
    scaled = (pixels[::step, ::step] - low) / ((high - low) or 1.0)
    return _address("image/png", _png(np.round(255 * np.clip(np.nan_to_num(scaled), 0.0, 1.0)).astype(np.uint8)))


def picture_of_file(path: Any) -> tuple[str | None, str | None]:
    """The file as a picture, or else a few words on why there is none."""
    if is_missing(path) or not str(path):
        return None, "no picture"
    try:
        place = Path(str(path)).resolve()
        if not any(place.is_relative_to(folder.resolve()) for folder in _folders()):
            return None, f"{path} is outside of this folder: set {VARIABLE} to the folder of your pictures"
        content = _start_of(place)
    except (OSError, ValueError, RuntimeError):  # a link to itself is a RuntimeError
        return None, f"no picture at {path}"
    kind = next((kind for magic, kind in MAGIC.items() if content.startswith(magic)), None)
    if kind is None and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        return None, f"{path} is no PNG, JPEG, GIF or WebP"
    if len(content) > LARGEST_FILE:
        return None, f"{path} is larger than {LARGEST_FILE // 1000} kB"
    return _address(kind, content), None


def _folders() -> list[Path]:
    """Where pictures may be. Their paths come with the data, and a page may go to whoever wrote them."""
    return [Path(), *(Path(each) for each in [os.environ.get(VARIABLE)] if each)]


def _start_of(place: Path) -> bytes:
    """The first bytes of a file; a pipe, which could be waited for without end, raises ``OSError``."""
    handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("no plain file")
        return file.read(LARGEST_FILE + 1)


def spread_of(arrays: Any) -> Range:
    """The lowest and the highest number, so that one gray means the same in every picture."""
    finite: list[npt.NDArray[np.float64]] = []
    for each in arrays:
        try:
            numbers = np.asarray(pixels_of(each), dtype=np.float64).ravel()
        except (TypeError, ValueError):
            continue
        finite.append(numbers[np.isfinite(numbers)])
    every = np.concatenate(finite) if finite else np.empty(0)
    return (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file: header, the lines each after a zero byte (unfiltered), end."""
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    lines = pixels.reshape(height, -1)
    raw = np.hstack([np.zeros((height, 1), dtype=np.uint8), lines]).tobytes()
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
