# cython: language_level=3, annotation_typing=False
"""Resolves the memory accesses of sampled instructions to types and members, once per distinct instruction."""

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
from undwarf.profile.skid_kinds import StopKind, split_by_kind
from undwarf.types.access import Access, packed, unpacked, without_type
from undwarf.types.no_debuginfo import CodeWithoutTypes, unread

if TYPE_CHECKING:
    from undwarf.types.answer_cache import AnswerCache
    from undwarf.types.resolver import Resolver

    ResolverOf = Callable[[int, int], tuple[Resolver | CodeWithoutTypes, int] | str]

__all__ = ["Place", "Resolution", "ResolvedAccesses", "resolve_accesses", "resolve_places"]

_AT, _LATE, _AFTER = StopKind
_ALL_LATE = EventStops(frozenset(), frozenset(), frozenset())
_UNREADABLE = "file not readable"
_MAX_FORK_DEBUG_BYTES = 256 << 20
"""Bytes of debugging information of all files above which nothing is forked: each process may read all of it."""


class Place(NamedTuple):
    """An instruction, and the kind (:class:`StopKind`) of the samples there."""

    image: int
    address: int
    kind: int


class Resolution(NamedTuple):
    """An instruction's access, whether its file has type information, and the flags of :class:`ResolvedAccesses`."""

    access: Access
    resolved: bool
    inferred: bool
    consumed: bool
    intact: bool


@dataclass(slots=True)
class ResolvedAccesses:
    """The memory accesses of the innermost frames of a profile.

    `profile` is the given one, or a copy in which frames with samples of several kinds are split
    (:func:`undwarf.profile.skid_kinds.split_by_kind`). `access` (I) has for each frame an index of `accesses`, NONE for
    frames without samples. `resolvers` open the resolver of each access, None if the file has no types.
    By frame: `inferred`, the access is that of an earlier instruction, to which the skid is attributed; `consumed`, the
    frame's instruction consumes the loaded value; `intact`, the registers of the address still have the values that the
    access used.
    """

    profile: Profile
    access: memoryview
    accesses: list[Access]
    resolvers: list["Callable[[], Resolver] | None"]
    inferred: bytearray
    consumed: bytearray
    intact: bytearray

    def typed(self) -> Iterator[int]:
        """The numbers of the frames whose access has a type."""
        accesses = self.accesses
        return (frame for frame, which in enumerate(self.access) if which != NONE and accesses[which].typed)

    def named(self, name: str) -> frozenset[str]:
        """The canonical names, in all binaries, of the types that have this name (as a typedef, say)."""
        opened = {open_resolver() for open_resolver in self.resolvers if open_resolver is not None}
        return frozenset(
            resolver.graph.canonical_name(number) for resolver in opened if (number := resolver.source.type_named(name))
        )


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
    """Resolve every instruction that is a sample's innermost frame.

    ``resolver_of`` maps (image, address in it) to (resolver or code without types, address in the file), or to the
    reason why there is neither. ``skid``: an instruction without a memory operand is attributed to the load it waits
    for. ``stops``: the precision of the events; samples of those that stop after the access are always attributed to
    the instruction before.

    ``fork`` returns the defects if a second process may do part of the work, else None; it is called again when the
    work has begun. ``answers_of`` gives the cached answers of earlier runs for (image, kind of question).
    ``read_ahead`` is called with the images that will be read, if there may be a second process or thread; what it
    returns is called before a fork. ``meanwhile`` is called once a second process is at work. ``contained`` is a
    context for work on an image: if it suppresses an exception, the instruction stays unresolved.
    """
    at = stops.at if skid else frozenset(range(len(profile.events))) - stops.after
    profile, kinds, _copied = split_by_kind(profile, stops.after, at)
    frames = profile.frames
    leaves = look_up(profile.samples.stack, profile.stacks.frame)
    counts = sums(leaves, None, len(frames))
    images, addresses = frames.image, frames.address
    wanted = [number for number, count in enumerate(counts) if count]
    wanted.sort(key=lambda number: images[number] << 64 | addresses[number])
    column = absent("I", len(frames))
    result = ResolvedAccesses(profile, column, [], [], *(bytearray(len(frames)) for _flag in range(3)))
    entries: dict[Place, int] = {}
    for number in wanted:
        place = Place(images[number], addresses[number], kinds[number])
        column[number] = entries.setdefault(place, len(entries))
    places = list(entries)
    found = resolve_places(
        places,
        resolver_of,
        progress=progress,
        fork=fork,
        answers_of=answers_of,
        read_ahead=read_ahead,
        meanwhile=meanwhile,
        contained=contained,
    )
    for (image, address, _kind), (access, has_resolver, *_flags) in zip(places, found, strict=True):
        result.accesses.append(access)
        result.resolvers.append(partial(_opened, resolver_of, image, address) if has_resolver else None)
    for number in wanted:
        answer = found[column[number]]
        result.inferred[number], result.consumed[number], result.intact[number] = answer[2:]
    return result


def resolve_places(
    places: list[Place],
    resolver_of: "ResolverOf",
    *,
    progress: Callable[[str, int, int], None] | None = None,
    fork: Callable[[], Defects | None] = lambda: None,
    answers_of: "Callable[[int, str], AnswerCache | None]" = lambda _image, _asked: None,
    read_ahead: Callable[[Iterable[int]], Callable[[], None]] = lambda _images: lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
    contained: Callable[[int], AbstractContextManager[object]] = lambda _image: nullcontext(),
) -> list[Resolution]:
    """What the instruction at each place accesses, as samples of its kind are attributed. The arguments are those of
    :func:`resolve_accesses`."""
    cached = _CachedAnswers(places, lambda image, kind: answers_of(image, f"{kind != _AT:d}{kind == _AFTER:d}"))
    rest = [k for k in range(len(places)) if k not in cached.found]
    resolved = _resolve_all([places[k] for k in rest], resolver_of, progress, fork, read_ahead, meanwhile, contained)
    fresh = dict(zip(rest, resolved, strict=True))
    cached.store(fresh)
    return [fresh[k] if k in fresh else cached.found[k] for k in range(len(places))]


def _opened(resolver_of: "ResolverOf", image: int, address: int) -> "Resolver":
    """The resolver of an instruction that has one."""
    place = resolver_of(image, address)
    assert not isinstance(place, str) and not isinstance(place[0], CodeWithoutTypes)
    return place[0]


class _CachedAnswers:
    """Answers of earlier runs, by the number of the place."""

    def __init__(self, places: list[Place], answers_of: "Callable[[int, int], AnswerCache | None]") -> None:
        self._places = places
        asked = dict.fromkeys([(image, kind) for image, _address, kind in places if image != NONE])
        self._of_image = {(image, kind): answers_of(image, kind) for image, kind in asked}
        self.found: dict[int, Resolution] = {}
        some = any(answers is not None for answers in self._of_image.values())
        for k, (image, address, kind) in enumerate(places if some else ()):
            answers = self._of_image.get((image, kind))
            known = answers.cached.get(address) if answers is not None else None
            if known is not None:
                self.found[k] = Resolution(known.access, True, known.inferred, known.consumed, known.intact)

    def store(self, fresh: dict[int, Resolution]) -> None:
        """Store further answers for later runs."""
        if all(kept is None for kept in self._of_image.values()):
            return
        from undwarf.types.answer_cache import Answer

        more: dict[tuple[int, int], dict[int, Answer]] = {}
        for k, (access, resolved, *flags) in fresh.items():
            image, address, kind = self._places[k]
            if resolved:
                more.setdefault((image, kind), {})[address] = Answer(access, *flags)
        written = None
        for asked, answers in more.items():
            kept = self._of_image[asked]
            if kept is not None and kept.keep(answers):
                written = kept
        if written is not None:
            # All are in one directory.
            written.trim()


def _resolve_all(
    places: list[Place],
    resolver_of: "ResolverOf",
    progress: Callable[[str, int, int], None] | None,
    fork: Callable[[], Defects | None],
    read_ahead: Callable[[Iterable[int]], Callable[[], None]],
    meanwhile: Callable[[], object],
    contained: Callable[[int], AbstractContextManager[object]],
) -> list[Resolution]:
    """The accesses at all places, resolved in this process and, if that is worth it, in a second one."""
    alone = fork() is None
    images = dict.fromkeys(image for image, _address, _kind in places if image != NONE)
    wait = read_ahead(images) if not alone else None
    # Files are opened, and their defects counted, before the fork.
    opened = [resolver_of(image, address) if image != NONE else "code of no file" for image, address, _kind in places]
    found: dict[int, Resolution] = {}
    asked: list[tuple[int, Resolver, int]] = []
    for k, place in enumerate(opened):
        if isinstance(place, str):
            found[k] = _unresolved(unread(places[k].address, place))
        elif isinstance(place[0], CodeWithoutTypes):
            with contained(places[k].image):
                found[k] = _unresolved(place[0].at(place[1], late=places[k].kind != _AT))
            if k not in found:
                found[k] = _unresolved(unread(places[k].address, _UNREADABLE))
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

    def work(number: int) -> Resolution:
        k, resolver, address = asked[number]
        with contained(places[k].image):
            return _resolve(resolver, address, places[k].kind)
        return _unresolved(unread(places[k].address, _UNREADABLE))

    def ready() -> bool:
        nonlocal defects
        if wait is not None:
            wait()
        described = sum(one.described for one in {resolver for _k, resolver, _address in asked})
        defects = fork() if described <= _MAX_FORK_DEBUG_BYTES else None
        for one in defects or ():
            before[one.kind, one.subject] = one.count
        return defects is not None

    def notes() -> list[tuple[str, str, int, str]]:
        counts = [(one, one.count - before.get((one.kind, one.subject), 0)) for one in defects or ()]
        return [(one.kind, one.subject, more, one.detail) for one, more in counts if more]

    def take(counted: Any) -> None:
        for kind, subject, count, detail in counted:
            if defects is not None:
                defects.add(kind, subject, count, detail)

    def done(count: int) -> None:
        if progress is not None:
            progress("following types", count, len(asked))

    resolved = forked_map(
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
    found.update((one[0], answer) for one, answer in zip(asked, resolved, strict=True))
    return [found[k] for k in range(len(places))]


def _packed(one: Resolution) -> tuple[object, ...]:
    """An answer as plain numbers and text."""
    return packed(one.access), one[1:]


def _unpacked(plain: Any) -> Resolution:
    return Resolution(unpacked(plain[0]), *plain[1])


def _unresolved(access: Access) -> Resolution:
    return Resolution(access, False, False, False, True)


def _resolve(resolver: "Resolver", address: int, kind: int) -> Resolution:
    """The access that samples of a kind at an instruction are attributed to."""
    access = resolver.sampled(address)
    if kind == _AFTER or (kind == _LATE and access.how == "none"):
        late = resolver.producer(address, trap_after=kind == _AFTER)
        if late is not None:
            return Resolution(late[0], True, True, late[1], late[2])
        if kind == _AFTER:
            # The breakpoint was not hit by this instruction's own access.
            return Resolution(
                without_type(access, "no access known before a breakpoint's sample"), True, False, False, False
            )
    return Resolution(access, True, False, False, True)
