"""Small grey pictures in a terminal, two pixels to a character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rich.text import Text

SHADES = " ░▒▓█"


def side_by_side(
    pictures: Sequence[npt.NDArray[np.float64]], captions: Sequence[str], *, colour: bool, indent: int = 3
) -> Text:
    """Pictures with values 0 … 1 in a row, each over its caption.

    Every character is an upper and a lower pixel; without colour, a shade for the mean of both.
    """
    width = max([picture.shape[1] for picture in pictures] + [len(caption) for caption in captions]) + 2
    text = Text()
    for line in range(0, pictures[0].shape[0], 2):
        text.append(" " * indent)
        for picture in pictures:
            for upper, lower in zip(picture[line], picture[line + 1], strict=True):
                if colour:
                    text.append("▀", style=f"{_grey(upper)} on {_grey(lower)}")
                else:
                    text.append(SHADES[round((upper + lower) / 2 * (len(SHADES) - 1))])
            text.append(" " * (width - picture.shape[1]))
        text.append("\n")
    text.append(" " * indent + "".join(caption.ljust(width) for caption in captions), style="dim")
    return text


def _grey(value: float) -> str:
    level = round(255 * float(np.clip(value, 0.0, 1.0)))
    return f"#{level:02x}{level:02x}{level:02x}"
