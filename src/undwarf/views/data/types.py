# cython: language_level=3, annotation_typing=False
"""Weights by type, member and instruction of what samples access, and untyped accesses by reason.

Weights are periods (or samples, or latencies), as in other views. Where the recording has latencies, data sources and
page sizes, they are added up by type and member as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as initially
from functools import partial
from typing import TYPE_CHECKING

import cython

from undwarf.perfdata.data_source import access_of
from undwarf.perfdata.features import LINE
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.grouping import Pairs, halves, look_up, sums, widen
from undwarf.profile.model import NONE, Profile
from undwarf.profile.rows import Rows
from undwarf.types.access import Access
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.views.data.access_labels import latency_of
from undwarf.views.data.memory_counts import MemoryCounts
from undwarf.views.kernels.weights import ones_where
from undwarf.views.sample_selection import Events, Selection, Weight

if TYPE_CHECKING:
    from undwarf.arrow.table import Table
    from undwarf.types.resolver import Resolver
    from undwarf.views.data.false_sharing import Sharing

OUTSIDE = {
    "none": "no memory access",
    "stack": "stack operation",
    "spill": "compiler's own stack slot",
    "canary": "stack canary",
    "constant": "constant",
    "table": "table of addresses",
}
"""By evidence: accesses that have no type of the program."""
INFERRED = ", inferred"
"""Follows the reason of an untyped access whose instruction was only inferred."""


@cython.final
@cython.cclass
class Counts:
    """Sums over samples: ``weight``, and of that the weight of ``loads``, ``stores``, and ``inferred`` accesses
    (``consumed``, with high confidence: the sampled instruction uses the loaded value). ``latency`` is of the ``timed``
    samples that have one; ``memory`` sums up their data sources."""

    # One for each frame: as a C class they are constructed and added in a fifth of the time.
    weight: int = cython.declare(object, visibility="public")
    samples: int = cython.declare(object, visibility="public")
    loads: int = cython.declare(object, visibility="public")
    stores: int = cython.declare(object, visibility="public")
    latency: int = cython.declare(object, visibility="public")
    timed: int = cython.declare(object, visibility="public")
    inferred: int = cython.declare(object, visibility="public")
    consumed: int = cython.declare(object, visibility="public")
    recorded: MemoryCounts | None = cython.declare(object, visibility="public")

    def __init__(
        self,
        weight: int = 0,
        samples: int = 0,
        loads: int = 0,
        stores: int = 0,
        latency: int = 0,
        timed: int = 0,
        inferred: int = 0,
        consumed: int = 0,
    ) -> None:
        self.weight = weight
        self.samples = samples
        self.loads = loads
        self.stores = stores
        self.latency = latency
        self.timed = timed
        self.inferred = inferred
        self.consumed = consumed
        self.recorded = None

    @property
    def memory(self) -> MemoryCounts:
        """The sums of data sources; created on demand, since few recordings have any."""
        if self.recorded is None:
            self.recorded = MemoryCounts()
        return self.recorded

    @cython.ccall
    @cython.locals(other="Counts")
    def add(self, other: "Counts") -> None:
        """Add another one's sums."""
        self.weight += other.weight
        self.samples += other.samples
        self.loads += other.loads
        self.stores += other.stores
        self.latency += other.latency
        self.timed += other.timed
        self.inferred += other.inferred
        self.consumed += other.consumed
        if other.recorded is not None:
            self.memory.add(other.recorded)

    @property
    def mean_latency(self) -> float:
        """Of the samples that have one."""
        return self.latency / self.timed if self.timed else 0.0


@dataclass(slots=True)
class InstructionRow:
    """One instruction: its function and image, what it accesses, and its sums."""

    function: str
    image: str
    access: Access
    counts: Counts


@dataclass(slots=True)
class FieldRow:
    """One member at one offset of a type, where accesses start; ``by_size``: the sums by the accesses' size in bytes.
    ``readers`` and ``writers`` are CPUs, ``functions`` weights by name."""

    offset: int
    field: str
    size: int
    counts: Counts = initially(default_factory=Counts)
    readers: set[int] = initially(default_factory=set)
    writers: set[int] = initially(default_factory=set)
    functions: dict[str, int] = initially(default_factory=dict)
    candidates: tuple[str, ...] = ()
    by_size: dict[int, Counts] = initially(default_factory=dict)


@dataclass(slots=True, repr=False)
class TypeRow:
    """One type: its sums and its members, by offset. ``find`` gives its layout: the graph that holds the type, and its
    number there (VOID if it cannot be found again)."""

    name: str
    size: int
    find: Callable[[], tuple[TypeGraph, int]]
    counts: Counts = initially(default_factory=Counts)
    fields: dict[tuple[int, str], FieldRow] = initially(default_factory=dict)
    shared: bool = False
    """Whether all accesses are to one object, a global variable."""

    def __repr__(self) -> str:
        return f"<undwarf.TypeRow {self.name!r}: weight {self.counts.weight:,}, {len(self.fields)} members>"


def _types(rows: "Sequence[TypeRow]", event: str = "") -> "Rows[TypeRow]":
    """Types as a sequence that is a table too."""

    def table(rows: "Sequence[TypeRow]") -> "Table":
        from undwarf.views.data.type_tables import types_table

        return types_table([(event, rows)])

    return Rows(rows, table)


@dataclass(slots=True, repr=False)
class DataTypes:
    """The types that samples access, by falling weight, and the weights of untyped samples by reason: accesses whose
    type is ``unknown``, instructions ``outside`` of the program's data, and ``unread`` code."""

    total: int = 0
    samples: int = 0
    typed: int = 0
    inferred: int = 0
    consumed: int = 0
    types: "Rows[TypeRow]" = initially(default_factory=lambda: _types(()))
    unknown: dict[str, int] = initially(default_factory=dict)
    unread: dict[str, int] = initially(default_factory=dict)
    untyped_files: dict[str, dict[str, int]] = initially(default_factory=dict)
    """By reason that holds for a whole file: the weights by file."""
    outside: dict[str, int] = initially(default_factory=dict)
    instructions: list[InstructionRow] = initially(default_factory=list)
    has_latency: bool = False
    has_sources: bool = False
    sharing: "list[Sharing]" = initially(default_factory=list)
    """Members whose cache lines move between CPUs (undwarf.views.data.false_sharing): they should rather be apart."""
    line_size: int = LINE
    """Bytes of a cache line."""
    event: str = ""
    """The event that is counted; empty: all."""

    @property
    def fields(self) -> "Table":
        """The members of all types, as a table for Arrow consumers; ``types`` is one too."""
        from undwarf.views.data.type_tables import fields_table

        return fields_table([(self.event, self.types)])

    def __repr__(self) -> str:
        return f"<undwarf.DataTypes: {len(self.types)} types, weight {self.typed:,} of {self.total:,} typed>"


@cython.locals(counts=Counts)
def data_types(
    profile: Profile,
    touched: ResolvedAccesses,
    weight: Weight = "period",
    *,
    event: Events = None,
    instructions: bool = True,
    sharing: "Sequence[Sharing]" = (),
) -> DataTypes:
    """Sum up by type and member what samples of an event (None: all) access; ``instructions`` have rows if asked for.
    ``sharing``: the clashes found in the profile."""
    selection = Selection(profile, event, weight)
    frames, functions = profile.frames, profile.functions
    leaves = look_up(selection.stacks, profile.stacks.frame)
    size = len(frames)
    counted = _counted(profile, selection, leaves, touched)
    found = DataTypes(selection.total, selection.samples, line_size=profile.line_size, sharing=list(sharing))
    if isinstance(event, int):
        found.event = profile.events[event].name
    cpus = _cpus(selection, leaves, size)
    types: dict[tuple[str, int, int], TypeRow] = {}
    rows: dict[tuple[int, int, str], InstructionRow] = {}
    which_of, accesses, resolvers = touched.access, touched.accesses, touched.resolvers
    image_of, function_of, names = frames.image, frames.function, functions.name
    for number, counts in counted.items():
        which = which_of[number]
        access = accesses[which]
        inferred = bool(touched.inferred[number])
        image = image_of[number]
        function = names[function_of[number]]
        if counts.timed:
            found.has_latency = True
        if counts.recorded is not None and counts.recorded.known > 0:
            found.has_sources = True
        if instructions:
            name = profile.images[image].name if image != NONE else ""
            # Of code that could not be read, a store has offsets in functions instead of addresses.
            instruction = image, access.address, function if access.how == "unread" else ""
            row = rows.get(instruction)
            if row is None:
                rows[instruction] = InstructionRow(function, name, access, counts)
            else:
                row.counts.add(counts)
        resolver, how, name_of = resolvers[which], access.how, access.type
        if name_of is None or how in OUTSIDE or resolver is None:
            if how in OUTSIDE:
                into, reason = found.outside, OUTSIDE[how]
            else:
                into, reason = found.unread if how == "unread" else found.unknown, access.reason
                if resolver is None and image != NONE:
                    files = found.untyped_files.setdefault(reason, {})
                    path = profile.images[image].name
                    files[path] = files.get(path, 0) + counts.weight
            reason += INFERRED if inferred else ""
            into[reason] = into.get(reason, 0) + counts.weight
            continue
        found.typed += counts.weight
        found.inferred += counts.inferred
        found.consumed += counts.consumed
        whole = access.type_size
        key = name_of, whole, access.layout
        known = types.get(key)
        if known is None:
            known = types[key] = TypeRow(name_of, whole, partial(_found_again, resolver, access))
        known.counts.add(counts)
        known.shared = known.shared or how == "global"
        place = (access.offset or 0, access.field)
        member = known.fields.get(place)
        if member is None:
            member = known.fields[place] = FieldRow(*place, access.size, candidates=access.candidates)
        member.size = max(member.size, access.size)
        member.counts.add(counts)
        of_size = member.by_size.get(access.size)
        if of_size is None:
            of_size = member.by_size[access.size] = Counts()
        of_size.add(counts)
        member.functions[function] = member.functions.get(function, 0) + counts.weight
        met = cpus.get(number)
        if met is not None and not inferred:
            if "r" in access.access:
                member.readers |= met
            if "w" in access.access:
                member.writers |= met
    found.types = _types(sorted(types.values(), key=lambda one: (-one.counts.weight, one.name)), found.event)
    found.instructions = sorted(rows.values(), key=lambda one: (-one.counts.weight, one.access.address))
    return found


def _found_again(opened: "Callable[[], Resolver]", access: Access) -> tuple[TypeGraph, int]:
    """The type of an access in its graph; by analysing the function again if another process or run resolved it."""
    resolver = opened()
    if access.type_number:
        return resolver.graph, access.type_number
    same = (one for one in resolver.at(access.address) if one == replace(access, type_number=one.type_number))
    return resolver.graph, next((one.type_number for one in same), VOID)


@cython.locals(one=Counts)
def _counted(
    profile: Profile, selection: Selection, leaves: memoryview, touched: ResolvedAccesses
) -> dict[int, Counts]:
    """The sums over the samples of each innermost frame."""
    columns = profile.samples.columns
    size = len(profile.frames)
    counts = sums(leaves, selection.counts, size)
    found = {number: Counts(0, count) for number, count in enumerate(counts) if count}
    which_of, accesses = touched.access, touched.accesses
    if columns.weight is not None:
        latencies = selection.chosen(latency_of(profile, 0))
        for number, (latency, timed) in enumerate(
            zip(
                sums(leaves, selection.of_samples(latencies), size),
                sums(leaves, selection.of_samples(ones_where(latencies)), size),
                strict=True,
            )
        ):
            if timed:
                found[number].latency, found[number].timed = latency, timed
    for number, source, weight in _by_value(columns.data_src, selection, leaves, size):
        one = found[number]
        done = accesses[which_of[number]].access
        if source:
            # Of an instruction that loads and stores, the hardware recorded which one was sampled.
            sampled = access_of(source)
            done = sampled if sampled and set(sampled) <= set(done) else done
            one.memory.add_source(source, weight)
        one.weight += weight
        one.loads += weight if "r" in done else 0
        one.stores += weight if "w" in done else 0
        if touched.inferred[number]:
            one.inferred += weight
            one.consumed += weight if touched.consumed[number] else 0
    if columns.data_page_size is not None:
        for number, page, weight in _by_value(columns.data_page_size, selection, leaves, size):
            found[number].memory.add_page(page, weight)
    return found


def _by_value(
    column: memoryview | None, selection: Selection, leaves: memoryview, size: int
) -> Iterator[tuple[int, int, int]]:
    """(frame, value of a column of the samples (0 where there is none), weight of those that have both)."""
    if column is None:
        whole = sums(leaves, selection.weights, size)
        yield from ((number, 0, weight) for number, weight in enumerate(whole) if weight)
        return
    values = Pairs()
    of_sample = values.column(*halves(selection.chosen(column)))
    numbers = [high << 32 | low for high, low in zip(values.high(), values.low(), strict=True)]
    pairs = Pairs()
    group = pairs.column(leaves, of_sample)
    weights = sums(group, selection.weights, len(pairs))
    for frame, number, weight in zip(pairs.high(), pairs.low(), weights, strict=True):
        if frame != NONE:
            yield frame, numbers[number], weight


def _cpus(selection: Selection, leaves: memoryview, size: int) -> dict[int, set[int]]:
    """The cpus on which each frame was sampled."""
    pairs = Pairs()
    pairs.column(leaves, widen(selection.column("cpu")))
    found: dict[int, set[int]] = {}
    for frame, cpu in zip(pairs.high(), pairs.low(), strict=True):
        if frame < size and cpu != NONE:
            found.setdefault(frame, set()).add(cpu)
    return found
