"""``undwarf fleet``"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import click

from undwarf.cli.common import (
    COMPARED_CHILDREN,
    FRAME_FILTERS,
    FRAME_OPTIONS,
    ROWS,
    SKID,
    TESTED_LIMIT,
    Number,
    Progress,
    terminal_width,
)
from undwarf.cli.diff import FAIL_IF, exit_code, named_rows, refuse_total, with_conditions
from undwarf.cli.query import Format, format_of, named_output, sink_of, write_result
from undwarf.cli.report import CALL_GRAPH, CHILDREN, FIELDS, GROUPED, PERCENT_LIMIT, perf_columns
from undwarf.cli.serving import OPEN, PORT
from undwarf.cli.serving import serve as serve_site
from undwarf.errors import NothingUsable, UsageError

if TYPE_CHECKING:
    from undwarf.fleet.database import Database
    from undwarf.fleet.engine import Workers
    from undwarf.fleet.stored_profile import Stored
    from undwarf.profile.model import Profile
    from undwarf.views.comparison.model import By, Recorded
    from undwarf.views.data.access_labels import SampleLabels
    from undwarf.views.report import Graph
    from undwarf.views.sample_selection import Weight

_COMPARED = ("function", "path", "line", "image", "thread")
_Decorator = Callable[[Any], Any]


def _together(*decorators: _Decorator) -> _Decorator:
    return lambda function: reduce(lambda made, one: one(made), reversed(decorators), function)


STORE = click.argument("store", metavar="STORE")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
WORKERS = _together(
    click.option(
        "--workers",
        "count",
        metavar="N",
        type=click.IntRange(0, 1024),
        default=None,
        help="Processes of this machine; 0: none but this one. Default: one a CPU.",
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        default=None,
        help="Use the workers of this Dask scheduler: tcp://host:8786, tls://...",
    ),
    click.option(
        "--tls",
        "certificates",
        nargs=3,
        metavar="CA CERT KEY",
        default=None,
        help="Files of certificates for a scheduler at tls://.",
    ),
)
READING = _together(
    click.option("--symfs", metavar="DIR", default=None, help="Find the recorded machines' files under DIR."),
    click.option("--debug-dir", "debug_dirs", metavar="DIR", multiple=True, help="Another directory with debug files."),
    click.option(
        "--debuginfod",
        is_flag=True,
        envvar="UNDWARF_DEBUGINFOD",
        help="Download missing files from the servers in $DEBUGINFOD_URLS.",
    ),
)
SPAN = click.option(
    "--span",
    "spans",
    metavar="SPAN",
    multiple=True,
    help="Only these samples: 2026-11-28, 2026-11-28T10:00..2026-11-28T11:00 (UTC), host=web-*, service=, release=, "
    "container=, pod=, comm=, event= or another label; terms between commas must all hold.",
)
GRACE = click.option(
    "--grace",
    metavar="SECONDS",
    type=Number(0),
    default=3600.0,
    show_default=True,
    help="Keep files that are replaced for so long, for readers that have begun.",
)
WEIGHT = click.option(
    "--weight", type=click.Choice(["period", "samples"]), default="period", help="What the numbers count."
)


@click.group("fleet")
def command() -> None:
    """Keep the profiles of many hosts in a folder of Parquet files, and ask it.

    STORE is a folder, or an address of fsspec as s3://bucket/profiles.

    \b
    Examples:
      undwarf fleet ingest profiles --label service=web --label release=1.2 *.data
      undwarf fleet report profiles --span 2026-11-28,service=web
      undwarf fleet query profiles "SELECT host, count(*) FROM samples GROUP BY host"
      undwarf fleet compact profiles
    """


@contextlib.contextmanager
def _workers(count: int | None, dask: str | None, certificates: tuple[str, str, str] | None) -> "Iterator[Workers]":
    from undwarf.fleet.engine import workers

    if dask and count is not None:
        raise UsageError("--workers and --dask exclude each other", "", "give one of them")
    if certificates and not dask:
        raise UsageError("--tls needs --dask", "it is about the scheduler")
    with workers(count, dask, certificates) as made:
        yield made


@command.command()
@STORE
@click.argument("recordings", nargs=-1, metavar="[RECORDING]...", type=click.Path(readable=False))
@click.option(
    "--label",
    "labels",
    metavar="NAME=VALUE",
    multiple=True,
    help="A label of these recordings: service, release, host, container, pod, or any other.",
)
@click.option(
    "--no-symbols",
    is_flag=True,
    help="Do not look up names and types of frames of files: `undwarf fleet symbols add` does so later.",
)
@READING
@click.option("--kallsyms", metavar="FILE", default=None, help="The recorded kernel's symbols.")
@click.option("-k", "--vmlinux", metavar="FILE", default=None, help="The recorded kernel's ELF file.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of unwind tables.")
@WORKERS
@AS_JSON
def ingest(
    store: str,
    recordings: tuple[str, ...],
    labels: tuple[str, ...],
    no_symbols: bool,
    symfs: str | None,
    debug_dirs: tuple[str, ...],
    debuginfod: bool,
    kallsyms: str | None,
    vmlinux: str | None,
    no_cache: bool,
    count: int | None,
    dask: str | None,
    certificates: tuple[str, str, str] | None,
    as_json: bool,
) -> int:
    """Take recordings into the store, each once; without any, those that agents have shipped.

    Recordings that cannot be read are listed, and those that were shipped are set aside in the store. The exit code is
    1 then.

    \b
    Examples:
      undwarf fleet ingest profiles --label service=web perf.data
      undwarf fleet ingest s3://bucket/profiles
      undwarf fleet ingest profiles --dask tcp://scheduler:8786 /recordings/*.data
    """
    from undwarf.fleet.frame_lookup import LookedUp, look_up
    from undwarf.fleet.ingest import Reading, chunks, given, incoming, ingest_all
    from undwarf.fleet.labels import parsed_labels
    from undwarf.fleet.store import Store
    from undwarf.outputs.fleet import write_ingest, write_ingest_json

    opened = Store(store)
    reading = Reading(symfs, debug_dirs, kallsyms, vmlinux, debuginfod, cache=not no_cache)
    named = parsed_labels(labels)
    sources = given(recordings, named) if recordings else incoming(opened, named)
    progress = Progress()
    with _workers(count, dask, certificates) as workers:
        done = partial(progress, "taking recordings")
        taken = ingest_all(chunks(opened, sources, reading), workers, done)
        found = LookedUp()
        if not no_symbols and any(not one.problem for one in taken):
            found = look_up(opened, workers, reading, (), partial(progress, "naming frames"), again=False)
    progress.close()
    if as_json:
        write_ingest_json(store, taken, found, sys.stdout)
    else:
        write_ingest(taken, found, sys.stdout)
    return 1 if any(one.problem for one in taken) else 0


@command.command()
@STORE
@GRACE
@WORKERS
@AS_JSON
def compact(
    store: str,
    grace: float,
    count: int | None,
    dask: str | None,
    certificates: tuple[str, str, str] | None,
    as_json: bool,
) -> None:
    """Make one file of each table, day and service.

    \b
    Examples:
      undwarf fleet compact profiles
    """
    _compact(store, grace, "", count, dask, certificates, as_json)


@command.command()
@STORE
@click.option(
    "--days", metavar="N", type=click.IntRange(1), required=True, help="Keep today and the N - 1 days before."
)
@GRACE
@WORKERS
@AS_JSON
def retain(
    store: str,
    days: int,
    grace: float,
    count: int | None,
    dask: str | None,
    certificates: tuple[str, str, str] | None,
    as_json: bool,
) -> None:
    """Drop old days, and compact the rest.

    \b
    Examples:
      undwarf fleet retain profiles --days 30
    """
    from datetime import UTC, datetime, timedelta

    first = (datetime.now(UTC).date() - timedelta(days=days - 1)).isoformat()
    _compact(store, grace, first, count, dask, certificates, as_json)


def _compact(
    store: str,
    grace: float,
    first_day: str,
    count: int | None,
    dask: str | None,
    certificates: tuple[str, str, str] | None,
    as_json: bool,
) -> None:
    from undwarf.fleet.compaction import compact as compact_store
    from undwarf.fleet.store import Store
    from undwarf.outputs.fleet import write_compact, write_compact_json

    progress = Progress()
    with _workers(count, dask, certificates) as workers:
        done = partial(progress, "merging files")
        found = compact_store(Store(store), workers, grace=grace, first_day=first_day, done=done)
    progress.close()
    if as_json:
        write_compact_json(store, found, sys.stdout)
    else:
        write_compact(found, sys.stdout)


@command.group()
def symbols() -> None:
    """Names of frames and types of their accesses, by build-id, for all recordings of a store.

    \b
    Examples:
      undwarf fleet symbols missing profiles
      undwarf fleet symbols add profiles --debuginfod
      undwarf fleet symbols add profiles build/server
    """


@symbols.command("missing")
@STORE
@AS_JSON
def symbols_missing(store: str, as_json: bool) -> None:
    """List the files whose frames have no names yet.

    \b
    Examples:
      undwarf fleet symbols missing profiles
    """
    from undwarf.fleet.symbols import missing
    from undwarf.outputs.fleet import Missing, write_missing, write_missing_json

    with _opened(store, tables=("frames", "images", "symbols")) as database:
        images = [Missing(one.name, one.build_id, len(one.frames)) for one in missing(database)]
    images.sort(key=lambda one: (-one.frames, one.path, one.build_id))
    if as_json:
        write_missing_json(store, images, sys.stdout)
    else:
        write_missing(images, sys.stdout)


@symbols.command("add")
@STORE
@click.argument("files", nargs=-1, metavar="[ELF]...", type=click.Path(readable=False))
@READING
@WORKERS
@AS_JSON
def symbols_add(
    store: str,
    files: tuple[str, ...],
    symfs: str | None,
    debug_dirs: tuple[str, ...],
    debuginfod: bool,
    count: int | None,
    dask: str | None,
    certificates: tuple[str, str, str] | None,
    as_json: bool,
) -> None:
    """Look up names and types of frames that have none yet, with files of this machine or given ones.

    Types need debugging information: in the ELF files, in debug files, which may be given too, or for the kernel in a
    vmlinux.

    \b
    Examples:
      undwarf fleet symbols add profiles build/server
      undwarf fleet symbols add profiles server.debug vmlinux
    """
    from undwarf.fleet.frame_lookup import look_up
    from undwarf.fleet.ingest import Reading
    from undwarf.fleet.store import Store
    from undwarf.outputs.fleet import write_symbols, write_symbols_json

    progress = Progress()
    reading = Reading(symfs, debug_dirs, debuginfod=debuginfod)
    with _workers(count, dask, certificates) as workers:
        found = look_up(Store(store), workers, reading, files, partial(progress, "naming frames"))
    progress.close()
    if as_json:
        write_symbols_json(store, found, sys.stdout)
    else:
        write_symbols(found, sys.stdout)


@command.command()
@STORE
@click.argument("query", metavar="SQL")
@SPAN
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default=None,
    help="Format of the result. Default: by the ending of -o, else table.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write the result to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the columns and rows as JSON; --format json: rows alone.")
def query(store: str, query: str, spans: tuple[str, ...], format_: Format | None, output: str, as_json: bool) -> None:
    """Run an SQL query over the store, with DuckDB.

    Tables are samples, stacks, frames, images, types, recordings and symbols; docs/reference/fleet-layout.md describes
    their columns. top() has the hot functions, stack_weights() the weight of each stack.

    \b
    Examples:
      undwarf fleet query profiles "FROM top() LIMIT 20"
      undwarf fleet query profiles "SELECT release, count(*) FROM samples GROUP BY release" --format csv
    """
    from undwarf.views.sql.database import explained

    if as_json and format_ is not None:
        raise UsageError("--json and --format exclude each other", "", "give one of them")
    with _opened(store, spans, macros=True) as database:
        if as_json or format_of(output, format_) != "parquet":
            database.lock()
            result = database.result(query)
            if not as_json:
                write_result(result, format_of(output, format_), output)
                return
            from undwarf.outputs.query import write_document

            with named_output(output), sink_of(output) as sink:
                write_document(result, [store], query, sink)
            return
        from undwarf.outputs.export.parquet import draft, write_relation

        if output == "-" and sys.stdout.isatty():
            raise UsageError("Parquet is not for terminals", "", "name a file with -o")
        with draft() as file:
            database.lock(str(file))
            relation = database.relation(query)
            with named_output(output), sink_of(output) as sink, explained():
                write_relation(relation, file, sink)


@contextlib.contextmanager
def _opened(store: str, spans: tuple[str, ...] = (), **options: Any) -> "Iterator[Database]":
    from undwarf.fleet.database import Database
    from undwarf.fleet.span import joined
    from undwarf.fleet.store import Store

    database = Database(Store(store), joined(spans), **options)
    try:
        yield database
    finally:
        database.close()


def _with_frame_filters(function: Any) -> Any:
    for option in reversed(FRAME_OPTIONS):
        function = option(function)
    return function


def _profile(
    database: "Database",
    keys: tuple[str, ...],
    no_inline: bool,
    filters: dict[str, Any],
    *,
    ordered: bool = False,
    details: bool = False,
) -> "Stored":
    """The profile of a store, of samples that pass the filters by function and file."""
    from undwarf.fleet.stored_profile import IDS, stored_profile
    from undwarf.profile.filters import Filters
    from undwarf.views.flat_profile import SOURCE_KEYS

    stored = stored_profile(
        database,
        ids=[key for key in keys if key in IDS],
        inline=not no_inline,
        lines=bool(SOURCE_KEYS.intersection(keys)),
        ordered=ordered,
        details=details,
    )
    chosen = Filters(**{name: filters[name] for name in FRAME_FILTERS})
    if chosen.of_frames:
        from undwarf.views.frame_filters import passing

        profile = stored.profile.derived(samples=passing(stored.profile, chosen))
        if not len(profile.samples):
            raise NothingUsable("no sample passes the filters")
        stored = stored._replace(profile=profile)
    return stored


@command.command()
@STORE
@SPAN
@click.option(
    "-s",
    "--sort",
    default="comm,dso,sym",
    show_default=True,
    metavar="KEYS",
    help="Keys that make a row: comm, pid, tid, cpu, event, dso, sym, srcline, srcfile, type, typeoff, typecln.",
)
@FIELDS
@SKID
@CHILDREN
@CALL_GRAPH
@PERCENT_LIMIT
@ROWS
@WEIGHT
@GROUPED
@click.option("-n", "--show-nr-samples", is_flag=True, help="Add a column with the number of samples.")
@click.option("--no-inline", is_flag=True, help="Do not show inlined functions as frames of their own.")
@_with_frame_filters
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: rows, and the tree as nodes with the id of their parent."
)
def report(
    store: str,
    spans: tuple[str, ...],
    sort: str,
    perf_fields: str | None,
    skid: bool,
    children: bool,
    graph: tuple["Graph", float | None],
    percent_limit: float,
    rows: int | None,
    weight: "Weight",
    grouped: bool | None,
    show_nr_samples: bool,
    no_inline: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Show hot functions and the call tree, as `undwarf report` does of one recording.

    \b
    Examples:
      undwarf fleet report profiles
      undwarf fleet report profiles --span 2026-11-28T10:00..2026-11-28T11:00,service=web
      undwarf fleet report profiles -g none --sort dso,sym --span release=1.2
      undwarf fleet report profiles -g none --sort typeoff,sym --skid
    """
    from undwarf.outputs.report import ReportOptions
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.views.flat_profile import FRAME_KEYS, LABEL_KEYS, SAMPLE_KEYS, parse_keys
    from undwarf.views.report import compute_report

    if perf_fields is not None:
        sort, children, counted = perf_columns(perf_fields)
        show_nr_samples = show_nr_samples or counted
    keys = parse_keys(sort)
    for key in keys:
        if key not in SAMPLE_KEYS + FRAME_KEYS + LABEL_KEYS:
            raise UsageError(f"--sort {key} needs a recording", "a store has no addresses of data")
    if skid and not set(LABEL_KEYS).intersection(keys):
        raise UsageError("--skid needs data types", "", f"sort by one of {', '.join(LABEL_KEYS)}")
    labels: SampleLabels = {}
    with _opened(store, spans) as database:
        stored = _profile(database, keys, no_inline, filters)
        profile: Profile = stored.profile
        if set(LABEL_KEYS).intersection(keys):
            from undwarf.fleet.stored_accesses import stored_accesses
            from undwarf.views.data.type_labels import type_labels

            touched = stored_accesses(database, stored, skid=skid)
            profile, labels = touched.profile, type_labels(touched)
    kind, tree_limit = graph
    options = ReportOptions(
        keys=keys,
        children=children,
        graph=kind,
        percent_limit=percent_limit,
        tree_limit=tree_limit if tree_limit is not None else (0.5 if as_json else 5.0),
        rows=rows if rows is not None else 40 if sys.stdout.isatty() else 0,
        weight=weight,
        show_samples=show_nr_samples,
        colour=wants_colour(sys.stdout),
        width=terminal_width(),
        lost=stored.lost,
        path=store,
    )
    found = compute_report(
        profile,
        keys,
        weight,
        labels=labels,
        children=children or as_json,
        graph=kind,
        min_share=options.tree_limit / 100,
        groups=stored.groups if grouped is None else (tuple(range(len(stored.profile.events))),) if grouped else (),
        dump=stored.stack_dump,
    )
    if as_json:
        from undwarf.outputs.report_json import write
    else:
        from undwarf.outputs.report import write
    write(found, sys.stdout, options)


@command.command()
@STORE
@SPAN
@click.option("--code", is_flag=True, help="List instructions by weight, with the member that each accesses.")
@SKID
@PERCENT_LIMIT
@click.option("--rows", metavar="N", type=click.IntRange(0), default=0, help="Maximum number of rows; 0: all.")
@click.option(
    "--weight", type=click.Choice(["period", "samples", "latency"]), default="period", help="What the numbers count."
)
@_with_frame_filters
@AS_JSON
def types(
    store: str,
    spans: tuple[str, ...],
    code: bool,
    skid: bool,
    percent_limit: float,
    rows: int,
    weight: "Weight",
    as_json: bool,
    **filters: Any,
) -> None:
    """Show which types and members the samples access, as `undwarf types` does of one recording.

    \b
    Examples:
      undwarf fleet types profiles --skid
      undwarf fleet types profiles --span service=web,release=1.2 --json
    """
    from undwarf.cli.fleet_types import TypesQuestion, write

    with _opened(store, spans) as database:
        stored = _profile(database, ("cpu",), True, filters, ordered=True, details=True)
        write(database, stored, TypesQuestion(store, code, skid, percent_limit, rows, weight, as_json))


@command.command()
@STORE
@SPAN
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="flamegraph.html",
    show_default=True,
    help="The HTML file to write; - for standard output.",
)
@click.option("--title", metavar="TEXT", default=None, help="Title of the page. Default: the store and the span.")
@WEIGHT
@click.option("--no-inline", is_flag=True, help="Do not show inlined functions as frames of their own.")
@_with_frame_filters
@click.option("--json", "as_json", is_flag=True, help="Also print which page was written as JSON.")
def flamegraph(
    store: str,
    spans: tuple[str, ...],
    output: str,
    title: str | None,
    weight: Literal["period", "samples"],
    no_inline: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Write a flame graph as one self-contained HTML page: that of undwarf view, without time line and code.

    \b
    Examples:
      undwarf fleet flamegraph profiles --span service=web -o web.html
    """
    from undwarf.cli.page_file import write_page
    from undwarf.serve.page_parts import Described, PageParts

    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the page", "give -o FILE")
    with _opened(store, spans) as database:
        stored = _profile(database, (), no_inline, filters, ordered=True)
    parts = PageParts(Described(store, stored.stack_dump), stored.profile, title or ", ".join((store, *spans)))
    if weight == "samples":
        parts.start = "weight=samples"
    write_page(parts.for_file(types=False), output)
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_flamegraph

        page = parts.page
        write_flamegraph(WrittenFile(store, output), page.part.values, page.quality, sys.stdout)


@command.command()
@STORE
@SPAN
@OPEN
@PORT
def serve(store: str, spans: tuple[str, ...], opens: bool, port: int) -> None:
    """Show the store in a browser: choose time and labels, compare two spans.

    The page is that of undwarf view, served on 127.0.0.1 until the command is interrupted. What is added to the store
    meanwhile is there when the page is loaded again.

    \b
    Examples:
      undwarf fleet serve profiles --open
      undwarf fleet serve s3://bucket/profiles --span service=web
      ssh -L 8000:127.0.0.1:8000 host undwarf fleet serve profiles --port 8000
    """
    from undwarf.fleet.site import StoreSite
    from undwarf.fleet.span import joined
    from undwarf.fleet.store import Store

    serve_site(StoreSite(Store(store), joined(spans)), port, opens)


def _kinds(_context: click.Context, _parameter: click.Parameter, value: str) -> "tuple[By, ...]":
    names = [name.strip() for name in value.split(",") if name.strip()]
    wrong = [name for name in names if name not in _COMPARED]
    if wrong or not names:
        raise click.BadParameter(f"{value!r} is not of {', '.join(_COMPARED)}")
    return tuple(dict.fromkeys(cast("list[By]", names)))


@command.command()
@STORE
@click.option("--before", metavar="SPAN", required=True, help="The one side, as --span of report: release=1.1.")
@click.option("--after", metavar="SPAN", required=True, help="The other side: release=1.2.")
@SPAN
@click.option(
    "--by",
    "kinds",
    metavar="KINDS",
    default="function",
    show_default=True,
    callback=_kinds,
    help=f"What makes a row: {', '.join(_COMPARED)}.",
)
@COMPARED_CHILDREN
@TESTED_LIMIT
@ROWS
@WEIGHT
@FAIL_IF
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all rows with intervals and p-values.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
def diff(
    store: str,
    before: str,
    after: str,
    spans: tuple[str, ...],
    kinds: "tuple[By, ...]",
    children: bool,
    percent_limit: float,
    rows: int | None,
    weight: Literal["period", "samples"],
    fail_if: tuple[str, ...],
    as_json: bool,
    markdown: bool,
) -> int:
    """Compare two spans: what changed, by how much, and whether chance explains it.

    Shares of all weight are compared, since spans have more or fewer hosts. How far hosts differ says what chance does.

    \b
    Examples:
      undwarf fleet diff profiles --before release=1.1 --after release=1.2
      undwarf fleet diff profiles --before 2026-11-27 --after 2026-11-28 --span service=web
      undwarf fleet diff profiles --before release=1.1 --after release=1.2 --fail-if 'function:* > +1pp'
    """
    from undwarf.fleet.comparison import side
    from undwarf.views.comparison.compare import compare
    from undwarf.views.comparison.conditions import evaluate, parse
    from undwarf.views.comparison.model import Normalization

    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other", "", "give one of them")
    conditions = [parse(text) for text in fail_if]
    for condition in conditions:
        refuse_total(condition, "shares of all weight are compared, and the total is always 100 %")
        if condition.by is not None and condition.by not in _COMPARED:
            raise UsageError(
                f"{condition.text!r} is about types", "the sides of a store are compared without", "undwarf diff"
            )
    kinds = with_conditions(kinds, conditions)
    sides: list[list[Recorded]] = []
    for span in (before, after):
        with _opened(store, (*spans, span)) as database:
            sides.append(side(database, span, lines="line" in kinds))
    normalization = Normalization("samples")
    found = compare(
        sides[0],
        sides[1],
        kinds,
        normalization,
        weight=weight,
        children=children,
        least=percent_limit / 100,
        named=named_rows(conditions),
    )
    verdicts = evaluate(conditions, found)
    if as_json:
        from undwarf.outputs.diff_json import write as write_json

        write_json(found, verdicts, sys.stdout, percent_limit)
    elif markdown:
        from undwarf.outputs.diff_markdown import write as write_markdown

        write_markdown(found, verdicts, sys.stdout)
    else:
        from undwarf.outputs.diff import DiffOptions, write
        from undwarf.outputs.terminal.style import wants_colour

        most = rows if rows is not None else 40 if sys.stdout.isatty() else 0
        write(found, verdicts, sys.stdout, DiffOptions(most, percent_limit, wants_colour(sys.stdout), terminal_width()))
    return exit_code(verdicts)
