# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Formats samples as `perf script` does, a buffer at a time, from columns and encoded names."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.script_modes import (
    ADDR,
    AFTER_ADDRESS,
    AFTER_EVENT,
    AFTER_FRAMES,
    AFTER_LINE,
    BEFORE_FRAMES,
    BEFORE_TIME,
    CHAIN,
    CODE_PAGE_SIZE,
    COMM,
    CPU,
    DATA_PAGE_SIZE,
    DATA_SRC,
    DSO,
    DSO_OFFSET,
    DUMPED,
    EVENT,
    INS_LAT,
    IP,
    MEMORY,
    NANOSECONDS,
    PERIOD,
    PHYS_ADDR,
    PID,
    PLACE,
    RETIRE_LAT,
    SKIPPED,
    SRCLINE,
    SYM,
    SYMOFF,
    TAIL,
    TID,
    TIME,
    WEIGHT,
    WHY,
)  # fmt: skip
from cython.cimports.undwarf.outputs.text_sizes import CHUNK, LINE_BYTES
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros
from undwarf.outputs.kernels.frame_texts import FrameTexts
from undwarf.outputs.kernels.script_columns import ScriptColumns
from undwarf.outputs.kernels.text_buffer import Names, Text
from undwarf.outputs.terminal.escape import pack

NO_OFFSET = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


INLINED = b" (inlined)"
MAP_START = b"/tmp/perf-"
MAP_END = b".map"

CUT_OFF = cython.declare(cython.uint, 1 << 2 | 1 << 5 | 1 << 10 | 1 << 13 | 1 << 21)
"""Stop reasons after which callers are missing: TRUNCATED, BAD_CFA, UNREADABLE_MEMORY, UNKNOWN_REGISTER, ABSENT_PAGE.
"""


@cython.final
@cython.cclass
class ScriptText:
    """Formats samples in the format of `perf script`.

    ``modes`` (I) has the bits of each event (:mod:`undwarf.outputs.script_modes`). ``names`` are lists of comms,
    events, functions, images (one more for frames without an image), last parts of the images' paths, stop reasons and
    source files. ``jitted`` (B) is 1 for images whose code was generated at run time. ``accesses`` has columns by
    sample: indices of texts for ``data_src``, ``data_page_size`` and ``code_page_size``; numbers for ``weight``,
    ``ins_lat`` and ``retire_lat``. ``fields`` writes the fields at the places in ``modes``
    (undwarf.outputs.script_fields.SampleFields); ``offsets`` (Q) are those of frames in their files. A frame's line is
    formatted once and cached.
    """

    columns: ScriptColumns
    modes = cython.declare("const unsigned int[::1]")
    sources = cython.declare("const unsigned int[::1]")
    latencies = cython.declare("const unsigned long long[::1]")
    instruction_latencies = cython.declare("const unsigned long long[::1]")
    retire_latencies = cython.declare("const unsigned long long[::1]")
    data_pages = cython.declare("const unsigned int[::1]")
    code_pages = cython.declare("const unsigned int[::1]")
    source_names: Names
    data_page_names: Names
    code_page_names: Names
    widest_source: cython.Py_ssize_t
    comms: Names
    event_names: Names
    function_names: Names
    image_names: Names
    short_names: Names
    reasons: Names
    file_names: Names
    text: Text
    cache: FrameTexts
    max_frames: cython.Py_ssize_t
    event_width: cython.Py_ssize_t
    next: cython.Py_ssize_t
    jitted = cython.declare("const unsigned char[::1]")
    pid: cython.longlong
    fields: Any
    offsets = cython.declare("const unsigned long long[::1]")
    # The index in reasons of the notes for inferred frames and for copied code.
    inferred: cython.Py_ssize_t

    def __init__(
        self,
        profile: Any,
        modes: Any,
        names: "tuple[list[str], ...]",
        jitted: Any,
        event_width: int,
        max_frames: int,
        accesses: "dict[str, tuple[Any, list[str]]]",
        fields: Any = None,
        offsets: Any = None,
    ) -> None:
        self.columns = ScriptColumns(profile)
        self.fields = fields
        self.offsets = offsets if offsets is not None else zeros("Q", 0)
        self.jitted = jitted
        self.modes = modes
        nothing: tuple[Any, list[str]] = (zeros("I", 0), [])
        self.sources, sources = accesses.get("data_src", nothing)
        self.data_pages, data_pages = accesses.get("data_page_size", nothing)
        self.code_pages, code_pages = accesses.get("code_page_size", nothing)
        self.source_names, self.widest_source = Names(*pack(sources)), 0
        self.data_page_names, self.code_page_names = Names(*pack(data_pages)), Names(*pack(code_pages))
        none = zeros("Q", 0)
        self.latencies = accesses.get("weight", (none, []))[0]
        self.instruction_latencies = accesses.get("ins_lat", (none, []))[0]
        self.retire_latencies = accesses.get("retire_lat", (none, []))[0]
        comms, events, functions, images, short, reasons, files = names
        self.comms = Names(*pack(comms))
        self.event_names = Names(*pack(events))
        self.function_names = Names(*pack(functions))
        self.image_names = Names(*pack(images))
        self.short_names = Names(*pack(short))
        self.reasons = Names(*pack([*reasons, "inferred", "copied code"]))
        self.inferred = len(reasons)
        self.file_names = Names(*pack(files))
        self.event_width = event_width
        self.max_frames = max_frames
        self.text = Text(CHUNK + 4096)
        self.cache = FrameTexts(len(profile.frames.image))
        self.pid = 0
        self.next = 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def is_generated(self, frame: cython.Py_ssize_t) -> cython.bint:
        """Whether a frame is in generated code, which perf names after the process's map file."""
        image: cython.uint = self.columns.images[frame]
        return image != NOTHING and cython.cast("Py_ssize_t", image) < self.jitted.shape[0] and self.jitted[image] != 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(cache=FrameTexts)
    def line(self, frame: cython.Py_ssize_t, mode: cython.uint, skipped: cython.Py_ssize_t) -> cython.int:
        """Append a frame's line without its first ``skipped`` characters."""
        cache = self.cache
        if cache.end[frame] == 0:
            self.format(frame, mode)
        self.text.copy(cache.text, cython.cast("Py_ssize_t", cache.start[frame]) + skipped, cache.end[frame])
        if self.is_generated(frame):
            # The line has the process id.
            cache.end[frame] = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        columns=ScriptColumns, function="Py_ssize_t", file="unsigned int", lines=Text, printed="unsigned long long"
    )
    def format(self, frame: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Format a frame's line and cache it."""
        self.cache.begin(frame)
        lines, columns = self.cache.text, self.columns
        function = columns.functions[frame]
        printed = columns.printed(frame)
        lines.reserve(LINE_BYTES)
        lines.put(9)
        if mode & IP:
            lines.hexadecimal(columns.runtimes[frame], 16, 32)
        if mode & SYM:
            if mode & IP:
                lines.put(32)
            lines.name(self.function_names, function, 0)
            if mode & SYMOFF and columns.starts[function] != 0:
                lines.put(43)
                lines.put(48)
                lines.put(120)
                lines.hexadecimal(printed - columns.starts[function], 0, 32)
        if mode & DSO and columns.depths[frame] == 0:
            if mode & (IP | SYM):
                lines.put(32)
            lines.put(40)
            if self.is_generated(frame):
                for byte in MAP_START:
                    lines.put(byte)
                lines.signed(self.pid, 0, False)
                for byte in MAP_END:
                    lines.put(byte)
            else:
                lines.name(self.image_names, columns.image_name(self.image_names, columns.images[frame]), 0)
            if mode & DSO_OFFSET and frame < self.offsets.shape[0] and self.offsets[frame] != NO_OFFSET:
                lines.put(43)
                lines.put(48)
                lines.put(120)
                lines.hexadecimal(self.offsets[frame] + (printed - columns.addresses[frame]), 0, 32)
            lines.put(41)
        if mode & SRCLINE:
            lines.put(10)
            lines.put(32)
            lines.put(32)
            file = columns.source_file(frame)
            if file != NOTHING:
                lines.name(self.file_names, file, 0)
                lines.put(58)
                lines.number(columns.source_lines[frame], 0, 32)
            else:
                # perf prints FILE[ADDRESS] for an unknown line.
                lines.name(self.short_names, columns.image_name(self.short_names, columns.images[frame]), 0)
                lines.put(91)
                lines.hexadecimal(printed, 0, 32)
                lines.put(93)
        if columns.depths[frame] != 0:
            for byte in INLINED:
                lines.put(byte)
        lines.put(10)
        self.cache.finish(frame)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text, columns=ScriptColumns)
    def header(self, s: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Append a sample's first line up to the frames."""
        text, columns = self.text, self.columns
        text.reserve(LINE_BYTES)
        if mode & COMM:
            # perf pads names to 16 columns unless frames follow on their own lines.
            if columns.comms[s] != NOTHING:
                text.name(self.comms, columns.comms[s], 0 if mode & CHAIN else 16)
            else:
                text.put(58)
                text.signed(columns.tids[s], 0 if mode & CHAIN else 15, True)
            text.put(32)
        if mode & PID and mode & TID:
            text.signed(columns.pids[s], 7, False)
            text.put(47)
            text.signed(columns.tids[s], 7, True)
            text.put(32)
        elif mode & (PID | TID):
            text.signed(columns.pids[s] if mode & PID else columns.tids[s], 7, False)
            text.put(32)
        if mode & CPU:
            text.put(91)
            text.number(cython.cast(cython.ulonglong, columns.cpus[s] if columns.cpus[s] > 0 else 0), 3, 48)
            text.put(93)
            text.put(32)
        self.extra(s, mode, BEFORE_TIME)
        if mode & TIME:
            text.number(columns.times[s] // 1000000000, 5, 32)
            text.put(46)
            if mode & NANOSECONDS:
                text.number(columns.times[s] % 1000000000, 9, 48)
            else:
                text.number(columns.times[s] % 1000000000 // 1000, 6, 48)
            text.put(58)
            text.put(32)
        if mode & PERIOD:
            text.number(columns.periods[s], 10, 32)
            text.put(32)
        if mode & EVENT:
            text.name(self.event_names, columns.events[s], self.event_width)
            text.put(58)
            text.put(32)
        self.extra(s, mode, AFTER_EVENT)
        if mode & ADDR:
            text.hexadecimal(columns.data_address(s), 16, 32)
        self.extra(s, mode, AFTER_ADDRESS)
        if mode & MEMORY:
            self.access(s, mode)
        self.extra(s, mode, BEFORE_FRAMES)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def extra(self, s: cython.Py_ssize_t, mode: cython.uint, place: cython.int) -> cython.int:
        """Append the fields at a place of a sample, if any."""
        if mode >> (PLACE + place) & 1:
            self.write_fields(s, place)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(fields="const unsigned char[::1]", i="Py_ssize_t", text=Text)
    def write_fields(self, s: cython.Py_ssize_t, place: cython.int) -> cython.int:
        """Append the fields at a place of a sample, and reserve a line."""
        fields = self.fields.text(place, s)
        text = self.text
        text.reserve(fields.shape[0] + LINE_BYTES)
        for i in range(fields.shape[0]):
            text.put(fields[i])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text, start="Py_ssize_t")
    def access(self, s: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Append the details of the memory access. perf pads data sources to the widest so far."""
        text = self.text
        text.reserve(LINE_BYTES)
        if mode & DATA_SRC and s < self.sources.shape[0]:
            start = text.used
            text.name(self.source_names, self.sources[s], 0)
            if text.used - start > self.widest_source:
                self.widest_source = text.used - start
            text.blanks(self.widest_source - (text.used - start))
        if mode & WEIGHT and s < self.latencies.shape[0]:
            text.number(self.latencies[s], 16, 32)
        if mode & INS_LAT and s < self.instruction_latencies.shape[0]:
            text.number(self.instruction_latencies[s], 16, 32)
        if mode & RETIRE_LAT and s < self.retire_latencies.shape[0]:
            text.number(self.retire_latencies[s], 16, 32)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def tail(self, s: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Append the fields after the frames, physical address and page sizes last, and end the line."""
        text = self.text
        self.extra(s, mode, AFTER_FRAMES)
        text.reserve(LINE_BYTES)
        if mode & PHYS_ADDR and s < self.columns.physicals.shape[0]:
            text.hexadecimal(self.columns.physicals[s], 16, 32)
        if mode & DATA_PAGE_SIZE and s < self.data_pages.shape[0]:
            text.put(32)
            text.name(self.data_page_names, self.data_pages[s], 0)
        if mode & CODE_PAGE_SIZE and s < self.code_pages.shape[0]:
            text.put(32)
            text.name(self.code_page_names, self.code_pages[s], 0)
        text.reserve(LINE_BYTES)
        text.put(10)
        self.extra(s, mode, AFTER_LINE)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(frame="Py_ssize_t", left="Py_ssize_t", node="unsigned int", text=Text, columns=ScriptColumns)
    def stack(self, leaf: cython.uint, mode: cython.uint) -> cython.int:
        """Append a stack, one frame a line."""
        columns = self.columns
        left = self.max_frames
        node = leaf
        while node != NOTHING and left > 0:
            left -= 1
            frame = columns.frames[node]
            self.line(frame, mode, 0)
            if mode & WHY and columns.provenances[frame] in (
                Provenance.OTHER_DUMP, Provenance.INFERRED_CALLER, Provenance.MOVED_CODE
            ):  # fmt: skip
                text = self.text
                text.reserve(LINE_BYTES)
                # Before the newline.
                text.used -= 1
                text.put(32)
                text.put(35)
                text.put(32)
                text.name(self.reasons, self.inferred + (columns.provenances[frame] == Provenance.MOVED_CODE), 0)
                text.put(10)
            node = columns.parents[node]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(frame="Py_ssize_t", text=Text, columns=ScriptColumns, node="unsigned int")
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Append a sample."""
        columns = self.columns
        mode: cython.uint = self.modes[columns.events[s]]
        shown: cython.uint = mode & (IP | SYM | SYMOFF | DSO | SRCLINE | DSO_OFFSET)
        text = self.text
        if mode & SKIPPED:
            # perf prints nothing for an event without fields.
            return 0
        self.pid = columns.pids[s]
        self.header(s, mode)
        self.cache.select(shown)
        if not mode & IP and mode & (ADDR | 1 << PLACE + AFTER_FRAMES):
            # Symbols and files are those of the data address, or of branches.
            shown = 0
        if not shown:
            self.tail(s, mode)
        elif mode & CHAIN:
            text.put(10)
            self.stack(columns.stacks[s], mode)
            if mode & DUMPED and 0 <= columns.stops[s] < 32 and CUT_OFF >> columns.stops[s] & 1:
                self.cut_off(mode)
            if mode & WHY and columns.stops[s] > StopReason.ROOT and columns.stops[s] != StopReason.FIBER_ROOT:
                text.reserve(LINE_BYTES)
                text.put(9)
                text.put(35)
                text.put(32)
                text.name(self.reasons, columns.stops[s], 0)
                text.put(32)
                text.put(40)
                text.name(self.image_names, columns.image_name(self.image_names, columns.stop_images[s]), 0)
                text.put(41)
                text.put(10)
            text.reserve(LINE_BYTES)
            self.tail(s, mode)
        elif columns.stacks[s] != NOTHING:
            # The single frame is on the sample's own line, after a blank instead of a tab.
            frame = columns.frames[columns.stacks[s]]
            # Without a chain, perf names the outer function, not those inlined; the source line is that of the address.
            node = columns.stacks[s]
            while columns.depths[frame] != 0 and not mode & SRCLINE and columns.parents[node] != NOTHING:
                node = columns.parents[node]
                frame = columns.frames[node]
            text.put(32)
            self.line(frame, mode, 1)
            if mode & TAIL:
                text.used -= 1
                self.tail(s, mode)
        else:
            self.tail(s, mode)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text, unknown="Py_ssize_t")
    def cut_off(self, mode: cython.uint) -> cython.int:
        """Append a line for the callers beyond the dump, as perf with libunwind does."""
        text = self.text
        unknown = self.columns.image_name(self.image_names, NOTHING)
        text.reserve(LINE_BYTES)
        text.put(9)
        if mode & IP:
            for _ in range(16):
                text.put(102)
            text.put(32)
        if mode & SYM:
            text.name(self.image_names, unknown, 0)
            text.put(32)
        if mode & DSO:
            text.put(40)
            text.name(self.image_names, unknown, 0)
            text.put(41)
        text.put(10)
        return 0

    def fill(self) -> Any:
        """The text of the next samples, about ``CHUNK`` bytes; empty at the end."""
        n: cython.Py_ssize_t = self.columns.stacks.shape[0]
        self.text.used = 0
        while self.next < n and self.text.used < CHUNK:
            self.sample(self.next)
            self.next += 1
        return memoryview(self.text.out)[: self.text.used]
