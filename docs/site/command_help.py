"""What the help of each command says, as data: manual pages and the site's reference are written from it."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import click

from undwarf.cli.help import option_groups
from undwarf.cli.main import GROUPS, undwarf


@dataclass(frozen=True)
class Paragraph:
    """Text to fill, or lines to keep; ``title`` is that of a list of examples."""

    text: str
    verbatim: bool = False
    title: str = ""


@dataclass(frozen=True)
class CommandHelp:
    """The help of one command."""

    names: tuple[str, ...]
    """``("undwarf", "tables", "dump")``."""
    summary: str
    usage: str
    """What follows the names: ``[OPTIONS] [FILE]``."""
    paragraphs: tuple[Paragraph, ...]
    """All after the summary."""
    option_groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Titles with options: names with metavar, and what each does."""
    commands: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Titles with subcommands: name and summary."""

    @property
    def page(self) -> str:
        """The name of its page: ``undwarf-tables-dump``."""
        return "-".join(self.names)


def all_commands() -> list[CommandHelp]:
    """The group, its commands and theirs, each after what it belongs to."""
    return list(_below(undwarf, ("undwarf",), None))


def _below(command: click.Command, names: tuple[str, ...], parent: click.Context | None) -> Iterator[CommandHelp]:
    context = click.Context(command, info_name=names[-1], parent=parent, **command.context_settings)
    subcommands: dict[str, click.Command] = {}
    if isinstance(command, click.Group):
        found = {name: command.get_command(context, name) for name in command.list_commands(context)}
        subcommands = {name: one for name, one in found.items() if one is not None}
    titles = dict(GROUPS) if parent is None else {"Commands": tuple(subcommands)} if subcommands else {}
    first, *rest = paragraphs(command.help or "")
    yield CommandHelp(
        names,
        first.text,
        " ".join(command.collect_usage_pieces(context)),
        (*rest, *paragraphs(command.epilog or "")),
        tuple((title, tuple(rows)) for title, rows in option_groups(command, context)),
        tuple(
            (title, tuple((name, paragraphs(subcommands[name].help or "")[0].text) for name in members))
            for title, members in titles.items()
        ),
    )
    for name, one in subcommands.items():
        yield from _below(one, (*names, name), context)


def paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a help text; those that click keeps as they are begin with a backspace."""
    found = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not part.startswith("\b\n"):
            found += [Paragraph(text)] if (text := " ".join(part.replace("\b", "").split())) else []
            continue
        lines = part.removeprefix("\b\n").split("\n")
        title = lines.pop(0).strip() if lines[0].strip().endswith(":") else ""
        found.append(
            Paragraph(textwrap.dedent("\n".join(lines)).rstrip(), verbatim=True, title=title.removesuffix(":"))
        )
    return found
