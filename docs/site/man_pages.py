"""Writes the manual pages of all commands, in roff with the macros of man(7).

    python docs/site/man_pages.py FOLDER

The date is that of $SOURCE_DATE_EPOCH, else today. click-man was not taken: it knows neither our groups of options nor
our examples.
"""

import os
import re
import sys
import textwrap
import time
from pathlib import Path

from command_help import CommandHelp, Paragraph, all_commands

from undwarf import __version__

EXIT_STATUS = (
    ("0", "The command did what it was asked to."),
    ("1", "There was nothing usable, such as no samples that pass the filters, or undwarf failed."),
    ("2", "The command line is wrong."),
    ("3", "An input cannot be read, or an output cannot be written."),
    ("130", "It was interrupted."),
)
ENVIRONMENT = (
    ("DEBUGINFOD_URLS", "Servers of missing files. They are asked only with --debuginfod."),
    ("NO_COLOR, FORCE_COLOR", "Turn colours off; or on, also for pipes."),
    ("UNDWARF_CACHE_DIR", 'The folder of cached unwind tables and types; "off": no cache.'),
    ("UNDWARF_CONFIG", 'The configuration file; "off": none.'),
    ("UNDWARF_DEBUGINFOD", "If set, as --debuginfod."),
    ("UNDWARF_PAGER, PAGER", "The pager of long output on a terminal; empty: none."),
    ("UNDWARF_TRACEBACK", "If set, a defect of undwarf ends with Python's traceback."),
)
FILES = (("~/.config/undwarf/config.toml", "Defaults of options, where files are, colours and the pager."),)
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def escaped(text: str) -> str:
    """Text as roff prints it, letter by letter."""
    plain = {one: one if one == "\n" or " " <= one < "\x7f" else f"\\[u{ord(one):04X}]" for one in text} | _ESCAPES
    return re.sub(r"^\.", r"\\&.", "".join(plain[one] for one in text), flags=re.MULTILINE)


def filled(text: str) -> list[str]:
    """Lines of a paragraph: each sentence begins one, none is long."""
    sentences = re.split(r"(?<=[.:;]) (?=[A-Z])", text)
    return [
        escaped(line)
        for sentence in sentences
        for line in textwrap.wrap(sentence, 60, break_long_words=False, break_on_hyphens=False)
    ]


def option(names: str) -> str:
    """The names of an option in bold, its metavar in italics."""
    words = re.split(r"([ ,/\[\]]+)", names)
    return "".join(
        f"\\fB{escaped(word)}\\fR"
        if word.startswith("-")
        else f"\\fI{escaped(word)}\\fR"
        if word.strip(" ,/[]")
        else word
        for word in words
    )


def rows(entries: tuple[tuple[str, str], ...]) -> list[str]:
    """A list of options, each with what it does."""
    return [line for names, text in entries for line in (".TP", option(names), *filled(text))]


def kept(paragraph: Paragraph) -> list[str]:
    return [".sp", ".RS 4", ".EX", escaped(paragraph.text), ".EE", ".RE"]


def page(command: CommandHelp, others: list[CommandHelp], date: str) -> str:
    """The page of one command; the others are those it refers to."""
    name = command.page
    lines = [f'.TH {name.upper()} 1 "{date}" "undwarf {__version__}" "User Commands"']
    lines += [".nh", ".SH NAME", f"{escaped(name)} \\-"]
    lines += filled(command.summary[0].lower() + command.summary[1:].rstrip("."))
    lines += [".SH SYNOPSIS", f".B {escaped(' '.join(command.names))}", escaped(command.usage)]
    lines += [".SH DESCRIPTION", *filled(command.summary)]
    examples = [one for one in command.paragraphs if one.title == "Examples"]
    for paragraph in command.paragraphs:
        if paragraph in examples:
            continue
        if paragraph.title:
            lines += [".PP", *filled(f"{paragraph.title}:")]
        lines += kept(paragraph) if paragraph.verbatim else [".PP", *filled(paragraph.text)]
    if command.commands:
        lines.append(".SH COMMANDS")
        for title, members in command.commands:
            lines.append(f".SS {escaped(title)}")
            for one, text in members:
                lines += [
                    ".TP",
                    f"\\fB{escaped(one)}\\fR",
                    *filled(text),
                    f"See \\fB{escaped(f'{name}-{one}')}\\fR(1).",
                ]
    lines.append(".SH OPTIONS")
    for title, entries in command.option_groups:
        if title != "Options":
            lines.append(f".SS {escaped(title)}")
        lines += rows(entries)
    if len(command.names) == 1:
        for title, entries in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
            lines.append(f".SH {title}")
            for term, text in entries:
                lines += [".TP", f"\\fB{escaped(term)}\\fR", *filled(text)]
    lines.append(".SH EXIT STATUS")
    for status, text in EXIT_STATUS:
        lines += [".TP", f"\\fB{status}\\fR", *filled(text)]
    if examples:
        lines.append(".SH EXAMPLES")
        for one in examples:
            lines += kept(one)[1:]
    lines.append(".SH SEE ALSO")
    lines += [f".BR {escaped(one.page)} (1){',' if one is not others[-1] else ''}" for one in others]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> list[Path]:
    """Write all pages; their paths."""
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    date = time.strftime("%Y-%m-%d", time.gmtime(now))
    folder.mkdir(parents=True, exist_ok=True)
    commands = all_commands()
    written = []
    for command in commands:
        parent = command.names[:-1]
        family = command.names if command.commands else parent
        others = [one for one in commands if one.names == parent or one.names[:-1] == family]
        path = folder / f"{command.page}.1"
        path.write_text(page(command, [one for one in others if one is not command], date), encoding="ascii")
        written.append(path)
    return written


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        sys.stdout.write(f"{path}\n")
