"""Errors for unknown commands, options and values: similar names, and the equivalents of perf's."""

import re

import click

from undwarf.errors import UndwarfError, UsageError

PERF_COMMANDS = {
    "annotate": "undwarf report --source FUNCTION --asm",
    "archive": "undwarf shrink writes a recording that can be read on another machine without these files",
    "buildid-list": "undwarf info --missing lists files by build-id",
    "c2c": "undwarf types shows false sharing; undwarf report -s dcacheline,snoop",
    "evlist": "undwarf info lists the events",
    "help": "undwarf COMMAND --help",
    "inject": "jitdump files are read without it; undwarf shrink unwinds a recording",
    "list": "perf list shows the events that undwarf record -e takes",
    "mem": "undwarf report -s mem,symbol_daddr; undwarf types shows which data is accessed",
    "sched": "undwarf record --off-cpu shows where threads wait",
    "stat": "perf stat counts; undwarf samples: undwarf record -- PROGRAM",
    "trace": "undwarf script prints tracepoints that perf record -e recorded",
    "version": "undwarf --version",
}
"""Equivalents of perf's commands."""
OTHER_NAMES = {
    "collapse": "fold",
    "flame": "flamegraph",
    "folded": "fold",
    "graph": "flamegraph",
    "pstack": "stack",
    "show": "report",
    "stackcollapse": "fold",
    "svg": "flamegraph",
}
"""Names of our commands in other tools."""
_NO_COMMAND = re.compile(r"No such command '(.*?)'")
_HEADER = "undwarf info shows the header"
PERF_OPTIONS = {
    "--header": _HEADER,
    "--header-only": _HEADER,
    "--show-info": _HEADER,
    "-I": _HEADER,
    "--tui": "undwarf report | less; undwarf flamegraph writes a page",
    "--gtk": "undwarf flamegraph writes a page",
    "--stdio2": "--stdio, or nothing: the report is text",
    "--no-call-graph": "-g none",
    "--inverted": "-g caller",
    "-G": "-g caller",
    "--hierarchy": "-g caller draws a tree, --sort chooses the rows",
    "--threads": "--sort tid,comm",
    "-T": "--sort tid,comm",
    "--field-separator": "--json prints numbers for programs",
    "-t": "--json prints numbers for programs",
    "-p": "--caller FUNCTION",
    "-x": "--caller FUNCTION leaves out all other samples",
    "--exclude-other": "--caller FUNCTION leaves out all other samples",
    "--show-total-period": "--json has weights as numbers",
    "--mem-mode": "--sort mem,symbol_daddr; undwarf types",
    "--branch-stack": "perf report --branch-stack",
    "-b": "perf report --branch-stack",
    "--inline": "inlined functions are shown; --no-inline leaves them out",
    "--demangle": "names are demangled",
    "--percentage": "shares are of the samples that pass the filters",
    "--column-widths": "columns fit the terminal; nothing is cut in a pipe",
    "-w": "columns fit the terminal; nothing is cut in a pipe",
    "--modules": "modules are searched in --symfs and /lib/modules",
    "--hide-call-graph": "-F without ip and sym",
    "--gen-script": "in Python: undwarf.open(FILE).profile().samples",
    "--dump-raw-trace": "perf script -D",
    "-D": "perf script -D",
    "-v": "--stats prints statistics of unwind tables",
    "--verbose": "--stats prints statistics of unwind tables",
    "-q": "notes and warnings go to standard error: 2>/dev/null",
    "--quiet": "notes and warnings go to standard error: 2>/dev/null",
}
"""Equivalents of perf's options, in commands that read a recording."""
PERF_RECORD_OPTIONS = {
    "--per-thread": "-t TID samples single threads",
    "-W": "perf record -W, or perf mem record; undwarf reads what they write",
    "-d": "perf record -d, or perf mem record; undwarf reads what they write",
    "-s": "per-thread totals: undwarf report -s tid",
}
"""Equivalents of perf's options, in commands that sample."""


def _unknown_command(name: str, path: str, group: click.Group, context: click.Context) -> UsageError:
    """The error for an unknown command."""
    what = f"{path} has no command {name!r}"
    if context.parent is None:
        if name in PERF_COMMANDS:
            return UsageError(what, "perf has it", PERF_COMMANDS[name])
        if "/" in name or "." in name:
            return UsageError(what, "it looks like a file", f"{path} report {name}")
    commands = group.list_commands(context)
    close = similar(name, [*commands, *(OTHER_NAMES if context.parent is None else ())])
    hint = " or ".join(f"{path} {ours}" for ours in dict.fromkeys(OTHER_NAMES.get(word, word) for word in close))
    return UsageError(what, "", hint or f"commands are {', '.join(commands)}")


def similar(name: str, known: list[str]) -> list[str]:
    """The two most similar names."""
    # Few runs need it.
    import difflib

    longer = [word for word in known if len(name.strip("-")) >= 2 and word.startswith(name)]
    return longer[:2] or difflib.get_close_matches(name, known, 2, 0.7)


def as_error(error: click.ClickException, command: str) -> UndwarfError:
    """An error of click as one of ours: what, why, what to try. ``command`` is the one that was run."""
    context: click.Context | None = getattr(error, "ctx", None)
    path = context.command_path if context is not None else command
    more = f"{path} --help shows all options"
    if isinstance(error, click.NoSuchOption):
        return UsageError(f"{path} has no option {error.option_name}", *_instead_of(error.option_name, context, more))
    if isinstance(error, click.MissingParameter):
        parameter = error.param
        name = (parameter.metavar or parameter.name or "") if parameter is not None else "an argument"
        return UsageError(f"{path} needs {name}", "", f"{path} --help")
    if isinstance(error, click.BadParameter):
        name = f" for {_option_of(error.param)}" if error.param is not None else ""
        return UsageError(f"Invalid value{name}", _without_stop(error.message), more)
    text = _without_stop(error.format_message())
    if context is not None and isinstance(context.command, click.Group):
        unknown = _NO_COMMAND.match(text)
        if unknown is not None:
            return _unknown_command(unknown[1], path, context.command, context)
    if "unexpected extra argument" in text:
        return UsageError(text, "", f"{path} --help shows what goes where")
    return UsageError(text, "", more)


def _instead_of(given: str, context: click.Context | None, more: str) -> tuple[str, str]:
    """(why, what to try) for an unknown option."""
    parameters = context.command.params if context is not None else []
    samples = any(parameter.name == "everything" for parameter in parameters)
    of_perf = PERF_RECORD_OPTIONS if samples else PERF_OPTIONS
    if given in of_perf:
        return "perf has it", of_perf[given]
    known = [
        name
        for parameter in parameters
        if not getattr(parameter, "hidden", False)
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    ]
    close = similar(given, known) if given.startswith("--") else []
    return "", " or ".join(close) or more


def _option_of(parameter: click.Parameter) -> str:
    """A parameter as it is typed: its option, or its metavar."""
    if isinstance(parameter, click.Option):
        return "/".join(f"'{name}'" for name in parameter.opts)
    return f"'{parameter.metavar or parameter.name}'"


def _without_stop(text: str) -> str:
    return text.strip().removesuffix(".")
