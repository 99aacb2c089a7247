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
from cython.cimports.undwarf.outputs.text_sizes import CHUNK, LINE_BYTES
from cython.cimports.undwarf.unwind.provenance import Provenance

from undwarf.column import zeros
from undwarf.outputs.json_lines import packed
from undwarf.outputs.kernels.frame_texts import FrameTexts
from undwarf.outputs.kernels.script_columns import ScriptColumns
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

    columns: ScriptColumns
    modes = cython.declare("const unsigned int[::1]")
    sources = cython.declare("const unsigned int[::1]")
    latencies = cython.declare("const unsigned long long[::1]")
    fragments: Names
    comms: Names
    event_parts: Names
    function_names: Names
    image_names: Names
    reasons: Names
    file_names: Names
    source_names: Names
    text: Text
    cache: FrameTexts
    max_frames: cython.Py_ssize_t
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
        self.columns = ScriptColumns(profile)
        words, numbers = zeros("Q", 0), zeros("I", 0)
        self.modes = modes
        self.sources = accesses[0] if accesses[0] is not None else numbers
        self.latencies = accesses[1] if accesses[1] is not None else words
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
        self.text = Text(CHUNK + 4096)
        self.cache = FrameTexts(len(profile.frames.image))
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
    def count(self, key: cython.Py_ssize_t, value: cython.longlong, is_known: cython.bint) -> cython.int:
        """Append a key and a number; null if it is not known or negative."""
        return self.word(key, cython.cast(cython.ulonglong, value), is_known and value >= 0)

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
        text=Text, columns=ScriptColumns, function="Py_ssize_t", file="unsigned int", printed="unsigned long long"
    )
    def format(self, frame: cython.Py_ssize_t, mode: cython.uint) -> cython.int:
        """Format a frame and cache it."""
        self.cache.begin(frame)
        text, columns = self.cache.text, self.columns
        function = columns.functions[frame]
        printed = columns.printed(frame)
        self.put(text, Fragment.IP)
        if mode & IP:
            self.hexadecimal(text, columns.runtimes[frame])
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.SYM)
        if mode & SYM:
            text.name(self.function_names, function, 0)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.OFFSET)
        if mode & SYM and mode & SYMOFF and columns.starts[function] != 0 and printed >= columns.starts[function]:
            text.number(printed - columns.starts[function], 0, 32)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.DSO)
        if mode & DSO:
            text.name(self.image_names, columns.image_name(self.image_names, columns.images[frame]), 0)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.FILE)
        file = columns.source_file(frame) if mode & SRCLINE else NOTHING
        if file != NOTHING:
            text.name(self.file_names, file, 0)
            self.put(text, Fragment.LINE)
            if columns.source_lines[frame] != 0:
                text.number(columns.source_lines[frame], 0, 32)
            else:
                self.put(text, Fragment.NULL)
        else:
            self.put(text, Fragment.NULL)
            self.put(text, Fragment.LINE)
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.INLINED)
        self.put(text, Fragment.TRUE if columns.depths[frame] != 0 else Fragment.FALSE)
        self.put(text, Fragment.INFERRED)
        self.put(
            text,
            Fragment.TRUE
            if columns.provenances[frame] in (Provenance.OTHER_DUMP, Provenance.INFERRED_CALLER)
            else Fragment.FALSE,
        )
        text.put(125)
        self.cache.finish(frame)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        text=Text,
        cache=FrameTexts,
        columns=ScriptColumns,
        frame="Py_ssize_t",
        left="Py_ssize_t",
        node="unsigned int",
    )
    def stack(self, leaf: cython.uint, mode: cython.uint) -> cython.int:
        """Append the frames of a stack, innermost first."""
        text, cache, columns = self.text, self.cache, self.columns
        text.put(91)
        left = self.max_frames
        node = leaf
        while node != NOTHING and left > 0:
            if left != self.max_frames:
                text.put(44)
            left -= 1
            frame = columns.frames[node]
            if cache.end[frame] == 0:
                self.format(frame, mode)
            text.copy(cache.text, cache.start[frame], cache.end[frame])
            node = columns.parents[node]
        text.put(93)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        text=Text, columns=ScriptColumns, shown="unsigned int", trace="const unsigned char[::1]", i="Py_ssize_t"
    )
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Append a sample."""
        columns = self.columns
        mode: cython.uint = self.modes[columns.events[s]]
        if mode & SKIPPED:
            return 0
        shown = mode & (IP | SYM | SYMOFF | DSO | SRCLINE)
        self.cache.select(shown)
        text = self.text
        text.reserve(LINE_BYTES)
        self.put(text, Fragment.HEAD)
        if mode & COMM and columns.comms[s] != NOTHING:
            text.name(self.comms, columns.comms[s], 0)
        else:
            self.put(text, Fragment.NULL)
        self.count(Fragment.PID, columns.pids[s], mode & PID != 0)
        self.count(Fragment.TID, columns.tids[s], mode & TID != 0)
        self.count(Fragment.CPU, columns.cpus[s], mode & CPU != 0)
        self.word(Fragment.TIME, columns.times[s], mode & TIME != 0)
        text.name(self.event_parts, 2 * columns.events[s] + (mode & EVENT != 0), 0)
        self.word(Fragment.PERIOD, columns.periods[s], mode & PERIOD != 0)
        address: cython.ulonglong = columns.data_address(s)
        self.pointer(Fragment.ADDR, address, mode & ADDR != 0 and address != 0)
        physical: cython.ulonglong = columns.physicals[s] if s < columns.physicals.shape[0] else 0
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
        text.name(self.reasons, columns.stops[s], 0)
        self.put(text, Fragment.FRAMES)
        if shown:
            self.stack(columns.stacks[s], mode)
        else:
            self.put(text, Fragment.NULL)
        self.put(text, Fragment.END)
        return 0

    def fill(self) -> Any:
        """The text of the next samples, about ``CHUNK`` bytes; empty at the end."""
        n: cython.Py_ssize_t = self.columns.stacks.shape[0]
        self.text.used = 0
        while self.next < n and self.text.used < CHUNK:
            self.sample(self.next)
            self.next += 1
        return memoryview(self.text.out)[: self.text.used]
