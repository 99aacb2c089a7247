"""The profile: samples, stacks, frames, functions and images as columns, with objects made only where one looks.

A column is a memoryview of native numbers, one entry a sample, node or frame. Numbers that point to another table
use 0xffffffff for "none".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self, overload

from undwarf.perfdata.features import LINE
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

NONE = 0xFFFFFFFF

Column = memoryview


# A damaged recording may have others, which stay numbers.
_STOPS: dict[int, StopReason] = {one.value: one for one in StopReason}
_PROVENANCES: dict[int, Provenance] = {one.value: one for one in Provenance}


@dataclass(slots=True, repr=False, eq=False)
class SampleColumns:
    """One entry a sample. ``time`` in ns, ``comm`` an index in ``comms``, ``stack`` the innermost node, ``stop`` a
    StopReason, ``stop_image`` the image where the walk stopped. What few recordings have may be absent: ``addr`` (data
    address), ``weight`` (see EventInfo), ``data_src``, ``phys_addr``, ``data_page_size`` and ``code_page_size`` as the
    kernel writes them; ``space`` numbers the address space that a sample saw; ``position`` says where in the
    recording the sample is, ``regs_at``, ``regs_intr_at``, ``raw_at`` and ``branch_at`` where in it these fields are;
    ``cgroup`` is a control group's id.
    """

    time: Column
    pid: Column
    tid: Column
    cpu: Column
    event: Column
    period: Column
    comm: Column
    stack: Column
    stop: Column
    stop_image: Column
    ip: Column
    addr: Column | None = None
    weight: Column | None = None
    data_src: Column | None = None
    phys_addr: Column | None = None
    data_page_size: Column | None = None
    code_page_size: Column | None = None
    space: Column | None = None
    position: Column | None = None
    regs_at: Column | None = None
    regs_intr_at: Column | None = None
    raw_at: Column | None = None
    branch_at: Column | None = None
    cgroup: Column | None = None

    def __len__(self) -> int:
        return len(self.stack)


@dataclass(slots=True, repr=False, eq=False)
class StackColumns:
    """One entry a node: its caller's node (``parent``, numbered before it; none for a root) and its ``frame``."""

    parent: Column
    frame: Column

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(slots=True, repr=False, eq=False)
class FrameColumns:
    """One entry a frame: a unique code address, or a function inlined there.

    ``address`` is the one looked up (a return address less one): as the ELF file states it, or for the kernel and for
    code without a file the one it ran at. ``runtime`` is the absolute address as printed, where that was asked for.
    ``inline_depth`` counts the functions that this one is inlined in; 0 for those that have code of their own. ``file``
    (I, a number of ``Profile.files``) and ``line`` (I, 0 for unknown) say where in the source; None where nobody asked.
    """

    image: Column
    address: Column
    provenance: Column
    function: Column
    runtime: Column | None
    inline_depth: Column
    file: Column | None = None
    line: Column | None = None

    def __len__(self) -> int:
        return len(self.address)


@dataclass(slots=True, repr=False, eq=False)
class FunctionTable:
    """Functions by number: demangled ``name``, ``image``, start ``address``, and ``unnamed`` (B): 1 where no symbol
    names it, so that its name says where it starts (``gzip+0x4330``), or is ``[unknown]``."""

    name: list[str]
    image: Column
    address: Column
    unnamed: Column

    def __len__(self) -> int:
        return len(self.name)


@dataclass(slots=True)
class ImageInfo:
    """A mapped file or what stands for one; ``problem`` says why its code could not be unwound or named."""

    name: str
    path: str
    build_id: str
    kind: str
    problem: str = ""


@dataclass(slots=True)
class EventInfo:
    """An event of the recording, by number. ``packed``: its weights are three numbers in one word, u32 latency, u16 of
    the instruction, u16 to its retirement (``PERF_SAMPLE_WEIGHT_STRUCT``). ``chains``: its samples have call chains."""

    name: str
    packed: bool = False
    chains: bool = True


class Frame(NamedTuple):
    """One frame of a stack.

    ``name`` is demangled; ``file+0xstart`` for a function without a symbol, ``[unknown]`` where not even its start is
    known. ``dso`` is the path that was mapped, or what stands
    for it. ``address`` is as the file states it (in the kernel, the one it ran at), of a return address one less, so
    that it lies in the call. ``provenance`` is a :class:`undwarf.Provenance`. ``inline_depth`` is 0 for a function
    that has code of its own. ``file`` and ``line`` are empty and 0 where debugging information has neither;
    ``runtime`` is the address in the process, if the profile was asked to keep it.
    """

    name: str
    dso: str
    address: int
    provenance: int
    runtime: int | None = None
    inline_depth: int = 0
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample with its whole stack, innermost frame first.

    ``time`` is in nanoseconds of the recording's clock, ``period`` in the event's own unit; ``stop`` is the
    :class:`undwarf.StopReason` of its user part.
    """

    time: int
    pid: int
    tid: int
    cpu: int
    event: str
    period: int
    comm: str
    stop: int
    stack: list[Frame] = field(repr=False)


class SampleView(Sequence[Sample]):
    """The samples as objects, made one by one; the columns are in ``columns`` and by their own names."""

    def __init__(self, profile: "Profile", columns: SampleColumns) -> None:
        self._profile = profile
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | list[Sample]:
        if isinstance(index, slice):
            return [self._profile.sample(i) for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._profile.sample(index)

    def __iter__(self) -> Iterator[Sample]:
        return (self._profile.sample(i) for i in range(len(self)))

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_") or name == "columns":
            raise AttributeError(name)
        column: Column = getattr(self.columns, name)
        return column


class Profile:
    """All of a recording's samples, unwound and named."""

    def __init__(
        self,
        samples: SampleColumns,
        stacks: StackColumns,
        frames: FrameColumns,
        functions: FunctionTable,
        images: list[ImageInfo],
        comms: list[str],
        events: list[EventInfo],
        *,
        files: list[str] | None = None,
        deferred: int = 0,
        later: dict[str, int] | None = None,
        precise: dict[str, int] | None = None,
        line_size: int = LINE,
        unwind_order: tuple[str, ...] = (),
        stitched: bool = False,
        recorder: str = "perf",
    ) -> None:
        self.samples = SampleView(self, samples)
        self.stacks = stacks
        self.frames = frames
        self.functions = functions
        self.images = images
        self.comms = comms
        self.events = events
        self.files = files if files is not None else []
        """Source files, as debugging information names them."""
        self.deferred = deferred
        """Samples whose user chain was to come later and never came."""
        self.later = later or {}
        """What became of deferred chains and of the samples that wait for them
        (undwarf.unwind.deferred_chains.match)."""
        self.precise = precise or {}
        """Precise samples that were unwound (``samples``): whose registers were those of the sampled instruction
        (``fitting``), were brought to it (``corrected``), of these with a caller inferred after a return
        (``returned``), and with nothing that proves a caller (``unproven``)."""

        self.line_size = line_size
        """Bytes of a cache line of the machine."""
        self.unwind_order = unwind_order
        """The kinds of unwind information that stacks were walked with; empty: all there are."""
        self.stitched = stitched
        """Whether stacks are as recorded, unwound by whoever wrote the recording."""
        self.recorder = recorder
        """The program whose options advice names: "perf" or "undwarf"."""

    def derived(
        self,
        *,
        samples: SampleColumns | None = None,
        stacks: StackColumns | None = None,
        frames: FrameColumns | None = None,
        functions: FunctionTable | None = None,
    ) -> Self:
        """A profile with these columns, and all others of this one, which stays as it is."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.samples = SampleView(made, samples if samples is not None else self.samples.columns)
        made.stacks = stacks if stacks is not None else self.stacks
        made.frames = frames if frames is not None else self.frames
        made.functions = functions if functions is not None else self.functions
        return made

    def frame(self, number: int) -> Frame:
        """One frame as an object."""
        frames = self.frames
        image = frames.image[number]
        file = frames.file[number] if frames.file is not None else NONE
        return Frame(
            self.functions.name[frames.function[number]],
            self.images[image].name if image != NONE else "[unknown]",
            frames.address[number],
            _PROVENANCES.get(frames.provenance[number], frames.provenance[number]),
            frames.runtime[number] if frames.runtime is not None else None,
            frames.inline_depth[number],
            self.files[file] if file != NONE else "",
            frames.line[number] if frames.line is not None else 0,
        )

    def stack(self, node: int) -> list[Frame]:
        """The frames of a stack node, innermost first."""
        found = []
        while node != NONE:
            found.append(self.frame(self.stacks.frame[node]))
            node = self.stacks.parent[node]
        return found

    def sample(self, number: int) -> Sample:
        """One sample as an object."""
        columns = self.samples.columns
        comm = columns.comm[number]
        return Sample(
            columns.time[number],
            columns.pid[number],
            columns.tid[number],
            columns.cpu[number],
            self.events[columns.event[number]].name,
            columns.period[number],
            self.comms[comm] if comm != NONE else f":{columns.tid[number]}",
            _STOPS.get(columns.stop[number], columns.stop[number]),
            self.stack(columns.stack[number]),
        )
