"""Options that a project's own settings may not set as they like.

A project comes with its ``psi.toml`` or ``pyproject.toml``, and may come from a stranger: what is written there must
not run code, open doors or overwrite files elsewhere. An option says by its class what it is, as in
``click.option("--overwrite", cls=FlagOnly, is_flag=True)``; :mod:`psidebug.cli.settings` asks :func:`check_setting`.
"""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any

import click

from psidebug.errors import InputError


class FlagOnly(click.Option):
    """An option that weakens what protects the user: he types it, or it does not count.

    It is refused from the environment too, where it would be forgotten and hold for every project.
    """


class PlaceToWrite(click.Option):
    """An option that names a file or directory to write: from a file of settings, one in the folder of that file."""


def check_setting(option: click.Option, name: str, value: Any, *, origin: str, folder: Path | None) -> None:
    """Raise :class:`InputError` if this may not be set there: in a file in ``folder``, or, with None, the environment.

    ``name`` is that of the setting, and ``origin`` that of the file or the variable.
    """
    flag = max(option.opts, key=len)
    said = f"{origin} sets {name}" if folder is not None else f"the environment sets {name} (by {origin})"
    if isinstance(option, FlagOnly):
        raise InputError(
            f"{said}, which counts only by the flag {flag}, typed by you: it weakens what protects you. Take it out "
            f"there."
        )
    if isinstance(option, PlaceToWrite) and folder is not None and not _is_inside(str(value), folder):
        raise InputError(
            f"{said} to {str(value)!r:.80}, which is outside of the project: settings in a file write only into its "
            f"folder. Set a relative path in there, or take it out and give {flag}."
        )


def _is_inside(place: str, folder: Path) -> bool:
    """Whether a path is relative, for any system, and stays in the folder when its links are followed."""
    if PureWindowsPath(place).anchor:  # C:\, \, / and what else begins a path that is not relative
        return False
    try:
        return (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # no path at all: a zero byte, links in a ring
        return False
