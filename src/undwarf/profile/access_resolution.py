# cython: language_level=3, annotation_typing=False
"""Resolves the memory accesses of sampled instructions to types and members, each unique instruction once."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.column import absent
from undwarf.defects import Defects
from undwarf.fork_pool import forked_map
from undwarf.perfdata.event_precision import EventStops
from undwarf.profile.grouping import look_up, sums
from undwarf.profile.model import NONE, Profile
from undwarf.profile.skid_kinds import StopKind, part_by_kind
from undwarf.types.access import Access, packed, unpacked, without_type
from undwarf.types.no_debuginfo import CodeWithoutTypes, unread

if TYPE_CHECKING:
    from undwarf.types.answer_cache import AnswerCache
    from undwarf.types.resolver import Resolver

    ResolverOf = Callable[[int, int], tuple[Resolver | CodeWithoutTypes, int] | str]

__all__ = ["ResolvedAccesses", "resolve_accesses"]

_AT, _LATE, _BEHIND = StopKind
_ALL_LATE = EventStops(frozenset(), frozenset(), frozenset())
_UNREADABLE = "file not readable"
_MOST_DESCRIBED = 256 << 20
"""Bytes of debugging information of all files above which there is one process only: each may read all of it."""


@dataclass(slots=True)
class ResolvedAccesses:
    """The memory accesses of the innermost frames of a profile.

    `profile` is the one that was given, or one with more frames where samples of several kinds stopped at one;
    `access` (I) gives for each frame the number of an entry of `accesses`, NONE for frames at which no sample stopped;
    `resolvers` open what can say more of the type, None where nothing can.
    `inferred` says of each frame whether the access is that of an instruction before it, as late events are explained,
    and `consumed` whether the frame's instruction consumes what was loaded there; `intact` whether the registers that
    say the address are, when a sample stops at the frame, those the access used.
    """

    profile: Profile
    access: memoryview
    accesses: list[Access]
    resolvers: list["Callable[[], Resolver] | None"]
    inferred: bytearray
    consumed: bytearray
    intact: bytearray

    def typed(self) -> Iterator[int]:
        """The frames whose accesses have a type."""
        accesses = self.accesses
        return (frame for frame, which in enumerate(self.access) if which != NONE and accesses[which].typed)

    def named(self, name: str) -> frozenset[str]:
        """The names that types are shown with which a binary knows by a name, as that of a typedef."""
        opened = {one(): None for one in self.resolvers if one is not None}
        found = {one.graph.canonical_name(number) for one in opened if (number := one.source.type_named(name))}
        return frozenset(found)


def resolve_accesses(
    profile: Profile,
    resolver_of: "ResolverOf",
    *,
    skid: bool = False,
    stops: EventStops = _ALL_LATE,
    progress: Callable[[str, int, int], None] | None = None,
    fork: Callable[[], Defects | None] = lambda: None,
    answers_of: "Callable[[int, str], AnswerCache | None]" = lambda _image, _asked: None,
    read_ahead: Callable[[Iterable[int]], Callable[[], None]] = lambda _images: lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
    contained: Callable[[int], AbstractContextManager[object]] = lambda _image: nullcontext(),
) -> ResolvedAccesses:
    """Resolve every instruction that samples stopped at.

    ``resolver_of`` gives for an image and an address in it the resolver, or code that nothing tells types of, and the
    address in the file, or why there is neither. ``skid``: instructions without a memory operand are charged to the
    load they wait for. ``stops``: where samples of the events stop; those behind the access are always charged to the
    instruction before. A frame at which samples of several kinds stopped becomes one for each (:func:`part_by_kind`).
    ``fork``, asked when work has begun, gives where defects are counted if a second process may do a part of it, else
    None.
    ``answers_of`` gives for an image, and what is asked of its instructions, the answers of earlier runs.
    ``read_ahead`` is told of which images something will be asked, where there may be a second process or thread; what
    it returns is called before there is a second process. ``meanwhile`` is called when a second process is at work.
    ``contained`` gives a context in which an image's instructions are looked at: where it ends an exception, nothing is
    known of the instruction.
    """
    at = stops.at if skid else frozenset(range(len(profile.events))) - stops.behind
    profile, kinds = part_by_kind(profile, stops.behind, at)
    frames = profile.frames
    leaves = look_up(profile.samples.stack, profile.stacks.frame)
    counts = sums(leaves, None, len(frames))
    images, addresses = frames.image, frames.address
    wanted = [number for number, count in enumerate(counts) if count]
    wanted.sort(key=lambda number: images[number] << 64 | addresses[number])
    column = absent("I", len(frames))
    made = ResolvedAccesses(profile, column, [], [], *(bytearray(len(frames)) for _flag in range(3)))
    entries: dict[_Place, int] = {}
    for number in wanted:
        place = _Place(images[number], addresses[number], kinds[number])
        column[number] = entries.setdefault(place, len(entries))
    places = list(entries)
    kept = _Kept(places, lambda image, kind: answers_of(image, f"{kind != _AT:d}{kind == _BEHIND:d}"))
    rest = [k for k in range(len(places)) if k not in kept.found] if kept.found else list(range(len(places)))
    resolved = _resolve_all([places[k] for k in rest], resolver_of, progress, fork, read_ahead, meanwhile, contained)
    fresh = dict(zip(rest, resolved, strict=True))
    kept.keep(fresh)
    found = [fresh[k] if k in fresh else kept.found[k] for k in range(len(places))]
    for (image, address, _kind), (access, resolved_there, *_flags) in zip(places, found, strict=True):
        made.accesses.append(access)
        made.resolvers.append(partial(_opened, resolver_of, image, address) if resolved_there else None)
    for number in wanted:
        _access, _resolved, made.inferred[number], made.consumed[number], made.intact[number] = found[column[number]]
    return made


class _Place(NamedTuple):
    """An instruction that samples stopped at, and of which kind they are."""

    image: int
    address: int
    kind: int


class _Found(NamedTuple):
    """What one instruction touches, whether a resolver said so, and what :class:`ResolvedAccesses` says of it."""

    access: Access
    resolved: bool
    inferred: bool
    consumed: bool
    intact: bool


def _opened(resolver_of: "ResolverOf", image: int, address: int) -> "Resolver":
    """The resolver of a place that has one."""
    place = resolver_of(image, address)
    assert not isinstance(place, str) and not isinstance(place[0], CodeWithoutTypes)
    return place[0]


class _Kept:
    """What earlier runs found out about places, by their number."""

    def __init__(self, places: list[_Place], answers_of: "Callable[[int, int], AnswerCache | None]") -> None:
        self._places = places
        asked = dict.fromkeys([(image, kind) for image, _address, kind in places if image != NONE])
        self._of_image = {(image, kind): answers_of(image, kind) for image, kind in asked}
        self.found: dict[int, _Found] = {}
        some = any(answers is not None for answers in self._of_image.values())
        for k, (image, address, kind) in enumerate(places if some else ()):
            answers = self._of_image.get((image, kind))
            known = answers.cached.get(address) if answers is not None else None
            if known is not None:
                self.found[k] = _Found(known.access, True, known.inferred, known.consumed, known.intact)

    def keep(self, fresh: dict[int, _Found]) -> None:
        """Keep further answers for later runs."""
        if all(kept is None for kept in self._of_image.values()):
            return
        from undwarf.types.answer_cache import Answer

        more: dict[tuple[int, int], dict[int, Answer]] = {}
        for k, one in fresh.items():
            image, address, kind = self._places[k]
            if one.resolved:
                more.setdefault((image, kind), {})[address] = Answer(one.access, one.inferred, one.consumed, one.intact)
        written = None
        for asked, answers in more.items():
            kept = self._of_image[asked]
            if kept is not None and kept.keep(answers):
                written = kept
        if written is not None:
            # All are in one directory.
            written.trim()


def _resolve_all(
    places: list[_Place],
    resolver_of: "ResolverOf",
    progress: Callable[[str, int, int], None] | None,
    fork: Callable[[], Defects | None],
    read_ahead: Callable[[Iterable[int]], Callable[[], None]],
    meanwhile: Callable[[], object],
    contained: Callable[[int], AbstractContextManager[object]],
) -> list[_Found]:
    """What the instructions at all places touch, in this process and where that is worth it in a second one."""
    alone = fork() is None
    images = dict.fromkeys(image for image, _address, _kind in places if image != NONE)
    wait = read_ahead(images) if not alone else None
    # Files are opened, and what is said of that, before the processes part.
    opened = [resolver_of(image, address) if image != NONE else "code of no file" for image, address, _kind in places]
    found: dict[int, _Found] = {}
    asked: list[tuple[int, Resolver, int]] = []
    for k, place in enumerate(opened):
        if isinstance(place, str):
            found[k] = _untold(unread(places[k].address, place))
        elif isinstance(place[0], CodeWithoutTypes):
            with contained(places[k].image):
                found[k] = _untold(place[0].at(place[1], late=places[k].kind != _AT))
            if k not in found:
                found[k] = _untold(unread(places[k].address, _UNREADABLE))
        else:
            asked.append((k, place[0], place[1]))
    addresses: dict[Resolver, list[int]] = {}
    for _k, resolver, address in asked:
        addresses.setdefault(resolver, []).append(address)
    late = any(place.kind != _AT for place in places)
    image_of = {resolver: places[k].image for k, resolver, _address in asked}
    for resolver, expected in addresses.items():
        with contained(image_of[resolver]):
            resolver.expect(expected, late=late)
    defects: Defects | None = None
    before: dict[tuple[str, str], int] = {}

    def work(number: int) -> _Found:
        k, resolver, address = asked[number]
        answers: list[_Found] = []
        with contained(places[k].image):
            answers.append(_one(resolver, address, places[k].kind))
        return answers[0] if answers else _untold(unread(places[k].address, _UNREADABLE))

    def ready() -> bool:
        nonlocal defects
        if wait is not None:
            wait()
        described = sum(one.described for one in {resolver for _k, resolver, _address in asked})
        defects = fork() if described <= _MOST_DESCRIBED else None
        for one in defects or ():
            before[one.kind, one.subject] = one.count
        return defects is not None

    def notes() -> list[tuple[str, str, int, str]]:
        counts = [(one, one.count - before.get((one.kind, one.subject), 0)) for one in defects or ()]
        return [(one.kind, one.subject, more, one.detail) for one, more in counts if more]

    def take(told: Any) -> None:
        for kind, subject, count, detail in told:
            if defects is not None:
                defects.add(kind, subject, count, detail)

    def done(count: int) -> None:
        if progress is not None:
            progress("following types", count, len(asked))

    made = forked_map(
        len(asked),
        work,
        alone=alone,
        packed=_packed,
        unpacked=_unpacked,
        ready=ready,
        notes=notes,
        take=take,
        meanwhile=meanwhile,
        progress=done,
    )
    found.update((one[0], answer) for one, answer in zip(asked, made, strict=True))
    return [found[k] for k in range(len(places))]


def _packed(one: _Found) -> tuple[object, ...]:
    """An answer in plain numbers and text."""
    return packed(one.access), one[1:]


def _unpacked(plain: Any) -> _Found:
    return _Found(unpacked(plain[0]), *plain[1])


def _untold(access: Access) -> _Found:
    return _Found(access, False, False, False, True)


def _one(resolver: "Resolver", address: int, kind: int) -> _Found:
    access = resolver.sampled(address)
    if kind == _BEHIND or (kind == _LATE and access.how == "none"):
        late = resolver.producer(address, trap_after=kind == _BEHIND)
        if late is not None:
            return _Found(late[0], True, True, late[1], late[2])
        if kind == _BEHIND:
            # Whatever this instruction touches is not what was watched.
            return _Found(
                without_type(access, "no access known before a breakpoint's sample"), True, False, False, False
            )
    return _Found(access, True, False, False, True)
