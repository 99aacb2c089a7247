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
from cython.cimports.undwarf.outputs.text_sizes import CACHED_BYTES, CHUNK, LINE_BYTES
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros
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

    modes = cython.declare("const unsigned int[::1]")
    times = cython.declare("const unsigned long long[::1]")
    pids = cython.declare("const int[::1]")
    tids = cython.declare("const int[::1]")
    cpus = cython.declare("const int[::1]")
    events = cython.declare("const unsigned short[::1]")
    periods = cython.declare("const unsigned long long[::1]")
    comm_of = cython.declare("const unsigned int[::1]")
    stacks = cython.declare("const unsigned int[::1]")
    stops = cython.declare("const unsigned char[::1]")
    stop_images = cython.declare("const unsigned int[::1]")
    addrs = cython.declare("const unsigned long long[::1]")
    sources = cython.declare("const unsigned int[::1]")
    latencies = cython.declare("const unsigned long long[::1]")
    instruction_latencies = cython.declare("const unsigned long long[::1]")
    retire_latencies = cython.declare("const unsigned long long[::1]")
    physicals = cython.declare("const unsigned long long[::1]")
    data_pages = cython.declare("const unsigned int[::1]")
    code_pages = cython.declare("const unsigned int[::1]")
    source_names: Names
    data_page_names: Names
    code_page_names: Names
    widest_source: cython.Py_ssize_t
    parents = cython.declare("const unsigned int[::1]")
    frames = cython.declare("const unsigned int[::1]")
    images = cython.declare("const unsigned int[::1]")
    addresses = cython.declare("const unsigned long long[::1]")
    provenances = cython.declare("const unsigned char[::1]")
    runtimes = cython.declare("const unsigned long long[::1]")
    functions = cython.declare("const unsigned int[::1]")
    starts = cython.declare("const unsigned long long[::1]")
    depths = cython.declare("const unsigned char[::1]")
    source_files = cython.declare("const unsigned int[::1]")
    source_lines = cython.declare("const unsigned int[::1]")
    line_start = cython.declare("unsigned int[::1]")
    line_end = cython.declare("unsigned int[::1]")
    comms: Names
    event_names: Names
    function_names: Names
    image_names: Names
    short_names: Names
    reasons: Names
    file_names: Names
    text: Text
    lines: Text
    max_frames: cython.Py_ssize_t
    event_width: cython.Py_ssize_t
    cached_mode: cython.uint
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
        samples = profile.samples
        self.fields = fields
        self.offsets = offsets if offsets is not None else zeros("Q", 0)
        self.jitted = jitted
        self.modes = modes
        self.times = samples.time
        self.pids = samples.pid
        self.tids = samples.tid
        self.cpus = samples.cpu
        self.events = samples.event
        self.periods = samples.period
        self.comm_of = samples.comm
        self.stacks = samples.stack
        self.stops = samples.stop
        self.stop_images = samples.stop_image
        self.addrs = samples.addr if samples.addr is not None else zeros("Q", 0)
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
        self.physicals = samples.phys_addr if samples.phys_addr is not None else none
        self.parents = profile.stacks.parent
        self.frames = profile.stacks.frame
        self.images = profile.frames.image
        self.addresses = profile.frames.address
        self.provenances = profile.frames.provenance
        self.runtimes = profile.frames.runtime
        self.functions = profile.frames.function
        self.starts = profile.functions.address
        self.depths = profile.frames.inline_depth
        self.source_files = profile.frames.file if profile.frames.file is not None else zeros("I", 0)
        self.source_lines = profile.frames.line if profile.frames.line is not None else zeros("I", 0)
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
        self.line_start = zeros("I", self.images.shape[0])
        self.line_end = zeros("I", self.images.shape[0])
        self.text = Text(CHUNK + 4096)
        self.lines = Text(1 << 16)
        self.cached_mode = 0
        self.pid = 0
        self.next = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def image_name(self, names: Names, image: cython.uint) -> cython.Py_ssize_t:
        """The index of an image's name in one of the two lists; the last name is for no image."""
        last: cython.Py_ssize_t = names.ends.shape[0] - 2
        return last if image == NOTHING or cython.cast("Py_ssize_t", image) > last else image

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def is_generated(self, frame: cython.Py_ssize_t) -> cython.bint:
        """Whether a frame is in generated code, which perf names after the process's map file."""
        image: cython.uint = self.images[frame]
        return image != NOTHING and cython.cast("Py_ssize_t", image) < self.jitted.shape[0] and self.jitted[image] != 0

    @cython.cfunc
    @cython.exceptval(-1)
    def line(self, frame: cython.Py_ssize_t, mode: cython.uint, skipped: cython.Py_ssize_t) -> cython.int:
        """Append a frame's line without its first ``skipped`` characters."""
        if self.line_end[frame] == 0:
            self.format(frame, mode)
        self.text.copy(self.lines, cython.cast("Py_ssize_t", self.line_start[frame]) + skipped, self.line_end[frame])
        if self.is_generated(frame):
            # The line has the process id.
            self.line_end[frame] = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(start="Py_ssize_t", function="Py_ssize_t", lines=Text, printed="unsigned long long")
    def format(self, frame: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Format a frame's line and cache it in ``lines``."""
        lines = self.lines
        if lines.used > CACHED_BYTES:
            lines.used = 0
            self.line_end[:] = 0
        start = lines.used
        function = self.functions[frame]
        # An entry of a sampled chain is printed as it is, but looked up one byte before. Mappings start at page
        # boundaries, so the lowest 12 bits show the difference.
        printed = self.addresses[frame]
        if (self.runtimes[frame] - printed) & 0xFFF == 1:
            printed += 1
        lines.reserve(LINE_BYTES)
        lines.put(9)
        if mode & IP:
            lines.hexadecimal(self.runtimes[frame], 16, 32)
        if mode & SYM:
            if mode & IP:
                lines.put(32)
            lines.name(self.function_names, function, 0)
            if mode & SYMOFF and self.starts[function] != 0:
                lines.put(43)
                lines.put(48)
                lines.put(120)
                lines.hexadecimal(printed - self.starts[function], 0, 32)
        if mode & DSO and self.depths[frame] == 0:
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
                lines.name(self.image_names, self.image_name(self.image_names, self.images[frame]), 0)
            if mode & DSO_OFFSET and frame < self.offsets.shape[0] and self.offsets[frame] != NO_OFFSET:
                lines.put(43)
                lines.put(48)
                lines.put(120)
                lines.hexadecimal(self.offsets[frame] + (printed - self.addresses[frame]), 0, 32)
            lines.put(41)
        if mode & SRCLINE:
            lines.put(10)
            lines.put(32)
            lines.put(32)
            if frame < self.source_files.shape[0] and self.source_files[frame] != NOTHING:
                lines.name(self.file_names, self.source_files[frame], 0)
                lines.put(58)
                lines.number(self.source_lines[frame], 0, 32)
            else:
                # perf prints FILE[ADDRESS] for an unknown line.
                lines.name(self.short_names, self.image_name(self.short_names, self.images[frame]), 0)
                lines.put(91)
                lines.hexadecimal(printed, 0, 32)
                lines.put(93)
        if self.depths[frame] != 0:
            for byte in INLINED:
                lines.put(byte)
        lines.put(10)
        self.line_start[frame] = cython.cast("unsigned int", start)
        self.line_end[frame] = cython.cast("unsigned int", lines.used)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def header(self, s: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Append a sample's first line up to the frames."""
        text = self.text
        text.reserve(LINE_BYTES)
        if mode & COMM:
            # perf pads names to 16 columns unless frames follow on their own lines.
            if self.comm_of[s] != NOTHING:
                text.name(self.comms, self.comm_of[s], 0 if mode & CHAIN else 16)
            else:
                text.put(58)
                text.signed(self.tids[s], 0 if mode & CHAIN else 15, True)
            text.put(32)
        if mode & PID and mode & TID:
            text.signed(self.pids[s], 7, False)
            text.put(47)
            text.signed(self.tids[s], 7, True)
            text.put(32)
        elif mode & (PID | TID):
            text.signed(self.pids[s] if mode & PID else self.tids[s], 7, False)
            text.put(32)
        if mode & CPU:
            text.put(91)
            text.number(cython.cast(cython.ulonglong, self.cpus[s] if self.cpus[s] > 0 else 0), 3, 48)
            text.put(93)
            text.put(32)
        self.extra(s, mode, BEFORE_TIME)
        if mode & TIME:
            text.number(self.times[s] // 1000000000, 5, 32)
            text.put(46)
            if mode & NANOSECONDS:
                text.number(self.times[s] % 1000000000, 9, 48)
            else:
                text.number(self.times[s] % 1000000000 // 1000, 6, 48)
            text.put(58)
            text.put(32)
        if mode & PERIOD:
            text.number(self.periods[s], 10, 32)
            text.put(32)
        if mode & EVENT:
            text.name(self.event_names, self.events[s], self.event_width)
            text.put(58)
            text.put(32)
        self.extra(s, mode, AFTER_EVENT)
        if mode & ADDR:
            text.hexadecimal(self.addrs[s] if s < self.addrs.shape[0] else 0, 16, 32)
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
        if mode & PHYS_ADDR and s < self.physicals.shape[0]:
            text.hexadecimal(self.physicals[s], 16, 32)
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
    @cython.locals(frame="Py_ssize_t", left="Py_ssize_t", node="unsigned int", text=Text)
    def stack(self, leaf: cython.uint, mode: cython.uint) -> cython.int:
        """Append a stack, one frame a line."""
        left = self.max_frames
        node = leaf
        while node != NOTHING and left > 0:
            left -= 1
            frame = self.frames[node]
            self.line(frame, mode, 0)
            if mode & WHY and self.provenances[frame] in (
                Provenance.OTHER_DUMP, Provenance.INFERRED_CALLER, Provenance.MOVED_CODE
            ):  # fmt: skip
                text = self.text
                text.reserve(LINE_BYTES)
                # Before the newline.
                text.used -= 1
                text.put(32)
                text.put(35)
                text.put(32)
                text.name(self.reasons, self.inferred + (self.provenances[frame] == Provenance.MOVED_CODE), 0)
                text.put(10)
            node = self.parents[node]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(frame="Py_ssize_t", text=Text, node="unsigned int")
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Append a sample."""
        mode: cython.uint = self.modes[self.events[s]]
        shown: cython.uint = mode & (IP | SYM | SYMOFF | DSO | SRCLINE | DSO_OFFSET)
        text = self.text
        if mode & SKIPPED:
            # perf prints nothing for an event without fields.
            return 0
        self.pid = self.pids[s]
        self.header(s, mode)
        if shown != self.cached_mode:
            # Cached lines are for one selection of fields.
            self.cached_mode = shown
            self.lines.used = 0
            self.line_end[:] = 0
        if not mode & IP and mode & (ADDR | 1 << PLACE + AFTER_FRAMES):
            # Symbols and files are those of the data address, or of branches.
            shown = 0
        if not shown:
            self.tail(s, mode)
        elif mode & CHAIN:
            text.put(10)
            self.stack(self.stacks[s], mode)
            if mode & DUMPED and 0 <= self.stops[s] < 32 and CUT_OFF >> self.stops[s] & 1:
                self.cut_off(mode)
            if mode & WHY and self.stops[s] > StopReason.ROOT and self.stops[s] != StopReason.FIBER_ROOT:
                text.reserve(LINE_BYTES)
                text.put(9)
                text.put(35)
                text.put(32)
                text.name(self.reasons, self.stops[s], 0)
                text.put(32)
                text.put(40)
                text.name(self.image_names, self.image_name(self.image_names, self.stop_images[s]), 0)
                text.put(41)
                text.put(10)
            text.reserve(LINE_BYTES)
            self.tail(s, mode)
        elif self.stacks[s] != NOTHING:
            # The single frame is on the sample's own line, after a blank instead of a tab.
            frame = self.frames[self.stacks[s]]
            # Without a chain, perf names the outer function, not those inlined; the source line is that of the address.
            node = self.stacks[s]
            while self.depths[frame] != 0 and not mode & SRCLINE and self.parents[node] != NOTHING:
                node = self.parents[node]
                frame = self.frames[node]
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
    @cython.locals(text=Text)
    def cut_off(self, mode: cython.uint) -> cython.int:
        """Append a line for the callers beyond the dump, as perf with libunwind does."""
        text = self.text
        text.reserve(LINE_BYTES)
        text.put(9)
        if mode & IP:
            for _ in range(16):
                text.put(102)
            text.put(32)
        if mode & SYM:
            text.name(self.image_names, self.image_name(self.image_names, NOTHING), 0)
            text.put(32)
        if mode & DSO:
            text.put(40)
            text.name(self.image_names, self.image_name(self.image_names, NOTHING), 0)
            text.put(41)
        text.put(10)
        return 0

    def fill(self) -> Any:
        """The text of the next samples, about ``CHUNK`` bytes; empty at the end."""
        n: cython.Py_ssize_t = self.stacks.shape[0]
        self.text.used = 0
        while self.next < n and self.text.used < CHUNK:
            self.sample(self.next)
            self.next += 1
        return memoryview(self.text.out)[: self.text.used]
