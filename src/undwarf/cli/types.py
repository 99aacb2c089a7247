"""``undwarf types``"""

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

    from undwarf.outputs.schemas.types import Layout
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
        addresses = tuple(int(part, 16) for part in value.replace(" ", ",").split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{value[:60]!r} is not a list of hexadecimal addresses") from None
    if any(not 0 <= address < 1 << 64 for address in addresses):
        raise click.BadParameter("an address is out of range")
    return addresses


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
@click.option(
    "--html", "page", metavar="FILE", default=None, help="Write the page of undwarf view, opened at its data types."
)
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
        _list_accesses(binary, addresses, btf, as_json, options)
        return
    if addresses or btf:
        raise UsageError("--at and --btf go with --binary", "", "undwarf types --binary ./program --at 1500")
    _check_together(page is not None, as_json, code, type_name is not None)
    with Job(take_shared(options)) as job:
        if page is not None:
            _write_page(job, page, type_name, skid, weight)
            return
        if as_json and type_name is None:
            _write_all(job, code, skid, weight)
            return
        if type_name is not None:
            _draw_sampled(job, type_name, skid, weight, as_json)
            return
        _list(job, code, skid, percent_limit, rows, weight)


def _check_together(page: bool, as_json: bool, code: bool, drawn: bool) -> None:
    """Reject options of which one would be ignored."""
    if page and (as_json or code):
        other = "--json" if as_json else "--code"
        raise UsageError(f"--html and {other} do not go together", "--html writes only the page", "give one of them")
    if code and drawn:
        raise UsageError("--code and --type do not go together", "", "--type draws one type, --code lists instructions")


def _write_all(job: Job, code: bool, skid: bool, weight: "Weight") -> None:
    """All numbers of a recording as JSON."""
    accesses = _Accesses(job, "json_report", skid, weight, names=code)

    from undwarf.outputs.types.json_report import types_of_event, write
    from undwarf.views.data.layout import spread

    events = [
        types_of_event(data, name if event is not None else None, accesses.unit(event), spread(data), weight, code=code)
        for event, name, data in accesses.events()
    ]
    write(job.recording.path, weight, events, accesses.clashes, sys.stdout)


def _list(job: Job, code: bool, skid: bool, percent_limit: float, rows: int, weight: "Weight") -> None:
    """The types of a recording, or with ``code`` its instructions, as text."""
    accesses = _Accesses(job, "text", skid, weight, names=code)

    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.outputs.types import text
    from undwarf.outputs.types.columns import TypesOptions

    if code:
        from undwarf.outputs.types.code import write_code
    else:
        from undwarf.views.data.layout import spread

    options = TypesOptions(
        percent_limit, rows, wants_colour(sys.stdout), job.recording.path, skid, width=terminal_width()
    )
    for number, (event, name, data) in enumerate(accesses.events()):
        if number:
            sys.stdout.write("\n")
        of_event = options._replace(precise=event in accesses.precise)
        if code:
            write_code(data, name, sys.stdout, of_event)
        else:
            text.write(data, name, spread(data), sys.stdout, of_event)
    if not code:
        text.write_sharing(accesses.clashes, sys.stdout, options)


def _draw_sampled(job: Job, type_name: str, skid: bool, weight: "Weight", as_json: bool) -> None:
    """One type of a recording with its layout, for each event that accesses it."""
    accesses = _Accesses(job, "text", skid, weight)

    from undwarf.cli.type_names import find_types, known_types, plain_name
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.outputs.types import drawing, text
    from undwarf.outputs.types.columns import TypesOptions
    from undwarf.outputs.types.json_report import layout_of, write_layouts
    from undwarf.views.data.layout import draw, spread

    options = TypesOptions(colour=wants_colour(sys.stdout), width=terminal_width())
    typedef_of = accesses.typedef_of(type_name)
    layouts: list[Layout] = []
    names: set[str] = set()
    for number, (event, name, data) in enumerate(accesses.events()):
        find = find_types if number == accesses.last and not names else known_types
        types = [draw(row) for row in find(data, type_name, typedef_of)]
        if not types:
            continue
        full_name = types[0].row.name
        names.add(full_name)
        if plain_name(full_name) != plain_name(type_name) and full_name not in typedef_of():
            click.echo(printable(f"{full_name} is the hottest type with {type_name!r} in its name"), err=True)
        if as_json:
            layouts += [layout_of(data, drawn, name, accesses.unit(event), weight) for drawn in types]
            continue
        if accesses.last:
            sys.stdout.write(f"{printable(name)}: ")
        drawing.write_types(data, types, spread(data), sys.stdout, options)
    if as_json:
        write_layouts(job.recording.path, weight, layouts, accesses.clashes, sys.stdout)
    else:
        text.write_sharing(accesses.clashes, sys.stdout, options, names or None)


class _Accesses:
    """What the samples of a recording access, and the sharing between CPUs.

    ``output`` is the module that is going to write it. With ``names`` instructions have rows; without, only functions
    that access something of a known type are named: of others only a sum is shown, and reading the kernel's symbols
    takes a while.
    """

    def __init__(self, job: Job, output: str, skid: bool, weight: "Weight", *, names: bool = False) -> None:
        self._weight = weight
        self._names = names
        # What is needed later is imported while the second process resolves accesses.
        import_output = partial(import_module, f"undwarf.outputs.types.{output}")
        self._touched = job.touch(job.leaves(names=names), skid=skid, meanwhile=import_output)

        from undwarf.views.data.false_sharing import sharing
        from undwarf.views.sample_selection import sections

        recording, profile = job.recording, self._touched.profile
        self._profile = profile if names else recording.named(profile, self._touched.typed())
        self._sections = sections(profile, ())
        self.last = len(self._sections) - 1
        self.precise = recording.event_stops.at | recording.event_stops.after
        # Weights of two events cannot be added, but loads and stores are often two events.
        single_event = self._sections[0][0] if not self.last else None
        self.clashes = sharing(
            profile,
            self._touched,
            lambda: recording.data_addresses(profile, self._touched),
            weight if not self.last else "samples",
            event=single_event,
        )

    def unit(self, event: "Events") -> str:
        """The unit of an event's periods; empty if it is not known."""
        from undwarf.views.report import unit_of_weights

        return unit_of_weights(self._profile, event)

    def typedef_of(self, name: str) -> "Callable[[], frozenset[str]]":
        """Asks the binaries which types a name is a typedef of."""
        from undwarf.cli.type_names import plain_name

        return cache(lambda: self._touched.named(plain_name(name)))

    def events(self) -> "Iterator[tuple[Events, str, DataTypes]]":
        """(event, its name, what its samples access)."""
        from undwarf.views.data.types import data_types

        for event, name in self._sections:
            yield event, name, data_types(
                self._profile, self._touched, self._weight,
                event=event, instructions=self._names, sharing=self.clashes.found,
            )  # fmt: skip


def _write_page(job: Job, target: str, type_name: str | None, skid: bool, weight: "Weight") -> None:
    """The page of the recording, opened at its types, or at one."""
    from urllib.parse import urlencode

    from undwarf.cli.page_file import page_parts, write_page
    from undwarf.cli.type_names import find_types, plain_name

    if weight == "latency":
        raise UsageError("--weight latency and --html do not go together", "the page shows latencies beside weights")
    parts = page_parts(job, job.profile(lines=True, by_time=True), skid=skid)
    start = {"view": "types"}
    if weight == "samples":
        start["weight"] = weight
    if type_name is not None:
        typedef_of = cache(lambda: parts.accesses.named(plain_name(type_name)))
        start["type"] = find_types(parts.types.data, type_name, typedef_of)[0].name
    parts.start = urlencode(start)
    write_page(parts.for_file(types=True), target, "--html")


def _draw(binary: str | None, name: str, btf: str, as_json: bool, options: dict[str, Any]) -> None:
    """A type of a binary or of a BTF file with its layout, without samples."""
    from undwarf.cli.type_names import plain_name
    from undwarf.views.data.layout import draw
    from undwarf.views.data.types import DataTypes, TypeRow

    if binary is None:
        from undwarf.types.open_resolver import open_btf_with_base
        from undwarf.types.sources.btf import BtfTypes

        types = BtfTypes(open_btf_with_base(btf))
        graph, number = types.graph, types.named(plain_name(name))
    else:
        source = _resolver(binary, btf, options, code=False).source
        graph, number = source.graph, source.type_named(plain_name(name))
    if not number:
        raise UsageError(
            f"no type named {name!r} in {binary or btf}",
            "names must be complete, with namespaces",
            "undwarf types FILE lists the types that a recording's samples touch",
        )
    drawn = draw(TypeRow(graph.canonical_name(number), graph.size(number), lambda: (graph, graph.strip(number))))
    if as_json:
        from undwarf.outputs.types.json_report import layout_of, write_layout

        write_layout(binary or btf, layout_of(DataTypes(), drawn, None, ""), sys.stdout)
    else:
        from undwarf.outputs.terminal.style import wants_colour
        from undwarf.outputs.types.columns import TypesOptions
        from undwarf.outputs.types.drawing import write_types

        write_types(DataTypes(), [drawn], [], sys.stdout, TypesOptions(colour=wants_colour(sys.stdout)))


def _list_accesses(binary: str, addresses: tuple[int, ...], btf: str, as_json: bool, options: dict[str, Any]) -> None:
    """What the instructions at some addresses of a binary access."""
    if not addresses:
        raise UsageError("--binary needs --at or --type", "", "undwarf types --binary ./program --at 1500,1504")
    resolver = _resolver(binary, btf, options)
    accesses = [access for address in addresses for access in resolver.at(address)]
    if as_json:
        from undwarf.outputs.types.json_report import write_accesses

        write_accesses(binary, accesses, sys.stdout)
    else:
        from undwarf.outputs.accesses import write

        write(accesses, sys.stdout)


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
