# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The text of `perf script`, made a buffer at a time from columns and names that are already bytes."""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy

from undwarf.buffers import zeros
from undwarf.outputs.escape import pack

NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)

COMM = cython.declare(cython.uint, 1)
TID = cython.declare(cython.uint, 2)
PID = cython.declare(cython.uint, 4)
TIME = cython.declare(cython.uint, 8)
CPU = cython.declare(cython.uint, 16)
PERIOD = cython.declare(cython.uint, 32)
EVENT = cython.declare(cython.uint, 64)
ADDR = cython.declare(cython.uint, 128)
IP = cython.declare(cython.uint, 256)
SYM = cython.declare(cython.uint, 512)
SYMOFF = cython.declare(cython.uint, 1024)
DSO = cython.declare(cython.uint, 2048)
ROOM = cython.declare(cython.Py_ssize_t, 256)
"""Bytes that everything but names takes at most in one line."""


@cython.cclass
class Names:
    """Names in one buffer, fit to be printed."""

    text = cython.declare("const unsigned char[::1]")
    ends = cython.declare("const unsigned int[::1]")

    def __init__(self, names: list[str]) -> None:
        text, offsets = pack(names)
        self.text = text + b"\0"
        self.ends = offsets


@cython.cclass
class ScriptText:
    """Writes samples in the shape of `perf script`; ``fields`` is a sum of the constants above."""

    fields: cython.uint
    times = cython.declare("const unsigned long long[::1]")
    pids = cython.declare("const int[::1]")
    tids = cython.declare("const int[::1]")
    cpus = cython.declare("const int[::1]")
    events = cython.declare("const unsigned short[::1]")
    periods = cython.declare("const unsigned long long[::1]")
    comm_of = cython.declare("const unsigned int[::1]")
    stacks = cython.declare("const unsigned int[::1]")
    addrs = cython.declare("const unsigned long long[::1]")
    parents = cython.declare("const unsigned int[::1]")
    frames = cython.declare("const unsigned int[::1]")
    images = cython.declare("const unsigned int[::1]")
    addresses = cython.declare("const unsigned long long[::1]")
    runtimes = cython.declare("const unsigned long long[::1]")
    functions = cython.declare("const unsigned int[::1]")
    starts = cython.declare("const unsigned long long[::1]")
    comms: Names
    event_names: Names
    function_names: Names
    image_names: Names
    out = cython.declare("unsigned char[::1]")
    used: cython.Py_ssize_t
    max_frames: cython.Py_ssize_t
    digits: cython.uchar[24]

    def __init__(
        self,
        profile: Any,
        fields: int,
        comms: list[str],
        events: list[str],
        functions: list[str],
        images: list[str],
        max_frames: int,
    ) -> None:
        samples = profile.samples
        self.fields = fields
        self.times = samples.time
        self.pids = samples.pid
        self.tids = samples.tid
        self.cpus = samples.cpu
        self.events = samples.event
        self.periods = samples.period
        self.comm_of = samples.comm
        self.stacks = samples.stack
        self.addrs = samples.addr if samples.addr is not None else zeros("Q", 0)
        self.parents = profile.stacks.parent
        self.frames = profile.stacks.frame
        self.images = profile.frames.image
        self.addresses = profile.frames.address
        self.runtimes = profile.frames.runtime
        self.functions = profile.frames.function
        self.starts = profile.functions.address
        self.comms = Names(comms)
        self.event_names = Names(events)
        self.function_names = Names(functions)
        self.image_names = Names(images)
        self.out = zeros("B", 1 << 20)
        self.max_frames = max_frames

    @cython.locals(old="unsigned char[::1]", new="unsigned char[::1]")
    def _grow(self, wanted: cython.Py_ssize_t) -> None:
        size: cython.Py_ssize_t = len(self.out)
        while size < wanted:
            size *= 2
        old = self.out
        new = zeros("B", size)
        new[: self.used] = old[: self.used]
        self.out = new

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def room(self, count: cython.Py_ssize_t) -> cython.int:
        if self.used + count > self.out.shape[0]:
            with cython.gil:
                self._grow(self.used + count)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def put(self, byte: cython.uchar) -> cython.int:
        self.out[self.used] = byte
        self.used += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def name(self, names: Names, number: cython.Py_ssize_t) -> cython.int:
        """Append a name."""
        start: cython.Py_ssize_t = names.ends[number]
        size: cython.Py_ssize_t = names.ends[number + 1] - start
        self.room(size + ROOM)
        # The ends come from the lengths of the very names that make up the text, and there is room for them.
        memcpy(
            cython.cast("char *", cython.address(self.out[0])) + self.used,
            cython.cast("const char *", cython.address(names.text[0])) + start,
            size,
        )
        self.used += size
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def number(self, value: cython.ulonglong, width: cython.int, fill: cython.uchar) -> cython.int:
        """Append a decimal number, filled on the left to a width."""
        count: cython.int = 0
        while True:
            self.digits[count] = cython.cast(cython.uchar, 48 + value % 10)
            value = value // 10
            count += 1
            if value == 0:
                break
        while width > count:
            self.put(fill)
            width -= 1
        while count > 0:
            count -= 1
            self.put(self.digits[count])
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def signed(self, value: cython.longlong, width: cython.int, left: cython.bint) -> cython.int:
        """Append a signed decimal number, filled with blanks to a width on the left or the right."""
        start: cython.Py_ssize_t = self.used
        if value >= 0:
            self.number(cython.cast(cython.ulonglong, value), 1 if left else width, 32)
        elif left:
            self.put(45)
            self.number(cython.cast(cython.ulonglong, -value), 1, 32)
        else:
            # Only -1 occurs: a process outside the recorder's namespace.
            while width > 2:
                self.put(32)
                width -= 1
            self.put(45)
            self.number(cython.cast(cython.ulonglong, -value), 1, 32)
        while left and self.used - start < width:
            self.put(32)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def hexadecimal(self, value: cython.ulonglong, width: cython.int) -> cython.int:
        """Append a hexadecimal number, filled with blanks on the left to a width."""
        count: cython.int = 0
        digit: cython.int
        while True:
            digit = cython.cast(cython.int, value & 15)
            self.digits[count] = cython.cast(cython.uchar, 48 + digit if digit < 10 else 87 + digit)
            value >>= 4
            count += 1
            if value == 0:
                break
        while width > count:
            self.put(32)
            width -= 1
        while count > 0:
            count -= 1
            self.put(self.digits[count])
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def header(self, s: cython.Py_ssize_t) -> cython.int:
        """Append a sample's first line, without its end."""
        self.room(ROOM)
        if self.fields & COMM:
            if self.comm_of[s] != NOTHING:
                self.name(self.comms, self.comm_of[s])
            else:
                self.put(58)
                self.signed(self.tids[s], 1, True)
            self.put(32)
        if self.fields & PID and self.fields & TID:
            self.signed(self.pids[s], 7, False)
            self.put(47)
            self.signed(self.tids[s], 7, True)
            self.put(32)
        elif self.fields & (PID | TID):
            self.signed(self.pids[s] if self.fields & PID else self.tids[s], 7, False)
            self.put(32)
        if self.fields & CPU:
            self.put(91)
            self.number(cython.cast(cython.ulonglong, self.cpus[s] if self.cpus[s] > 0 else 0), 3, 48)
            self.put(93)
            self.put(32)
        if self.fields & TIME:
            self.number(self.times[s] // 1000000000, 5, 32)
            self.put(46)
            self.number(self.times[s] % 1000000000 // 1000, 6, 48)
            self.put(58)
            self.put(32)
        if self.fields & PERIOD:
            self.number(self.periods[s], 10, 32)
            self.put(32)
        if self.fields & EVENT:
            self.name(self.event_names, self.events[s])
            self.put(58)
            self.put(32)
        if self.fields & ADDR:
            self.hexadecimal(self.addrs[s] if s < self.addrs.shape[0] else 0, 16)
            self.put(32)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def stack(self, node: cython.uint) -> cython.int:
        """Append a stack, one frame a line."""
        frame: cython.Py_ssize_t
        function: cython.Py_ssize_t
        left: cython.Py_ssize_t = self.max_frames
        while node != NOTHING and left > 0:
            left -= 1
            frame = self.frames[node]
            function = self.functions[frame]
            self.room(ROOM)
            self.put(9)
            if self.fields & IP:
                self.hexadecimal(self.runtimes[frame], 16)
                self.put(32)
            if self.fields & SYM:
                self.name(self.function_names, function)
                if self.fields & SYMOFF and self.starts[function]:
                    self.put(43)
                    self.put(48)
                    self.put(120)
                    # A sampled chain shows return addresses as they are, but looks them up one byte before: what is
                    # added is seen in the address within its page.
                    self.hexadecimal(
                        self.addresses[frame]
                        - self.starts[function]
                        + ((self.runtimes[frame] - self.addresses[frame]) & 0xFFF),
                        0,
                    )
                self.put(32)
            if self.fields & DSO:
                self.put(40)
                if self.images[frame] != NOTHING:
                    self.name(self.image_names, self.images[frame])
                else:
                    self.name(self.image_names, self.image_names.ends.shape[0] - 2)
                self.put(41)
            self.put(10)
            node = self.parents[node]
        return 0

    def fill(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> memoryview:
        """The text of samples ``first`` to ``last - 1``."""
        s: cython.Py_ssize_t
        self.used = 0
        with cython.nogil:
            for s in range(first, last):
                self.header(s)
                self.put(10)
                if self.fields & (IP | SYM | DSO):
                    self.stack(self.stacks[s])
                    self.room(ROOM)
                    self.put(10)
        return memoryview(self.out)[: self.used]
