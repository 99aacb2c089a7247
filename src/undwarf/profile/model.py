"""The profile: samples, stacks, frames, functions and images as columns; objects are created on access.

A column is a memoryview of native numbers, one entry per sample, node or frame. Indices of other tables use 0xffffffff
for "none".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

from undwarf.arrow.as_table import AsTable
from undwarf.errors import UsageError
from undwarf.ordering import take
from undwarf.perfdata.features import LINE
from undwarf.profile.rows import Rows
from undwarf.unwind.code_address import CodeAddress
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

if TYPE_CHECKING:
    from undwarf.arrow.table import Table
    from undwarf.profile.processes import Process

NONE = 0xFFFFFFFF

Column = memoryview

_STOPS: dict[int, StopReason] = {one.value: one for one in StopReason}
_PROVENANCES: dict[int, Provenance] = {one.value: one for one in Provenance}


@dataclass(slots=True, repr=False, eq=False)
class SampleColumns:
    """One entry per sample. ``time`` in ns, ``comm`` an index of ``comms``, ``stack`` the innermost node, ``stop`` a
    StopReason, ``stop_image`` the image in which the walk stopped. The others are None if no sample has them: ``addr``
    (data address), ``weight`` (see EventInfo), ``data_src``, ``phys_addr``, ``data_page_size`` and ``code_page_size``
    as the kernel writes them; ``space``, the number of the sample's address space; ``position``, the offset of the
    sample in the recording, and ``regs_at``, ``regs_intr_at``, ``raw_at``, ``branch_at``, offsets of these fields in
    it; ``cgroup``, the id of a control group; ``count``, of an entry that stands for several samples, how many.
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
    count: Column | None = None

    def __len__(self) -> int:
        return len(self.stack)

    @property
    def total(self) -> int:
        """The number of samples, which is that of entries unless they are sums."""
        return sum(self.count) if self.count is not None else len(self.stack)

    def __repr__(self) -> str:
        return f"<undwarf.SampleColumns: {len(self):,} samples>"

    def rows(self, numbers: Column) -> "SampleColumns":
        """Some of the samples, by number (I)."""
        chosen: dict[str, Any] = {}
        for name in self.__slots__:
            column = getattr(self, name)
            chosen[name] = take(column, numbers) if column is not None else None
        return SampleColumns(**chosen)


def _tables() -> Any:
    """The module of tables, which few commands need."""
    from undwarf.profile import tables

    return tables


def _table(profile: "Profile | None", name: str) -> "Table":
    if profile is None:
        raise UsageError(f"these {name} are of no profile", "their names are in its other tables")
    found: Table = _tables().table(profile, name)
    return found


@dataclass(slots=True, repr=False, eq=False)
class StackColumns(AsTable):
    """One entry per node: its caller's node (``parent``, a smaller number; none for a root) and its ``frame``."""

    parent: Column
    frame: Column
    profile: "Profile | None" = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.frame)

    def as_table(self) -> "Table":
        """As docs/reference/tables.md describes it; of a profile's columns only."""
        return _table(self.profile, "stacks")

    def __repr__(self) -> str:
        return f"<undwarf.StackColumns: {len(self):,} nodes>"


@dataclass(slots=True, repr=False, eq=False)
class FrameColumns(AsTable):
    """One entry per frame: a distinct code address, or a function inlined there.

    ``address`` is the lookup address (a return address minus one): as in the ELF file, or for the kernel and code
    without a file the run-time address; 0 in profiles of other tools. ``runtime`` is the address in the process, None
    if not requested.
    ``inline_depth``: the number of functions that this one is inlined into, 0 for a function with code of its own.
    ``file`` (I, index of ``Profile.files``) and ``line`` (I, 0: unknown): the source position, None if not requested.
    ``is_return`` (B): 1 if ``address`` is a return address minus one; None if that is not known.
    """

    image: Column
    address: Column
    provenance: Column
    function: Column
    runtime: Column | None
    inline_depth: Column
    file: Column | None = None
    line: Column | None = None
    is_return: Column | None = None
    profile: "Profile | None" = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.address)

    def as_table(self) -> "Table":
        """As docs/reference/tables.md describes it; of a profile's columns only."""
        return _table(self.profile, "frames")

    def __repr__(self) -> str:
        return f"<undwarf.FrameColumns: {len(self):,} frames>"


@dataclass(slots=True, repr=False, eq=False)
class FunctionTable(AsTable):
    """Functions by number: demangled ``name``, ``image``, start ``address``; ``unnamed`` (B): 1 without a symbol, the
    name is then a file and offset (``gzip+0x4330``) or ``[unknown]``."""

    name: list[str]
    image: Column
    address: Column
    unnamed: Column
    profile: "Profile | None" = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.name)

    def as_table(self) -> "Table":
        """As docs/reference/tables.md describes it; of a profile's columns only."""
        return _table(self.profile, "functions")

    def __repr__(self) -> str:
        return f"<undwarf.FunctionTable: {len(self):,} functions>"


class ImageInfo(NamedTuple):
    """A mapped file or what stands for one; ``problem`` says why its code could not be unwound or named."""

    name: str
    path: str
    build_id: str
    kind: str
    problem: str = ""


class EventInfo(NamedTuple):
    """An event of the recording, by number. ``packed``: its weights are three numbers in one word, u32 latency, u16 of
    the instruction, u16 to its retirement (``PERF_SAMPLE_WEIGHT_STRUCT``). ``chains``: its samples have call chains.
    ``unit``: that of its periods, where a profile of another tool states it; empty: as the event's name has it."""

    name: str
    packed: bool = False
    chains: bool = True
    unit: str = ""


FIELDS = {
    "time": "times",
    "pid": "process ids",
    "tid": "thread ids",
    "cpu": "CPUs",
    "comm": "thread names",
    "dso": "files",
    "line": "source lines",
    "address": "addresses",
}
"""What a profile of another tool may have, in words."""


class Origin(NamedTuple):
    """A profile of another tool: its ``format`` in words, and its ``fields``, what it has of :data:`FIELDS`.

    ``sums``: its entries are no single samples, but sums of their weights, as in folded stacks.
    """

    format: str
    fields: frozenset[str] = frozenset()
    sums: bool = False


class Frame(NamedTuple):
    """One frame of a stack.

    ``name`` is demangled; ``file+0xstart`` for a function without a symbol, ``[unknown]`` if its start is unknown too.
    ``dso`` is the mapped path, or a name in brackets. ``address`` is an address of the file (in the kernel the run-time
    address): of the sampled instruction, or a return address. ``provenance`` is how its caller was found.
    ``inline_depth`` is 0 for a function with code of its own. ``file`` is empty and ``line`` 0 if unknown; ``runtime``
    is the address in the process, as a debugger shows it, if the profile has it.
    """

    name: str
    dso: str
    address: CodeAddress
    provenance: Provenance
    runtime: int | None = None
    inline_depth: int = 0
    file: str = ""
    line: int = 0


class Sample(NamedTuple):
    """One sample with its whole stack, innermost frame first.

    ``time`` is in ns of the recording's clock, ``period`` in the event's own unit; ``stop`` is why its user part ends
    where it does.
    """

    time: int
    pid: int
    tid: int
    cpu: int
    event: str
    period: int
    comm: str
    stop: StopReason
    stack: list[Frame]

    def __repr__(self) -> str:
        return f"Sample({', '.join(f'{name}={value!r}' for name, value in zip(self._fields[:-1], self, strict=False))})"


class SampleView(AsTable):
    """The samples as objects, created on access; columns are attributes by name, as in :class:`SampleColumns`.

    It has what sequences have, but is not registered as one: polars would take it row by row.

    >>> profile.samples[0].comm, len(profile.samples.time), profile.samples.time.format
    ('words', 1127, 'Q')
    """

    columns: SampleColumns
    """All columns."""
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
    addr: Column | None
    weight: Column | None
    data_src: Column | None
    phys_addr: Column | None
    data_page_size: Column | None
    code_page_size: Column | None
    cgroup: Column | None

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

    def as_table(self) -> "Table":
        """As docs/reference/tables.md describes it."""
        return _table(self._profile, "samples")

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_") or name == "columns":
            raise AttributeError(name)
        column: Column = getattr(self.columns, name)
        return column

    def __repr__(self) -> str:
        return f"<undwarf.SampleView: {len(self):,} samples>"


class Profile:
    """All of a recording's samples, unwound and named."""

    samples: SampleView
    """The samples, as objects and as columns."""
    stacks: StackColumns
    """Stacks as a tree of nodes, of which each sample has one."""
    frames: FrameColumns
    """The distinct frames, of which each node has one."""
    functions: FunctionTable
    """The distinct functions, of which each frame has one."""
    images: "Rows[ImageInfo]"
    """The mapped files, the kernel, and code without a file."""
    comms: list[str]
    """Names of threads."""
    events: "Rows[EventInfo]"
    """The events; their numbers are places in this list."""
    files: list[str]
    """Source files, as debugging information names them."""

    def __init__(
        self,
        samples: SampleColumns,
        stacks: StackColumns,
        frames: FrameColumns,
        functions: FunctionTable,
        images: Sequence[ImageInfo],
        comms: list[str],
        events: Sequence[EventInfo],
        *,
        files: list[str] | None = None,
        deferred: int = 0,
        later: dict[str, int] | None = None,
        precise: dict[str, int] | None = None,
        line_size: int = LINE,
        unwind_order: tuple[str, ...] = (),
        stitched: bool = False,
        recorder: str = "perf",
        origin: Origin | None = None,
        processes: "Callable[[], list[Process]]" = list,
    ) -> None:
        self.samples = SampleView(self, samples)
        self._link(stacks, frames, functions)
        self.images = Rows(images, lambda rows: _tables().images_table(rows))
        self.comms = comms
        self.events = Rows(events, lambda rows: _tables().events_table(rows))
        self.files = files if files is not None else []
        self.deferred = deferred
        """Samples whose deferred user chain is missing."""
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
        """The kinds of unwind information that stacks were walked with; empty: all."""
        self.stitched = stitched
        """Whether the recorded call chains are whole stacks, unwound by the recorder."""
        self.recorder = recorder
        """The program that advice is about: "perf" or "undwarf"."""
        self.origin = origin
        """Of a profile of another tool what it has; None for a recording."""
        self._find_processes = processes

    def _link(self, stacks: StackColumns, frames: FrameColumns, functions: FunctionTable) -> None:
        """Take columns; as tables they have names of this profile."""
        self.stacks, self.frames, self.functions = replace(stacks), replace(frames), replace(functions)
        self.stacks.profile = self.frames.profile = self.functions.profile = self

    @cached_property
    def processes(self) -> "Rows[Process]":
        """The processes that are sampled or described by records."""
        return Rows(self._find_processes(), lambda rows: _tables().processes_table(rows))

    @property
    def stack_frames(self) -> "Table":
        """The frames of each distinct stack of the samples, as a table for Arrow consumers: it is in memory nowhere."""
        return _table(self, "stack_frames")

    @property
    def stack_weights(self) -> "Table":
        """The weight of each node of ``stacks`` by event, as a table for Arrow consumers; computed for each of them."""
        return _table(self, "stack_weights")

    def derived(
        self,
        *,
        samples: SampleColumns | None = None,
        stacks: StackColumns | None = None,
        frames: FrameColumns | None = None,
        functions: FunctionTable | None = None,
    ) -> Self:
        """A copy of this profile with these columns."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.samples = SampleView(copy, samples if samples is not None else self.samples.columns)
        copy._link(
            stacks if stacks is not None else self.stacks,
            frames if frames is not None else self.frames,
            functions if functions is not None else self.functions,
        )
        return copy

    def frame(self, number: int) -> Frame:
        """One frame as an object."""
        frames = self.frames
        image = frames.image[number]
        file = frames.file[number] if frames.file is not None else NONE
        return Frame(
            self.functions.name[frames.function[number]],
            self.images[image].name if image != NONE else "[unknown]",
            CodeAddress.of_lookup(
                frames.address[number], frames.is_return is not None and frames.is_return[number] != 0
            ),
            _PROVENANCES[frames.provenance[number]],
            frames.runtime[number] if frames.runtime is not None else None,
            frames.inline_depth[number],
            self.files[file] if file != NONE else "",
            frames.line[number] if frames.line is not None else 0,
        )

    def stack(self, node: int) -> list[Frame]:
        """The frames of a stack node, innermost first."""
        frames = []
        while node != NONE:
            frames.append(self.frame(self.stacks.frame[node]))
            node = self.stacks.parent[node]
        return frames

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
            _STOPS.get(columns.stop[number]) or StopReason(columns.stop[number]),
            self.stack(columns.stack[number]),
        )
