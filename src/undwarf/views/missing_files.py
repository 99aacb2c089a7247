"""Missing files by the samples that need them, each with the commands that fetch it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.profile.grouping import Pairs, sums, widen, without_none
from undwarf.profile.labels import Named, dso
from undwarf.profile.model import NONE, Profile
from undwarf.system import fetch_hints
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.jit_runtimes import naming
from undwarf.views.sample_selection import samples_passing

ENDS = (StopReason.NO_FILE, StopReason.NO_RULE, StopReason.BAD_CFA, StopReason.UNMAPPED)
"""Stop reasons that a missing file may cause."""

BINARY, DEBUG, COMMON, KERNEL, MODULE, MAP, DUMP, VDSO = (
    "binary", "debug file", "common debug file", "kernel symbols", "kernel module", "map of compiled code", "jitdump",
    "vdso",
)  # fmt: skip
"""Kinds of missing files. Without a debug file, lines and inlined functions are missing, and maybe symbols."""


class Recording(Protocol):
    """The parts of an opened recording that are searched."""

    @property
    def header(self) -> Any: ...
    @property
    def images(self) -> ImageStore: ...


@dataclass(slots=True)
class MissingFile:
    """A file that was not found.

    ``samples`` have its code on their stacks; of these, ``unnamed`` have an unnamed frame there, and the stacks of
    ``ended`` stop there too early. ``commands`` fetch it, best first.
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
    """The files without which names, lines or callers are missing, those that affect most samples first.

    Opens the debug files of all images with samples. Without its jitdump, JIT-compiled code counts as anonymous memory.
    """
    store = recording.images
    weights = _Weights(profile)
    missing: list[MissingFile] = []
    release = str(getattr(recording.header, "osrelease", None) or "")
    sampled = [store[number] for number in weights.samples if number < len(store.images)]
    for image in sampled:
        counts = weights.of([image])
        for what, name, build_id, problem in _lacks(image, counts[1]):
            missing.append(MissingFile(what, name, build_id, problem, *counts))
    counts = weights.of([image for image in sampled if image.kind is ImageKind.ANON])
    for image in store.images:
        if image.kind is ImageKind.JITDUMP and image not in sampled and max(counts[1:]):
            missing += [MissingFile(*lacking, *counts) for lacking in _lacks(image, 0)]
    missing.sort(key=lambda file: (-max(file.unnamed, file.ended), -file.samples, file.what, file.name))
    host = str(getattr(recording.header, "hostname", None) or "")
    machine = fetch_hints.Machine.here(host, [file.name for file in missing if file.what == DEBUG])
    for file in missing:
        file.commands = _commands(file, release, machine, [image.path for image in sampled])
    return missing


def _commands(file: MissingFile, release: str, machine: fetch_hints.Machine, paths: list[str]) -> list[str]:
    if file.what in (BINARY, MODULE):
        return fetch_hints.binary(file.name, file.build_id, machine)
    if file.what in (DEBUG, COMMON):
        return fetch_hints.debug_file(file.name, file.build_id, machine)
    if file.what == KERNEL:
        return fetch_hints.kernel(file.build_id, release, file.problem, machine)
    if file.what == MAP:
        return naming(paths)
    if file.what == DUMP:
        return [f"put a copy at DIR{fetch_hints.quoted(file.name)} and use --symfs DIR"]
    return []


def _lacks(image: Image, unnamed: int) -> Iterable[tuple[str, str, str, str]]:
    """(kind, name, build-id, problem) of each file that an image lacks."""
    name, build_id = dso(Named(image.path, image.kind.name)), image.build_id.hex()
    if image.kind is ImageKind.FILE:
        elf = image.elf
        if image.plain is not None:
            return
        if elf is None:
            yield BINARY, name, build_id, image.problem
            return
        debug = image.debug_elf
        with_dwarf = next((file for file in (debug, elf) if file is not None and _has_dwarf(file)), None)
        if with_dwarf is None:
            unnameable = "" if elf.section(".symtab") is not None else ", and only exported functions have names"
            yield DEBUG, name, build_id, f"no debug information was found{unnameable}"
        elif with_dwarf.alt_link is not None and not image.has_common_file(with_dwarf):
            path, common = with_dwarf.alt_link
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


class _Weights:
    """Counts of samples by image: with a frame in it, with an unnamed frame in it, with a stack that stops in it."""

    def __init__(self, profile: Profile) -> None:
        functions = profile.functions
        count = len(profile.images)
        images = without_none(profile.frames.image, count)
        unnamed = zeros("I", len(images))
        unnamed[:] = images
        for frame, function in enumerate(profile.frames.function):
            if function == NONE or not functions.unnamed[function]:
                unnamed[frame] = count
        self.samples = samples_passing(profile, images, count)
        self.unnamed = samples_passing(profile, unnamed, count)
        self.ended: dict[int, int] = {}
        samples = profile.samples.columns
        pairs = Pairs()
        sizes = sums(pairs.column(widen(samples.stop), samples.stop_image), None, len(pairs))
        for stop, number, size in zip(pairs.high(), pairs.low(), sizes, strict=True):
            if stop in ENDS and number != NONE:
                self.ended[number] = self.ended.get(number, 0) + size

    def of(self, images: Iterable[Image]) -> tuple[int, int, int]:
        """The largest of each of the three counts."""
        numbers = [image.number for image in images]
        return (
            max((self.samples.get(number, 0) for number in numbers), default=0),
            max((self.unnamed.get(number, 0) for number in numbers), default=0),
            max((self.ended.get(number, 0) for number in numbers), default=0),
        )
