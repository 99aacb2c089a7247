"""``undwarf record``"""

import errno
import os
import stat
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import ZSTD, Number, talk
from undwarf.errors import UndwarfError, UsageError
from undwarf.outputs.escape import printable

if TYPE_CHECKING:
    from undwarf.live.record_settings import Settings, Summary

_SIZES = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


MOST = (1 << 63) - 1
"""The largest period that the kernel takes."""
MOST_BYTES = 64 << 30


def _size(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Bytes from text like 512K."""
    if value is None:
        return None
    number, unit = value.rstrip("BKMGbkmg"), value[len(value.rstrip("BKMGbkmg")) :].upper()
    if not number.isdigit() or unit not in _SIZES:
        raise click.BadParameter("give bytes, as in 65528, 512K or 8M")
    size = int(number) * _SIZES[unit]
    if size > MOST_BYTES:
        raise click.BadParameter(f"{value} is more than {MOST_BYTES >> 30} GiB")
    return size


def _ids(what: str) -> Any:
    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
        try:
            found = tuple(int(part) for part in (value or "").split(",") if part.strip())
        except ValueError:
            found = (-1,)
        if any(number <= 0 for number in found):
            raise click.BadParameter(f"give {what}s, separated by commas")
        return found

    return read


def _cpus(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """CPU numbers from text like 0,2-3."""
    found: list[int] = []
    for part in (value or "").split(",") if value is not None else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) > 1 << 16:
            raise click.BadParameter("give CPU numbers, as in 0,2-3")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


class Period(click.IntRange):
    """How many events make a sample."""

    def __init__(self) -> None:
        super().__init__(1, MOST)

    def _describe_range(self) -> str:
        """What the help says: the upper end, of 19 digits, is nobody's business."""
        return "x>=1"


class Frequency(Period):
    """Hz, or max."""

    name = "hz"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; of max, the highest that the kernel accepts."""
        if value == "max":
            from undwarf.live.perf_event import largest_rate

            value = largest_rate()
        return super().convert(value, param, ctx)


SAMPLING = (
    click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]"),
    click.option("-p", "--pid", "pids", metavar="PIDS", callback=_ids("process id"), help="These running processes."),
    click.option("-t", "--tid", "tids", metavar="TIDS", callback=_ids("thread id"), help="These threads alone."),
    click.option("-a", "--all-cpus", "everything", is_flag=True, help="Everything, on all CPUs."),
    click.option("-C", "--cpu", "cpus", metavar="CPUS", callback=_cpus, help="Everything, on these CPUs, as in 0,2-3."),
    click.option(
        "-e", "--event", "events", metavar="EVENTS", multiple=True,
        help="What to sample, as perf names it: cycles (the default; cpu-clock where there are none), task-clock, "
        "page-faults, sched:sched_switch, mem:0x1234:w ...",
    ),
    click.option("--filter", "filters", metavar="FILTER", multiple=True,
                 help="Which events of the tracepoints count, as in 'next_pid == 42': one for all, or one for each."),
    click.option("-F", "--freq", "frequency", metavar="HZ", type=Frequency(), default=None,
                 help="Samples a second and CPU; max: as many as the kernel allows.  [default: 999]"),
    click.option("-c", "--count", "period", metavar="N", type=Period(), default=None,
                 help="One sample for N events, in place of -F."),
    click.option("--unwind", "mode", metavar="HOW", default="live",
                 show_default=True,
                 help="live: at once, with all unwind tables; cfi, sframe, or several as in sframe,fp: at once, with "
                 "these alone; fp: the kernel follows frame pointers; dump: as perf does, registers and a piece of the "
                 "stack in every sample."),
    click.option("--no-inherit", is_flag=True, help="Leave out what the recorded processes start."),
    click.option("--stack-size", "dump", metavar="BYTES", callback=_size, default=None,
                 help="Stack that a sample brings along; at most, and where it fits, 65528."),
    click.option("-D", "--delay", metavar="MS", type=Number(0), default=0,
                 help="Take samples only after that long."),
    click.option("--buffer", "-m", metavar="BYTES", callback=_size, default=None, help="Ring buffer of one CPU."),
    click.option("--duration", "seconds", metavar="SECONDS", type=Number(0, min_open=True), default=None,
                 help="Stop after that long; a command that still runs is ended."),
)  # fmt: skip
"""Options of all commands that sample."""


def settings_of(options: dict[str, Any]) -> "Settings":
    """What the shared options ask for; raises UsageError where they do not go together."""
    from undwarf.live.record_settings import Settings
    from undwarf.live.sampler import UNWOUND_ELSEWHERE
    from undwarf.tables.sources import parse_order

    if options["mode"] not in ("live", *UNWOUND_ELSEWHERE):
        parse_order(options["mode"])
    command, pids, tids = options["command"], options["pids"], options["tids"]
    if options["cpus"]:
        options["everything"] = True
    if (pids or tids) and options["everything"]:
        raise UsageError("-p and -t do not go with -a or -C", "", "give one of them")
    if not (command or pids or tids or options["everything"]):
        raise UsageError("nothing to sample", "", "give a command after --, -p PID, or -a for everything")
    if options["frequency"] and options["period"]:
        raise UsageError("-F and -c exclude each other", "", "give one of them")
    dump = options["dump"]
    if dump is not None and not 64 <= dump <= 65528:
        raise UsageError("--stack-size is 64 to 65528 bytes", "a record has 64 KiB at most", "--stack-size 16384")
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
        buffer=options["buffer"],
        seconds=options["seconds"],
        cpus=options["cpus"],
        filters=options["filters"],
        delay=options["delay"] / 1000,
        command_line=[sys.argv[0], *sys.argv[1:]],
    )


def sampling_options(function: Any) -> Any:
    """Give a command the shared options."""
    for option in reversed(SAMPLING):
        function = option(function)
    return function


@click.command(
    "record",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  undwarf record -- make -j8                       then: undwarf report, or perf report
  undwarf record -F 99 -a --duration 60 -o host.data
  undwarf record -p 4242 --off-cpu                 where it computes, and where it waits
  undwarf record -p 4242,4243 -- sleep 10          for as long as the command runs, as with perf
  undwarf record -e page-faults -c 1 -- ./program
  undwarf record -a --duration 5 -o - | undwarf flamegraph -o now.html -""",
)
@sampling_options
@click.option("-g", "graph", is_flag=True, hidden=True, help="As perf's: chains are always recorded.")
@click.option("--call-graph", metavar="HOW", default=None,
              help="As perf's: dwarf[,BYTES] is --unwind live, with that --stack-size; fp is --unwind fp.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", default="perf.data", show_default=True, help="- for standard output.")
@click.option("--off-cpu", is_flag=True, help="Also how long threads wait, and where: event offcpu-time, in ns.")
@click.option("--off-cpu-thresh", "least", metavar="MS", type=Number(0), default=0,
              help="Leave out waits that are shorter.")  # fmt: skip
@click.option("--zstd/--no-zstd", default=True, show_default=True, help=ZSTD)
@click.option("-q", "--quiet", is_flag=True, help="Only say what went wrong.")
def command(
    output: str,
    off_cpu: bool,
    least: float,
    zstd: bool,
    quiet: bool,
    graph: bool,
    call_graph: str | None,
    **options: Any,
) -> int:
    """Sample programs and unwind them at once, into a small recording with whole call chains."""
    del graph
    if call_graph is not None:
        how, _comma, given = call_graph.partition(",")
        if how not in ("dwarf", "fp") or (given and not given.isdigit()):
            raise UsageError(f"no --call-graph {call_graph}", "", "give dwarf, dwarf,BYTES or fp, or see --unwind")
        options["mode"] = "fp" if how == "fp" else options["mode"]
        options["dump"] = int(given) if given and options["dump"] is None else options["dump"]
    settings = settings_of(options)
    settings.off_cpu, settings.off_cpu_least, settings.zstd = off_cpu, int(least * 1e6), zstd
    settings.piped = output == "-"
    if off_cpu and settings.mode in ("fp", "dump"):
        raise UsageError(f"--off-cpu does not go with --unwind {settings.mode}", "", "leave --unwind out")
    from undwarf import __version__
    from undwarf.live.record import Recorder
    from undwarf.live.sampler import Sampler

    target = Path(output)
    if output == "-" and sys.stdout.isatty():
        raise UsageError("a recording is no text", "standard output is a terminal", "give -o FILE, or pipe it on")
    sampler = Sampler(settings)
    try:
        if output == "-" or (target.exists() and not stat.S_ISREG(target.stat().st_mode)):
            # Standard output stays open: it is flushed once more when all is done.
            with nullcontext(sys.stdout.buffer) if output == "-" else target.open("wb") as sink:
                Recorder(sampler, lambda: sink, __version__).run()
                sink.flush()
            size = -1
        else:
            size = _to_file(sampler, target, __version__)
    except BrokenPipeError:
        if output != "-":
            raise
        # Who reads has seen enough; what is not yet written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        size = -1
    except OSError as error:
        hint = "choose another -o"
        if error.errno == errno.ENOSPC and output != "-":
            hint += f"; what was recorded until then is in {output}"
        raise UndwarfError(f"cannot write {output}", error.strerror or str(error), hint) from error
    finally:
        sampler.close()
    _tell(sampler.summary, settings, output, size, quiet)
    return sampler.summary.status


def _to_file(sampler: Any, target: Path, version: str) -> int:
    """Record to a file, which then takes its place again in file form; its size."""
    from undwarf.live.record_files import RecordFiles

    RecordFiles(sampler, target, version).run()
    return target.stat().st_size


def _tell(summary: "Summary", settings: "Settings", output: str, size: int, quiet: bool) -> None:
    for note in summary.notes:
        talk("note", note)
    if summary.lost:
        talk(
            "warning",
            f"{summary.lost:,} samples and other records were lost, since we were too slow for the ring buffers "
            f"({summary.ring >> 10} KiB a CPU): give a larger --buffer, a lower -F, or a smaller --stack-size",
        )
    if summary.throttled:
        talk("warning", f"the kernel throttled sampling {summary.throttled:,} times, as it took too long: lower -F")
    if summary.broken_rings:
        talk("warning", f"{summary.broken_rings} ring buffers were not in order; records in them were left out")
    if summary.shortened:
        talk("warning", f"{summary.shortened:,} chains were cut, since a record holds no more than 8,000 addresses")
    if summary.dropped:
        talk("warning", f"{summary.dropped:,} samples could not be decoded and were left out")
    if summary.forgotten:
        talk("warning", f"{summary.forgotten:,} waits were not counted, when the memory for stacks was given back")
    if summary.completed:
        talk(
            "note",
            f"stacks deeper than {summary.dump:,} bytes that were followed to their root in the running process, where "
            f"nothing had changed: {summary.completed:,}",
        )
    if summary.unproven:
        talk(
            "note",
            f"stacks that end with their dump, as what called them may have changed before it could be read: "
            f"{summary.unproven:,}",
        )
    if not summary.samples:
        talk("warning", "no samples: nothing ran on a CPU long enough")
    if quiet:
        return
    blocked = f" and {summary.blocked:,} waits" if settings.off_cpu else ""
    where = f", {size / 1e6:,.2f} MB" if size >= 0 else ""
    count = summary.samples
    click.echo(f"wrote {printable(output)} ({count:,} samples{blocked}{where})", err=True)
