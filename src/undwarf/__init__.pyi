"""The public names of undwarf: the reference. Made by docs/make_api.py."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Mapping as _Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import TracebackType
from typing import BinaryIO, Generic, Literal, NamedTuple, TypedDict, TypeVar, Unpack, final, overload, type_check_only

_Row = TypeVar("_Row")

__version__: str
__all__ = [
    "Access",
    "CallTree",
    "CodeAddress",
    "CommRecord",
    "Contradiction",
    "Counts",
    "DataTypes",
    "Defect",
    "Defects",
    "ElfError",
    "Event",
    "EventInfo",
    "ExitRecord",
    "FieldRow",
    "Filters",
    "ForkRecord",
    "Frame",
    "FrameColumns",
    "FunctionTable",
    "Header",
    "ImageInfo",
    "InstructionRow",
    "Limits",
    "LostRecord",
    "Mapping",
    "MemoryCounts",
    "MmapRecord",
    "NothingUsable",
    "Options",
    "OtherRecord",
    "Party",
    "PerfDataWriter",
    "Process",
    "Profile",
    "ProfileFile",
    "ProfileOptions",
    "Provenance",
    "Recording",
    "Rows",
    "Rule",
    "Sample",
    "SampleColumns",
    "SampleRecord",
    "SampleView",
    "Sharing",
    "Shrunk",
    "SourceFrame",
    "StackColumns",
    "StopReason",
    "Symbolized",
    "Symbolizer",
    "Table",
    "Tally",
    "TreeNode",
    "TypeEvidence",
    "TypeResolver",
    "TypeRow",
    "UndwarfError",
    "UnreadableInput",
    "UnwindTable",
    "Unwinder",
    "UnwoundFrame",
    "UnwoundStack",
    "UsageError",
    "VerifiedCalls",
    "accesses",
    "demangle",
    "handle_truncation",
    "open",
]

@type_check_only
class _FileKeywords(TypedDict, total=False):
    """The fields of :class:`Options` but for ``format`` as keywords."""

    symfs: str | os.PathLike[str] | None
    kallsyms: str | os.PathLike[str] | None
    vmlinux: str | os.PathLike[str] | None
    debug_dirs: Sequence[str | os.PathLike[str]]
    debuginfod: bool
    unwind: str | Sequence[str]
    cache: bool
    limits: Limits

@type_check_only
class _OptionKeywords(_FileKeywords, total=False):
    """The fields of :class:`Options` as keywords."""

    format: Literal["auto", "perf.data", "folded", "pprof", "perf-script", "speedscope"]

@type_check_only
class _ProfileKeywords(TypedDict, total=False):
    """The fields of :class:`ProfileOptions` as keywords."""

    filters: Filters | None
    jobs: int | None
    by_time: bool
    runtime: bool
    max_stack: int | None
    names: bool
    starts: bool
    inline: bool
    lines: bool | None
    callers: bool
    branch_history: bool
    versions: bool
    other_dumps: bool
    progress: Callable[[str, int, int], None] | None

@overload
def open(
    source: str | os.PathLike[str] | BinaryIO,
    options: Options | None = None,
    *,
    format: Literal["perf.data"],
    **keywords: Unpack[_FileKeywords],
) -> Recording:
    """Open a perf.data file, directory, stream, or ``"-"`` for standard input; or a profile of another tool: folded
    stacks, pprof, text of ``perf script``, speedscope's JSON. Keywords are fields of :class:`Options`.

    With ``format="perf.data"``, nothing but recordings is opened, as type checkers know. Raises UnreadableInput if the
    source cannot be read or is none of these, UsageError for unwind information of an unknown kind.

    >>> recording = undwarf.open("words.data", symfs=".")
    >>> recording
    <undwarf.Recording words.data: task-clock:u>
    >>> recording.close()
    """

@overload
def open(
    source: str | os.PathLike[str] | BinaryIO, options: Options | None = None, **keywords: Unpack[_OptionKeywords]
) -> Recording | ProfileFile:
    """Open a perf.data file, directory, stream, or ``"-"`` for standard input; or a profile of another tool: folded
    stacks, pprof, text of ``perf script``, speedscope's JSON. Keywords are fields of :class:`Options`.

    With ``format="perf.data"``, nothing but recordings is opened, as type checkers know. Raises UnreadableInput if the
    source cannot be read or is none of these, UsageError for unwind information of an unknown kind.

    >>> recording = undwarf.open("words.data", symfs=".")
    >>> recording
    <undwarf.Recording words.data: task-clock:u>
    >>> recording.close()
    """

@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the source is, where files are, and what they are read for.

    ``format`` is ``perf.data`` for a recording alone, or that of a profile of another tool, for which the other options
    but ``limits`` have no effect; ``auto``: recognised by its contents. ``symfs``: a directory with the recorded
    machine's files. ``kallsyms`` and ``vmlinux`` describe its kernel. ``debug_dirs``: directories with separate debug
    files, beside ``/usr/lib/debug``. ``debuginfod``: whether missing files are fetched from the servers in
    ``$DEBUGINFOD_URLS``; nothing else uses the network. ``unwind``: kinds of unwind information in order of preference,
    as in ``"sframe"`` or ``"sframe,cfi,fp"`` (fp: frame pointers); ``auto`` is right for most. ``cache``: whether rows
    of unwind tables and types of instructions are cached below ``$UNDWARF_CACHE_DIR`` (default: ``~/.cache/undwarf``),
    unless that variable is ``off``. ``limits`` bound what one input may cost.

    >>> undwarf.Options(symfs="/mnt/image").symfs
    '/mnt/image'
    """

    format: Literal["auto", "perf.data", "folded", "pprof", "perf-script", "speedscope"] = "auto"
    symfs: str | os.PathLike[str] | None = None
    kallsyms: str | os.PathLike[str] | None = None
    vmlinux: str | os.PathLike[str] | None = None
    debug_dirs: Sequence[str | os.PathLike[str]] = ()
    debuginfod: bool = False
    unwind: str | Sequence[str] = "auto"
    cache: bool = True
    limits: Limits = ...

class Recording:
    """An opened recording; :func:`undwarf.open` makes it. Nothing is unwound before :meth:`profile`.

    Use it as a context manager, or call :meth:`close`.

    >>> with undwarf.open("words.data", symfs=".") as recording:
    ...     profile = recording.profile()
    >>> len(profile.samples)
    1127
    """
    @property
    def path(self) -> str:
        """The file's path as given; ``-`` for standard input."""
    @property
    def header(self) -> Header:
        """The machine and the command that was recorded."""
    @property
    def events(self) -> list[Event]:
        """The sampled events; those of a pipe that records describe are added when the records are read."""
    @property
    def defects(self) -> Defects:
        """The damage found so far: what was skipped or worked around."""
    @property
    def time_range(self) -> tuple[int, int]:
        """The times of the first and the last sample, in ns of the recording's clock; (0, 0) without samples or times.

        >>> start, end = recording.time_range
        >>> round((end - start) / 1e9, 1)
        1.8
        """
    @property
    def processes(self) -> dict[int, Process]:
        """The processes that are sampled or described by records, by number; also in ``profile.processes``."""
    @property
    def images(self) -> list[ImageInfo]:
        """Files, the kernel and code without a file, as far as they are mapped: their ``problem`` is filled in where
        :meth:`profile` has used them.
        """
    def mappings(self, pid: int, time: int | None = None) -> list[Mapping]:
        """The mappings of a process at a time (in ns of the recording's clock; default: at the end), by address: of
        code and of read-only data, which are those that matter here. ``pid`` -1 is the kernel.

        >>> [(hex(one.start), one.path) for one in recording.mappings(10473) if one.path.startswith("/")]
        [('0x400000', '/demo/words')]
        """
    def iter_records(
        self,
    ) -> Iterator[SampleRecord | MmapRecord | CommRecord | ForkRecord | ExitRecord | LostRecord | OtherRecord]:
        """All records in order of time, each as an object of its kind (:class:`SampleRecord`, :class:`MmapRecord`,
        ...). For programs that look at few of them: :meth:`profile` has columns.

        >>> next(one.path for one in recording.iter_records() if isinstance(one, undwarf.MmapRecord) and one.executable)
        '/demo/words'
        """
    def profile(self, options: ProfileOptions | None = None, **keywords: Unpack[_ProfileKeywords]) -> Profile:
        """Unwind and name the samples. Keywords are fields of :class:`ProfileOptions`.

        Raises UsageError for filters that nothing can pass.

        >>> profile = recording.profile(inline=False)
        >>> profile.samples[0].stop, [frame.name for frame in profile.samples[0].stack][-2:]
        (<StopReason.ROOT: 1>, ['main', '_start'])
        """
    def data_types(
        self,
        *,
        skid: bool = False,
        weight: Literal["period", "samples", "latency"] = "period",
        event: int | str | None = None,
        filters: Filters | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> DataTypes:
        """The types and members that the samples access, of the event with this name or number (default: all).

        ``skid``: samples at instructions without a memory access are attributed to the load that they wait for, as
        inferred. Raises UsageError for an unknown event.
        """
    def verify_calls(self, profile: Profile) -> VerifiedCalls:
        """Check the callers in the stacks of a profile of this recording against the code. The profile must have been
        made without inlined functions.

        >>> calls = recording.verify_calls(recording.profile(inline=False)).calls
        >>> calls.contradicted, calls.proven > 1000
        (0, True)
        """
    def add_text(self, pid: int, start: int, end: int, section: bytes | memoryview, address: int) -> None:
        """Add code of a process that is in no file, with the SFrame section that describes it.

        The code ran at ``start`` to ``end`` in anonymous memory, and its section was at ``address``; all are addresses
        in that process. Raises UsageError after records were read, and for a range that overlaps another one.
        """
    def shrink(
        self,
        sink: BinaryIO,
        *,
        form: Literal["file", "pipe"] = "file",
        zstd_level: int = 0,
        filters: Filters | None = None,
        jobs: int | None = None,
        max_stack: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Shrunk:
        """Write this recording to ``sink`` with whole call chains instead of registers and stack dumps.

        ``form="file"`` needs a seekable ``sink``. ``zstd_level`` 0 does not compress. Raises UsageError for filters by
        function or file, which are not resolved here.

        >>> import io
        >>> recording.shrink(io.BytesIO())
        Shrunk(shortened=0, dropped=0)
        """
    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
    def close(self) -> None:
        """Close the file, after caching the unwind tables that were used. Profiles stay usable."""
    def __enter__(self) -> Recording: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class ProfileFile:
    """A profile of another tool; :func:`undwarf.open` makes it, and has read all of it then. It offers what a
    :class:`Recording` does, as far as such files go.

    >>> import io
    >>> with undwarf.open(io.BytesIO(b"main;work 12")) as opened:
    ...     profile = opened.profile()
    >>> opened.format, [frame.name for frame in profile.samples[0].stack], profile.samples[0].period
    ('folded stacks', ['work', 'main'], 12)
    """
    @property
    def path(self) -> str:
        """The file's path as given; ``-`` for standard input."""
    @property
    def format(self) -> str:
        """What it is, in words."""
    @property
    def fields(self) -> frozenset[str]:
        """What it has of ``time``, ``pid``, ``tid``, ``cpu``, ``comm``, ``dso``, ``line`` and ``address``; filters need
        them.
        """
    @property
    def events(self) -> Rows[EventInfo]:
        """The events, or what else the weights measure."""
    @property
    def defects(self) -> Defects:
        """The damage found: what was skipped or worked around."""
    def profile(self, options: ProfileOptions | None = None, **keywords: Unpack[_ProfileKeywords]) -> Profile:
        """The samples, of which ``filters`` select some, in order of time with ``by_time``. The other fields of
        :class:`ProfileOptions` have no effect: the stacks are unwound and named already.

        Raises UsageError for a filter by a field that the file has not.
        """
    def close(self) -> None:
        """Nothing is open any more; recordings are closed like this."""
    def __enter__(self) -> ProfileFile: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """Which samples a profile has, and which attributes its frames have. By default these are all that the recording's
    files describe; fewer take less time.

    ``filters`` select samples. ``jobs``: unwinding threads (default: one per CPU, at most 8). ``by_time``: samples in
    order of time, else as recorded. ``runtime``: frames keep their address in the process. ``max_stack``: the most user
    frames of a stack. ``names``: without, all functions are unknown. ``starts``: functions without a symbol are named
    after where they start, as in ``gzip+0x4330``; without, ``[unknown]``. ``inline``: inlined functions are frames of
    their own. ``lines``: frames have source lines (default: as ``inline``). ``callers``: without, user stacks have one
    frame, and no unwind tables are read. ``branch_history``: the branches before a sample, target and source
    alternating, are between its innermost frame and its callers. ``versions``: symbols keep their version
    (``malloc@@GLIBC_2.2.5``), as in perf. ``other_dumps``: stacks larger than their dump are continued from other dumps
    of their thread that match; such frames have :attr:`Provenance.OTHER_DUMP`, such samples
    :attr:`StopReason.INFERRED_ROOT`. ``progress`` is called with the name of a step, how much is done, and of how much.

    >>> undwarf.ProfileOptions(inline=False).lines is None
    True
    """

    filters: Filters | None = None
    jobs: int | None = None
    by_time: bool = False
    runtime: bool = False
    max_stack: int | None = None
    names: bool = True
    starts: bool = True
    inline: bool = True
    lines: bool | None = None
    callers: bool = True
    branch_history: bool = False
    versions: bool = False
    other_dumps: bool = True
    progress: Callable[[str, int, int], None] | None = None

class Filters(NamedTuple):
    """A sample must pass all of these; an empty collection or None passes every sample.

    ``start`` and ``end`` are ns of the recording's clock, both inclusive; ``spans`` are such pairs, of which one must
    contain the sample. The names may have shell wildcards: ``comms``, ``events``, ``symbols`` and ``dsos`` (function
    and file of the innermost frame), ``callers`` (functions of which one must be on the stack).
    """

    start: int | None = None
    end: int | None = None
    pids: Collection[int] = ()
    tids: Collection[int] = ()
    cpus: Collection[int] = ()
    comms: Collection[str] = ()
    events: Collection[str] = ()
    spans: Collection[tuple[int, int]] = ()
    symbols: Collection[str] = ()
    dsos: Collection[str] = ()
    callers: Collection[str] = ()
    def __bool__(self) -> bool: ...
    @property
    def of_frames(self) -> bool:
        """Whether the filters need unwound stacks."""

@dataclass(frozen=True, slots=True)
class Header:
    """The machine and the command of a recording; empty or 0 where the recording does not say.

    ``osrelease`` is the kernel's, ``version`` the recorder's; ``arch`` is as ``uname -m`` prints it. ``cpus`` are those
    available, ``cpus_online`` those online; ``memory`` is in bytes, ``cache_line`` too.

    >>> recording.header.osrelease, recording.header.cpus
    ('6.18.44-fc-v595', 2)
    """

    hostname: str = ""
    osrelease: str = ""
    version: str = ""
    arch: str = ""
    cpudesc: str = ""
    cpuid: str = ""
    cpus: int = 0
    cpus_online: int = 0
    memory: int = 0
    cache_line: int = 64
    cmdline: tuple[str, ...] = ()

@dataclass(frozen=True, slots=True)
class Event:
    """An event that samples are taken of. Its number is its place in :attr:`Recording.events`.

    ``type`` and ``config`` are as in the kernel's perf_event_attr; a software clock, the default, is right for what the
    kernel has no event for. A sample is taken each ``period`` occurrences or, where that is 0, ``frequency`` times a
    second. ``precise`` is 0 (any skid) to 3 (no skid). ``stack_bytes``: the most stack copied with each sample.

    >>> recording.events[0].name, recording.events[0].frequency
    ('task-clock:u', 997)
    """

    name: str
    type: int = 1
    config: int = 0
    period: int = 0
    frequency: int = 0
    precise: int = 0
    stack_bytes: int = 0

@dataclass(frozen=True, slots=True)
class Process:
    """A process of a recording, or all that had this number one after the other.

    ``comm`` is the last name of its main thread, else that of another one, empty if unknown; ``parent`` is None unless
    its fork was recorded. ``threads`` were sampled or described by records: names by number. ``samples`` is how many it
    has. ``start`` and ``end`` are in ns, None if the fork or the end of its main thread was not recorded.

    >>> recording.processes[10473].comm, recording.processes[10473].samples
    ('words', 1127)
    """

    pid: int
    comm: str
    parent: int | None = None
    threads: dict[int, str] = ...
    samples: int = 0
    start: int | None = None
    end: int | None = None

class Mapping(NamedTuple):
    """A range of addresses of a process, and the part of a file that is mapped there.

    ``start`` and ``end`` are addresses, ``offset`` is where ``start`` is in the file ``path``; an empty path is memory
    without a file. ``protection`` is as in /proc/PID/maps (``r-xp``). ``build_id`` (hexadecimal) identifies the file
    better than its path; ``device`` (major, minor) and ``inode`` do if it is unknown; empty and 0 if unknown as well.

    >>> text = "00400000-00401000 r-xp 00001000 fe:00 4711  /usr/bin/words"
    >>> (mapping,) = undwarf.Mapping.parse_maps(text)
    >>> hex(mapping.start), mapping.path, mapping.executable
    ('0x400000', '/usr/bin/words', True)
    """

    start: int
    end: int
    offset: int = 0
    path: str = ""
    protection: str = "r-xp"
    build_id: str = ""
    device: tuple[int, int] = ...
    inode: int = 0
    @property
    def executable(self) -> bool:
        """Whether code may run there."""
    @classmethod
    def parse_maps(cls, text: str | bytes) -> list[Mapping]:
        """The mappings in the text of a /proc/PID/maps; lines that describe none are left out."""

class Shrunk(NamedTuple):
    """Samples of a smaller recording: with a chain that was ``shortened`` to fit a record, and ``dropped`` since their
    other fields exceed it.
    """

    shortened: int
    dropped: int

class SampleRecord(NamedTuple):
    """A sample as recorded: ``number`` is its place in the profile's samples as recorded; ``time`` in ns; ``ip`` is the
    sampled address, ``addr`` that of the data, 0 without.
    """

    number: int
    time: int
    pid: int
    tid: int
    cpu: int
    event: int
    period: int
    ip: int
    addr: int

class MmapRecord(NamedTuple):
    """A new mapping, of ``path`` from ``offset`` on; ``pid`` -1 is the kernel. ``build_id`` is hexadecimal, empty if
    unknown; ``executable``: code may run there.
    """

    time: int
    pid: int
    tid: int
    start: int
    end: int
    offset: int
    path: str
    build_id: str
    executable: bool

class CommRecord(NamedTuple):
    """A thread's new name; ``is_exec``: by an exec."""

    time: int
    pid: int
    tid: int
    name: str
    is_exec: bool

class ForkRecord(NamedTuple):
    """A new process or, if ``parent`` is ``pid``, a new thread."""

    time: int
    pid: int
    tid: int
    parent: int
    parent_tid: int

class ExitRecord(NamedTuple):
    """The end of a thread."""

    time: int
    pid: int
    tid: int

class LostRecord(NamedTuple):
    """``lost`` records or samples that were lost before they could be written."""

    time: int
    lost: int

class OtherRecord(NamedTuple):
    """A record of another kind, by the name of its kind (``KSYMBOL``, ``CGROUP``, ...), and what it is named after."""

    time: int
    pid: int
    tid: int
    kind: str
    name: str

class Profile:
    """All of a recording's samples, unwound and named.

    ``samples`` is a sequence of :class:`undwarf.Sample`, created on access; ``samples.time`` etc. are their columns,
    which numpy uses without a copy. ``stacks``, ``frames`` and ``functions`` are columns as well; ``images``,
    ``events`` and ``comms`` are sequences, into which these have indices.

    As tables, these (but ``comms``), ``processes``, ``stack_frames`` and ``stack_weights`` go to other libraries
    without a copy of their columns: ``pyarrow.table(profile.samples)``, ``polars.DataFrame(profile.samples)``,
    ``pandas.DataFrame.from_arrow(profile.samples)``, or by the name of a variable in DuckDB.
    docs/reference/tables.md describes the columns.
    """

    samples: SampleView
    """The samples, as objects and as columns."""
    stacks: StackColumns
    """Stacks as a tree of nodes, of which each sample has one."""
    frames: FrameColumns
    """The distinct frames, of which each node has one."""
    functions: FunctionTable
    """The distinct functions, of which each frame has one."""
    images: Rows[ImageInfo]
    """The mapped files, the kernel, and code without a file."""
    comms: list[str]
    """Names of threads."""
    events: Rows[EventInfo]
    """The events; their numbers are places in this list."""
    files: list[str]
    """Source files, as debugging information names them."""
    @property
    def processes(self) -> Rows[Process]:
        """The processes that are sampled or described by records."""
    @property
    def stack_frames(self) -> Table:
        """The frames of each distinct stack of the samples, as a table for Arrow consumers: it is in memory nowhere."""
    @property
    def stack_weights(self) -> Table:
        """The weight of each node of ``stacks`` by event, as a table for Arrow consumers; computed for each of them."""
    def call_tree(
        self,
        *,
        weight: Literal["period", "samples", "latency"] = "period",
        event: int | str | None = None,
        min_share: float = 0.0,
    ) -> CallTree:
        """Functions below their callers, heaviest first.

        Weights are sums of periods, or counts of ``"samples"``, of the event with this name or number (default: all).
        Nodes below ``min_share`` (0 to 1) of the total are left out. Raises UsageError for an unknown event.

        >>> tree = profile.call_tree(event="task-clock", weight="samples", min_share=0.5)
        >>> [(node.name, node.weight) for node in tree.roots]
        [('_start', 1127)]
        """
    def callers(
        self,
        *,
        weight: Literal["period", "samples", "latency"] = "period",
        event: int | str | None = None,
        min_share: float = 0.0,
    ) -> CallTree:
        """The inverted tree: functions in which samples were taken, heaviest first, with their callers below them.
        Arguments, nodes and errors as in :meth:`call_tree`.

        >>> tree = profile.callers(weight="samples")
        >>> tree.roots[0].name, tree.roots[0].self_weight
        ('compare', 297)
        """

class SampleView:
    """The samples as objects, created on access; columns are attributes by name, as in :class:`SampleColumns`.

    It has what sequences have, but is not registered as one: polars would take it row by row.

    >>> profile.samples[0].comm, len(profile.samples.time), profile.samples.time.format
    ('words', 1127, 'Q')
    """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    columns: SampleColumns
    """All columns."""
    time: memoryview
    pid: memoryview
    tid: memoryview
    cpu: memoryview
    event: memoryview
    period: memoryview
    comm: memoryview
    stack: memoryview
    stop: memoryview
    stop_image: memoryview
    ip: memoryview
    addr: memoryview | None
    weight: memoryview | None
    data_src: memoryview | None
    phys_addr: memoryview | None
    data_page_size: memoryview | None
    code_page_size: memoryview | None
    cgroup: memoryview | None
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sample]: ...
    def __iter__(self) -> Iterator[Sample]: ...
    def as_table(self) -> Table:
        """As docs/reference/tables.md describes it."""

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

class CodeAddress(NamedTuple):
    """An address of code, and whether it is a return address.

    ``value`` is the address as a debugger shows it: of the instruction that a thread is at, or of the one after a call.
    ``lookup`` is the one to look names, lines and rules up by: of a return address one less, since a call may be the
    last instruction of its function. It works as an integer where one is expected, as in ``hex(address)``.

    >>> address = CodeAddress(0x401290, is_return=True)
    >>> hex(address), hex(address.lookup)
    ('0x401290', '0x40128f')
    """

    value: int
    is_return: bool = False
    @property
    def lookup(self) -> int:
        """The address by which names, lines and rules are found."""
    @classmethod
    def of_lookup(cls, lookup: int, is_return: bool) -> CodeAddress:
        """The address that is looked up by ``lookup``."""
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __format__(self, spec: str) -> str: ...

class StopReason(IntEnum):
    """Why a sample's user stack ends where it ends. ``is_whole``: nothing of it is missing.

    >>> undwarf.StopReason.TRUNCATED.description, undwarf.StopReason.ROOT.is_whole
    ('the stack dump ended', True)
    """

    NONE = 0
    """The sample has no user part."""
    ROOT = 1
    """The root was reached: the stack is whole."""
    TRUNCATED = 2
    """The stack dump ended."""
    NO_RULE = 3
    """No unwind rule for the address."""
    UNMAPPED = 4
    """The return address is in no executable mapping."""
    BAD_CFA = 5
    """The call frame address does not move up."""
    LOOP = 6
    """The walk returned to a frame that it had visited."""
    DEPTH = 7
    """The limit of frames was reached."""
    NO_DUMP = 8
    """No stack dump was recorded."""
    NO_FILE = 9
    """The mapped file is missing or another build."""
    UNREADABLE_MEMORY = 10
    """A rule reads memory that was not recorded."""
    UNSUPPORTED = 11
    """The process's architecture is not supported yet."""
    BAD_RULE = 12
    """The unwind rule cannot be used."""
    UNKNOWN_REGISTER = 13
    """A register the rule needs was not recorded."""
    DEFERRED = 14
    """The deferred user chain never arrived."""
    OTHER_STACK = 15
    """The callers are on another stack, which was not recorded."""
    FIBER_ROOT = 16
    """Root of a fiber reached."""
    SIGNAL_STACK = 17
    """Root of an alternate signal stack; the interrupted stack, elsewhere, was not recorded."""
    REPLACED = 18
    """The process was being replaced by another program (execve)."""
    ENTERED_STACK = 19
    """Root of a stack of its own; what entered it, on another stack, was not recorded."""
    INFERRED_ROOT = 20
    """The root was reached with callers that are inferred: from another dump of the thread, or from memory of the
    process at another time.
    """
    ABSENT_PAGE = 21
    """The stack dump ended early, at a page of the stack that was not in memory: the kernel copies the stack without
    waiting and stops at such a page (perf_output_sample_ustack), as in a large frame that was not all used.
    """
    HASKELL_STACK = 22
    """The C callers of the Haskell code were not recorded."""
    UNPROVEN_STATE = 23
    """The registers of a precise sample are later than its instruction, and no caller proves itself."""
    PROBED_RETURN = 25
    """The kernel keeps the return address of a function with a return probe (uretprobe) to itself, and no caller proves
    itself.
    """
    UNSTATED = 24
    """The stack is from a profile of another tool, which does not say how it ends."""
    @property
    def is_whole(self) -> bool:
        """Whether the stack was followed to its own root."""
    @property
    def description(self) -> str:
        """The reason in words."""

class Provenance(IntEnum):
    """How a frame's caller was found; of recorded call chains, who made the chain. Numbers below 16 are those of the
    sources of unwind rules.

    >>> profile.samples[0].stack[0].provenance
    <Provenance.EH_FRAME: 1>
    """

    EH_FRAME = 1
    """A rule of `.eh_frame`."""
    DEBUG_FRAME = 2
    """A rule of `.debug_frame`."""
    SFRAME = 3
    """A rule of `.sframe`."""
    ORC = 4
    """A rule of the kernel's ORC tables."""
    CODE = 5
    """A rule derived from the instructions."""
    GOPCLNTAB = 6
    """A rule of Go's function table."""
    KERNEL_CHAIN = 16
    """The kernel's own part of a recorded call chain."""
    USER_CHAIN = 17
    """The user part of a recorded call chain."""
    FRAME_POINTER = 18
    """A frame pointer whose return address follows a call."""
    NOTHING = 19
    """Nothing: the address is in no code that is known."""
    DEFERRED_CHAIN = 20
    """A user chain that the kernel recorded when the thread returned to user mode."""
    BRANCH_STACK = 21
    """The processor's record of branches."""
    ENTRY = 25
    """The function that entered code compiled at run time, which has one frame on the machine's stack."""
    OTHER_DUMP = 24
    """A caller outside of the sample's own dump, inferred from another dump of its thread."""
    OTHER_TOOL = 28
    """As a profile of another tool has it, which does not say how it was found."""
    MOVED_CODE = 26
    """A frame in memory without a file, found by the file that was mapped there before: the program has copied its code
    there, as is done to have it on large pages.
    """
    INFERRED_CALLER = 27
    """A caller whose return address the dump does not hold, inferred from code: the function had returned before the
    stack of a precise sample was taken, or a return probe has replaced it.
    """
    RETURN_ADDRESS = 29
    """Code without a rule that had no frame of its own: its return address is near the stack pointer, where the code
    proves it, or permits it no less than the one by the frame pointer.
    """
    UNPROVEN = 30
    """Code without a rule, by the frame pointer, though the code rules this caller out; no other one proves itself."""

class CallTree(NamedTuple):
    """Trees by falling weight; ``total`` is the weight of all samples."""

    total: int
    roots: list[TreeNode]

class TreeNode(NamedTuple):
    """A function on a path; ``weight`` with its callees (in trees of callers: its callers), ``self_weight`` without.
    ``kernel``: whether it is kernel code.
    """

    name: str
    dso: str
    kernel: bool
    weight: int
    self_weight: int
    children: list[TreeNode]

class VerifiedCalls(NamedTuple):
    """Callers checked against the code: distinct ``pairs`` and ``calls`` by verdict; calls by image of the caller and
    by how the caller was found; ``contradictions``, those of most calls first; what the others rest on by
    ``reasons``.
    """

    pairs: Tally
    calls: Tally
    images: dict[str, Tally]
    provenances: dict[str, Tally]
    reasons: dict[str, int]
    contradictions: list[Contradiction]

class Tally(NamedTuple):
    """Calls in sampled stacks by verdict: each stack counts each of its callers. ``consistent`` are possible,
    ``unchecked`` those whose code was not read.
    """

    proven: int = 0
    consistent: int = 0
    contradicted: int = 0
    unchecked: int = 0
    @property
    def checked(self) -> int:
        """Calls whose code was read."""

class Contradiction(NamedTuple):
    """A caller and a callee that the code contradicts. Addresses are the ones looked up: a return address less one."""

    calls: int
    caller: str
    caller_image: str
    caller_address: int
    callee: str
    callee_image: str
    callee_address: int
    provenance: str
    reason: str

class SampleColumns:
    """One entry per sample. ``time`` in ns, ``comm`` an index of ``comms``, ``stack`` the innermost node, ``stop`` a
    StopReason, ``stop_image`` the image in which the walk stopped. The others are None if no sample has them: ``addr``
    (data address), ``weight`` (see EventInfo), ``data_src``, ``phys_addr``, ``data_page_size`` and ``code_page_size``
    as the kernel writes them; ``space``, the number of the sample's address space; ``position``, the offset of the
    sample in the recording, and ``regs_at``, ``regs_intr_at``, ``raw_at``, ``branch_at``, offsets of these fields in
    it; ``cgroup``, the id of a control group; ``count``, of an entry that stands for several samples, how many.
    """

    time: memoryview
    pid: memoryview
    tid: memoryview
    cpu: memoryview
    event: memoryview
    period: memoryview
    comm: memoryview
    stack: memoryview
    stop: memoryview
    stop_image: memoryview
    ip: memoryview
    addr: memoryview | None
    weight: memoryview | None
    data_src: memoryview | None
    phys_addr: memoryview | None
    data_page_size: memoryview | None
    code_page_size: memoryview | None
    cgroup: memoryview | None
    count: memoryview | None
    def __len__(self) -> int: ...
    @property
    def total(self) -> int:
        """The number of samples, which is that of entries unless they are sums."""

class StackColumns:
    """One entry per node: its caller's node (``parent``, a smaller number; none for a root) and its ``frame``."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    parent: memoryview
    frame: memoryview
    def __len__(self) -> int: ...
    def as_table(self) -> Table:
        """As docs/reference/tables.md describes it; of a profile's columns only."""

class FrameColumns:
    """One entry per frame: a distinct code address, or a function inlined there.

    ``address`` is the lookup address (a return address minus one): as in the ELF file, or for the kernel and code
    without a file the run-time address; 0 in profiles of other tools. ``runtime`` is the address in the process, None
    if not requested.
    ``inline_depth``: the number of functions that this one is inlined into, 0 for a function with code of its own.
    ``file`` (I, index of ``Profile.files``) and ``line`` (I, 0: unknown): the source position, None if not requested.
    ``is_return`` (B): 1 if ``address`` is a return address minus one; None if that is not known.
    """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    image: memoryview
    address: memoryview
    provenance: memoryview
    function: memoryview
    runtime: memoryview | None
    inline_depth: memoryview
    file: memoryview | None
    line: memoryview | None
    is_return: memoryview | None
    def __len__(self) -> int: ...
    def as_table(self) -> Table:
        """As docs/reference/tables.md describes it; of a profile's columns only."""

class FunctionTable:
    """Functions by number: demangled ``name``, ``image``, start ``address``; ``unnamed`` (B): 1 without a symbol, the
    name is then a file and offset (``gzip+0x4330``) or ``[unknown]``.
    """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    name: list[str]
    image: memoryview
    address: memoryview
    unnamed: memoryview
    def __len__(self) -> int: ...
    def as_table(self) -> Table:
        """As docs/reference/tables.md describes it; of a profile's columns only."""

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
    ``unit``: that of its periods, where a profile of another tool states it; empty: as the event's name has it.
    """

    name: str
    packed: bool = False
    chains: bool = True
    unit: str = ""

class Table:
    """A table; ``batches`` is called for each stream, and every batch has an array for each column of the
    description.
    """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    def as_table(self) -> Table:
        """Itself."""
    @property
    def names(self) -> list[str]:
        """The names of the columns."""
    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows as tuples of integers, texts, truth values and None."""

class Rows(Generic[_Row]):
    """Rows that are in memory as objects; equal to a list of the same rows.

    It has what sequences have, but is not registered as one: polars would take it row by row.
    """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as they are: another schema is not converted to, which the interface allows."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Row]: ...
    def __iter__(self) -> Iterator[_Row]: ...
    def __contains__(self, row: object) -> bool: ...
    def index(self, row: object) -> int:
        """The number of the first row that is equal."""
    def as_table(self) -> Table:
        """The rows as columns."""

class TypeResolver:
    """Finds what instructions of an ELF file access: the type, the member, and the evidence for it.

    Types come from the file's DWARF (its separate debug file is found as for recordings, also in ``debug_dirs``), else
    from its BTF, or from the file ``btf``; ``vmlinux`` has the base of a kernel module's BTF. Answers are kept.
    Raises ElfError if the file cannot be read, NothingUsable if it has no type information or its code is not of
    x86-64 or AArch64.

    >>> resolver = undwarf.TypeResolver("words")
    >>> (access,) = resolver.at(access_in_words)
    >>> access.type, access.field, access.evidence
    ('struct entry', 'count', <TypeEvidence.TRACKING: 'tracking'>)
    """
    def __init__(
        self,
        elf: str | os.PathLike[str],
        *,
        btf: str = "",
        vmlinux: str = "",
        debug_dirs: Sequence[str | os.PathLike[str]] = (),
    ) -> None: ...
    def at(self, address: int) -> list[Access]:
        """What the instruction at an ELF virtual address accesses, one entry for each memory operand; one without a
        type and with the reason if it has none, or is no instruction.
        """

def accesses(binary: str | os.PathLike[str], addresses: Iterable[int], *, btf: str = "") -> list[Access]:
    """What instructions of an ELF file access, by their ELF virtual addresses: one entry for each memory operand.

    The short form of :class:`TypeResolver` for addresses that are known at once, with the same errors.
    """

class Access:
    """One memory operand of one instruction, and what it accesses.

    `type` is a name such as `struct node`, None if unknown; `offset` is that of the first byte in it, `field` the path
    of the member there, empty for the whole; `size` is in bytes, 0 if registers have it. `how` is the kind of evidence:
    variable, tracking (data flow), global, thread, percpu, container (the only aggregate that contains it), frame (an
    undeclared stack object); or, for accesses that have no type, stack (push, call, return), spill, canary, constant,
    table; or unread if the instruction is not available. `reason` says why there is no type. A kernel's canary is a
    member of a per-CPU variable and may have its type.
    """

    address: int
    insn: str
    access: str
    type: str | None
    offset: int | None
    field: str
    size: int
    how: str
    candidates: tuple[str, ...]
    reason: str
    type_size: int
    @property
    def typed(self) -> bool:
        """Whether a type was found."""
    @property
    def evidence(self) -> TypeEvidence:
        """What the access is known by."""
    @property
    def countable(self) -> bool:
        """Whether the access should have a type: it is none of the machine's own (stack, tables) and its instruction is
        available.
        """

class TypeEvidence(StrEnum):
    """What an access is known by, or why it needs no type.

    Of accesses with a type: ``VARIABLE`` is a declared variable at its location, ``TRACKING`` the data flow from one,
    ``GLOBAL``, ``THREAD`` and ``PERCPU`` a variable at its address, ``CONTAINER`` the only aggregate that has the
    member, ``FRAME`` an undeclared object on the stack. Without a type: ``STACK`` (push, call, return), ``SPILL`` (a
    compiler's own slot), ``CANARY``, ``CONSTANT`` and ``TABLE`` (of addresses) are not the program's data, ``NONE`` is
    no memory access, ``UNREAD`` code that is not available, ``UNKNOWN`` an access whose type was not found.
    """

    VARIABLE = "variable"
    TRACKING = "tracking"
    GLOBAL = "global"
    THREAD = "thread"
    PERCPU = "percpu"
    CONTAINER = "container"
    FRAME = "frame"
    STACK = "stack"
    SPILL = "spill"
    CANARY = "canary"
    CONSTANT = "constant"
    TABLE = "table"
    NONE = "none"
    UNREAD = "unread"
    UNKNOWN = ""

@dataclass(slots=True, repr=False)
class DataTypes:
    """The types that samples access, by falling weight, and the weights of untyped samples by reason: accesses whose
    type is ``unknown``, instructions ``outside`` of the program's data, and ``unread`` code.
    """

    total: int = 0
    samples: int = 0
    typed: int = 0
    inferred: int = 0
    consumed: int = 0
    types: Rows[TypeRow] = ...
    unknown: dict[str, int] = ...
    unread: dict[str, int] = ...
    untyped_files: dict[str, dict[str, int]] = ...
    """By reason that holds for a whole file: the weights by file."""
    outside: dict[str, int] = ...
    instructions: list[InstructionRow] = ...
    has_latency: bool = False
    has_sources: bool = False
    sharing: list[Sharing] = ...
    """Members whose cache lines move between CPUs (undwarf.views.data.false_sharing): they should rather be apart."""
    line_size: int = ...
    """Bytes of a cache line."""
    event: str = ""
    """The event that is counted; empty: all."""
    @property
    def fields(self) -> Table:
        """The members of all types, as a table for Arrow consumers; ``types`` is one too."""

class TypeRow:
    """One type: its sums and its members, by offset. ``find`` gives its layout: the graph that holds the type, and its
    number there (VOID if it cannot be found again).
    """

    name: str
    size: int
    counts: Counts
    fields: dict[tuple[int, str], FieldRow]
    shared: bool
    """Whether all accesses are to one object, a global variable."""

@dataclass(slots=True)
class FieldRow:
    """One member at one offset of a type, where accesses start; ``by_size``: the sums by the accesses' size in bytes.
    ``readers`` and ``writers`` are CPUs, ``functions`` weights by name.
    """

    offset: int
    field: str
    size: int
    counts: Counts = ...
    readers: set[int] = ...
    writers: set[int] = ...
    functions: dict[str, int] = ...
    candidates: tuple[str, ...] = ()
    by_size: dict[int, Counts] = ...

@dataclass(slots=True)
class InstructionRow:
    """One instruction: its function and image, what it accesses, and its sums."""

    function: str
    image: str
    access: Access
    counts: Counts

@final
class Counts:
    """Sums over samples: ``weight``, and of that the weight of ``loads``, ``stores``, and ``inferred`` accesses
    (``consumed``, with high confidence: the sampled instruction uses the loaded value). ``latency`` is of the ``timed``
    samples that have one; ``memory`` sums up their data sources.
    """

    weight: int
    samples: int
    loads: int
    stores: int
    latency: int
    timed: int
    inferred: int
    consumed: int
    @property
    def memory(self) -> MemoryCounts:
        """The sums of data sources; created on demand, since few recordings have any."""
    @property
    def mean_latency(self) -> float:
        """Of the samples that have one."""

class MemoryCounts:
    """Weights by data source: ``known`` of the samples whose level is known, of these ``missed`` (the nearest cache),
    ``tlb_missed``, ``others`` (from another CPU's cache) and ``levels``; ``pages`` by the size of the data's page.
    """

    known: int
    missed: int
    tlb_missed: int
    others: int
    levels: dict[str, int]
    pages: dict[str, int]

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

@dataclass(slots=True)
class Party:
    """A member on a line, with the threads and CPUs that accessed it."""

    type: str
    field: str
    offset: int
    threads: set[int] = ...
    cpus: set[int] = ...

class Unwinder:
    """Unwinds stacks of one process at a time, from registers and memory that the caller reads.

    ``mappings`` are those of the process (:meth:`Mapping.parse_maps` reads them from /proc/PID/maps). ``read_memory``
    is called with an address and a number of bytes, and returns the bytes from there on: fewer if memory ends there,
    None if there is none; an OSError counts as None. It is asked for stacks, and for files that are gone (a vdso too)
    their unwind information is taken from memory. ``architecture`` is ``"x86_64"`` or ``"aarch64"``; the process need
    not be one of this machine.

    Files are found by their paths, below ``symfs`` if that is given, and separate debug files in ``debug_dirs``;
    ``unwind`` and ``cache`` are as in :class:`Options`. Unwind tables are loaded at their first use and stay loaded.
    Damage in files is counted in ``defects``. One thread at a time may use an unwinder. Raises UsageError for an
    unknown architecture or kind of unwind information.

    >>> unwinder = undwarf.Unwinder([], lambda address, size: None)
    >>> stack = unwinder.unwind({"rip": 0x401000, "rsp": 0x7FFC0000})
    >>> stack.stop, [hex(frame.address) for frame in stack.frames]
    (<StopReason.UNMAPPED: 4>, ['0x401000'])
    """
    def __init__(
        self,
        mappings: Iterable[Mapping],
        read_memory: Callable[[int, int], bytes | None],
        *,
        architecture: str = "x86_64",
        symfs: str | os.PathLike[str] = "",
        debug_dirs: Sequence[str | os.PathLike[str]] = (),
        unwind: str | Sequence[str] = "auto",
        cache: bool = True,
        limits: Limits = ...,
    ) -> None: ...
    @property
    def architecture(self) -> str:
        """The architecture of the process."""
    @property
    def mappings(self) -> list[Mapping]:
        """The mappings of the process."""
    def remap(self, mappings: Iterable[Mapping], read_memory: Callable[[int, int], bytes | None] | None = None) -> None:
        """Take other mappings from now on: those of the process after it has changed them, or with another
        ``read_memory`` those of another process. Unwind tables stay loaded.
        """
    def unwind(
        self, registers: _Mapping[str, int], read_memory: Callable[[int, int], bytes | None] | None = None
    ) -> UnwoundStack:
        """The stack of a thread with these registers, by name: ``rax`` to ``r15`` and ``rip``, or ``x0`` to ``x30``,
        ``sp`` and ``pc``; others are ignored.

        The program counter and the stack pointer are needed; a frame whose rule needs another register that is missing
        is the last one. ``read_memory`` reads the stack of this thread instead, as from a copy. Raises UsageError if
        a needed register is missing, and what ``read_memory`` raises other than OSError.
        """
    def close(self) -> None:
        """Store the rows of tables that were used in the cache, for the next run."""
    def __enter__(self) -> Unwinder: ...
    def __exit__(self, *_exception: object) -> None: ...

class UnwoundStack(NamedTuple):
    """A stack: its frames, innermost first, and why they end where they end. ``stop_path`` is the file in which the
    walk stopped, empty if there is none.
    """

    frames: list[UnwoundFrame]
    stop: StopReason
    stop_path: str
    @property
    def is_whole(self) -> bool:
        """Whether the walk reached the root: nothing is missing."""

class UnwoundFrame(NamedTuple):
    """One frame of a stack: where it is in the process, and in which file.

    ``address`` is an address of the process; ``file_address`` the same as an ELF virtual address of the file ``path``,
    which :class:`Symbolizer` takes, or None if the file was not found or there is none. ``provenance`` is how its
    caller was found.
    """

    address: CodeAddress
    path: str
    file_address: CodeAddress | None
    provenance: Provenance

class UnwindTable:
    """The rules of an ELF file by address: from program counter to where the caller's registers are.

    Made by :meth:`from_elf`. Its length is the number of functions; iteration gives all rows as (address, end, rule),
    the rule None where there is none. Addresses are ELF virtual addresses.

    >>> table = undwarf.UnwindTable.from_elf("demo/words")
    >>> table.rule_at(table.starts[0]).cfa
    'rsp+8'
    """
    @classmethod
    def from_elf(
        cls, elf: str | os.PathLike[str], source: str | Iterable[str] | None = None, *, limits: Limits = ...
    ) -> UnwindTable:
        """The table of a file, from its ``.eh_frame`` and, for what that leaves open, ``.debug_frame``.

        ``source`` names other sources, in order, as in ``"cfi,sframe"``; each fills what those before it leave open.
        Bad data is counted in ``defects``. Raises ElfError if the file cannot be read and UsageError for an unknown
        source.
        """
    @property
    def starts(self) -> Sequence[int]:
        """First address of each function, ascending."""
    @property
    def ends(self) -> Sequence[int]:
        """The end of each function."""
    def rule_at(self, address: int) -> Rule | None:
        """The rule at an address; None if there is none."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[int, int, Rule | None]]: ...

class Rule(NamedTuple):
    """One rule as text: ``cfa`` like ``rsp+8``, registers like ``cfa-16``.

    ``registers`` has those that have a rule, the return address as ``ra``. ``signal`` marks a signal frame, in whose
    caller the program counter is exact; ``outermost`` the end of the stack; ``signed`` an AArch64 return address with a
    pointer authentication code; ``source`` is the section that the rule comes from.
    """

    cfa: str
    registers: dict[str, str]
    signal: bool
    outermost: bool
    signed: bool
    source: str
    @property
    def return_address(self) -> str:
        """The return address's rule."""

class Symbolizer:
    """Names addresses of an ELF file: symbols, inlined functions and source lines.

    Its separate debug file is found as for recordings, also in ``debug_dirs``. ``demangle``: names are demangled.
    Damage is counted in ``defects``. Raises ElfError if the file cannot be read.

    >>> (found,) = undwarf.Symbolizer("demo/words").lookup([0x4003E0])
    >>> found.symbol
    'count_word'
    """
    def __init__(
        self,
        elf: str | os.PathLike[str],
        *,
        debug_dirs: Sequence[str | os.PathLike[str]] = (),
        demangle: bool = True,
        limits: Limits = ...,
    ) -> None: ...
    def lookup(self, addresses: Iterable[int | CodeAddress]) -> list[Symbolized]:
        """What is at each ELF virtual address; of a :class:`CodeAddress` what is at its ``lookup``. Many addresses at
        once cost much less than one by one.
        """

class Symbolized(NamedTuple):
    """What is at an address: ``symbol`` is the name in the symbol table, empty if there is none; ``frames`` are the
    functions there, innermost first, the last one with code of its own.
    """

    address: int
    symbol: str
    frames: list[SourceFrame]
    @property
    def name(self) -> str:
        """The innermost function, by debugging information or else by its symbol; empty if unknown."""

class SourceFrame(NamedTuple):
    """A function at an address, and the source position there; ``file`` is empty, ``line`` and ``column`` are 0 if
    unknown. ``inlined``: it has no code of its own here, and the next frame is the function it is inlined into.
    """

    function: str
    file: str
    line: int
    column: int
    inlined: bool

def demangle(name: str, limits: Limits = ...) -> str:
    """The demangled name of a symbol; the symbol itself if it is not mangled, or too long."""

class PerfDataWriter:
    """Writes a perf.data recording, which perf, undwarf and others read, to ``sink``; file form needs it seekable.

    ``events`` are what samples are of, by number. With ``registers`` (names, as ``("rip", "rsp", "rbp")``) samples have
    these registers and a copy of the stack, to be unwound later. ``architecture`` is that of the process; ``hostname``,
    ``osrelease`` and ``command`` go to the header. ``zstd_level`` 0 does not compress. Times are in ns, of any clock.
    Use it as a context manager, or call :meth:`close`: without, the file has no header sections, and its records are
    still read. Raises UsageError for what cannot be written, such as a sample that exceeds a record's 64 kB.

    >>> import io
    >>> sink = io.BytesIO()
    >>> with undwarf.PerfDataWriter(sink, [undwarf.Event("requests")]) as writer:
    ...     writer.comm(7, 7, "server")
    ...     writer.mapping(7, undwarf.Mapping(0x400000, 0x401000, 0, "/usr/bin/server"))
    ...     writer.sample(0x400123, 7, 7, 1000, callchain=[0x400123, 0x400456])
    >>> with undwarf.open(io.BytesIO(sink.getvalue())) as written:
    ...     [sample.comm for sample in written.profile().samples]
    ['server']
    """
    def __init__(
        self,
        sink: BinaryIO,
        events: Sequence[Event],
        *,
        registers: Sequence[str] = (),
        architecture: str = "x86_64",
        hostname: str = "",
        osrelease: str = "",
        command: Sequence[str] = (),
        form: Literal["file", "pipe"] = "file",
        zstd_level: int = 0,
    ) -> None: ...
    def comm(self, pid: int, tid: int, name: str, *, time: int = 0, is_exec: bool = False) -> None:
        """The name of a thread, of which the kernel keeps 15 bytes."""
    def fork(self, pid: int, tid: int, parent: int, parent_tid: int, *, time: int = 0) -> None:
        """A new process, or a new thread of ``parent``."""
    def exit(self, pid: int, tid: int, *, time: int = 0) -> None:
        """The end of a thread."""
    def mapping(self, pid: int, mapping: Mapping, *, time: int = 0) -> None:
        """A new mapping of a process, from ``time`` on."""
    def sample(
        self,
        ip: int,
        pid: int,
        tid: int,
        time: int,
        *,
        event: int = 0,
        cpu: int = 0,
        period: int = 1,
        addr: int = 0,
        callchain: Sequence[int] = (),
        kernel_callchain: Sequence[int] = (),
        registers: _Mapping[str, int] | None = None,
        stack: bytes = b"",
    ) -> None:
        """A sample at ``ip``, of the event with this number; ``period`` is its weight, ``addr`` that of the data.

        Call chains are addresses, innermost first: of the sampled instruction, then return addresses. ``registers`` are
        those the writer was made for (0 if missing), ``stack`` is the memory from the stack pointer on, of which up to
        65,528 bytes fit less the rest of the sample.
        """
    def flush(self) -> None:
        """Write everything so far, so that it outlives this process."""
    def close(self) -> None:
        """Finish the recording; the sink stays open."""
    def __enter__(self) -> PerfDataWriter: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class UndwarfError(Exception):
    """Base of all errors undwarf raises on purpose.

    ``what`` is one sentence about what failed, ``why`` the reason, ``hint`` what to try; the last two may be
    empty. ``exit_code`` is what the command line exits with.
    """

    exit_code: int
    usual_hint: str
    """What to try where whoever raises the error knows nothing better."""
    def __init__(self, what: str, why: str = "", hint: str = "") -> None: ...

class UsageError(UndwarfError):
    """An option or argument cannot be used."""

    exit_code: int

class UnreadableInput(UndwarfError):
    """The input is not what it should be, or cannot be opened."""

    exit_code: int

class ElfError(UnreadableInput):
    """A file is not an ELF file that can be read; callers fall back to what they know without it."""

    usual_hint: str

class NothingUsable(UndwarfError):
    """The input was read, but holds nothing that the command can show."""

    exit_code: int

class Defects:
    """Counts defects by (kind, subject). The number of distinct entries is bounded; the rest is summed."""
    def __iter__(self) -> Iterator[Defect]: ...
    def __len__(self) -> int: ...
    def total(self) -> int:
        """The number of all defects."""

@dataclass(slots=True)
class Defect:
    """One kind of damage in one subject (a file, a section, a record type), and how often it occurred."""

    kind: str
    subject: str
    count: int
    detail: str

class Limits(NamedTuple):
    """Bounds on what one input may cost. All are arguments; these are the defaults."""

    max_frames: int = 8192
    """User frames walked for one sample."""
    entry_samples: int = 2000
    """Samples that end in code made at run time, among which what enters that code is looked for."""
    scheduler_samples: int = 256
    """Samples of a thread among which its Haskell code's scheduler is looked for."""
    mapped_windows: int = 2
    """Windows of a recording that stay mapped meanwhile, each of 8 MiB."""
    logged_frames: int = 1 << 20
    """Frames of one window of a recording (8 MiB) whose stack pointers are kept."""
    max_chain: int = 8192
    """Entries read from one sampled call chain."""
    expression_steps: int = 1000
    """Operations of one DWARF expression."""
    cfi_steps: int = 100000
    """Call frame instructions executed for one function."""
    cfi_rows: int = 50000
    """Rows one function's call frame program may make."""
    remember_depth: int = 64
    """Nesting of DW_CFA_remember_state."""
    code_bytes: int = 64 << 20
    """Bytes of one program's code that are searched for calls and jumps."""
    code_function_bytes: int = 1 << 20
    """Size of one function whose code is analysed."""
    code_total_bytes: int = 8 << 20
    """Code of one program that is analysed because other sources leave it open."""
    code_hole_bytes: int = 8192
    """Code for each described function above which a program counts as hardly described: compilers' functions have
    a few hundred bytes, libraries of assembly up to 3,000.
    """
    code_searched_bytes: int = 16 << 20
    """Bytes of one program's code that no other source describes which are searched for functions while stacks are
    walked: x265 has 12 million bytes of assembly.
    """
    code_open_bytes: int = 8192
    """Code that `.eh_frame` leaves open, above which functions are searched in it; stubs and start-up code are less."""
    code_operations: int = 100000
    """What one function whose code is analysed does, in operations; each costs about 1,000 bytes while it is."""
    code_parts: int = 512
    """Parts of functions that are gone through to find the functions that one part belongs to."""
    code_kept: int = 20000
    """Operations of analysed functions that are kept for parts of these; each costs about 500 bytes."""
    code_steps: int = 2000000
    """Instructions gone through to analyse one function."""
    template_bytes: int = 256
    """Size of a function that a runtime copies for each of its own functions."""
    copies: int = 1 << 18
    """Copies of such a function that are known in one process."""
    template_files: int = 1 << 14
    """Files of running processes of which is remembered whether they have such a function."""
    process_maps_bytes: int = 16 << 20
    """Bytes of a running process's list of mappings in which such files are looked for."""
    moved_code_samples: int = 256
    """Samples in which evidence is looked for that a program copied its code to anonymous memory, of each mapping."""
    fork_parents: int = 64
    """Processes from a fork to the one that started its program."""
    rules: int = 1 << 18
    """Distinct unwind rules of one run; each costs 640 bytes."""
    store_bytes: int = 512 << 20
    """Bytes of all tables kept on disk; those used least recently go first."""
    answer_bytes: int = 64 << 20
    """Bytes of all data types of instructions kept on disk; those used least recently go first."""
    kept_answers: int = 50000
    """Instructions of one binary whose data types are kept."""
    fdes: int = 20000000
    """Frame description entries in one section."""
    orc_entries: int = 50000000
    """Entries of one ORC table."""
    section_bytes: int = 4 << 30
    """Size of one section after decompression."""
    compression_ratio: int = 2000
    """Decompressed bytes for each compressed byte."""
    file_ratio: int = 64
    """Bytes that all that is compressed in one file may unpack to, for each byte of the file; debugging information
    has 3 to 10.
    """
    file_unpacked_bytes: int = 4 << 20
    """Bytes that what is compressed in a file may unpack to beside that: small files may be packed better."""
    stream_bytes: int = 256 << 30
    """Bytes that all compressed records of one recording may unpack to."""
    profile_bytes: int = 4 << 30
    """Bytes of one profile of another tool, after decompression."""
    profile_json_bytes: int = 512 << 20
    """Bytes of one that is JSON, which takes eleven times as much memory."""
    profile_ratio: int = 256
    """Bytes that a compressed profile may unpack to, for each byte of it; text of stacks has 20 to 100."""
    profile_unpacked_bytes: int = 64 << 20
    """Bytes that it may unpack to beside that."""
    profile_nodes: int = 1 << 26
    """Distinct stacks in a profile of another tool, with all their callers; each costs about 40 bytes."""
    profile_events: int = 1000
    """Events, or sample types, of a profile of another tool."""
    records: int = 100000000
    """Samples, and side-band records, of one recording; each costs about 70 bytes."""
    elf_headers: int = 100000
    """Section or program headers in one ELF file."""
    symbols: int = 20000000
    """Symbols in one table."""
    demangle_input: int = 4096
    """Bytes of a mangled name; a longer one stays mangled."""
    demangle_output: int = 16384
    """Characters of a demangled name; a longer one stays mangled."""
    demangle_steps: int = 10000
    """Parts of a name that are looked at to demangle it; one that takes more stays mangled."""
    dwarf_bytes: int = 128 << 20
    """Bytes kept of the debugging information that was read of one file."""
    dwarf_ranges: int = 1 << 22
    """Address ranges of the functions of one unit."""
    dwarf_rows: int = 1 << 25
    """Rows of one line table."""
    completion_bytes: int = 64 << 20
    """Of a recording whose threads and files a shell completes: nobody waits longer than it takes to read that."""
    source_bytes: int = 16 << 20
    """Bytes of a source file that is shown."""
    listed_code_bytes: int = 1 << 20
    """Bytes of code that are disassembled to show one function."""
    text_map_bytes: int = 512 << 20
    """Size of a kallsyms or perf-PID.map file."""
    module_bytes: int = 1 << 30
    """Size of a packed kernel module after decompression."""
    jit_records: int = 20000000
    """Records of one jitdump file."""
    download_bytes: int = 8 << 30
    """Size of one file from a debuginfod server."""
    function_bytes: int = 8 << 20
    """Size of one function that is decoded to follow what its registers hold."""
    types: int = 8 << 20
    """Types of one binary that are numbered; each costs about 200 bytes once it is looked at."""
    type_bytes: int = 1 << 47
    """Size of one type; a larger one is damage."""
    callers_followed: int = 16
    """Functions of a program without DWARF that are looked into to tell what one of them is given."""
    inferred_instructions: int = 20000
    """Instructions of a function without DWARF whose values get types from how they are used."""
    call_scan_bytes: int = 8 << 20
    """Code of a program without DWARF in which callers of functions are looked for."""
    flow_visits: int = 24
    """Average number of visits to a basic block after which the data flow of a function is given up."""
    flow_words: int = 64 << 20
    """Words of what registers and stack slots hold at the begins of a function's stretches."""
    flow_slots: int = 4096
    """Stack slots of a function that are followed."""
    type_members: int = 100000
    """Members of one type, parameters of one function."""
    type_depth: int = 64
    """Typedefs, arrays and members within each other that are followed."""
    type_steps: int = 4096
    """Members that are gone through to find what is at one place of a type."""
    trace_formats: int = 65536
    """Descriptions of tracepoints in one recording; their ids have 16 bits."""
    trace_format_bytes: int = 256 << 10
    """Bytes of one of them; the kernel's longest have some thousand."""
    print_depth: int = 200
    """Operations within each other in what a tracepoint is printed by; the kernel's own have up to 60."""
    print_elements: int = 4096
    """Elements of one array in a tracepoint's text, and characters that a number or string in it is filled to."""
    store_commits: int = 1 << 16
    """Commits of a fleet's store; `undwarf fleet compact` makes one of them."""
    store_commit_bytes: int = 64 << 20
    """Size of one of them; each file that it lists takes some 150 bytes."""
    store_footer_bytes: int = 4 << 20
    """Of a Parquet file of a fleet's store: its footer, which describes each column of each million rows."""
    store_memory: int = 4 << 30
    """Bytes of memory that DuckDB takes while it reads a store."""
    store_values: int = 1 << 29
    """Values of one file of a store, and of all stacks that are read at once; each takes up to 16 bytes."""
    store_depth: int = 1 << 16
    """Frames of one stack of a store, and functions inlined at one place."""
    store_images: int = 1 << 20
    """Images of a store that are read at once; each takes some 600 bytes."""
    branches: int = 1024
    """Entries of one sample's branch stack; processors have up to 64."""
    branch_code_bytes: int = 256 << 10
    """Code between the branches of one sample that is shown."""

def handle_truncation() -> None:
    """Install a handler of SIGBUS for this process: pages cut off mapped files read as zeros (:func:`cut_files`).

    It covers the files that undwarf maps. For other faults the previous handler is called.
    """
