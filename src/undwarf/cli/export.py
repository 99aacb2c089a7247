"""``undwarf export``"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from undwarf.cli.common import Job, notify, recording_command
from undwarf.errors import UsageError
from undwarf.outputs.export.formats import FORMATS
from undwarf.outputs.export.tables import NAMES
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.outputs.schemas.written_files import ExportEvent
    from undwarf.perfdata import EventAttr
    from undwarf.profile.model import Column
    from undwarf.views.export_tables import ExportTables


@recording_command(
    "export",
    by_frame=True,
    profiles=True,
    format_option="--input-format",
    epilog="""\b
Examples:
  undwarf export perf.data --format pprof          # go tool pprof -http=: perf.data.pb.gz
  undwarf export perf.data --format firefox        # open it at profiler.firefox.com
  undwarf export perf.data --format callgrind      # kcachegrind perf.data.callgrind
  undwarf export --event cycles --time 10%-20% --format perfetto perf.data -o part.gz
  undwarf export perf.data --format speedscope -o - | speedscope -
  undwarf export stacks.folded --format pprof      # profiles of other tools too
  undwarf export perf.data --format parquet        # all tables, in the directory perf.data.parquet
  undwarf export perf.data --format csv --table samples -o samples.csv""",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    required=True,
    help="The format to write. Formats that hold one unit take the samples of the first event, or of --event.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=None,
    help="The file to write, or the directory for all tables; - for standard output. Default: the recording's name "
    "with the format's extension.",
)
@click.option(
    "--table",
    type=click.Choice(NAMES),
    default=None,
    help="For csv, parquet and arrow: the table to write. Default: all, as files in a directory; to standard output "
    "the samples.",
)
@click.option("--json", "as_json", is_flag=True, help="Also print what the file has and lacks as JSON.")
def command(job: Job, form: str, output: str | None, table: str | None, as_json: bool) -> None:
    """Write the samples for other viewers: pprof, Firefox Profiler, Perfetto and others; or as tables.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.event_units import measures_of
    from undwarf.views.export_tables import export_tables
    from undwarf.views.sample_selection import samples_by_event

    format_ = FORMATS[form]
    if table is not None and not format_.by_table:
        raise UsageError(f"--table: {form} has no tables", "", "--format csv, parquet or arrow")
    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the file", "give -o FILE")
    if output is None:
        if job.source.path == "-":
            raise UsageError("no name for the file to write", "the recording is standard input", "give one with -o")
        output = job.source.path.rstrip("/") + (f".{table}" if table else "") + format_.extension
    _check_fields(job, form)
    profile = job.profile(by_time=True, lines=format_.lines, runtime=format_.runtime, versions=format_.versions)
    job.note_inferred(profile)
    events = None
    measures = measures_of(profile)
    counts = samples_by_event(profile)
    if not format_.every_event and len(measures) > 1:
        others = ", ".join(
            f"{sum(counts[event] for event in measure.events):,} samples of {measure.name}" for measure in measures[1:]
        )
        notify("note", f"not in {form}, which holds one unit ({measures[0].name}): {others} (choose with --event)")
        events = measures[0].events
    tables = export_tables(profile, events)
    origin = _origin(job, profile.samples.columns.time) if job.is_recording else Origin(Path(job.source.path).name)
    lost = _write(tables, origin, form, output, table)
    for what in lost:
        notify("note", f"not in {form}: {what}")
    if as_json:
        from undwarf.outputs.json_values import known
        from undwarf.outputs.summaries import WrittenFile, write_export
        from undwarf.views.report import unit_of_weights

        sums = profile.origin is not None and profile.origin.sums
        described: list[ExportEvent] = [
            {
                "event": measure.name,
                "unit": known(unit_of_weights(profile, measure.events)),
                "samples": None if sums else sum(counts[event] for event in measure.events),
                "written": events is None or measure.events == events,
            }
            for measure in measures
        ]
        write_export(WrittenFile(job.source.path, output), form, table, described, lost, sys.stdout)


def _check_fields(job: Job, form: str) -> None:
    """Say which fields a profile of another tool does not have. Raises UsageError for those that the format needs."""
    if job.fields is None:
        return
    from undwarf.profile.model import FIELDS

    missing = [field for field in FORMATS[form].needs if field not in job.fields]
    name = printable(job.source.path)
    if missing:
        others = [one for one, format_ in FORMATS.items() if job.fields.issuperset(format_.needs)]
        words = " and no ".join(FIELDS[field] for field in missing)
        raise UsageError(f"{name} has no {words}, which {form} shows", "", f"--format {', '.join(others)}")
    lacking = ", ".join(words for field, words in FIELDS.items() if field not in job.fields)
    notify("note", f"not in {name}: {lacking}, and the reason why stacks end")


def _write(tables: "ExportTables", origin: "Origin", form: str, output: str, table: str | None) -> list[str]:
    """Write the file or, of a format by table without ``table``, the directory, and say so. Returns what is lost."""
    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.export.formats import writer
    from undwarf.outputs.export.tables import write as write_all

    write = writer(form, table)
    if output == "-":
        return write(tables, sys.stdout.buffer, origin)
    target = Path(output)
    try:
        if FORMATS[form].by_table and table is None:
            lost = write_all(tables, target, origin, form)
            written = f"{len(NAMES)} tables"
        else:
            with whole_file(target) as sink:
                lost = write(tables, sink, origin)
            written = f"{target.stat().st_size / 1024:,.0f} KiB"
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    click.echo(f"wrote {printable(output)} ({written})", err=True)
    return lost


def _interval(event: "EventAttr") -> int:
    """The requested time between two samples in ns, 0 if unknown."""
    from undwarf.views.event_units import unit_of_event

    if event.freq:
        return round(1e9 / event.sample_period) if event.sample_period else 0
    return event.sample_period if unit_of_event(event.name) == "ns" else 0


def _origin(job: Job, times: "Column") -> "Origin":
    """The recording as formats describe it. Without the wall clock in its header, it is taken to end when its file was
    written."""
    from undwarf.images.mapped_file_check import written_at
    from undwarf.outputs.export.origin import Origin

    header, events = job.recording.header, job.recording.events
    start = 0
    first, last = min(times), max(times)
    clock = header.clock_data
    if clock is not None and all(event.clockid == clock.clockid for event in events):
        start = clock.wall + first - clock.clock
    elif ended := written_at(job.recording.path):
        start = int(ended * 1e9) - (last - first)
    return Origin(
        Path(job.recording.path).name,
        " ".join(header.cmdline or ()),
        header.hostname or "",
        header.osrelease or "",
        header.arch or "",
        header.nrcpus[1] if header.nrcpus else 0,
        start if 0 < start < 1 << 62 else 0,
        tuple(map(_interval, events)),
        tuple(events),
    )
