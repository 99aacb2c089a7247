"""The command line: a group that imports a command's module only when that command runs."""

import codecs
import contextlib
import gc
import io
import os
import signal
import sys
import warnings
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click

from undwarf import __version__
from undwarf.errors import UndwarfError, UsageError

COMMANDS = {
    "addr2line": "Print the function, file and line of addresses in a binary.",
    "agent": "Record this machine all the time: whole stacks in small files, shipped to a store.",
    "browse": "Look around in a profile in the terminal: calls, functions, source, types, threads, time.",
    "completion": "Print the completion script for a shell.",
    "diff": "Compare recordings: what changed, by how much, and whether chance explains it.",
    "doctor": "Check what this machine offers: perf events, debug files, caches.",
    "export": "Write the samples for other viewers: pprof, Firefox Profiler, Perfetto and others.",
    "flamegraph": "Write a flame graph as one self-contained HTML page.",
    "fleet": "Keep the profiles of many hosts in a folder of Parquet files, and ask it.",
    "fold": "Print folded stacks, root first, for flame-graph tools.",
    "info": "Show what a recording contains, and how many of its stacks are whole.",
    "query": "Run an SQL query over recordings, with DuckDB.",
    "record": "Sample programs and unwind them live; write a small recording with whole call chains.",
    "report": "Show hot functions and the call tree in the terminal.",
    "schema": "Print the JSON Schema of what a command prints with --json.",
    "script": "Print every sample as text, in the format of perf script.",
    "shrink": "Replace stack dumps by whole call chains: a small recording.",
    "stack": "Print the stacks of all threads of a running process or a core file.",
    "tables": "Print, measure, compare and convert unwind tables of a binary.",
    "top": "Show the hot functions of running programs in the terminal.",
    "types": "Show which types and members the samples access.",
    "view": "Show recordings in a browser: time line, flame graph, source, data types.",
}
UNPAGED = (
    "agent",
    "browse",
    "record",
    "top",
    "view",
    "export",
    "flamegraph",
    "shrink",
    "completion",
    "addr2line",
    "schema",
)
"""Commands whose output is no text to read, or comes while they run."""
GROUPS = {
    "Sample running programs": ("record", "top", "stack", "agent"),
    "Analyse a recording": (
        "report",
        "view",
        "diff",
        "browse",
        "flamegraph",
        "fold",
        "export",
        "script",
        "types",
        "query",
        "info",
        "shrink",
    ),
    "Profiles of many hosts": ("fleet",),
    "Inspect binaries": ("addr2line", "tables"),
    "This machine": ("doctor", "completion", "schema"),
}  # fmt: skip  # a table
"""The commands as the help lists them."""

FILES = {
    "FILE": click.Path(readable=False),
    "ELF": click.Path(readable=False),
    "COPY": click.Path(readable=False),
    "PID|CORE": click.Path(readable=False),
    "DIR": click.Path(file_okay=False, readable=False),
}
"""By metavar: parameters that shells complete as files or directories."""


def _completed(command: click.Command) -> click.Command:
    """The command with what all commands share: types of path parameters, completed values, grouped help."""
    for parameter in command.params:
        if parameter.type is click.STRING and isinstance(parameter, click.Option | click.Argument):
            parameter.type = FILES.get((parameter.metavar or "").strip("[]."), parameter.type)
    for subcommand in command.commands.values() if isinstance(command, click.Group) else ():
        _completed(subcommand)
    names = {parameter.name for parameter in command.params}
    if not isinstance(command, click.Group) and command.name not in UNPAGED and "no_pager" not in names:
        command.params.append(_no_pager())
    if not isinstance(command, click.Group):
        # Commands are built in many modules, by click's own decorator.
        command.format_help = partial(_format_help, command)  # type: ignore[method-assign]  # of this one only
    if "_UNDWARF_COMPLETE" in os.environ and "also_file" in names:
        from undwarf.cli.values import complete_values

        complete_values(command)
    return command


def _no_pager() -> click.Option:
    """The option of commands whose output on a terminal goes to the pager, which it starts unless it or ``--json`` is
    given. It is processed after all other options, as the last one of the command."""
    help_ = "Do not show output on a terminal page by page."
    return click.Option(["--no-pager"], is_flag=True, expose_value=False, callback=_start_pager, help=help_)


def _start_pager(context: click.Context, _parameter: click.Parameter, off: bool) -> None:
    root = context.find_root()
    off = off or bool(root.params.get("no_pager") or context.params.get("as_json"))
    if off or context.resilient_parsing or not sys.stdout.isatty():
        return
    from undwarf.cli.pager import Pager

    root.with_resource(Pager(root.obj.pager if root.obj is not None else None))


def _read_configuration(context: click.Context, name: str, command: click.Command) -> None:
    """Make the configuration file the command's defaults. ``doctor`` checks it itself."""
    from undwarf.cli.configuration import load

    configuration = load()
    if configuration is None:
        return
    from undwarf.outputs.terminal.style import prefer

    configuration.check(list(COMMANDS))
    prefer(configuration.colour, configuration.styles)
    context.obj = configuration
    context.default_map = {name: configuration.defaults(command, name)}


def _format_help(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    from undwarf.cli.help import format_help

    format_help(command, context, formatter)


class LazyGroup(click.Group):
    """A group whose commands are the functions ``command`` of modules with their names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        return _completed(import_module(f"undwarf.cli.{cmd_name}").command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and what the configuration file sets for it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None and not ctx.resilient_parsing:
            try:
                _read_configuration(ctx, name, command)
            except UndwarfError:
                # Help is shown all the same, and doctor shows what is wrong.
                help_names = {"-h", "--help"}.intersection(rest[: 1 + isinstance(command, click.Group)])
                if name != "doctor" and not help_names:
                    raise
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a closed output pipe is no error (click itself would exit with 1)."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            return 0
        except UsageError:
            if ctx.obj is not None and any((ctx.default_map or {}).values()):
                from undwarf.cli.common import notify

                notify("note", f"{ctx.obj.path} has options for this command too")
            raise
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name=None, version=__version__, prog_name="undwarf")
@click.option("--no-pager", is_flag=True, help="Do not show output on a terminal page by page.")
def undwarf(no_pager: bool) -> None:
    """Turn raw Linux profiles into whole, named stacks.

    \b
    Record with perf, then look:
      perf record --call-graph dwarf -o perf.data -- ./program
      undwarf report perf.data
      undwarf flamegraph perf.data -o flames.html

    Colours are for terminals; NO_COLOR=1 turns them off, FORCE_COLOR=1 on for pipes (less -R). Long output on a
    terminal goes to $UNDWARF_PAGER, $PAGER or less. ~/.config/undwarf/config.toml has defaults of options.
    """


def print_error(error: UndwarfError) -> None:
    """Print what happened, why, and what to try; names from the input are escaped."""
    from undwarf.outputs.terminal.escape import printable
    from undwarf.outputs.terminal.style import Paint, wants_colour

    label = Paint(wants_colour(sys.stderr)).bad("error:")
    click.echo(f"{label} {printable(error.what)}", err=True, color=True)
    if error.why:
        click.echo(f"  why: {printable(error.why)}", err=True)
    if error.hint:
        click.echo(f"  try: {printable(error.hint)}", err=True)


def _warn_of_cut_files() -> None:
    """Warn of files that were truncated while they were read, if the command did not."""
    from undwarf.mapped_files import cut_files

    for path in cut_files():
        from undwarf.cli.common import notify
        from undwarf.defects import CUT_SHORT

        notify("warning", f"{CUT_SHORT}: {path}")


def run(arguments: Any = None) -> int:
    """Run the command line; the exit code: 0 ok, 1 nothing usable, 2 usage, 3 unreadable input, 4 a condition of
    ``diff`` holds, 130 interrupted."""
    try:
        return _run(arguments)
    finally:
        _warn_of_cut_files()


def _run(arguments: Any) -> int:
    try:
        code = undwarf.main(args=arguments, prog_name="undwarf", standalone_mode=False)
    except UndwarfError as error:
        print_error(error)
        return error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except SystemExit:
        # Outside of standalone mode, click exits only if the reader of its help has closed the pipe.
        return 0
    except click.ClickException as error:
        from undwarf.cli.usage import as_error

        # Older versions of click lack this class.
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
            error.show()
            return error.exit_code
        words = sys.argv[1:] if arguments is None else arguments
        print_error(as_error(error, next((f"undwarf {word}" for word in words[:1] if word in COMMANDS), "undwarf")))
        return error.exit_code
    except MemoryError:
        print_error(
            UndwarfError("out of memory", "the recording needs more than is free", "cut it with --time or --pid")
        )
        return 1
    except OSError as error:
        what = f"cannot read or write {error.filename}" if error.filename else "cannot write all of the output"
        hint = "see whether it is there, who may use it, and whether the disk is full"
        print_error(UndwarfError(what, error.strerror or str(error), hint))
        return 3
    except Exception as error:
        if os.environ.get("UNDWARF_TRACEBACK"):
            raise
        why = f"{type(error).__name__}: {error}"
        print_error(
            UndwarfError("this is a defect of undwarf", why, "set UNDWARF_TRACEBACK=1, run again, and report it")
        )
        return 1
    return code if isinstance(code, int) else 0


OUTPUT_BUFFER = 1 << 16
"""Bytes of output that are written at once: the capacity of a pipe."""


def _buffer_output() -> None:
    """Buffer output that is not for a terminal, even if the environment (PYTHONUNBUFFERED) turns buffering off."""
    unbuffered = sys.stdout
    if isinstance(unbuffered, io.TextIOWrapper) and not unbuffered.isatty():
        unbuffered.flush()
        sys.stdout = open(  # noqa: SIM115 - it stays open until the end
            unbuffered.fileno(), "w", OUTPUT_BUFFER, unbuffered.encoding, unbuffered.errors, closefd=False
        )


def _drop_output() -> None:
    """Redirect standard output to nowhere, so that flushing it at exit is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(code: int) -> NoReturn:
    """End the process without destroying its objects one by one: the system frees all memory at once."""
    if sys.getprofile() is None and sys.gettrace() is None:
        with contextlib.suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


_PLAIN = str.maketrans({"─": "-", "│": "|", "├": "|", "└": "`", "→": ">", "←": "<", "⋮": ":", "…": "~"})


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Substitutes for characters that an encoding lacks: a similar one for our own, else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _substitute_characters() -> None:
    """Write any text to streams whose encoding is not UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            codecs.register_error("undwarf.plain", _plain)
            stream.reconfigure(errors="undwarf.plain")


def show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
    """Print a Python warning without its line of code."""
    from undwarf.cli.common import notify

    notify("warning", str(message))


def main(arguments: Any = None) -> None:
    """Run the command line and exit."""
    _substitute_characters()
    warnings.showwarning = show_warning
    _buffer_output()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL and not {"record", "top", "agent"} & set(sys.argv[1:2]):
        # Commands that sample install their own handler when they start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = run(arguments)
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:
            # It was reported already.
            _drop_output()
        _leave(code)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.freeze()
