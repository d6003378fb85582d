"""A terminal that gets no commands from the data: labels and ids may come from anybody.

A terminal takes some sequences of control characters as commands: they set its title, hide lines or type for the user.
Where stdout is a terminal only Psi's own colours pass, and every other control character is shown as �. Files and
pipes get the data as they are.
"""

from __future__ import annotations

import re
from typing import Any, TextIO

CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
"""Control characters but tabs and line ends; the last ones turn the direction of the text that follows."""
COMMANDS = re.compile(CONTROL)
BUT_COLOURS = re.compile(rf"(\x1b\[[0-9;]*m)|{CONTROL}")


def harmless(text: str, *, colours: bool = False) -> str:
    """The text with control characters as �; those of colours may stay."""
    if colours:
        return BUT_COLOURS.sub(lambda found: found[1] or "�", text)
    return COMMANDS.sub("�", text)


class Harmless:
    """A terminal's stream that writes harmless text, and is otherwise that stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, as harmless text."""
        return self._stream.write(harmless(text, colours=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
