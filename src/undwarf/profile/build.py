"""Builds the profile: address spaces, stacks, names; each step works once per distinct address or stack."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from undwarf.column import absent, zeros
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.images.image_kind import bits_of_name
from undwarf.ordering import take
from undwarf.perfdata import EventAttr, PerfData, Records, SampleField
from undwarf.profile.filters import Filters, select
from undwarf.profile.grouping import look_up
from undwarf.profile.inlined_frames import expanded
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.spaces.replay import Replay
from undwarf.spaces.sample_spaces import Spaces
from undwarf.symbols.resolver import UNKNOWN, Resolver, ResolverOptions
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.stacks import remap
from undwarf.unwind.unwinder import Walked, Walking, walk_samples

if TYPE_CHECKING:
    from undwarf.profile.processes import Process
    from undwarf.symbols.inlines import Inlines, Lines

_AHEAD = ((".debug_info", ".debug_abbrev"),)
"""Sections that lines and inlined functions are found with; others are smaller, or not always needed."""
Built = TypeVar("Built", bound=Profile)
Progress = Callable[[str, int, int], None]
"""Called with the step's name, how much of it is done, and how much there is."""


class Naming(NamedTuple):
    """What is computed for frames beside their addresses."""

    options: ResolverOptions
    names: bool = True
    """If not, all functions are unknown."""
    lines_of: "Callable[[Image], Lines | None] | None" = None
    """Opens an image's debugging information; None: no source lines and no inlined functions."""
    inline: bool = True
    """Inlined functions are frames of their own."""
    of: "Callable[[Image], bool] | None" = None
    """Functions of other images are unknown; None: all are named."""
    lines: bool = True
    """Frames have source lines; if not, only inlined functions are read from debugging information."""


def replay_spaces(records: Records) -> Spaces:
    """Replay the side band of a recording."""
    replay = Replay()
    bits = memoryview(bytes(map(bits_of_name, records.names)))
    return Spaces(replay, *replay.run(records.sideband, records.samples, records.sample_order, bits))


def build_profile(
    data: PerfData,
    records: Records,
    spaces: Spaces,
    store: ImageStore,
    sources: ImageTable,
    walking: Walking,
    naming: Naming,
    *,
    filters: Filters | None = None,
    by_time: bool = False,
    progress: Progress | None = None,
    kind: type[Built],
) -> Built:
    """Unwind and name the samples that pass the filters, as a profile of this ``kind`` of class; ``by_time`` puts them
    in time order, else as recorded."""
    comms, comm_of = comms_of(records, spaces.comm_of)
    chosen, order = select(
        filters, records.samples, records.sample_order if by_time else None, data.events, comms, comm_of
    )
    step = (lambda done, total: progress("walking stacks", done, total)) if progress is not None else None
    walked = walk_samples(data, records, spaces, sources, chosen, walking, step)
    if walked.damaged:
        data.defects.add("sample that does not fit its record", data.path, walked.damaged)
    columns = walked.columns
    if progress is not None:
        progress("naming frames", 0, len(columns["address"]))
    pids = frame_pids(columns["image"], spaces.replay.key_pids())
    if spaces.replay.images_over_files():
        from undwarf.profile.moved_code import mark_frames

        mark_frames(spaces.replay, columns["image"], columns["provenance"])
    numbers = store_numbers(spaces.replay, store)
    for column in (columns["image"], walked.stop_image):
        remap(column, 0, len(column), numbers)
    used = set(columns["image"])
    if naming.lines_of is not None and walking.jobs != 1:
        from undwarf.images.prefetch import unpack_ahead

        # They are inflated while frames are named.
        unpack_ahead(store, sorted(used - {NONE}), _AHEAD)
    if naming.names:
        chosen_columns = columns if naming.of is None else {**columns, "image": _chosen(store, columns, naming.of)}
        function, functions = _named(Resolver(store, naming.options, records=records), chosen_columns, pids)
    else:
        function = zeros("I", len(columns["image"]))
        functions = FunctionTable([UNKNOWN], absent("I", 1), zeros("Q", 1), memoryview(b"\1"))
    frames = FrameColumns(
        columns["image"],
        columns["address"],
        columns["provenance"],
        function,
        columns["runtime"] if walking.runtime else None,
        zeros("B", len(columns["address"])),
        is_return=columns["is_return"],
    )
    stacks = StackColumns(columns["parent"], columns["frame"])
    files: list[str] = []
    if naming.lines_of is not None:
        if progress is not None:
            progress("reading debugging information", 0, 0)
        inlines = _inlines(store, frames, naming, naming.lines_of)
        files = inlines.files
        frames, functions, stacks, innermost, _source = expanded(frames, functions, stacks, inlines, naming.inline)
        if not naming.lines:
            frames.file = frames.line = None
        if len(innermost):
            remap(walked.stack, 0, len(walked.stack), innermost)
    return kind(
        _samples(
            records, walked, comm_of, spaces.space_of, order, reduce(or_, (one.sample_type for one in data.events), 0)
        ),
        stacks,
        frames,
        functions,
        [image_info(image, image.number in used) for image in store.images],
        comms,
        [_event_info(event) for event in data.events],
        files=files,
        deferred=walked.deferred,
        later=walked.later,
        precise=walked.precise,
        line_size=data.features.line_size,
        processes=partial(_processes, records),
    )


def _chosen(store: ImageStore, columns: dict[str, memoryview], of: Callable[[Image], bool]) -> memoryview:
    """The image (I) of each frame, NONE for images that are not named."""
    used = set(columns["image"])
    numbers = zeros("I", len(store))
    for image in store.images:
        numbers[image.number] = image.number if image.number in used and of(image) else NONE
    chosen: memoryview = look_up(columns["image"], numbers)
    return chosen


def _inlines(
    store: ImageStore, frames: FrameColumns, naming: Naming, lines_of: "Callable[[Image], Lines | None]"
) -> "Inlines":
    """Source lines and inlined functions of all frames, from debugging information."""
    from undwarf.symbols.inlines import find_inlines

    options = naming.options
    return find_inlines(
        store,
        frames.image,
        frames.address,
        lines_of,
        lines=naming.lines,
        demangle=options.demangle,
        limits=options.limits,
    )


def store_numbers(replay: Replay, store: ImageStore) -> memoryview:
    """The store's number (I) of each of the replay's images, of which several may be one file; one entry more."""
    keys = replay.keys()
    numbers = zeros("I", len(keys) + 1)
    for i, key in enumerate(keys):
        numbers[i] = store.image(key).number
    return numbers


def _named(
    resolver: Resolver, columns: dict[str, memoryview], pids: memoryview | None = None
) -> tuple[memoryview, FunctionTable]:
    """The function number of each frame (columns ``image`` and ``address``), and the functions."""
    named = resolver.resolve(columns["image"], columns["address"], pids)
    return named.number, FunctionTable(named.name, named.image, named.address, named.unnamed)


def name_frames(profile: Built, wanted: Iterable[int], resolver: Resolver) -> Built:
    """A profile that was built without names, with the functions of some frames named; all other frames are of one
    unknown function."""
    frames = profile.frames
    images = absent("I", len(frames))
    for frame in wanted:
        images[frame] = frames.image[frame]
    number, functions = _named(resolver, {"image": images, "address": frames.address})
    return profile.derived(frames=replace(frames, function=number), functions=functions)


def with_lines(profile: Built, store: ImageStore, lines_of: "Callable[[Image], Lines | None]") -> Built:
    """A profile without source lines with them, and with inlined functions as frames of their own."""
    naming = Naming(ResolverOptions(), lines_of=lines_of)
    inlines = _inlines(store, profile.frames, naming, lines_of)
    frames, functions, stacks, innermost, _source = expanded(
        profile.frames, profile.functions, profile.stacks, inlines, True
    )
    columns = profile.samples.columns
    samples = replace(columns, stack=look_up(columns.stack, innermost)) if len(innermost) else columns
    result = profile.derived(samples=samples, stacks=stacks, frames=frames, functions=functions)
    result.files = inlines.files
    return result


def image_info(image: Image, used: bool) -> ImageInfo:
    """The description of an image. Its problem is only looked for (which opens the file) if a stack has frames in it,
    or for a jitdump, whose code else counts as anonymous memory."""
    problem = image.problem if used or image.kind is ImageKind.JITDUMP else ""
    return ImageInfo(_text(image.name), image.path, image.build_id.hex(), image.kind.name.lower(), problem)


def _processes(records: Records) -> "list[Process]":
    from undwarf.profile.processes import processes_of

    return processes_of(records)


def _event_info(event: EventAttr) -> EventInfo:
    kind = event.sample_type
    return EventInfo(event.name, bool(kind & SampleField.WEIGHT_STRUCT), bool(kind & SampleField.CALLCHAIN))


def frame_pids(images: memoryview, pids: list[int | None]) -> memoryview | None:
    """The process (i) of each frame in private memory, 0 for other frames; None if no image is private memory."""
    if not any(pid is not None for pid in pids):
        return None
    of_image = zeros("I", len(pids))
    for i, pid in enumerate(pids):
        of_image[i] = pid or 0
    found = zeros("I", len(images))
    found[:] = images
    remap(found, 0, len(found), of_image)
    return found.cast("B").cast("i")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def comms_of(records: Records, comm_of: memoryview) -> tuple[list[str], memoryview]:
    """(distinct thread names, the number of each sample's); pid 0 is the idle task, which no record names."""
    used = sorted(set(comm_of))
    comms = [_text(records.names[number]) for number in used if number != NONE]
    number_of = {number: i for i, number in enumerate(used) if number != NONE}
    missing = NONE in used
    if missing and 0 in records.samples.pid.tolist():
        number_of[NONE] = len(comms)
        comms.append("swapper")
    return comms, comm_of if not used else _renumber(records, comm_of, number_of)


def _renumber(records: Records, comm_of: memoryview, number_of: dict[int, int]) -> memoryview:
    idle = number_of.pop(NONE, NONE)
    largest = max(number_of, default=0)
    table = zeros("I", largest + 1)
    for number, new in number_of.items():
        table[number] = new
    if NONE not in comm_of:
        renumbered: memoryview = take(table, comm_of)
        return renumbered
    renumbered, pids = zeros("I", len(comm_of)), records.samples.pid
    for i, number in enumerate(comm_of):
        renumbered[i] = table[number] if number != NONE else idle if pids[i] == 0 else NONE
    return renumbered


def _samples(
    records: Records, walked: Walked, comm_of: memoryview, space_of: memoryview, order: memoryview | None, fields: int
) -> SampleColumns:
    """``fields``: the bits of all events' sample types."""
    samples = records.samples
    columns = SampleColumns(
        time=samples.time,
        pid=samples.pid,
        tid=samples.tid,
        cpu=samples.cpu,
        event=samples.event,
        period=samples.period,
        comm=comm_of,
        stack=walked.stack,
        stop=walked.stop,
        stop_image=walked.stop_image,
        ip=samples.ip,
        addr=samples.addr,
        weight=samples.weight,
        data_src=samples.data_src,
        phys_addr=samples.phys_addr,
        data_page_size=samples.data_page_size,
        code_page_size=samples.code_page_size,
        space=space_of,
        position=samples.position,
        regs_at=samples.regs_at,
        regs_intr_at=samples.regs_intr_at,
        raw_at=samples.raw_at if fields & SampleField.RAW else None,
        branch_at=samples.branch_at if fields & SampleField.BRANCH_STACK else None,
        cgroup=samples.cgroup,
    )
    return columns.rows(order) if order is not None else columns
