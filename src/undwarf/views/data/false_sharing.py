"""Sharing of cache lines between CPUs: memory that some threads write while others use the same cache line.

With data addresses, the lines are real ones, and their bytes are known: different members (or objects) on one line are
*false sharing*, the same bytes are true sharing. Without addresses only types are left: members on one line of a type
that different threads of a process (in the kernel, of any) write and use, which is sharing if they access one object.
Two threads clash if both were sampled on different CPUs in overlapping times; if CPUs were not recorded, if they are
different threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as initially
from heapq import nlargest
from itertools import pairwise
from typing import TYPE_CHECKING

from undwarf.column import zeros
from undwarf.ordering import take
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.data_lines import drop_zero, line_keys, low_bits, rows_in, shared_lines, time_spans, zero_where_set
from undwarf.profile.grouping import Pairs, halves, look_up, sums
from undwarf.profile.model import NONE, Column, Profile
from undwarf.views.sample_selection import Events, Selection, Weight

if TYPE_CHECKING:
    from undwarf.views.data.addresses import DataAddresses

_NO_CPU = 0xFFFFFFFF
_MOST_ACCESSES = 256
"""Accesses to one line that are compared with each other, the heaviest first."""
_MOST_GROUPS = 200_000
"""Members on lines, by thread and CPU, that are compared; each takes 300 bytes."""
_MOST_LISTED = 64
"""The most threads and CPUs that are listed for a member."""
_LEAST_SAMPLES = 2
"""Of each side of a clash."""
_LEAST_THREADS = 2
_KERNEL = frozenset({"kernel", "module", "bpf"})
"""Kinds of images whose code uses the memory that all processes share."""


@dataclass(slots=True)
class Party:
    """A member on a line, with the threads and CPUs that accessed it."""

    type: str
    field: str
    offset: int
    threads: set[int] = initially(default_factory=set)
    cpus: set[int] = initially(default_factory=set)


@dataclass(slots=True)
class Sharing:
    """Members that clash on ``lines`` cache lines of ``line_size`` bytes. ``by_address``: real lines, one of them at
    ``address``; else line ``line`` of the type, provided that the objects are the same. ``false``: different bytes of
    the line. ``objects``: of different objects of one type. ``inferred``: some samples were attributed to an earlier
    instruction. ``cpus_known``: the threads were on different CPUs.
    """

    by_address: bool
    false: bool
    weight: int
    samples: int
    lines: int
    address: int
    line: int
    written: list[Party]
    used: list[Party]
    inferred: bool
    objects: bool
    cpus_known: bool
    line_size: int

    @property
    def type(self) -> str:
        """The type of the first written member."""
        return self.written[0].type


@dataclass(slots=True)
class _LineAccess:
    """The accesses of one thread on one CPU to one member at one offset of a line."""

    type: str
    field: str
    offset: int
    start: int
    end: int
    writes: bool
    thread: int
    cpu: int
    first: int
    last: int
    weight: int
    samples: int
    inferred: bool

    def clashes(self, other: "_LineAccess") -> bool:
        """Whether this writes to the line while another CPU uses it."""
        return (
            self.writes
            and self.thread != other.thread
            and (self.cpu != other.cpu or self.cpu == _NO_CPU)
            and self.first <= other.last
            and other.first <= self.last
        )

    def overlaps(self, other: "_LineAccess") -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(slots=True)
class _Clash:
    written: dict[tuple[str, str, int], Party] = initially(default_factory=dict)
    used: dict[tuple[str, str, int], Party] = initially(default_factory=dict)
    lines: set[int] = initially(default_factory=set)
    address: int = 0
    weight: int = 0
    samples: int = 0
    most: int = 0
    inferred: bool = False
    objects: bool = False
    cpus_known: bool = True


@dataclass(slots=True)
class Clashes:
    """The sharing that was found; shares are of ``total``, of this kind of weight."""

    weight: Weight
    total: int
    found: list[Sharing]


def sharing(
    profile: Profile,
    touched: ResolvedAccesses,
    addresses: "Callable[[], DataAddresses]",
    weight: Weight = "period",
    *,
    event: Events = None,
    least: float = 0.005,
) -> Clashes:
    """Clashes with at least the share ``least`` of all weight: by address, then by type, the heaviest first.

    ``addresses`` is called if several threads ran at the same time. ``event`` None: of all events together, since loads
    and stores are often sampled by different events.
    """
    selection = Selection(profile, event, weight)
    if not _threads_meet(selection, selection.chosen(profile.samples.columns.time)):
        return Clashes(weight, selection.total, [])
    leaves = look_up(selection.stacks, profile.stacks.frame)
    accesses = look_up(leaves, _typed_accesses(profile, touched))
    known = addresses()
    of_sample = selection.chosen(known.column)
    least_weight = least * selection.total
    found = _by_type(profile, touched, selection, leaves, accesses, of_sample, least_weight)
    if known.recorded + known.computed:
        found += _by_address(profile, touched, selection, leaves, accesses, of_sample)
    found = [clash for clash in found if clash.weight >= least_weight and clash.samples > _LEAST_SAMPLES]
    found.sort(key=lambda clash: (not clash.by_address, not clash.false, -clash.weight, clash.type, clash.line))
    return Clashes(weight, selection.total, found)


def _threads_meet(selection: Selection, times: Column) -> bool:
    """Whether the times of two threads overlap: those of the commands of a script, say, do not."""
    threads = Pairs()
    of_thread = threads.column(selection.column("tid"), zeros("I", len(selection)))
    spans = sorted(zip(*time_spans(of_thread, times, len(threads)), strict=True))
    return any(start <= end for (_start, end), (start, _end) in pairwise(spans))


def _typed_accesses(profile: Profile, touched: ResolvedAccesses) -> Column:
    """The access of each frame (I); NONE if its type is unknown or inferred with low confidence."""
    found = zeros("I", max(len(profile.frames), 1))
    for frame, which in enumerate(touched.access):
        known = which != NONE and touched.accesses[which].typed and touched.accesses[which].countable
        sure = not touched.inferred[frame] or touched.consumed[frame]
        found[frame] = which if known and sure else NONE
    return found


def _line_accesses(
    profile: Profile, touched: ResolvedAccesses, selection: Selection, rows: Column, place: Column, leaves: Column
) -> Iterator[tuple[int, _LineAccess]]:
    """(place, accesses to it), with member offsets as ``start``; the heaviest ones if there are too many."""
    who = Pairs()
    of_who = who.column(take(selection.column("tid"), rows), take(selection.column("cpu"), rows))
    what = Pairs()
    of_what = what.column(take(place, rows), take(leaves, rows))
    both = Pairs()
    group = both.column(of_what, of_who)
    count = len(both)
    weights, samples = sums(group, take(selection.weights, rows), count), sums(group, None, count)
    firsts, lasts = time_spans(group, take(selection.chosen(profile.samples.columns.time), rows), count)
    places, frames, threads, cpus = what.high(), what.low(), who.high(), who.low()
    first, second = both.high(), both.low()
    chosen = range(count) if count <= _MOST_GROUPS else nlargest(_MOST_GROUPS, range(count), key=weights.__getitem__)
    for number in chosen:
        frame = frames[first[number]]
        access = touched.accesses[touched.access[frame]]
        offset = access.offset or 0
        yield places[first[number]], _LineAccess(
            access.type or "", access.field, offset, offset, offset + max(access.size, 1), "w" in access.access,
            threads[second[number]], cpus[second[number]], firsts[number], lasts[number], weights[number],
            samples[number], bool(touched.inferred[frame]),
        )  # fmt: skip  # rows of fields


def _by_address(
    profile: Profile,
    touched: ResolvedAccesses,
    selection: Selection,
    leaves: Column,
    accesses: Column,
    addresses: Column,
) -> list[Sharing]:
    columns = profile.samples.columns
    nothing = zeros("Q", 0)
    shift = profile.line_size.bit_length() - 1
    physical = selection.chosen(columns.phys_addr) if columns.phys_addr is not None else nothing
    lines, owners = line_keys(addresses, physical, selection.column("pid"), shift)
    numbers = Pairs()
    line_number = numbers.column(*halves(lines))
    owned = Pairs()
    line_of = owned.column(owners, line_number)
    count = len(owned)
    writes = zeros("B", len(touched.accesses) + 1)
    for number, resolved in enumerate(touched.accesses):
        writes[number] = "w" in resolved.access
    line_of = _where(line_of, accesses, lines)
    state = shared_lines(line_of, selection.column("tid"), accesses, writes, max(count, 1))
    rows = rows_in(line_of, state, 3)
    if not len(rows):
        return []
    places = Pairs()
    place = places.column(line_of, low_bits(addresses, shift))
    line_and_offset = list(zip(places.high(), places.low(), strict=True))
    by_line: dict[int, list[_LineAccess]] = {}
    for number, access in _line_accesses(profile, touched, selection, rows, place, leaves):
        line, offset = line_and_offset[number]
        access.end = offset + access.end - access.start
        access.start = offset
        by_line.setdefault(line, []).append(access)
    sources, own = owned.high(), owned.low()
    highs, lows = numbers.high(), numbers.low()
    clashes: dict[tuple[bool, tuple[tuple[str, str], ...]], _Clash] = {}
    for line, line_accesses in by_line.items():
        number = own[line]
        address = (highs[number] << 32 | lows[number]) << shift if sources[line] != NONE else 0
        for false in (True, False):
            _add_clash(line_accesses, false, line, address, clashes)
    return [_as_sharing(clash, key[0], profile.line_size, by_address=True, line=-1) for key, clash in clashes.items()]


def _where(column: Column, accesses: Column, lines: Column) -> Column:
    """The column with NONE for accesses without a type, and for unknown addresses."""
    pairs = Pairs()
    both = pairs.column(column, accesses)
    table = zeros("I", max(len(pairs), 1))
    for number, (value, access) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        table[number] = value if access != NONE else NONE
    known: Column = look_up(both, table)
    drop_zero(lines, known)
    return known


def _add_clash(
    line_accesses: list[_LineAccess],
    false: bool,
    line: int,
    address: int,
    clashes: dict[tuple[bool, tuple[tuple[str, str], ...]], _Clash],
) -> None:
    """Add the accesses to a line that clash, on different bytes (``false``) or on the same ones."""
    heaviest = sorted(line_accesses, key=lambda access: -access.weight)[:_MOST_ACCESSES]
    clashing: dict[int, _LineAccess] = {}
    writing: dict[int, _LineAccess] = {}
    objects = False
    for first, access in enumerate(heaviest):
        for second, other in enumerate(heaviest):
            if first != second and access.clashes(other) and access.overlaps(other) != false:
                writing[first] = clashing[first] = access
                clashing[second] = other
                objects = objects or (
                    access.type == other.type and access.start - access.offset != other.start - other.offset
                )
    if len(clashing) < _LEAST_SAMPLES:
        return
    members = tuple(sorted({(access.type, access.field) for access in clashing.values()}))
    clash = clashes.setdefault((false, members), _Clash())
    weight = sum(access.weight for access in clashing.values())
    clash.lines.add(line)
    clash.weight += weight
    clash.samples += sum(access.samples for access in clashing.values())
    clash.inferred = clash.inferred or any(access.inferred for access in clashing.values())
    clash.objects = clash.objects or objects
    clash.cpus_known = clash.cpus_known and all(access.cpu != _NO_CPU for access in clashing.values())
    if weight > clash.most:
        clash.most, clash.address = weight, address
    for parties, accesses in ((clash.written, writing), (clash.used, clashing)):
        for access in accesses.values():
            party = parties.setdefault(
                (access.type, access.field, access.offset), Party(access.type, access.field, access.offset)
            )
            if len(party.threads) < _MOST_LISTED:
                party.threads.add(access.thread)
            if access.cpu != _NO_CPU and len(party.cpus) < _MOST_LISTED:
                party.cpus.add(access.cpu)


def _as_sharing(clash: _Clash, false: bool, line_size: int, *, by_address: bool, line: int) -> Sharing:
    def order(parties: dict[tuple[str, str, int], Party]) -> list[Party]:
        return sorted(parties.values(), key=lambda party: (party.type, party.offset, party.field))

    return Sharing(
        by_address, false, clash.weight, clash.samples, len(clash.lines) if by_address else 0, clash.address, line,
        order(clash.written), order(clash.used), clash.inferred, clash.objects, clash.cpus_known, line_size,
    )  # fmt: skip


def _by_type(
    profile: Profile,
    touched: ResolvedAccesses,
    selection: Selection,
    leaves: Column,
    accesses: Column,
    addresses: Column,
    least_weight: float,
) -> list[Sharing]:
    """Clashes of samples without an address: members of one line of a type that different threads access. Lines that
    weigh less than ``least_weight`` in all are left out."""
    has = zeros("B", 1)
    unknown = _where(zeros("I", len(accesses)), accesses, zero_where_set(addresses))
    rows = rows_in(unknown, has, 0)
    if not len(rows):
        return []
    owner = _owners(profile, selection, leaves)
    by_line: dict[tuple[str, int], dict[int, list[_LineAccess]]] = {}
    for number, access in _line_accesses(profile, touched, selection, rows, owner, leaves):
        by_owner = by_line.setdefault((access.type, access.offset // profile.line_size), {})
        by_owner.setdefault(number, []).append(access)
    found = []
    for (_name, line), by_owner in by_line.items():
        if sum(access.weight for of_owner in by_owner.values() for access in of_owner) < least_weight:
            continue
        clashes: dict[tuple[bool, tuple[tuple[str, str], ...]], _Clash] = {}
        for of_owner in by_owner.values():
            if len({access.thread for access in of_owner}) >= _LEAST_THREADS:
                _add_clash(_apart(of_owner), True, line, 0, clashes)
        found += [
            _as_sharing(clash, True, profile.line_size, by_address=False, line=line) for clash in clashes.values()
        ]
    return found


def _owners(profile: Profile, selection: Selection, leaves: Column) -> Column:
    """The owner of the memory that each sample without an address is taken to access (I): a number for each process, 0
    for the kernel."""
    kernel = zeros("I", max(len(profile.frames), 1))
    for frame, image in enumerate(profile.frames.image):
        kernel[frame] = image != NONE and profile.images[image].kind in _KERNEL
    pairs = Pairs()
    process = pairs.column(look_up(leaves, kernel), selection.column("pid"))
    owners = zeros("I", max(len(pairs), 1))
    for number, in_kernel in enumerate(pairs.high()):
        owners[number] = 0 if in_kernel else number + 1
    of_sample: Column = look_up(process, owners)
    return of_sample


def _apart(accesses: list[_LineAccess]) -> list[_LineAccess]:
    """The accesses to members whose threads all differ from those of another member: threads that all access all
    members may as well have objects of their own."""
    users: dict[tuple[str, int], set[int]] = {}
    for access in accesses:
        users.setdefault((access.field, access.offset), set()).add(access.thread)
    return [
        access
        for access in accesses
        if any(
            users[access.field, access.offset].isdisjoint(threads)
            for member, threads in users.items()
            if member != (access.field, access.offset)
        )
    ]
