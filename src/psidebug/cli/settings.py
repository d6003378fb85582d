"""Options set in files and the environment; flags win.

A setting is the long name of an option with ``_`` for ``-``. From the strongest to the weakest::

    --learner forest                   the flag
    PSI_DEBUG_LEARNER=forest           the environment, for one command
    PSI_LEARNER=forest                 the environment, for every command that has the option
    [debug]  learner = "forest"        psi.toml, for one command
    learner = "forest"                 psi.toml, for every command that has the option

``psi.toml`` is looked for in the working directory; without one, ``[tool.psi]`` of ``pyproject.toml`` is read in its
place. In the environment, options that take several values have them separated by commas. A name that Psi does not know
is an error in a file; in the environment it is another program's, and a remark. ``PSI_DATA`` is no setting: it names
the folder of the benchmarks' files.

A project may come from a stranger, so its file cannot do all that a flag can. ``trust_pickle``, ``overwrite`` and
``listen`` are flags only, in the environment too. Files and folders to write, as ``output`` and ``report``, must be
relative in a file, and stay in its folder also where links lead.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from psidebug.cli.guarded import check_setting
from psidebug.errors import InputError, UnknownOption

PREFIX = "PSI_"
NO_SETTINGS = ("PSI_DATA", "PSI_REVIEW_PASSWORD")


@dataclass(frozen=True)
class Settings:
    """Values for the options of one command, by the name of the parameter, and where each was set."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    strange: tuple[str, ...] = ()
    """Sentences about variables that look like settings and are none; they may be another program's."""

    def origin(self, error: click.BadParameter) -> str | None:
        """Where the value that click complains about was set; None if it was given as a flag."""
        name = None if error.param is None else error.param.name
        typed = error.ctx is None or name is None or name not in self.origins
        if typed or error.ctx is None or name is None:
            return None
        source = error.ctx.get_parameter_source(name)
        return self.origins[name] if source in (None, click.core.ParameterSource.DEFAULT_MAP) else None


def settings_of(command: click.Command) -> Settings:
    """What files and the environment say about the options of a command; an unknown name in a file is an error."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    options = _options(command)
    for key, value, origin, folder in _stated(command):  # from the weakest to the strongest
        option = options.get(key)
        if option is not None and option.name is not None:
            check_setting(option, key, value, origin=origin, folder=folder)
            values[option.name] = _fitting(option, value)
            origins[option.name] = origin
    return Settings(values, origins, tuple(_strange()))


def _stated(command: click.Command) -> Iterator[tuple[str, Any, str, Path | None]]:
    """Every setting that concerns the command, from the weakest to the strongest.

    Each with its name, its value, the file or variable where it is, and the folder of the file; None for a variable.
    """
    name = str(command.name)
    table, file = _file()
    if table:
        known = _options_of_all()
        tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
        plain = {key: value for key, value in table.items() if key not in tables}
        _check_names(tables, known, f"{file} has a table", "the commands are")
        _check_names(plain, _union(known), f"{file} sets", "such options are")
        for each, content in tables.items():
            _check_names(content, known[each], f"{file} sets, for {each},", "its options are")
        folder = Path.cwd()
        yield from ((key, value, file, folder) for key, value in (*plain.items(), *tables.get(name, {}).items()))
    variables = _variables()
    if variables:
        every, one = _names_of_variables()
        yield from ((every[key], value, key, None) for key, value in variables.items() if key in every)
        for key, value in variables.items():
            if key in one and one[key][0] == name:
                yield one[key][1], value, key, None


def _strange() -> Iterator[str]:
    """A sentence for each variable that Psi does not know, with the nearest that it does."""
    variables = _variables()
    if variables:
        every, one = _names_of_variables()
        for key in variables:
            if key not in every and key not in one:
                near = get_close_matches(key, [*every, *one], n=1)
                meant = f" Did you mean {near[0]}?" if near else ""
                yield f"the environment sets {key}, which is no setting of Psi and is left alone.{meant}"


def _variables() -> dict[str, str]:
    """The variables of the environment that look like settings."""
    names = sorted(key for key in os.environ if key.startswith(PREFIX) and key not in NO_SETTINGS)
    return {key: os.environ[key] for key in names}


def _names_of_variables() -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Variables for every command with their option, and those for one command with that and the option."""
    known = _options_of_all()
    every = {f"{PREFIX}{key.upper()}": key for key in _union(known)}
    one = {f"{PREFIX}{each.upper()}_{key.upper()}": (each, key) for each in known for key in known[each]}
    return every, one


def _file() -> tuple[Mapping[str, Any], str]:
    """The settings of the working directory and the name of their file."""
    for name, path in (("psi.toml", ()), ("pyproject.toml", ("tool", "psi"))):
        try:
            content: Any = tomllib.loads(Path(name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            if path:
                continue  # another tool's file, and perhaps none of our business
            raise InputError(f"{name} cannot be read: {error}. Mend or remove it.") from None
        for key in path:
            content = content.get(key, {})
        return content, f"[tool.psi] of {name}" if path else name
    return {}, ""


def _check_names(given: Mapping[str, Any], known: Mapping[str, Any], sets: str, list_of: str) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3) or sorted(known)[:8]
            raise UnknownOption(f"{sets} {name!r}, which Psi does not know; {list_of} {', '.join(near)}.")


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by the name that a setting has: the long flag."""
    found = {}
    for each in command.params:
        if isinstance(each, click.Option) and not each.is_eager:
            flags = [flag for flag in each.opts if flag.startswith("--")]
            if flags:
                found[flags[0].removeprefix("--").replace("-", "_")] = each
    return found


def _options_of_all() -> dict[str, dict[str, click.Option]]:
    """The options of every command; the modules are light."""
    from psidebug.cli import psi

    context = click.Context(psi, info_name="psi")
    commands = {name: psi.get_command(context, name) for name in psi.list_commands(context)}
    return {name: _options(each) for name, each in commands.items() if each is not None}


def _union(known: Mapping[str, Mapping[str, click.Option]]) -> dict[str, None]:
    return {key: None for options in known.values() for key in options}


def _fitting(option: click.Option, value: Any) -> Any:
    """The value as click takes it: a list where the option may be given several times."""
    if not option.multiple:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
