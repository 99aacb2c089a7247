"""Code that programs copied to anonymous memory at its own addresses: whether it is that of the file mapped before.

A recording has not the bytes of that memory, and no record of munmap, so it may also be a just-in-time compiler's that
reuses the addresses of an unloaded library. The evidence is in the stacks: most values that point into the memory are
return addresses, and if it is the file's code, the file has a call before each of these. In other code at most one
address of 20 follows what looks like a call. Without such values only copies of the program itself count, which is
never unloaded.
"""

from collections.abc import Iterator
from itertools import pairwise

from undwarf.elf.headers import ET_EXEC, PT_INTERP
from undwarf.images import ImageStore
from undwarf.limits import Limits
from undwarf.perfdata import PerfData, Records
from undwarf.profile.model import NONE
from undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE, OVER_FILE
from undwarf.spaces.replay import Replay
from undwarf.spaces.sample_spaces import Spaces
from undwarf.unwind.arch import Machine
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.provenance import Provenance

__all__ = ["mark_frames", "reject_unproven"]

_CODE_OVER_FILE = EXECUTABLE | OVER_FILE
_CONTEXTS = (1 << 64) - 4096
"""Entries of a call chain from here on are markers, as PERF_CONTEXT_USER (PERF_CONTEXT_MAX)."""

Mapping = tuple[int, int, int, int]
"""Start, end, file offset of the start, image."""


def reject_unproven(
    data: PerfData, records: Records, spaces: Spaces, store: ImageStore, machine: Machine, limits: Limits
) -> None:
    """Treat memory over files' code as anonymous unless the stacks of the recording show that it is the file's code."""
    mappings = _code_over_files(spaces)
    if not mappings:
        return
    keys = spaces.replay.keys()
    places = ImageTable(store, keys, machine)
    returns: dict[int, set[int]] = {}
    for mapping, sample in _samples_with(mappings, records, spaces, limits.moved_code_samples):
        start, end, offset, image = mapping
        found = returns.setdefault(image, set())
        found.update(word - start + offset for word in _words(data, records, sample) if start <= word < end)
    rejected = set()
    for image in {mapping[3] for found in mappings.values() for mapping in found}:
        calls = others = 0
        file = store.image(keys[image])
        for offset in returns.get(image, ()):
            address = file.address_of_offset(offset)
            after_call = address is not None and places.call_before(image, address) == 1
            calls += after_call
            others += not after_call
        if not calls > others and not (calls == others == 0 and _is_program(store, keys[image])):
            rejected.add(image)
    spaces.replay.reject(rejected)


def mark_frames(replay: Replay, images: memoryview, provenance: memoryview) -> None:
    """Give frames in memory over files' code ``Provenance.MOVED_CODE``. ``images``: the replay's image number of each
    frame."""
    over = replay.images_over_files()
    for frame, image in enumerate(images):
        if image in over:
            provenance[frame] = Provenance.MOVED_CODE


def _code_over_files(spaces: Spaces) -> dict[int, list[Mapping]]:
    """Executable memory over files' code, by the chunk of mappings that holds it."""
    columns = spaces.replay.mappings.columns()
    found: dict[int, list[Mapping]] = {}
    if _CODE_OVER_FILE not in bytes(columns["flags"]):
        return found
    for chunk, count in enumerate(columns["chunk_count"]):
        for row in range(chunk * CHUNK, chunk * CHUNK + count):
            if columns["flags"][row] == _CODE_OVER_FILE:
                mapping = columns["starts"][row], columns["ends"][row], columns["offsets"][row], columns["images"][row]
                found.setdefault(chunk, []).append(mapping)
    return found


def _samples_with(
    mappings: dict[int, list[Mapping]], records: Records, spaces: Spaces, limit: int
) -> Iterator[tuple[Mapping, int]]:
    """Samples of processes with memory over a file's code, at most ``limit`` for each mapping, spread over time."""
    columns = spaces.replay.mappings.columns()
    in_space: dict[int, list[Mapping]] = {NONE: []}
    samples: dict[Mapping, list[int]] = {}
    for sample in records.sample_order:
        space = spaces.space_of[sample]
        if space not in in_space:
            first = columns["snapshot_at"][space]
            held = columns["lists"][first : first + columns["snapshot_count"][space]]
            in_space[space] = [mapping for chunk in held for mapping in mappings.get(chunk, ())]
        for mapping in in_space[space]:
            samples.setdefault(mapping, []).append(sample)
    for mapping, found in samples.items():
        for sample in found[:: -(-len(found) // limit)]:
            yield mapping, sample


def _words(data: PerfData, records: Records, sample: int) -> list[int]:
    """The words of a sample's stack dump, and the return addresses of its call chain."""
    samples = records.samples
    position = samples.position[sample]
    chain, dump = samples.callchain_at[sample], samples.stack_at[sample]
    with data.window(position, 1 << 16) as view:
        found = _numbers(view, dump, 1)
        entries = _numbers(view, chain, 8)
    # The first entry of each context is no return address. Chains that undwarf wrote hold return addresses minus one.
    callers = [now + data.stitched for before, now in pairwise(entries) if before < _CONTEXTS > now]
    return found + callers


def _numbers(view: memoryview, at: int, size: int) -> list[int]:
    """The 64-bit words that follow a count in units of ``size`` bytes; none if ``at`` is 0."""
    if not at:
        return []
    count = int.from_bytes(view[at : at + 8], "little") * size // 8
    return memoryview(bytes(view[at + 8 : at + 8 + 8 * count])).cast("Q").tolist()


def _is_program(store: ImageStore, key: tuple[int, int]) -> bool:
    """Whether a file is a program, not a library that may be unloaded."""
    elf = store.image(key).elf
    return elf is not None and (elf.kind == ET_EXEC or any(segment.type == PT_INTERP for segment in elf.segments))
