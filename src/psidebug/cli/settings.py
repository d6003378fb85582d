"""Options set in files and the environment; flags win.

A setting is the long name of an option with ``_`` for ``-``. From the strongest to the weakest::

    --learner forest                   the flag
    PSI_DEBUG_LEARNER=forest           the environment, for one command
    PSI_LEARNER=forest                 the environment, for every command that has the option
    [debug]  learner = "forest"        psi.toml, for one command
    learner = "forest"                 psi.toml, for every command that has the option

``psi.toml`` is read from the working directory; without one, ``[tool.psi]`` of ``pyproject.toml`` is read. In the
environment, commas separate the values of an option that takes several. An unknown name is an error in a file; in the
environment it only triggers a warning. ``PSI_DATA`` and ``PSI_PICTURES`` are no settings: they name the
folder of the benchmark files, and one whose pictures may be shown, besides the current one.

A project may come from a stranger, so its file cannot do all that a flag can. ``trust_pickle``, ``cluster``,
``overwrite`` and ``listen`` are flags only; the environment cannot set them either. A file or folder to write, such as
``output`` or ``report``, must be a relative path in a file of settings, and must stay in its folder when links are
followed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PureWindowsPath
from typing import Any

import click

from psidebug.errors import InputError, UnknownOption

PREFIX = "PSI_"
NO_SETTINGS = ("PSI_DATA", "PSI_PICTURES", "PSI_REVIEW_PASSWORD")


class FlagOnly(click.Option):
    """An option that weakens what protects the user: only the flag counts.

    The environment is refused too: there it would be forgotten and hold for every project.
    """


class PlaceToWrite(click.Option):
    """An option that names a file or directory to write: a file of settings may only name one in its own folder."""


@dataclass(frozen=True)
class Settings:
    """Values for the options of one command, by the name of the parameter, and where each was set."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    strange: tuple[str, ...] = ()
    """Warnings about variables that look like settings and are none."""

    def origin(self, error: click.BadParameter) -> str | None:
        """Where the value that click complains about was set; None if it was given as a flag."""
        name = None if error.param is None else error.param.name
        if error.ctx is None or name is None or name not in self.origins:
            return None
        source = error.ctx.get_parameter_source(name)
        return self.origins[name] if source in (None, click.core.ParameterSource.DEFAULT_MAP) else None


def settings_of(command: click.Command) -> Settings:
    """What files and the environment say about the options of a command; an unknown name in a file is an error."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    strange: list[str] = []
    stated = [*_in_file(command), *_in_environment(command, strange)]
    options = _options(command)
    for key, value, origin, folder in stated:  # from the weakest to the strongest
        option = options.get(key)
        if option is not None and option.name is not None:
            _check_setting(option, key, value, origin=origin, folder=folder)
            values[option.name] = _fitting(option, value)
            origins[option.name] = origin
    return Settings(values, origins, tuple(strange))


Stated = Iterator[tuple[str, Any, str, Path | None]]
"""Settings, each with its name, its value, the file or variable, and the folder of the file; None for a variable."""


def _in_file(command: click.Command) -> Stated:
    table, file = _file()
    if not table:
        return
    known = _options_of_all()
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in table.items() if key not in tables}
    _check_names(tables, known, f"{file} has a table", "the commands are")
    _check_names(plain, {key for each in known.values() for key in each}, f"{file} sets", "such options are")
    for each, content in tables.items():
        _check_names(content, known[each], f"{file} sets, for {each},", "its options are")
    for key, value in (*plain.items(), *tables.get(str(command.name), {}).items()):
        yield key, value, file, Path.cwd()


def _in_environment(command: click.Command, strange: list[str]) -> Stated:
    """First the variables for every command, then those for this one; warnings about unknown ones go to ``strange``."""
    given = sorted(key for key in os.environ if key.startswith(PREFIX) and key not in NO_SETTINGS)
    if not given:
        return
    known = _options_of_all()
    every = {f"{PREFIX}{key.upper()}": key for each in known.values() for key in each}
    one = {f"{PREFIX}{name.upper()}_{key.upper()}": (name, key) for name in known for key in known[name]}
    for variable in given:
        if variable in every:
            yield every[variable], os.environ[variable], variable, None
        elif variable not in one:
            near = get_close_matches(variable, [*every, *one], n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            strange.append(f"{variable} is not a setting of Psi and is ignored.{meant}")
    for variable in given:
        name, key = one.get(variable, ("", ""))
        if name == command.name:
            yield key, os.environ[variable], variable, None


def _file() -> tuple[Mapping[str, Any], str]:
    """The settings of the working directory and the name of their file."""
    for name, path in (("psi.toml", ()), ("pyproject.toml", ("tool", "psi"))):
        try:
            content: Any = tomllib.loads(Path(name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            if path:
                continue  # another tool's file
            raise InputError(f"{name} cannot be read: {error}. Repair or remove it.") from None
        for key in path:
            content = content.get(key, {})
        return content, f"[tool.psi] of {name}" if path else name
    return {}, ""


def _check_names(given: Mapping[str, Any], known: Any, sets: str, list_of: str) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3) or sorted(known)[:8]
            raise UnknownOption(f"{sets} {name!r}, which Psi does not know; {list_of} {', '.join(near)}.")


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by the name that a setting has: the long flag."""
    return {
        flag.removeprefix("--").replace("-", "_"): each
        for each in command.params
        if isinstance(each, click.Option) and not each.is_eager
        for flag in [flag for flag in each.opts if flag.startswith("--")][:1]
    }


def _options_of_all() -> dict[str, dict[str, click.Option]]:
    """The options of every command; the modules are light."""
    from psidebug.cli.group import psi

    context = click.Context(psi, info_name="psi")
    commands = {name: psi.get_command(context, name) for name in psi.list_commands(context)}
    return {name: _options(each) for name, each in commands.items() if each is not None}


def _fitting(option: click.Option, value: Any) -> Any:
    """The value as click takes it: a list where the option takes several."""
    if not option.multiple and option.nargs == 1:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _check_setting(option: click.Option, name: str, value: Any, *, origin: str, folder: Path | None) -> None:
    """Raise :class:`InputError` if this may not be set in a file in ``folder``, or, with None, in the environment."""
    flag = max(option.opts, key=len)
    said = f"{origin} sets {name}" if folder is not None else f"the environment sets {name} (by {origin})"
    if isinstance(option, FlagOnly):
        raise InputError(f"{said}, but only the flag {flag} may do that, for your safety. Remove the setting.")
    if isinstance(option, PlaceToWrite) and folder is not None and not _is_inside(str(value), folder):
        raise InputError(
            f"{said} to {str(value)!r:.80}, which is outside of the project: a file of settings may only name places "
            f"in its folder. Set a relative path there, or remove the setting and give {flag}."
        )


def _is_inside(place: str, folder: Path) -> bool:
    """Whether a path is relative, for any system, and stays in the folder when its links are followed."""
    if PureWindowsPath(place).anchor:  # C:\, \, / and what else begins a path that is not relative
        return False
    try:
        return (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # no path at all: a zero byte, links in a ring
        return False
