"""``undwarf query``"""

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args

import click

from undwarf.cli.common import FRAME_OPTIONS, OPTIONS, SKID, Job, take_shared, terminal_width
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.profile.model import Profile
    from undwarf.views.data.types import DataTypes
    from undwarf.views.sql.database import Result

Format = Literal["table", "csv", "json", "parquet"]


class Opened:
    """One recording of a query, or profile of another tool; what the query's words do not ask for is not computed."""

    def __init__(self, job: Job, words: set[str], skid: bool) -> None:
        self._job = job
        self._words = words
        self._skid = skid

    @property
    def name(self) -> str:
        """As on the command line."""
        return self._job.source.path

    @cached_property
    def profile(self) -> "Profile":
        """All samples; with source lines if frames are asked for, with run-time addresses if these are."""
        lines = not self._words.isdisjoint({"frames", "frames_of"})
        return self._job.profile(lines=lines, runtime="runtime" in self._words)

    @cached_property
    def data_types(self) -> "list[DataTypes]":
        """The types that the samples of each event access."""
        from undwarf.views.data.types import data_types
        from undwarf.views.sample_selection import samples_by_event

        self._job.need_recording("a query of types or fields")
        touched = self._job.touch(self._job.leaves(), skid=self._skid)
        profile = touched.profile
        events = [event for event, count in enumerate(samples_by_event(profile)) if count]
        return [data_types(profile, touched, event=event, instructions=False) for event in events]


def _with_shared_options(command: Any) -> Any:
    """The command with the options of those that read a recording; the files are its own arguments."""
    for option in reversed((*OPTIONS[1:], *FRAME_OPTIONS)):
        command = option(command)
    return command


@click.command(
    "query",
    epilog="""\b
Examples:
  undwarf query perf.data "FROM top() LIMIT 20"
  undwarf query perf.data "SELECT comm, count(*) FROM samples GROUP BY comm" --format csv
  undwarf query old.data new.data "SELECT recording, count(*) FROM samples GROUP BY ALL"
  undwarf query --tables""",
)
@click.argument("words", nargs=-1, metavar="[FILE]... SQL", type=click.Path(readable=False))
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default=None,
    help="Format of the result. Default: by the ending of -o, else table.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write the result to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the columns and rows as JSON; --format json: rows alone.")
@click.option("--tables", is_flag=True, help="List the tables, their columns and the table functions.")
@SKID
@_with_shared_options
def command(
    words: tuple[str, ...],
    format_: Format | None,
    output: str,
    as_json: bool,
    tables: bool,
    skid: bool,
    **options: Any,
) -> None:
    """Run an SQL query over recordings, with DuckDB.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    if tables:
        from undwarf.outputs.query import write_schema, write_tables_json
        from undwarf.profile.table_descriptions import TABLES
        from undwarf.views.sql.macros import MACROS

        (write_tables_json if as_json else write_schema)(TABLES, MACROS, sys.stdout)
        return
    if as_json and format_ is not None:
        raise UsageError("--json and --format exclude each other", "", "give one of them")
    if not words:
        raise UsageError("there is no query", "", 'undwarf query perf.data "FROM top() LIMIT 20"')
    *files, query = words
    if options["also_file"]:
        files.insert(0, options["also_file"])
    if os.path.exists(query):
        raise UsageError("there is no query", f"{query} is a file", f'undwarf query {query} "FROM top() LIMIT 20"')
    from undwarf.views.sql.database import Database
    from undwarf.views.sql.database import words as words_of

    used = words_of(query)
    with contextlib.ExitStack() as stack:
        opened = []
        for file in files or ["perf.data"]:
            job = stack.enter_context(Job(take_shared({**options, "file": file, "also_file": None}), profiles=True))
            opened.append(Opened(job, used, skid))
        if as_json:
            from undwarf.outputs.query import write_document

            result = Database(query, opened).result()
            with named_output(output), sink_of(output) as sink:
                write_document(result, [one.name for one in opened], query, sink)
            return
        format_ = format_of(output, format_)
        if format_ == "parquet":
            _write_parquet(query, opened, output)
        else:
            write_result(Database(query, opened).result(), format_, output)


def format_of(output: str, given: Format | None) -> Format:
    """The format of a result: the one that is given, else by the ending of the file, else a table."""
    ending = Path(output).suffix.removeprefix(".")
    found: Format | None = next((one for one in get_args(Format) if one == ending), None)
    return given or found or "table"


def _write_parquet(query: str, opened: "list[Opened]", output: str) -> None:
    from undwarf.outputs.export.parquet import draft, write_relation
    from undwarf.views.sql.database import Database, explained

    if output == "-" and sys.stdout.isatty():
        raise UsageError("Parquet is not for terminals", "", "name a file with -o")
    with draft() as file:
        relation = Database(query, opened, str(file)).relation()
        with named_output(output), sink_of(output) as sink, explained():
            write_relation(relation, file, sink)


def write_result(result: "Result", format_: Format, output: str) -> None:
    """Write a result to the file ``output``, ``-`` for standard output, in any format but Parquet."""
    with named_output(output), sink_of(output) as sink:
        if format_ == "csv":
            from undwarf.outputs.export.csv import write_rows

            write_rows(result.names, result.rows, sink)
        elif format_ == "json":
            from undwarf.outputs.query import write_json

            write_json(result, sink)
        else:
            from undwarf.outputs.query import TableOptions, write
            from undwarf.outputs.terminal.style import wants_colour

            shown = TableOptions(wants_colour(sys.stdout), terminal_width()) if output == "-" else TableOptions()
            write(result, sink, shown)


@contextlib.contextmanager
def sink_of(output: str) -> Iterator[BinaryIO]:
    """The file to write, ``-`` for standard output; it appears whole."""
    if output == "-":
        yield sys.stdout.buffer
        return
    from undwarf.outputs.atomic_file import whole_file

    with whole_file(Path(output)) as sink:
        yield sink


@contextlib.contextmanager
def named_output(output: str) -> Iterator[None]:
    """Explain what goes wrong with the file that was named."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if output == "-":
            raise
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
