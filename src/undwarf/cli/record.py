"""``undwarf record``"""

import errno
import os
import stat
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import ZSTD, Number, notify
from undwarf.cli.record_progress import Progress
from undwarf.errors import UndwarfError, UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.live.sampling.sampler import Sampler
    from undwarf.live.sampling.settings import Settings, Summary
    from undwarf.outputs.schemas.record import RecordedFile

_SIZES = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


MOST = (1 << 63) - 1
"""The largest period that the kernel accepts."""
MOST_BYTES = 64 << 30
MOST_FILE_BYTES = 1 << 60
FEWEST_RING_BYTES = 64 << 10
"""Bytes of the smallest ring buffer: a smaller number without a unit counts pages, as in perf."""


def _bytes(value: str, most: int) -> int | None:
    """Bytes from text like 512K; None if it is no size."""
    number, unit = value.rstrip("BKMGbkmg"), value[len(value.rstrip("BKMGbkmg")) :].upper()
    if not (number.isascii() and number.isdigit()) or unit not in _SIZES:
        return None
    size = int(number) * _SIZES[unit]
    if size > most:
        raise click.BadParameter(f"{value} is more than {most >> 30} GiB")
    return size


def _size(_context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Bytes from text like 512K."""
    if value is None:
        return None
    size = _bytes(value, MOST_FILE_BYTES if parameter.name == "most_bytes" else MOST_BYTES)
    if size is None:
        raise click.BadParameter("give bytes, as in 65528, 512K or 8M")
    return size


def _ring(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Bytes from text like 8M, or from a number of pages."""
    size = _size(context, parameter, value)
    if value is not None and value.isdigit() and size is not None and size < FEWEST_RING_BYTES:
        import mmap

        size *= mmap.PAGESIZE
    return size


def _switch(_context: click.Context, _parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """When a new file is started, as arguments of :class:`undwarf.live.sampling.settings.Switch`."""
    if value is None:
        return None
    if value == "signal":
        return {"on_signal": True}
    if value[-1:] in _SECONDS and value[:-1].isascii() and value[:-1].isdigit() and int(value[:-1]):
        return {"seconds": float(int(value[:-1]) * _SECONDS[value[-1]])}
    size = _bytes(value, MOST_FILE_BYTES) if value[-1:] in "BKMG" else None
    if not size:
        raise click.BadParameter("give signal, a size as in 100M, or a time as in 30s, 5m or 1h")
    return {"size": size}


def _ids(what: str) -> Any:
    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
        try:
            numbers = tuple(int(part) for part in (value or "").split(",") if part.strip())
        except ValueError:
            numbers = (-1,)
        if any(number <= 0 for number in numbers):
            raise click.BadParameter(f"give {what}s, separated by commas")
        return numbers

    return read


def _cpus(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """CPU numbers from text like 0,2-3."""
    numbers: list[int] = []
    for part in (value or "").split(",") if value is not None else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) > 1 << 16:
            raise click.BadParameter("give CPU numbers, as in 0,2-3")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


class Period(click.IntRange):
    """The number of events between samples."""

    def __init__(self) -> None:
        super().__init__(1, MOST)

    def _describe_range(self) -> str:
        """The range in the help: without the upper bound, which has 19 digits."""
        return "x>=1"


class Frequency(Period):
    """Hz, or max."""

    name = "hz"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; for max, the highest that the kernel accepts."""
        if value == "max":
            from undwarf.live.perf_event import largest_rate

            value = largest_rate()
        return super().convert(value, param, ctx)


SAMPLING = (
    click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]"),
    click.option("-p", "--pid", "pids", metavar="PIDS", callback=_ids("process id"), help="Sample these processes."),
    click.option("-t", "--tid", "tids", metavar="TIDS", callback=_ids("thread id"), help="Sample only these threads."),
    click.option("-u", "--uid", "user", metavar="USER", default=None,
                 help="Sample the processes of a user, by name or number."),
    click.option("-a", "--all-cpus", "everything", is_flag=True, help="Sample everything, on all CPUs."),
    click.option("-C", "--cpu", "cpus", metavar="CPUS", callback=_cpus,
                 help="Sample everything on these CPUs, as in 0,2-3."),
    click.option(
        "-e", "--event", "events", metavar="EVENTS", multiple=True,
        help="Events as perf names them: cycles (default; cpu-clock without hardware counters), task-clock, "
        "page-faults, sched:sched_switch, mem:0x1234:w ...; '{a,b}': count as a group, '{a,b}:S': sample a, read b "
        "with each sample.",
    ),
    click.option("--filter", "filters", metavar="FILTER", multiple=True,
                 help="Filter for tracepoint events, as in 'next_pid == 42': one for all, or one for each."),
    click.option("-F", "--freq", "frequency", metavar="HZ", type=Frequency(), default=None,
                 help="Samples per second and CPU; max: the kernel's limit.  [default: 999]"),
    click.option("-c", "--count", "period", metavar="N", type=Period(), default=None,
                 help="One sample every N events, instead of -F."),
    click.option("--unwind", "mode", metavar="HOW", default="live",
                 show_default=True,
                 help="live: unwind while recording, from all sources of rules; cfi, sframe or sframe,fp: "
                 "only from these; fp: the kernel follows frame pointers; dump: write registers and stack bytes in "
                 "every sample, as perf does."),
    click.option("-i", "--no-inherit", is_flag=True, help="Do not sample child processes and new threads."),
    click.option("--all-user", "only", flag_value="u", help="Sample only user code."),
    click.option("--all-kernel", "only", flag_value="k", help="Sample only the kernel."),
    click.option("--strict-freq", "strict", is_flag=True, help="Fail if the kernel does not allow this rate."),
    click.option("--stack-size", "dump", metavar="BYTES", callback=_size, default=None,
                 help="Stack bytes copied with each sample. Default: 65528, or less at high rates."),
    click.option("--other-dumps/--no-other-dumps", default=True, show_default=True,
                 help="Continue stacks larger than their dump, where callers cannot be read safely from the running "
                      "process, with callers inferred from other samples and the memory of the thread."),
    click.option("-D", "--delay", metavar="MS", type=Number(0), default=0,
                 help="Start sampling after this time."),
    click.option("--buffer", "--mmap-pages", "-m", metavar="BYTES", callback=_ring, default=None,
                 help="Size of the ring buffer per CPU, as in 8M; numbers below 65536 count pages, as in perf."),
    click.option("--duration", "seconds", metavar="SECONDS", type=Number(0, min_open=True), default=None,
                 help="Stop after this time; a command that still runs is terminated."),
)  # fmt: skip
"""Options of commands that sample."""


def settings_of(options: dict[str, Any]) -> "Settings":
    """The settings of the shared options. Raises UsageError for options that exclude each other."""
    from undwarf.live.sampling.sampler import UNWOUND_ELSEWHERE
    from undwarf.live.sampling.settings import Settings
    from undwarf.tables.sources import parse_order

    if options["mode"] not in ("live", *UNWOUND_ELSEWHERE):
        parse_order(options["mode"])
    command, pids, tids = options["command"], options["pids"], options["tids"]
    if options["user"] is not None:
        pids = (*pids, *_processes_of(options["user"]))
    if options["cpus"]:
        options["everything"] = True
    if (pids or tids) and options["everything"]:
        raise UsageError("-p, -t and -u cannot be used with -a or -C", "", "give one of them")
    if not (command or pids or tids or options["everything"]):
        raise UsageError("nothing to sample", "", "give a command after --, -p PID, or -a for everything")
    if options["frequency"] and options["period"]:
        raise UsageError("-F and -c exclude each other", "", "give one of them")
    dump = options["dump"]
    if dump is not None and not 64 <= dump <= 65528:
        raise UsageError("--stack-size must be 64 to 65528 bytes", "a record has at most 64 KiB", "--stack-size 16384")
    return Settings(
        command=command,
        pids=pids,
        tids=tids,
        everything=options["everything"],
        events=options["events"],
        frequency=options["frequency"] or 999,
        period=options["period"],
        mode=options["mode"],
        inherit=not options["no_inherit"],
        dump=dump,
        other_dumps=options["other_dumps"],
        buffer=options["buffer"],
        seconds=options["seconds"],
        cpus=options["cpus"],
        filters=options["filters"],
        delay=options["delay"] / 1000,
        only=options["only"] or "",
        strict=options["strict"],
        command_line=[sys.argv[0], *sys.argv[1:]],
    )


def _processes_of(user: str) -> list[int]:
    """The processes of a user, by name or number. Raises UsageError and UndwarfError."""
    import pwd

    from undwarf.live.system_snapshot import processes_of

    try:
        number = int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid
    except KeyError as error:
        raise UsageError(f"no user {user}", "", "see getent passwd") from error
    pids = processes_of(number)
    if not pids:
        raise UndwarfError(f"cannot sample user {user}", "no process of this user is running", "see ps -u")
    return pids


def sampling_options(function: Any) -> Any:
    """Add the shared options to a command."""
    for option in reversed(SAMPLING):
        function = option(function)
    return function


_OPTIONAL_VALUES = {"-z": "-z1", "--compression-level": "-z1", "--switch-output": "--switch-output=signal"}
"""Options whose value is optional, as in perf, and what they mean without."""

_ALWAYS = (
    ("-T", "--timestamp"), ("-P", "--period"), ("-R", "--raw-samples"), ("-N", "--no-buildid-cache"), ("--sample-cpu",),
    ("--sample-identifier",), ("--buildid-all",), ("--buildid-mmap",), ("--no-buffering",),
)  # fmt: skip
"""Options of perf for what is always done here."""


class RecordCommand(click.Command):
    """A command with options whose value is optional, and then follows an equals sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the values of options without one."""
        valued = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
            if args[at] in _OPTIONAL_VALUES:
                args[at] = _OPTIONAL_VALUES[args[at]]
            elif args[at] in valued:
                at += 1
            at += 1
        return super().parse_args(ctx, args)


def always(function: Any) -> Any:
    """Add the options of perf that have no effect."""
    for number, names in enumerate(_ALWAYS):
        function = click.option(f"always_{number}", *names, hidden=True, is_flag=True, expose_value=False)(function)
    return function


@click.command(
    "record",
    cls=RecordCommand,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  undwarf record -- make -j8                       then: undwarf report, or perf report
  undwarf record -F 99 -a --duration 60 -o host.data
  undwarf record -p 4242 --off-cpu                 where it runs, and where it waits
  undwarf record -p 4242,4243 -- sleep 10          as long as the command runs, as with perf
  undwarf record -e page-faults -c 1 -- ./program
  undwarf record -a --switch-output=10m --switch-max-files 6     the last hour, in files of ten minutes
  undwarf record -a --duration 5 -o - | undwarf flamegraph -o now.html -

An existing output file is renamed to FILE.old.""",
)
@sampling_options
@always
@click.option("-g", "graph", is_flag=True, hidden=True, help="As in perf; call chains are always recorded.")
@click.option(
    "--call-graph",
    metavar="HOW",
    default=None,
    help="As in perf: dwarf[,BYTES] is --unwind live --stack-size BYTES; fp is --unwind fp.",
)
@click.option("-b", "--branch-any", "any_branches", is_flag=True, help="Also record the last taken branches.")
@click.option(
    "-j",
    "--branch-filter",
    "branches",
    metavar="KINDS",
    multiple=True,
    help="Also record branches of these kinds, as in any_call,u, if the CPU can.",
)
@click.option(
    "-d", "--data", "addresses", is_flag=True, help="Record data addresses and data sources, if the event has them."
)
@click.option("-W", "--weight", "weights", is_flag=True, help="Record the cost of accesses, if the event has it.")
@click.option("--phys-data", "physical", is_flag=True, help="Record physical data addresses (root only).")
@click.option("--data-page-size", "data_pages", is_flag=True, help="Record page sizes of data addresses.")
@click.option("--code-page-size", "code_pages", is_flag=True, help="Record page sizes of sampled code.")
@click.option(
    "-k", "--clockid", metavar="CLOCK", default=None, hidden=True, help="As in perf; the clock is always monotonic."
)
@click.option("-o", "--output", metavar="FILE", default="perf.data", show_default=True, help="- for standard output.")
@click.option(
    "--max-size",
    "most_bytes",
    metavar="BYTES",
    callback=_size,
    default=None,
    help="Stop when the file reaches this size, as in 500M.",
)
@click.option(
    "--switch-output",
    "switch",
    metavar="[=WHEN]",
    callback=_switch,
    default=None,
    help="Start a new file on SIGUSR2, at a size (=100M) or after a time (=30s, =5m); file names end with the time.",
)
@click.option(
    "--switch-max-files",
    "most_files",
    metavar="N",
    type=click.IntRange(1),
    default=None,
    help="Keep only the last N of these files.",
)
@click.option("--timestamp-filename", "with_time", is_flag=True, help="Append the time to the file name.")
@click.option(
    "--off-cpu", is_flag=True, help="Also record where and how long threads wait, as event offcpu-time in ns."
)
@click.option("--off-cpu-thresh", "least", metavar="MS", type=Number(0), default=0, help="Ignore shorter waits.")
@click.option("--zstd/--no-zstd", default=True, show_default=True, help=ZSTD)
@click.option("-z", "--compression-level", "level", metavar="[LEVEL]", type=click.IntRange(0, 22), default=None,
              help="Level of zstd compression, 1 (default) to 22; 0: none.")  # fmt: skip  # rows of fields
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print what was recorded as JSON; the command's standard output goes to standard error.",
)
@click.option("--dry-run", is_flag=True, help="Only check whether recording with these options works.")
@click.option("-v", "--verbose", count=True, help="Print how events and buffers were opened, and what was read.")
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
def command(
    output: str,
    off_cpu: bool,
    least: float,
    zstd: bool,
    level: int | None,
    verbose: int,
    quiet: bool,
    graph: bool,
    call_graph: str | None,
    any_branches: bool,
    branches: tuple[str, ...],
    addresses: bool,
    weights: bool,
    physical: bool,
    data_pages: bool,
    code_pages: bool,
    clockid: str | None,
    most_bytes: int | None,
    switch: dict[str, Any] | None,
    most_files: int | None,
    with_time: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Sample programs and unwind them live; write a small recording with whole call chains."""
    del graph
    if call_graph is not None:
        how, _comma, size_text = call_graph.partition(",")
        if how not in ("dwarf", "fp") or (size_text and not size_text.isdigit()):
            raise UsageError(f"no --call-graph {call_graph}", "", "give dwarf, dwarf,BYTES or fp, or see --unwind")
        options["mode"] = "fp" if how == "fp" else options["mode"]
        options["dump"] = int(size_text) if size_text and options["dump"] is None else options["dump"]
    if clockid is not None and clockid.lower().removeprefix("clock_") not in ("mono", "monotonic"):
        raise UsageError(f"clock {clockid} is not supported", "recordings use the monotonic clock", "leave out -k")
    if most_files is not None and switch is None:
        raise UsageError("--switch-max-files needs --switch-output", "", "add --switch-output=30s, or a size")
    if output == "-" and (switch is not None or with_time):
        raise UsageError("--switch-output cannot write to standard output", "", "give -o FILE")
    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the recording", "give -o FILE")
    if as_json and dry_run:
        raise UsageError("--json cannot be used with --dry-run", "nothing is recorded", "leave one of them out")
    settings = settings_of(options)
    settings.off_cpu, settings.off_cpu_least = off_cpu, int(least * 1e6)
    settings.zstd = zstd and level != 0
    settings.level = level or settings.level
    settings.piped = output == "-" or as_json
    settings.most_bytes = most_bytes or 0
    settings.fields = _fields(addresses, weights, physical, data_pages, code_pages)
    if any_branches or branches:
        from undwarf.live.perf_event import branch_filter

        settings.branches = branch_filter(",".join([*(["any"] if any_branches else []), *branches]))
    if off_cpu and settings.mode in ("fp", "dump"):
        raise UsageError(f"--off-cpu cannot be used with --unwind {settings.mode}", "", "leave --unwind out")
    from undwarf import __version__
    from undwarf.live.record.run import Recorder
    from undwarf.live.sampling.sampler import Sampler

    target = Path(output)
    if output == "-" and sys.stdout.isatty():
        raise UsageError(
            "cannot write a recording to a terminal", "recordings are binary", "give -o FILE, or pipe the output"
        )
    sampler = Sampler(settings)
    progress = Progress(quiet, bool(settings.command))
    sampler.tick = progress.tick
    renamed: Path | None = None
    recorded: list[RecordedFile] = []
    try:
        if verbose:
            _show_events(sampler)
        if dry_run:
            return 0
        if output == "-" or (target.exists() and not stat.S_ISREG(target.stat().st_mode)):
            # Standard output stays open: it is flushed at the end.
            with nullcontext(sys.stdout.buffer) if output == "-" else target.open("wb") as sink:
                progress.recorder = Recorder(sampler, lambda: sink, __version__)
                progress.recorder.run()
                sink.flush()
            size = -1
            recorded.append({"recording": output, "samples": sampler.summary.samples, "size_bytes": None})
        else:
            from undwarf.live.record.output_files import RecordFiles, Written
            from undwarf.live.sampling.settings import Switch

            several = switch is not None or with_time
            size = 0

            def written(file: Written) -> None:
                nonlocal size
                size = file.size
                path = str(file.path) if several else output
                recorded.append({"recording": path, "samples": file.samples, "size_bytes": file.size})
                if several and not quiet:
                    progress.clear()
                    _print_file(printable(str(file.path)), file.samples, file.size)

            when = Switch(**(switch or {}), files=most_files or 0) if several else None
            files = RecordFiles(sampler, target, __version__, when, written)
            renamed, progress.recorder = files.kept, files.recorder
            files.run()
    except BrokenPipeError:
        if output != "-":
            raise
        # The reader has closed the pipe: what is still buffered is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        size = -1
    except OSError as error:
        hint = "choose another -o"
        if error.errno == errno.ENOSPC and output != "-":
            hint += f"; {output} has what was recorded so far"
        raise UndwarfError(f"cannot write {output}", error.strerror or str(error), hint) from error
    finally:
        progress.clear()
        sampler.close()
    if verbose:
        _show_work(sampler)
    _print_notes(sampler.summary, settings, quiet)
    if not quiet:
        blocked = f" and {sampler.summary.blocked:,} waits" if settings.off_cpu else ""
        if switch is None and not with_time:
            _print_file(printable(output), sampler.summary.samples, size, blocked)
        if renamed is not None:
            notify("note", f"the previous recording is now {renamed}")
    if as_json:
        _write_json(sampler.summary, recorded, renamed, off_cpu)
    return sampler.summary.status


def _write_json(summary: "Summary", files: "list[RecordedFile]", renamed: Path | None, off_cpu: bool) -> None:
    from undwarf.outputs.summaries import Counts, write_record

    counts = Counts(
        samples=summary.samples,
        waits=summary.blocked if off_cpu else None,
        lost=summary.lost,
        throttled=summary.throttled,
        dropped=summary.dropped,
        shortened=summary.shortened,
        completed=summary.completed,
        inferred=summary.inferred,
        unproven=summary.unproven,
        forgotten=summary.forgotten,
        broken_rings=summary.broken_rings,
        ring=summary.ring,
        dump=summary.dump,
        full=summary.full,
        notes=summary.notes,
        status=summary.status,
    )
    write_record(files, str(renamed) if renamed is not None else None, counts, sys.stdout)


def _fields(addresses: bool, weights: bool, physical: bool, data_pages: bool, code_pages: bool) -> int:
    """The bits of ``sample_type`` for optional fields of samples."""
    from undwarf.perfdata import SampleField

    bits = SampleField(0)
    for wanted, field in (
        (addresses or physical or data_pages, SampleField.ADDR | SampleField.DATA_SRC),
        (weights, SampleField.WEIGHT),
        (physical, SampleField.PHYS_ADDR),
        (data_pages, SampleField.DATA_PAGE_SIZE),
        (code_pages, SampleField.CODE_PAGE_SIZE),
    ):
        if wanted:
            bits |= field
    return int(bits)


def _print_file(name: str, samples: int, size: int, blocked: str = "") -> None:
    megabytes = f", {size / 1e6:,.{2 if size >= 1e6 else 3}f} MB" if size >= 0 else ""
    click.echo(f"wrote {name} ({samples:,} samples{blocked}{megabytes})", err=True)


def _show_events(sampler: "Sampler") -> None:
    """Print how events were opened, for --verbose."""
    from undwarf.perfdata import SampleField

    for number, event in enumerate(sampler.events):
        rate = f"{event.sample_period:,} Hz" if event.freq else f"every {event.sample_period:,}"
        if not event.sample_period:
            rate = "read with the first of its group"
        leader = sampler.leaders[number]
        group = f", in the group of {sampler.events[leader].name}" if leader != number else ""
        fields = "|".join(field.name or "" for field in SampleField(event.sample_type))
        click.echo(
            f"event {printable(event.name)}: {rate}{group}; type {event.type}, config {event.config:#x}, flags "
            f"{event.flags:#x}, read_format {event.read_format:#x}, fields {fields}; opened {len(event.ids)} times",
            err=True,
        )
    opened = sampler.open
    relayed = ", emptied into larger ones" if opened.relays else ""
    click.echo(f"ring buffers: {len(opened.rings)} of {opened.ring_bytes:,} bytes{relayed}", err=True)
    if sampler.summary.dump:
        click.echo(f"stack dumps: {sampler.summary.dump:,} bytes at most", err=True)


def _show_work(sampler: "Sampler") -> None:
    """Print statistics, for --verbose."""
    summary = sampler.summary
    click.echo(
        f"{summary.rounds:,} rounds, {summary.exits:,} threads ended, {summary.throttled:,} times throttled", err=True
    )


def _print_notes(summary: "Summary", settings: "Settings", quiet: bool) -> None:
    """Print notes and warnings about the recording; with ``quiet`` only warnings."""
    notes = list(summary.notes)
    if summary.full:
        notes.append(f"ended at --max-size, {settings.most_bytes:,} bytes")
    if summary.completed:
        notes.append(
            f"stacks deeper than {summary.dump:,} bytes that were read to their root from the running process, proven "
            f"unchanged: {summary.completed:,}"
        )
    if summary.inferred:
        notes.append(
            f"stacks deeper than {summary.dump:,} bytes with outer callers inferred from other samples and memory of "
            f"the thread (marked): {summary.inferred:,}"
        )
    if summary.unproven:
        notes.append(
            f"stacks that end with their dump, since their callers may have changed before they were read: "
            f"{summary.unproven:,}"
        )
    for note in notes if not quiet else ():
        notify("note", note)
    if summary.lost:
        notify(
            "warning",
            f"{summary.lost:,} samples and other records were lost, because the ring buffers overflowed "
            f"({summary.ring >> 10} KiB per CPU): use a larger --buffer, a lower -F, or a smaller --stack-size",
        )
    if summary.throttled:
        notify(
            "warning",
            f"the kernel throttled sampling {summary.throttled:,} times, because it took too much time: use a lower -F",
        )
    if summary.broken_rings:
        notify("warning", f"{summary.broken_rings} ring buffers were corrupt; their records were left out")
    if summary.shortened:
        notify("warning", f"{summary.shortened:,} chains were cut to 8,000 addresses, the maximum of a record")
    if summary.dropped:
        notify("warning", f"{summary.dropped:,} samples could not be decoded and were left out")
    if summary.forgotten:
        notify("warning", f"{summary.forgotten:,} waits were not counted, because the memory for stacks was reused")
    if not summary.samples:
        notify("warning", "no samples: nothing ran long enough on a CPU")
