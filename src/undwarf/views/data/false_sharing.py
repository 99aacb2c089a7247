"""Memory that cpus take from each other: what some threads write while others use the same cache line.

Where samples have data addresses, the lines are real ones, and what is on them is known byte by byte: different members
(or objects) on one line are *false sharing*, the same bytes are data that is shared indeed. Without addresses only
types are left: members of one line of a type that different threads of a process (in the kernel, of any) write and
use, which is a clash if they were of one object. Two threads clash where both were met on different cpus within the
same time; where cpus were not recorded, different threads have to do.
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

__all__ = ["Clashes", "Party", "Sharing", "sharing"]

_NO_CPU = 0xFFFFFFFF
_MOST_TOUCHES = 256
"""Touches of one line that are compared with each other, by weight."""
_MOST_GROUPS = 200_000
"""Members at places of lines, by thread and cpu, that are looked at; each costs 300 bytes."""
_MOST_WHO = 64
"""Threads and CPUs listed for a member, at most."""
_LEAST_SAMPLES = 2
"""Of each side of a clash."""
_LEAST_THREADS = 2
_KERNEL = frozenset({"kernel", "module", "bpf"})
"""Kinds of images whose code works on the memory that all processes share."""


@dataclass(slots=True)
class Party:
    """A member on a line, with the threads and cpus that were met there."""

    type: str
    field: str
    offset: int
    threads: set[int] = initially(default_factory=set)
    cpus: set[int] = initially(default_factory=set)


@dataclass(slots=True)
class Sharing:
    """Members that clash on `lines` cache lines of `line_size` bytes. `by_address`: these are real ones, one of them at
    `address`; else it is line `line` of the type, if the objects are the same. `false`: different bytes of the line;
    else the same ones. `objects`: different objects of one type lie on a line. `inferred`: some of the samples were
    charged to an instruction before theirs. `cpus_known`: threads were on different cpus, not only different.
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
        """The type of what is written."""
        return self.written[0].type


@dataclass(slots=True)
class _Touch:
    """What one thread on one cpu did with one member at one place of a line."""

    type: str
    field: str
    offset: int
    begin: int
    end: int
    writes: bool
    thread: int
    cpu: int
    first: int
    last: int
    weight: int
    samples: int
    inferred: bool

    def clashes(self, other: "_Touch") -> bool:
        """Whether this writes what makes another cpu's cache lose the line."""
        return (
            self.writes
            and self.thread != other.thread
            and (self.cpu != other.cpu or self.cpu == _NO_CPU)
            and self.first <= other.last
            and other.first <= self.last
        )

    def overlaps(self, other: "_Touch") -> bool:
        return self.begin < other.end and other.begin < self.end


@dataclass(slots=True)
class _Found:
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
    """What was found, and what its weights are part of: `total` of `weight`."""

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
    """Clashes with at least a share `least` of all weight, heaviest first: those by address, then those by type.

    ``addresses`` are asked for where several threads ran at the same time.
    Of all events together where `event` is None: loads and stores are often sampled by events of their own.
    """
    selection = Selection(profile, event, weight)
    if not _threads_meet(selection, selection.chosen(profile.samples.columns.time)):
        return Clashes(weight, selection.total, [])
    leaves = look_up(selection.stacks, profile.stacks.frame)
    of_access = _useful(profile, touched)
    accesses = look_up(leaves, of_access)
    known = addresses()
    found = selection.chosen(known.column)
    floor = least * selection.total
    some = known.recorded + known.computed > 0
    by_address = _by_address(profile, touched, selection, leaves, accesses, found) if some else []
    by_type = _by_type(profile, touched, selection, leaves, accesses, found, floor)
    shown = [one for one in (*by_address, *by_type) if one.weight >= floor and one.samples > _LEAST_SAMPLES]
    shown.sort(key=lambda one: (not one.by_address, not one.false, -one.weight, one.type, one.line))
    return Clashes(weight, selection.total, shown)


def _threads_meet(selection: Selection, times: Column) -> bool:
    """Whether a thread began before another one's last sample: those that came one after the other take nothing from
    each other, as the commands of a script."""
    threads = Pairs()
    of_thread = threads.column(selection.column("tid"), zeros("I", len(selection)))
    spans = sorted(zip(*time_spans(of_thread, times, len(threads)), strict=True))
    return any(begin <= end for (_begin, end), (begin, _end) in pairwise(spans))


def _useful(profile: Profile, touched: ResolvedAccesses) -> Column:
    """The access of each frame; NONE where its type is not known, or where it is a guess."""
    found = zeros("I", max(len(profile.frames), 1))
    for frame, which in enumerate(touched.access):
        known = which != NONE and touched.accesses[which].typed and touched.accesses[which].countable
        sure = not touched.inferred[frame] or touched.consumed[frame]
        found[frame] = which if known and sure else NONE
    return found


def _touches(
    profile: Profile, touched: ResolvedAccesses, selection: Selection, rows: Column, place: Column, leaves: Column
) -> Iterator[tuple[int, _Touch]]:
    """(place, what was done there), where `begin` is not known yet; the heaviest ones if there are too many."""
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
        yield places[first[number]], _Touch(
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
    for number, access in enumerate(touched.accesses):
        writes[number] = "w" in access.access
    line_of = _where(line_of, accesses, lines)
    state = shared_lines(line_of, selection.column("tid"), accesses, writes, max(count, 1))
    rows = rows_in(line_of, state, 3)
    if not len(rows):
        return []
    places = Pairs()
    place = places.column(line_of, low_bits(addresses, shift))
    # The byte of the line is part of what is grouped by.
    in_line = list(zip(places.high(), places.low(), strict=True))
    by_line: dict[int, list[_Touch]] = {}
    for at, one in _touches(profile, touched, selection, rows, place, leaves):
        line, byte = in_line[at]
        one.end = byte + one.end - one.begin
        one.begin = byte
        by_line.setdefault(line, []).append(one)
    sources, own = owned.high(), owned.low()
    highs, lows = numbers.high(), numbers.low()
    found: dict[tuple[bool, tuple[tuple[str, str], ...]], _Found] = {}
    for line, touches in by_line.items():
        number = own[line]
        address = (highs[number] << 32 | lows[number]) << shift if sources[line] != NONE else 0
        for false in (True, False):
            _clash(touches, false, line, address, found)
    return [_made(one, key[0], profile.line_size, by_address=True, line=-1) for key, one in found.items()]


def _where(column: Column, accesses: Column, lines: Column) -> Column:
    """The column with NONE where the access has no type, or the address is not known."""
    pairs = Pairs()
    both = pairs.column(column, accesses)
    table = zeros("I", max(len(pairs), 1))
    for number, (value, access) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        table[number] = value if access != NONE else NONE
    made: Column = look_up(both, table)
    drop_zero(lines, made)
    return made


def _clash(
    touches: list[_Touch],
    false: bool,
    line: int,
    address: int,
    found: dict[tuple[bool, tuple[tuple[str, str], ...]], _Found],
) -> None:
    """Add what of a line's touches clashes, on different bytes or on the same ones."""
    touches = sorted(touches, key=lambda one: -one.weight)[:_MOST_TOUCHES]
    clashing: dict[int, _Touch] = {}
    writing: dict[int, _Touch] = {}
    objects = False
    for first, one in enumerate(touches):
        for second, other in enumerate(touches):
            if first != second and one.clashes(other) and one.overlaps(other) != false:
                writing[first] = clashing[first] = one
                clashing[second] = other
                objects = objects or (one.type == other.type and one.begin - one.offset != other.begin - other.offset)
    if len(clashing) < _LEAST_SAMPLES:
        return
    members = tuple(sorted({(one.type, one.field) for one in clashing.values()}))
    into = found.setdefault((false, members), _Found())
    weight = sum(one.weight for one in clashing.values())
    into.lines.add(line)
    into.weight += weight
    into.samples += sum(one.samples for one in clashing.values())
    into.inferred = into.inferred or any(one.inferred for one in clashing.values())
    into.objects = into.objects or objects
    into.cpus_known = into.cpus_known and all(one.cpu != _NO_CPU for one in clashing.values())
    if weight > into.most:
        into.most, into.address = weight, address
    for parties, touching in ((into.written, writing), (into.used, clashing)):
        for one in touching.values():
            party = parties.setdefault((one.type, one.field, one.offset), Party(one.type, one.field, one.offset))
            if len(party.threads) < _MOST_WHO:
                party.threads.add(one.thread)
            if one.cpu != _NO_CPU and len(party.cpus) < _MOST_WHO:
                party.cpus.add(one.cpu)


def _made(found: _Found, false: bool, line_size: int, *, by_address: bool, line: int) -> Sharing:
    def order(parties: dict[tuple[str, str, int], Party]) -> list[Party]:
        return sorted(parties.values(), key=lambda one: (one.type, one.offset, one.field))

    return Sharing(
        by_address, false, found.weight, found.samples, len(found.lines) if by_address else 0, found.address, line,
        order(found.written), order(found.used), found.inferred, found.objects, found.cpus_known,
        line_size,
    )  # fmt: skip  # rows of fields


def _by_type(
    profile: Profile,
    touched: ResolvedAccesses,
    selection: Selection,
    leaves: Column,
    accesses: Column,
    addresses: Column,
    floor: float,
) -> list[Sharing]:
    """Clashes of what has no address: members of one line of a type that different threads use. Of lines that weigh
    less than ``floor`` in all there is no result."""
    has = zeros("B", 1)
    unknown = _where(zeros("I", len(accesses)), accesses, zero_where_set(addresses))
    rows = rows_in(unknown, has, 0)
    if not len(rows):
        return []
    owner = _owners(profile, selection, leaves)
    by_line: dict[tuple[str, int], dict[int, list[_Touch]]] = {}
    for at, one in _touches(profile, touched, selection, rows, owner, leaves):
        by_line.setdefault((one.type, one.offset // profile.line_size), {}).setdefault(at, []).append(one)
    made = []
    for (_name, line), touches in by_line.items():
        if sum(one.weight for of_owner in touches.values() for one in of_owner) < floor:
            continue
        found: dict[tuple[bool, tuple[tuple[str, str], ...]], _Found] = {}
        for of_owner in touches.values():
            if len({one.thread for one in of_owner}) >= _LEAST_THREADS:
                _clash(_apart(of_owner), True, line, 0, found)
        made += [_made(one, True, profile.line_size, by_address=False, line=line) for one in found.values()]
    return made


def _owners(profile: Profile, selection: Selection, leaves: Column) -> Column:
    """Whose data each sample is taken to touch where its address is not known: a number for each process, 0 for the
    kernel, which has one memory for all."""
    kernel = zeros("I", max(len(profile.frames), 1))
    for frame, image in enumerate(profile.frames.image):
        kernel[frame] = image != NONE and profile.images[image].kind in _KERNEL
    pairs = Pairs()
    process = pairs.column(look_up(leaves, kernel), selection.column("pid"))
    owners = zeros("I", max(len(pairs), 1))
    for number, in_kernel in enumerate(pairs.high()):
        owners[number] = 0 if in_kernel else number + 1
    made: Column = look_up(process, owners)
    return made


def _apart(touches: list[_Touch]) -> list[_Touch]:
    """Those of members that other threads use than another member's: threads that all use all members have objects of
    their own as likely as one together."""
    users: dict[tuple[str, int], set[int]] = {}
    for one in touches:
        users.setdefault((one.field, one.offset), set()).add(one.thread)
    return [
        one
        for one in touches
        if any(
            users[one.field, one.offset].isdisjoint(threads)
            for place, threads in users.items()
            if place != (one.field, one.offset)
        )
    ]
