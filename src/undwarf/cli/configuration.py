"""The configuration file: default options of commands, where files are, colours, the pager.

Its options are those of the command line, by their long names. They become the defaults of click's parameters: what the
command line or an environment variable gives counts first.
"""

import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from undwarf.errors import UnreadableInput, UsageError

if TYPE_CHECKING:
    from undwarf.outputs.terminal.style import When
    from undwarf.system.doctor import Finding

MOST_BYTES = 1 << 20
"""The largest file that is read."""
FILES = ("symfs", "debug-dir", "debuginfod", "kallsyms", "vmlinux")
"""Options of the table ``[files]``, for each command that has them."""
GENERAL = ("colour", "pager", "colours", "files")
"""What stands beside the tables of commands."""
_NOT_OPTIONS = ("help", "input", "version")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")


def location() -> tuple[str, bool]:
    """(path, whether the user named it): ``$UNDWARF_CONFIG``, none if that is empty or ``off``; else
    ``undwarf/config.toml`` below ``$XDG_CONFIG_HOME`` or ``~/.config``. The path is empty if there is none."""
    chosen = os.environ.get("UNDWARF_CONFIG")
    if chosen is not None:
        return ("" if chosen == "off" else chosen), True
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        # The specification of base directories ignores relative paths.
        base = os.path.join(os.path.expanduser("~"), ".config")
    return (os.path.join(base, "undwarf", "config.toml") if base.startswith("/") else ""), False


def load() -> "Configuration | None":
    """The configuration; None without a file. Raises UnreadableInput or UsageError."""
    path, named = location()
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not named:
            return None
        raise UnreadableInput(f"there is no {path}", "UNDWARF_CONFIG names it", "correct or unset it") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise UnreadableInput(f"cannot read {path}", why, "UNDWARF_CONFIG=off reads no configuration") from error
    return parsed(path, content)


def read(path: str) -> "Configuration":
    """A file that the user named. Raises UnreadableInput or UsageError."""
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = error.strerror or str(error)
        raise UnreadableInput(f"cannot read {path}", why, "give a configuration that is there") from error
    return parsed(path, content)


def parsed(path: str, content: bytes) -> "Configuration":
    """The bytes of a file, at most one more than MOST_BYTES. Raises UsageError, which names the line."""
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} is too large for a configuration", f"it has more than {MOST_BYTES:,} bytes")
    # Most users have no such file.
    import tomllib

    try:
        text = content.decode()
        return Configuration(path, text, tomllib.loads(text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: not UTF-8", "", "save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = str(error) or "it is nested too deeply"
        raise UsageError(f"{path} is not TOML", why, "https://toml.io describes it") from error


def long_names(parameter: click.Parameter) -> list[str]:
    """The names of an option in the configuration, the documented one first; none of what cannot be there."""
    if not isinstance(parameter, click.Option) or parameter.hidden:
        return []
    names = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
    return [] if set(names).intersection(_NOT_OPTIONS) else names


@dataclass(frozen=True)
class Configuration:
    """A parsed file. Methods raise UsageError, which names file, line and key, for what cannot be."""

    path: str
    text: str
    values: dict[str, Any]

    @cached_property
    def colour(self) -> "When":
        """When to write colours."""
        from undwarf.outputs.terminal.style import When

        allowed = get_args(When)
        value = self.values.get("colour", "auto")
        if value not in allowed:
            raise self.error(("colour",), f"{_shown(value)} is not one of {', '.join(allowed)}", "")
        return cast("When", value)

    @cached_property
    def styles(self) -> dict[str, str]:
        """By what is painted: its SGR parameters."""
        from undwarf.outputs.terminal.style import STYLES, WORDS, style_of

        styles = {}
        for key, value in self.table("colours").items():
            keys = ("colours", key)
            if key not in STYLES:
                raise self.unknown(keys, list(STYLES))
            try:
                styles[key] = style_of(value if isinstance(value, str) else "")
            except ValueError as error:
                word = str(error) if isinstance(value, str) else value
                allowed = f"none, or words of {', '.join(WORDS)}, 0 to 255"
                raise self.error(keys, f"{_shown(word)} is no style", allowed) from error
        return styles

    @cached_property
    def pager(self) -> str | bool | None:
        """The command of the pager, or whether there is one; None if the file does not say."""
        value = self.values.get("pager")
        if value is not None and not isinstance(value, str | bool):
            raise self.error(("pager",), f"{_shown(value)} is neither a command nor true or false", "")
        return value

    def check(self, commands: list[str]) -> None:
        """Check everything but the tables of commands."""
        known = [*GENERAL, *commands]
        for key, value in self.values.items():
            if key not in known:
                raise self.unknown((key,), known)
            if key in commands and not isinstance(value, dict):
                raise self.error((key,), f"{_shown(value)} is no table of options", f"[{key}]")
        for key in self.table("files"):
            if key not in FILES:
                raise self.unknown(("files", key), list(FILES))
        _ = self.colour, self.styles, self.pager

    def defaults(self, command: click.Command, name: str) -> dict[str, Any]:
        """The ``default_map`` of a command, and of its subcommands: values by parameter."""
        return self._defaults(command, (name,), self.values.get(name, {}), click.Context(command, info_name=name))

    def _defaults(
        self, command: click.Command, keys: tuple[str, ...], table: Any, context: click.Context
    ) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise self.error(keys, f"{_shown(table)} is no table of options", f"[{'.'.join(keys)}]")
        subcommands = command.commands if isinstance(command, click.Group) else {}
        options = {name: parameter for parameter in command.params for name in long_names(parameter)}
        files = self.table("files")
        given = {key: (("files", key), files[key]) for key in FILES if key in files and key in options}
        given |= {key: ((*keys, key), value) for key, value in table.items() if key not in subcommands}
        values = {}
        for key, (where, value) in given.items():
            if key not in options:
                allowed = [long_names(one)[0] for one in command.params if long_names(one)]
                raise self.unknown(where, [*allowed, *subcommands])
            parameter = options[key]
            values[parameter.name or ""] = self._value(cast("click.Option", parameter), where, value, context)
        for name, subcommand in subcommands.items():
            below = click.Context(subcommand, parent=context, info_name=name)
            values[name] = self._defaults(subcommand, (*keys, name), table.get(name, {}), below)
        return values

    def _value(self, option: click.Option, keys: tuple[str, ...], value: Any, context: click.Context) -> Any:
        """The value of an option as its parser takes it."""
        many = option.multiple
        if many and isinstance(value, str):
            value = [value]
        wanted = (bool, "true or false") if option.is_flag else _kind(option.type)
        for one in value if many and isinstance(value, list) else [value]:
            if not isinstance(one, wanted[0]) or (isinstance(one, bool) and not option.is_flag):
                kind = f"{wanted[1]}, or a list of these" if many else wanted[1]
                raise self.error(keys, f"{_shown(one)} is not {kind}", "")
        if isinstance(option.type, click.Path):
            value = list(map(os.path.expanduser, value)) if many else os.path.expanduser(value)
        try:
            option.process_value(context, value)
        except click.BadParameter as error:
            raise self.error(keys, error.message.strip().removesuffix("."), "") from error
        return value

    def table(self, key: str) -> dict[str, Any]:
        """A table, empty if it is not there. Raises UsageError."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.error((key,), f"{_shown(value)} is no table", f"[{key}]")
        return value

    def unknown(self, keys: tuple[str, ...], allowed: list[str]) -> UsageError:
        """The error for a key that is not among the ``allowed``."""
        from undwarf.cli.usage import similar

        *table, key = keys
        close = similar(key, allowed)
        owner = f"[{'.'.join(table)}] has" if table else "there is"
        others = f"allowed are {', '.join(allowed)}" if allowed else "it has no options that can be set"
        return self.error(keys, f"{owner} no such key", " or ".join(close) or others)

    def error(self, keys: tuple[str, ...], problem: str, hint: str) -> UsageError:
        """The error for the value of a key, which names the line."""
        line = self._line(keys)
        where = f"{self.path}, line {line}" if line else self.path
        return UsageError(f"{where}: {'.'.join(keys)}", problem, hint)

    def _line(self, keys: tuple[str, ...]) -> int:
        """The line of a key or of a table's header; 0 if it is written in another form."""
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := _HEADER.match(line):
                table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
                if table == keys:
                    return number
            elif (key := _KEY.match(line)) and (*table, key[1]) == keys:
                return number
        return 0

    def __str__(self) -> str:
        """What it sets, on one line."""
        parts: list[str] = [key for key in ("colour", "pager") if key in self.values]
        for name, table in self.values.items():
            if isinstance(table, dict) and table:
                parts.append(f"[{name}] " + ", ".join(table))
        return "; ".join(parts) or "nothing"


def _kind(type_: "click.ParamType[Any]") -> tuple[Any, str]:
    """(classes, in words) of the values that a type of click converts."""
    if isinstance(type_, click.FloatRange) or type_ is click.FLOAT:
        return (int, float), "a number"
    if isinstance(type_, click.IntRange) or type_ is click.INT:
        return int, "a whole number"
    return str, "a text in quotes"


def _shown(value: Any) -> str:
    """A value as TOML has it, cut."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) < 60 else f"{text[:59]}…"


def finding(group: click.Command) -> "Finding":
    """For ``undwarf doctor``: which file is read, and what it sets. All of it is checked."""
    from undwarf.system.doctor import Finding

    path, named = location()
    what = "configuration"
    if not path:
        return Finding("good", what, "none: UNDWARF_CONFIG turns it off")
    try:
        configuration = load()
        if configuration is None:
            return Finding("good", what, f"none: there is no {path}")
        assert isinstance(group, click.Group)
        context = click.Context(group, info_name="undwarf")
        names = group.list_commands(context)
        configuration.check(names)
        for name in names:
            command = group.get_command(context, name)
            assert command is not None
            configuration.defaults(command, name)
    except (UsageError, UnreadableInput) as error:
        return Finding("bad", what, str(error), error.hint)
    source = " (UNDWARF_CONFIG)" if named else ""
    return Finding("good", what, f"{path}{source} sets {configuration}")
