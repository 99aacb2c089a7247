"""``undwarf types``"""

import io
import sys
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from undwarf.cli.common import FRAME_OPTIONS, OPTIONS, Job, Number, take_shared, terminal_width
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from undwarf.types.resolver import Resolver
    from undwarf.views.data.types import DataTypes
    from undwarf.views.sample_selection import Events, Weight


def _addresses(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    if not value:
        return ()
    if value.startswith("@"):
        try:
            with open(value[1:], encoding="ascii", errors="replace") as file:
                value = file.read().replace("\n", ",")
        except OSError as error:
            raise UsageError(
                f"cannot read {value[1:]}",
                error.strerror or str(error),
                "or give addresses directly: --at 1500",
            ) from error
    try:
        found = tuple(int(part, 16) for part in value.replace(" ", ",").split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{value[:60]!r} is not a list of hexadecimal addresses") from None
    if any(not 0 <= address < 1 << 64 for address in found):
        raise click.BadParameter("an address is out of range")
    return found


def _complete_type(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from undwarf.cli.type_names import complete

    return complete(context, parameter, incomplete)


def _shared(command: Any) -> Any:
    for option in reversed((*OPTIONS, *FRAME_OPTIONS)):
        command = option(command)
    return command


@click.command(
    "types",
    epilog="""\b
Examples:
  undwarf types perf.data
  undwarf types --type 'struct node' perf.data
  undwarf types --code --skid perf.data
  undwarf types --html types.html perf.data
  perf record --call-graph dwarf --sample-cpu ./program && undwarf types --skid perf.data   # false sharing, too
  undwarf types --json perf.data | jq '.events[0].types[:3]'
  undwarf types --binary ./program --at 1500,1504 --json
  undwarf types --binary ./vmlinux --type task_struct
  undwarf types --btf /sys/kernel/btf/vmlinux --type task_struct""",
)
@click.option(
    "--type",
    "type_name",
    metavar="NAME",
    default=None,
    shell_complete=_complete_type,
    help="Show the layout of this type: members, holes, cache lines, weights.",
)
@click.option("--code", is_flag=True, help="List instructions by weight, with the member that each accesses.")
@click.option(
    "--skid",
    is_flag=True,
    help="Attribute samples at instructions without a memory access to the load they wait for; marked as inferred.",
)
@click.option("--html", "page", metavar="FILE", default=None, help="Write an HTML page with a heat map of each type.")
@click.option(
    "--binary", metavar="ELF", default=None, help="Analyse a binary instead of a recording; with --at or --type."
)
@click.option(
    "--at",
    "addresses",
    metavar="ADDR,...",
    callback=_addresses,
    help="Addresses of instructions in --binary, or @FILE with a list.",
)
@click.option("--btf", metavar="FILE", default="", help="Read types from this BTF file.")
@click.option(
    "--percent-limit", type=Number(0, 100), default=0.5, show_default=True, help="Hide rows below this percentage."
)
@click.option("--rows", metavar="N", type=click.IntRange(0), default=0, help="Maximum number of rows; 0: all.")
@click.option(
    "--weight", type=click.Choice(["period", "samples", "latency"]), default="period", help="What the numbers count."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_shared
def command(
    type_name: str | None,
    code: bool,
    skid: bool,
    page: str | None,
    binary: str | None,
    addresses: tuple[int, ...],
    btf: str,
    percent_limit: float,
    rows: int,
    weight: "Weight",
    as_json: bool,
    **options: Any,
) -> None:
    """Show which types and members the samples access.

    Every sampled instruction is decoded, the value of its base register is tracked through the function, and the sample
    is attributed to the member that it accesses. Unknown accesses are listed by reason, apart from instructions that
    access no data.
    """
    if type_name is not None and not addresses and (binary is not None or btf):
        _draw(binary, type_name, btf, as_json, options)
        return
    if binary is not None:
        _answer(binary, addresses, btf, as_json, options)
        return
    if addresses or btf:
        raise UsageError("--at and --btf go with --binary", "", "undwarf types --binary ./program --at 1500")
    _check_together(page is not None, as_json, code, type_name is not None)
    with Job(take_shared(options)) as job:
        if page is not None:
            _page(job, page, type_name, skid, weight)
            return
        if as_json and type_name is None:
            _numbers(job, code, skid, weight)
            return
        _report(job, type_name, code, skid, percent_limit, rows, weight, as_json)


def _check_together(page: bool, as_json: bool, code: bool, drawn: bool) -> None:
    """Nothing that was asked for is left out silently."""
    if page and (as_json or code):
        other = "--json" if as_json else "--code"
        raise UsageError(f"--html and {other} do not go together", "--html writes only the page", "give one of them")
    if code and drawn:
        raise UsageError("--code and --type do not go together", "", "--type draws one type, --code lists instructions")


def _numbers(job: Job, code: bool, skid: bool, weight: "Weight") -> None:
    """All numbers of a recording, for machines: what writes text is not needed."""
    read = _Read(job, "json_report", skid, weight, names=code)

    from undwarf.outputs.types import json_report

    _write_numbers(job, read, weight, [json_report.as_dict(found, name, code=code) for _, name, found in read.events()])


def _write_numbers(job: Job, read: "_Read", weight: "Weight", events: list[dict[str, Any]]) -> None:
    from undwarf.outputs.types import json_report

    report = {"file": job.recording.path, "weight": weight, "events": events}
    json_report.write({**report, "sharing": json_report.sharing_as_dict(read.clashes)}, sys.stdout)


def _report(
    job: Job,
    type_name: str | None,
    code: bool,
    skid: bool,
    percent_limit: float,
    rows: int,
    weight: "Weight",
    as_json: bool,
) -> None:
    """The types of a recording, or one of them, drawn or in numbers."""
    read = _Read(job, "text", skid, weight, names=code)

    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.outputs.types import drawing as drawn
    from undwarf.outputs.types import text
    from undwarf.outputs.types.columns import TypesOptions

    if as_json:
        from undwarf.outputs.types import json_report
    if code:
        from undwarf.outputs.types.code import write_code

    colour = wants_colour(sys.stdout)
    width = terminal_width()
    settled = job.recording.event_stops.at | job.recording.event_stops.after
    events = []
    names: set[str] = set()
    for k, (event, name, found) in enumerate(read.events()):
        shown = TypesOptions(percent_limit, rows, colour, job.recording.path, skid, event in settled, width)
        if type_name is not None:
            find = drawn.find_types if k == read.last and not names else drawn.known_types
            called = read.called(type_name)
            of_name = find(found, type_name, called)
            if not of_name:
                continue
            whole = of_name[0].name
            if drawn.plain_name(whole) != drawn.plain_name(type_name) and whole not in called():
                part = f"{whole} is the hottest type with {type_name!r} in its name"
                click.echo(printable(part), err=True)
            names.add(whole)
            if as_json:
                events += [{"event": name, **json_report.type_as_dict(found, row)} for row in of_name]
                continue
            if read.last:
                sys.stdout.write(f"{printable(name)}: ")
            drawn.write_types(found, of_name, sys.stdout, shown)
            continue
        if k:
            sys.stdout.write("\n")
        (write_code if code else text.write)(found, name, sys.stdout, shown)
    if as_json:
        _write_numbers(job, read, weight, events)
    elif not code:
        text.write_sharing(read.clashes, sys.stdout, TypesOptions(colour=colour), names or None)


class _Read:
    """A recording's samples with what they touch, and what cpus take from each other.

    ``output`` names the module that is going to write it. Without ``names`` there are no rows of instructions, and only
    the functions are named that touch something of a known type: of the others nothing is shown but a sum, and to read
    the kernel's names takes a while.
    """

    def __init__(self, job: Job, output: str, skid: bool, weight: "Weight", *, names: bool = False) -> None:
        self._weight = weight
        self._names = names
        # What comes after types is imported while they are followed.
        output_module = partial(import_module, f"undwarf.outputs.types.{output}")
        self._touched = job.touch(job.leaves(names=names), skid=skid, meanwhile=output_module)
        self._profile = self._touched.profile

        from undwarf.views.data.false_sharing import sharing
        from undwarf.views.sample_selection import sections

        if not names:
            job.recording.name(self._profile, self._touched.typed())
        self._sections = sections(self._profile, ())
        self.last = len(self._sections) - 1
        # Weights of two events cannot be added, but loads and stores are often two events.
        alone = self._sections[0][0] if not self.last else None
        self.clashes = sharing(
            self._profile,
            self._touched,
            lambda: job.recording.data_addresses(self._profile, self._touched),
            weight if not self.last else "samples",
            event=alone,
        )

    def called(self, name: str) -> "Callable[[], frozenset[str]]":
        """What asks the binaries which types a name stands for."""
        from undwarf.outputs.types.drawing import plain_name

        return cache(lambda: self._touched.named(plain_name(name)))

    def events(self) -> "Iterator[tuple[Events, str, DataTypes]]":
        """(event, its name, what its samples touch)."""
        from undwarf.views.data.types import data_types

        for event, name in self._sections:
            found = data_types(self._profile, self._touched, self._weight, event=event, instructions=self._names)
            found.sharing = self.clashes.found
            yield event, name, found


def _page(job: Job, target: str, type_name: str | None, skid: bool, weight: "Weight") -> None:
    """Types as a page."""
    from pathlib import Path

    read = _Read(job, "html", skid, weight)

    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.types import drawing as drawn
    from undwarf.outputs.types.html import write

    found, late = [], set()
    settled = job.recording.event_stops.at | job.recording.event_stops.after
    for event, name, data in read.events():
        found.append((name, data))
        if not skid and event not in settled:
            late.add(name)
    wanted = None
    if type_name is not None:
        called = read.called(type_name)
        rows = (drawn.known_types(data, type_name, called) for _name, data in found)
        wanted = (next(filter(None, rows), None) or drawn.find_types(found[0][1], type_name, called))[0].name
    made = io.StringIO()
    write(found, read.clashes, job.recording.path, wanted, late, made)
    text = made.getvalue().encode()
    try:
        with whole_file(Path(target)) as sink:
            sink.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {target}", error.strerror or str(error), "choose another --html") from error
    click.echo(f"wrote {printable(target)} ({len(text) / 1024:,.0f} KiB): open it in a browser", err=True)


def _draw(binary: str | None, name: str, btf: str, as_json: bool, options: dict[str, Any]) -> None:
    """A type of a binary or of BTF, without samples."""
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.outputs.types import drawing as drawn
    from undwarf.outputs.types import json_report
    from undwarf.outputs.types.columns import TypesOptions
    from undwarf.views.data.types import DataTypes, TypeRow

    if binary is None:
        from undwarf.types.open_resolver import open_btf_with_base
        from undwarf.types.sources.btf import BtfTypes

        types = BtfTypes(open_btf_with_base(btf))
        graph, number = types.graph, types.named(drawn.plain_name(name))
    else:
        source = _resolver(binary, btf, options, code=False).source
        graph, number = source.graph, source.type_named(drawn.plain_name(name))
    if not number:
        raise UsageError(
            f"no type named {name!r} in {binary or btf}",
            "names must be complete, with namespaces",
            "undwarf types FILE lists the types that a recording's samples touch",
        )
    row = TypeRow(graph.canonical_name(number), graph.size(number), lambda: (graph, graph.strip(number)))
    if as_json:
        json_report.write(json_report.type_as_dict(DataTypes(), row), sys.stdout)
    else:
        drawn.write_types(DataTypes(), [row], sys.stdout, TypesOptions(colour=wants_colour(sys.stdout)))


def _answer(binary: str, addresses: tuple[int, ...], btf: str, as_json: bool, options: dict[str, Any]) -> None:
    """The list for addresses of one binary."""
    from undwarf.outputs.accesses import write, write_json

    if not addresses:
        raise UsageError("--binary needs --at or --type", "", "undwarf types --binary ./program --at 1500,1504")
    resolver = _resolver(binary, btf, options)
    found = [access for address in addresses for access in resolver.at(address)]
    (write_json if as_json else write)(found, sys.stdout)


def _resolver(binary: str, btf: str, options: dict[str, Any], *, code: bool = True) -> "Resolver":
    from undwarf.types.open_resolver import open_path

    return open_path(
        binary,
        btf=btf,
        symfs=options["symfs"] or "",
        debug_dirs=options["debug_dirs"],
        vmlinux=options.get("vmlinux") or "",
        code=code,
    )
