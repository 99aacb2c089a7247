# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Formats samples as lines of JSON, a buffer at a time, from columns and texts that are JSON already."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.script_fragments import Fragment
from cython.cimports.undwarf.outputs.script_modes import (
    ADDR,
    COMM,
    CPU,
    DATA_SRC,
    DSO,
    EVENT,
    IP,
    PERIOD,
    PHYS_ADDR,
    PID,
    SKIPPED,
    SRCLINE,
    SYM,
    SYMOFF,
    TID,
    TIME,
    WEIGHT,
)  # fmt: skip
from cython.cimports.undwarf.outputs.text_sizes import CACHED_BYTES, CHUNK, LINE_BYTES
from cython.cimports.undwarf.unwind.provenance import Provenance

from undwarf.column import zeros
from undwarf.outputs.json_lines import packed
from undwarf.outputs.kernels.text_buffer import Names, Text
from undwarf.outputs.script_fragments import TEXTS


@cython.final
@cython.cclass
class ScriptJson:
    """Formats samples as undwarf.outputs.schemas.script describes them.

    ``modes`` (I) has the bits of the fields of each event (:mod:`undwarf.outputs.script_modes`). ``texts`` are lists of
    JSON: comms, ``,"event":...,"unit":...`` of each event, first without its name, functions, images (one more for
    frames without one), stop reasons, source files and data sources. ``accesses`` has columns by sample: indices of
    data sources, and latencies. ``trace`` gives the JSON of a sample's tracepoint, None if no event has any. A frame's
    text is formatted once and cached.
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
    addrs = cython.declare("const unsigned long long[::1]")
    physicals = cython.declare("const unsigned long long[::1]")
    sources = cython.declare("const unsigned int[::1]")
    latencies = cython.declare("const unsigned long long[::1]")
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
    frame_start = cython.declare("unsigned int[::1]")
    frame_end = cython.declare("unsigned int[::1]")
    fragments: Names
    comms: Names
    event_parts: Names
    function_names: Names
    image_names: Names
    reasons: Names
    file_names: Names
    source_names: Names
    text: Text
    cache: Text
    max_frames: cython.Py_ssize_t
    cached_mode: cython.uint
    next: cython.Py_ssize_t
    trace: Any

    def __init__(
        self,
        profile: Any,
        modes: Any,
        texts: "tuple[list[bytes], ...]",
        max_frames: int,
        accesses: "tuple[Any, Any]",
        trace: Any = None,
    ) -> None:
        samples = profile.samples
        words, numbers = zeros("Q", 0), zeros("I", 0)
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
        self.addrs = samples.addr if samples.addr is not None else words
        self.physicals = samples.phys_addr if samples.phys_addr is not None else words
        self.sources = accesses[0] if accesses[0] is not None else numbers
        self.latencies = accesses[1] if accesses[1] is not None else words
        self.parents = profile.stacks.parent
        self.frames = profile.stacks.frame
        self.images = profile.frames.image
        self.addresses = profile.frames.address
        self.provenances = profile.frames.provenance
        self.runtimes = profile.frames.runtime
        self.functions = profile.frames.function
        self.starts = profile.functions.address
        self.depths = profile.frames.inline_depth
        self.source_files = profile.frames.file if profile.frames.file is not None else numbers
        self.source_lines = profile.frames.line if profile.frames.line is not None else numbers
        comms, events, functions, images, reasons, files, sources = texts
        self.fragments = Names(*packed(TEXTS))
        self.comms = Names(*packed(comms))
        self.event_parts = Names(*packed(events))
        self.function_names = Names(*packed(functions))
        self.image_names = Names(*packed(images))
        self.reasons = Names(*packed(reasons))
        self.file_names = Names(*packed(files))
        self.source_names = Names(*packed(sources))
        self.max_frames = max_frames
        self.trace = trace
        self.frame_start = zeros("I", self.images.shape[0])
        self.frame_end = zeros("I", self.images.shape[0])
        self.text = Text(CHUNK + 4096)
        self.cache = Text(1 << 16)
        self.cached_mode = 0
        self.next = 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def put(self, text: Text, fragment: cython.Py_ssize_t) -> cython.int:
        """Append a fragment."""
        text.name(self.fragments, fragment, 0)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def hexadecimal(self, text: Text, value: cython.ulonglong) -> cython.int:
        """Append an address."""
        text.put(34)
        text.put(48)
        text.put(120)
        text.hexadecimal(value, 0, 32)
        text.put(34)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def count(self, key: cython.Py_ssize_t, value: cython.longlong, is_known: cython.bint) -> cython.int:
        """Append a key and a number; null if it is not known or negative."""
        text = self.text
        self.put(text, key)
        if is_known and value >= 0:
            text.number(cython.cast(cython.ulonglong, value), 0, 32)
        else:
            self.put(text, Fragment.NULL)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def word(self, key: cython.Py_ssize_t, value: cython.ulonglong, is_known: cython.bint) -> cython.int:
        """Append a key and an unsigned number; null if it is not known."""
        text = self.text
        self.put(text, key)
        if is_known:
            text.number(value, 0, 32)
        else:
            self.put(text, Fragment.NULL)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text)
    def pointer(self, key: cython.Py_ssize_t, value: cython.ulonglong, is_known: cython.bint) -> cython.int:
        """Append a key and an address; null if it is not known."""
        text = self.text
        self.put(text, key)
        if is_known:
            self.hexadecimal(text, value)
        else:
            self.put(text, Fragment.NULL)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        text=Text, function="Py_ssize_t", image="unsigned int", last="Py_ssize_t", printed="unsigned long long"
    )
    def format(self, frame: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Format a frame and cache it."""
        text = self.cache
        if text.used > CACHED_BYTES:
            text.used = 0
            self.frame_end[:] = 0
        self.frame_start[frame] = cython.cast("unsigned int", text.used)
        function = self.functions[frame]
        # As in the text: an entry of a sampled chain is looked up one byte before.
        printed = self.addresses[frame]
        if (self.runtimes[frame] - printed) & 0xFFF == 1:
            printed += 1
        self.put(text, Fragment.IP)
        if mode & IP:
            self.hexadecimal(text, self.runtimes[frame])
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.SYM)
        if mode & SYM:
            text.name(self.function_names, function, 0)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.OFFSET)
        if mode & SYM and mode & SYMOFF and self.starts[function] != 0 and printed >= self.starts[function]:
            text.number(printed - self.starts[function], 0, 32)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.DSO)
        if mode & DSO:
            image = self.images[frame]
            last = self.image_names.ends.shape[0] - 2
            text.name(self.image_names, last if image == NOTHING or image > last else image, 0)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.FILE)
        if mode & SRCLINE and frame < self.source_files.shape[0] and self.source_files[frame] != NOTHING:
            text.name(self.file_names, self.source_files[frame], 0)
            self.put(text, Fragment.LINE)
            if self.source_lines[frame] != 0:
                text.number(self.source_lines[frame], 0, 32)
            else:
                self.put(text, Fragment.NULL)
        else:
            self.put(text, Fragment.NULL)
            self.put(text, Fragment.LINE)
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.INLINED)
        self.put(text, Fragment.TRUE if self.depths[frame] != 0 else Fragment.FALSE)
        self.put(text, Fragment.INFERRED)
        self.put(
            text,
            Fragment.TRUE
            if self.provenances[frame] in (Provenance.OTHER_DUMP, Provenance.INFERRED_CALLER)
            else Fragment.FALSE,
        )
        text.put(125)
        self.frame_end[frame] = cython.cast("unsigned int", text.used)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text, frame="Py_ssize_t", left="Py_ssize_t", node="unsigned int")
    def stack(self, leaf: cython.uint, mode: cython.uint) -> cython.int:
        """Append the frames of a stack, innermost first."""
        text = self.text
        text.put(91)
        left = self.max_frames
        node = leaf
        while node != NOTHING and left > 0:
            if left != self.max_frames:
                text.put(44)
            left -= 1
            frame = self.frames[node]
            if self.frame_end[frame] == 0:
                self.format(frame, mode)
            text.copy(self.cache, self.frame_start[frame], self.frame_end[frame])
            node = self.parents[node]
        text.put(93)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(text=Text, shown="unsigned int", trace="const unsigned char[::1]", i="Py_ssize_t")
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Append a sample."""
        mode: cython.uint = self.modes[self.events[s]]
        if mode & SKIPPED:
            return 0
        shown = mode & (IP | SYM | SYMOFF | DSO | SRCLINE)
        if shown != self.cached_mode:
            # Cached frames are for one selection of fields.
            self.cached_mode = shown
            self.cache.used = 0
            self.frame_end[:] = 0
        text = self.text
        text.reserve(LINE_BYTES)
        self.put(text, Fragment.HEAD)
        if mode & COMM and self.comm_of[s] != NOTHING:
            text.name(self.comms, self.comm_of[s], 0)
        else:
            self.put(text, Fragment.NULL)
        self.count(Fragment.PID, self.pids[s], mode & PID != 0)
        self.count(Fragment.TID, self.tids[s], mode & TID != 0)
        self.count(Fragment.CPU, self.cpus[s], mode & CPU != 0)
        self.word(Fragment.TIME, self.times[s], mode & TIME != 0)
        text.name(self.event_parts, 2 * self.events[s] + (mode & EVENT != 0), 0)
        self.word(Fragment.PERIOD, self.periods[s], mode & PERIOD != 0)
        address: cython.ulonglong = self.addrs[s] if s < self.addrs.shape[0] else 0
        self.pointer(Fragment.ADDR, address, mode & ADDR != 0 and address != 0)
        physical: cython.ulonglong = self.physicals[s] if s < self.physicals.shape[0] else 0
        self.pointer(Fragment.PHYSICAL, physical, mode & PHYS_ADDR != 0 and physical != 0)
        self.put(text, Fragment.SOURCE)
        if mode & DATA_SRC and s < self.sources.shape[0]:
            text.name(self.source_names, self.sources[s], 0)
        else:
            self.put(text, Fragment.NULL)
        self.word(
            Fragment.WEIGHT,
            self.latencies[s] if s < self.latencies.shape[0] else 0,
            mode & WEIGHT != 0 and s < self.latencies.shape[0],
        )
        self.put(text, Fragment.TRACE)
        if self.trace is not None:
            trace = self.trace(s)
            text.reserve(trace.shape[0] + LINE_BYTES)
            for i in range(trace.shape[0]):
                text.put(trace[i])
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.STOP)
        text.name(self.reasons, self.stops[s], 0)
        self.put(text, Fragment.FRAMES)
        if shown:
            self.stack(self.stacks[s], mode)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.END)
        return 0

    def fill(self) -> Any:
        """The text of the next samples, about ``CHUNK`` bytes; empty at the end."""
        n: cython.Py_ssize_t = self.stacks.shape[0]
        self.text.used = 0
        while self.next < n and self.text.used < CHUNK:
            self.sample(self.next)
            self.next += 1
        return memoryview(self.text.out)[: self.text.used]
