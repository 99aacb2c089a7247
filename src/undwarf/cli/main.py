"""The command line: a group that imports a command's module only when that command runs."""

import sys
from importlib import import_module
from typing import Any

import click

from undwarf.errors import UndwarfError

COMMANDS = {
    "completion": "Print the completion script of a shell.",
    "doctor": "What this machine offers: perf events, debug files, caches.",
    "flamegraph": "A flame graph as one self-contained page.",
    "fold": "Folded stacks, root first, for flame-graph tools.",
    "info": "What a recording holds, how whole its stacks are and why not.",
    "report": "Hot functions and call tree in the terminal.",
    "script": "Every sample as text, in the shape of perf script.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of their name, one each, with a function ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"undwarf.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name=None, version="0.1.0", prog_name="undwarf")
def undwarf() -> None:
    """Turn raw Linux profiles into whole, named stacks.

    \b
    Record with perf, then look:
      perf record --call-graph dwarf -o perf.data -- ./program
      undwarf report perf.data
      undwarf flamegraph perf.data -o flames.html
    """


def complain(error: UndwarfError) -> None:
    """Say what happened, why, and what to try."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {error.what}", err=True)
    if error.why:
        click.echo(f"  why: {error.why}", err=True)
    if error.hint:
        click.echo(f"  try: {error.hint}", err=True)


def main(arguments: Any = None) -> None:
    """Run the command line and exit: 0 ok, 1 nothing usable, 2 usage, 3 unreadable input, 130 interrupted."""
    try:
        code = undwarf.main(args=arguments, prog_name="undwarf", standalone_mode=False)
        sys.stdout.flush()
    except UndwarfError as error:
        complain(error)
        code = error.exit_code
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader has seen enough. Python must not complain again when it closes what is left.
        sys.stdout = None  # type: ignore[assignment]
        code = 0
    except MemoryError:
        complain(
            UndwarfError("out of memory", "the recording needs more than this machine has", "use --time to cut it")
        )
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
