"""Missing files, weighted by the samples that need them, each with the commands that fetch it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.profile.grouping import Pairs, look_up, sums, widen, without_none
from undwarf.profile.labels import dso
from undwarf.profile.model import NONE, Profile
from undwarf.system import fetch_hints
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.jit_runtimes import naming
from undwarf.views.kernels.stack_tree import collapse, inclusive

ENDS = (StopReason.NO_FILE, StopReason.NO_RULE, StopReason.BAD_CFA, StopReason.UNMAPPED)
"""Reasons for a stack's end that a file may mend."""

BINARY, DEBUG, COMMON, KERNEL, MODULE, MAP, DUMP, VDSO = (
    "binary", "debug file", "common debug file", "kernel symbols", "kernel module", "map of compiled code", "jitdump",
    "vdso",
)  # fmt: skip
"""What can be missing. Without a debug file, lines and inlined functions have no names, and perhaps functions."""


class Recording(Protocol):
    """What is asked of an opened recording."""

    @property
    def header(self) -> Any: ...
    @property
    def images(self) -> ImageStore: ...


@dataclass(slots=True)
class MissingFile:
    """A file that was not found.

    ``samples`` have its code on their stacks; of these, ``unnamed`` have a frame there that nothing names, and
    ``ended`` have a stack that ends there though it should go on. ``commands`` are what fetches it, best first.
    """

    what: str
    name: str
    build_id: str
    problem: str
    samples: int
    unnamed: int
    ended: int
    commands: list[str] = field(default_factory=list)


def missing_files(recording: Recording, profile: Profile) -> list[MissingFile]:
    """The files whose absence spoils names, lines or stacks, the worst first.

    Only images with samples are looked at; doing so opens their debug files. A jitdump's code is in anonymous memory
    as long as the dump is not here.
    """
    store = recording.images
    weights = _Weights(profile)
    found: list[MissingFile] = []
    release = str(getattr(recording.header, "osrelease", None) or "")
    sampled = [store[number] for number in weights.samples if number < len(store.images)]
    for image in sampled:
        counts = weights.of([image])
        for what, name, build_id, problem in _lacks(image, counts[1]):
            found.append(MissingFile(what, name, build_id, problem, *counts))
    counts = weights.of([image for image in sampled if image.kind is ImageKind.ANON])
    for image in store.images:
        if image.kind is ImageKind.JITDUMP and image not in sampled and max(counts[1:]):
            found += [MissingFile(*lacking, *counts) for lacking in _lacks(image, 0)]
    found.sort(key=lambda one: (-max(one.unnamed, one.ended), -one.samples, one.what, one.name))
    host = str(getattr(recording.header, "hostname", None) or "")
    machine = fetch_hints.Machine.here(host, [one.name for one in found if one.what == DEBUG])
    for one in found:
        one.commands = _commands(one, release, machine, [image.path for image in sampled])
    return found


def _commands(one: MissingFile, release: str, machine: fetch_hints.Machine, paths: list[str]) -> list[str]:
    if one.what in (BINARY, MODULE):
        return fetch_hints.binary(one.name, one.build_id, machine)
    if one.what in (DEBUG, COMMON):
        return fetch_hints.debug_file(one.name, one.build_id, machine)
    if one.what == KERNEL:
        return fetch_hints.kernel(one.build_id, release, one.problem, machine)
    if one.what == MAP:
        return naming(paths)
    if one.what == DUMP:
        return [f"put a copy at DIR{fetch_hints.quoted(one.name)} and use --symfs DIR"]
    return []


def _lacks(image: Image, unnamed: int) -> Iterable[tuple[str, str, str, str]]:
    """(what, name, build-id, why) of the files an image lacks."""
    name, build_id = dso(_Named(image.path, image.kind.name)), image.build_id.hex()
    if image.kind is ImageKind.FILE:
        elf = image.elf
        if image.plain is not None:
            return
        if elf is None:
            yield BINARY, name, build_id, image.problem
            return
        debug = image.debug_elf
        holder = next((one for one in (debug, elf) if one is not None and _has_dwarf(one)), None)
        if holder is None:
            unnameable = "" if elf.section(".symtab") is not None else ", and only exported functions have names"
            yield DEBUG, name, build_id, f"no debug information was found{unnameable}"
        elif holder.alt_link is not None and not image.has_common_file(holder):
            path, common = holder.alt_link
            yield COMMON, path, common.hex(), f"the debug information of {name} has parts there"
    elif image.kind is ImageKind.KERNEL and image.problem:
        yield KERNEL, name, build_id, image.problem
    elif image.kind is ImageKind.MODULE and unnamed:
        yield MODULE, name, build_id, image.problem or "no symbols of it"
    elif image.kind is ImageKind.VDSO and image.problem:
        yield VDSO, name, build_id, image.problem
    elif image.kind is ImageKind.JITDUMP and image.jitdump is None:
        yield DUMP, name, "", image.problem
    elif image.kind in (ImageKind.ANON, ImageKind.JIT) and unnamed:
        yield MAP, name, "", "no perf-PID.map or jit-PID.dump names all of its code"


def _has_dwarf(elf: ElfFile) -> bool:
    return elf.section(".debug_info") is not None or elf.section(".zdebug_info") is not None


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    kind: str


class _Weights:
    """Samples by image: those that pass through it, that have a nameless frame in it, and that end in it."""

    def __init__(self, profile: Profile) -> None:
        functions = profile.functions
        count = len(profile.images)
        images = without_none(profile.frames.image, count)
        unnamed = zeros("I", len(images))
        unnamed[:] = images
        for frame, function in enumerate(profile.frames.function):
            if function == NONE or not functions.unnamed[function]:
                unnamed[frame] = count
        self.samples = _passing(profile, images, count)
        self.unnamed = _passing(profile, unnamed, count)
        self.ended: dict[int, int] = {}
        samples = profile.samples.columns
        pairs = Pairs()
        sizes = sums(pairs.column(widen(samples.stop), samples.stop_image), None, len(pairs))
        for stop, number, size in zip(pairs.high(), pairs.low(), sizes, strict=True):
            if stop in ENDS and number != NONE:
                self.ended[number] = self.ended.get(number, 0) + size

    def of(self, images: Iterable[Image]) -> tuple[int, int, int]:
        """The three counts of the image that has most samples."""
        numbers = [image.number for image in images]
        return (
            max((self.samples.get(number, 0) for number in numbers), default=0),
            max((self.unnamed.get(number, 0) for number in numbers), default=0),
            max((self.ended.get(number, 0) for number in numbers), default=0),
        )


def _passing(profile: Profile, of_frame: Any, count: int) -> dict[int, int]:
    """How many samples have each of ``count`` entities on their stack, by ``of_frame``'s number of each frame."""
    node_of, parent, entity = collapse(profile.stacks.parent, profile.stacks.frame, of_frame)
    pairs = Pairs()
    node = look_up(profile.samples.columns.stack, node_of)
    path = pairs.column(look_up(node, entity), node)
    weight = sums(path, None, len(pairs))
    single = widen(memoryview(bytes(len(pairs))))
    _group, found, passing = inclusive(single, pairs.low(), weight, parent, entity, count + 1)
    return {number: samples for number, samples in zip(found, passing, strict=True) if number < count}
