# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The walk: from sampled registers and stack bytes to interned stacks, with a reason where each one ends.

One :class:`Walker` belongs to one thread; it holds the GIL only to load an image or compile a function it meets for
the first time (:mod:`undwarf.unwind.loaded`). A frame is a unique (image, address, provenance), a stack node a unique
(parent node, frame), and parents are numbered before their children.

The order here: interned stacks, the walker's columns and state, then what it does from the inside out: loading, lookup
of addresses, memory, rules and expressions, steps without a rule, and at the end whole samples.
"""

from typing import Any

import cython

from undwarf.buffers import zeros
from undwarf.unwind.aarch64.registers import LINK, PLACE_OF_DWARF
from undwarf.unwind.loaded import Loaded
from undwarf.unwind.machines import AARCH64

NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
UNKNOWN = cython.declare(cython.uint, 0xFFFFFFFE)
"""In an image's columns: they say nothing of this stretch."""
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
MARKERS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFF001)
"""Call chain entries from here on are context markers (PERF_CONTEXT_MAX is -4095)."""
CONTEXT_KERNEL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFF80)
CONTEXT_USER = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFE00)
CONTEXT_USER_DEFERRED = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFD80)
ALL_ONES = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)

CHUNK = cython.declare(cython.Py_ssize_t, 32)
"""Mappings in one chunk of an address space (undwarf.spaces.replay)."""

# A rule's words; undwarf.tables.model describes them.
STRIDE = cython.declare(cython.Py_ssize_t, 80)
RULE_NO = cython.declare(cython.uint, 0xFFFFFFFF)
RULE_UNMAPPED = cython.declare(cython.uint, 0xFFFFFFFE)
RULE_NO_FILE = cython.declare(cython.uint, 0xFFFFFFFD)
RULE_LIMIT = cython.declare(cython.uint, 0xFFFFFFF0)
CFA_UNDEFINED = cython.declare(cython.int, 0)
CFA_REGISTER = cython.declare(cython.int, 1)
CFA_DEREF = cython.declare(cython.int, 2)
CFA_PLT = cython.declare(cython.int, 3)
CFA_EXPRESSION = cython.declare(cython.int, 4)
FLAG_SIGNAL = cython.declare(cython.int, 1)
FLAG_OUTERMOST = cython.declare(cython.int, 2)
FLAG_INTERRUPTED = cython.declare(cython.int, 32)
KIND_UNDEFINED = cython.declare(cython.int, 1)
KIND_AT_CFA = cython.declare(cython.int, 2)
KIND_IS_CFA = cython.declare(cython.int, 3)
KIND_REGISTER = cython.declare(cython.int, 4)
KIND_AT_REGISTER = cython.declare(cython.int, 5)
KIND_EXPRESSION = cython.declare(cython.int, 6)
KIND_IS_EXPRESSION = cython.declare(cython.int, 7)

# Stop reasons (undwarf.unwind.stop.StopReason).
FROM_GOPCLNTAB = cython.declare(cython.int, 6)
"""The source of rules whose expressions lead to another stack (:mod:`undwarf.tables.go_stacks`)."""
STOP_NONE = cython.declare(cython.int, 0)
STOP_ROOT = cython.declare(cython.int, 1)
STOP_TRUNCATED = cython.declare(cython.int, 2)
STOP_NO_RULE = cython.declare(cython.int, 3)
STOP_UNMAPPED = cython.declare(cython.int, 4)
STOP_BAD_CFA = cython.declare(cython.int, 5)
STOP_LOOP = cython.declare(cython.int, 6)
STOP_DEPTH = cython.declare(cython.int, 7)
STOP_NO_DUMP = cython.declare(cython.int, 8)
STOP_NO_FILE = cython.declare(cython.int, 9)
STOP_UNREADABLE = cython.declare(cython.int, 10)
STOP_UNSUPPORTED = cython.declare(cython.int, 11)
STOP_BAD_RULE = cython.declare(cython.int, 12)
STOP_UNKNOWN_REGISTER = cython.declare(cython.int, 13)
STOP_DEFERRED = cython.declare(cython.int, 14)
STOP_OTHER_STACK = cython.declare(cython.int, 15)

# Provenance of a frame (undwarf.unwind.stop.Provenance).
FROM_KERNEL_CHAIN = cython.declare(cython.int, 16)
FROM_USER_CHAIN = cython.declare(cython.int, 17)
FROM_FRAME_POINTER = cython.declare(cython.int, 18)
FROM_NOTHING = cython.declare(cython.int, 19)
FROM_LATER_CHAIN = cython.declare(cython.int, 20)

# x86-64: DWARF register numbers.
REGISTERS = cython.declare(cython.int, 17)
RAX = cython.declare(cython.int, 0)
RDX = cython.declare(cython.int, 1)
RBX = cython.declare(cython.int, 3)
RBP = cython.declare(cython.int, 6)
RSP = cython.declare(cython.int, 7)
RIP = cython.declare(cython.int, 16)
NMI_UNKNOWN = cython.declare(cython.uint, 1 << 3 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15)
"""rbx and r12 to r15: not saved when a non-maskable interrupt takes a sample inside the kernel, then all ones."""

CALLEE_SAVED = cython.declare(cython.uint, 1 << 3 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << 16)
"""The registers that a frame's state is made of: those a function gives back, the stack pointer and the address."""
STATE = cython.declare(cython.Py_ssize_t, 10)
"""Words of a remembered state: address, stack pointer, rbx, rbp, r12 to r15, what is known, stack node."""

CACHE = cython.declare(cython.ulonglong, 4096)
"""Entries of the small cache; larger ones hit more and are slower, since they leave the second-level cache."""
SITES = cython.declare(cython.ulonglong, 32768)
"""Entries of the cache behind it, which holds what an image says of an address, whoever maps it where."""
SITE_USED = cython.declare(cython.ulonglong, 1 << 63)
KERNEL_KEY = cython.declare(cython.ulonglong, 1 << 40)
"""Set in the cache's keys of kernel addresses."""
ENTRY = cython.declare(cython.ulonglong, 96)
"""Bytes of start-up code behind an entry point that call the rest and never return."""
LIVE_UNUSED = cython.declare(cython.int, 0)
LIVE_OPEN = cython.declare(cython.int, 1)
LIVE_REFUSED = cython.declare(cython.int, 2)
LIVE_BLOCK = cython.declare(cython.ulonglong, 1 << 16)
"""Bytes read at once of a process's memory behind the end of a dump."""
LIVE_REACH = cython.declare(cython.ulonglong, 8 << 20)
"""How far behind the end of a dump memory is read: the usual limit of a stack."""
EVALUATION = cython.declare(cython.int, 64)
"""Depth of the expression evaluator's stack."""


@cython.final
@cython.cclass
class Stacks:
    """Interned frames and stack nodes."""

    frame_image = cython.declare("unsigned int[::1]")
    frame_address = cython.declare("unsigned long long[::1]")
    frame_runtime = cython.declare("unsigned long long[::1]")
    frame_provenance = cython.declare("unsigned char[::1]")
    frame_proof = cython.declare("unsigned char[::1]")
    frame_slots = cython.declare("unsigned int[::1]")
    frames: cython.Py_ssize_t
    node_key = cython.declare("unsigned long long[::1]")
    node_slots = cython.declare("unsigned int[::1]")
    nodes: cython.Py_ssize_t

    def __cinit__(self) -> None:
        self.frame_image = zeros("I", 4096)
        self.frame_address = zeros("Q", 4096)
        self.frame_runtime = zeros("Q", 4096)
        self.frame_provenance = zeros("B", 4096)
        self.frame_proof = zeros("B", 4096)
        self.frame_slots = self._free_slots(8192)
        self.node_key = zeros("Q", 4096)
        self.node_slots = self._free_slots(8192)

    @cython.locals(slots="unsigned int[::1]")
    def _free_slots(self, count: cython.Py_ssize_t) -> memoryview:
        """A hash of ``count`` free slots; 0 is free, a number n is kept as n + 1."""
        return zeros("I", count)

    @cython.locals(
        old="unsigned int[::1]",
        new="unsigned int[::1]",
        old_q="unsigned long long[::1]",
        new_q="unsigned long long[::1]",
        old_b="unsigned char[::1]",
        new_b="unsigned char[::1]",
        i=cython.Py_ssize_t,
        at=cython.ulonglong,
        mask=cython.ulonglong,
    )
    def grow_frames(self) -> None:
        """Double the room for frames."""
        size: cython.Py_ssize_t = len(self.frame_image)
        grown = zeros("I", 2 * size)
        old = self.frame_image
        new = grown
        new[:size] = old
        self.frame_image = grown
        old_q = self.frame_address
        new_q = zeros("Q", 2 * size)
        new_q[:size] = old_q
        self.frame_address = new_q
        old_q = self.frame_runtime
        new_q = zeros("Q", 2 * size)
        new_q[:size] = old_q
        self.frame_runtime = new_q
        old_b = self.frame_provenance
        new_b = zeros("B", 2 * size)
        new_b[:size] = old_b
        self.frame_provenance = new_b
        old_b = self.frame_proof
        new_b = zeros("B", 2 * size)
        new_b[:size] = old_b
        self.frame_proof = new_b
        new = zeros("I", 4 * size)
        mask = 4 * size - 1
        for i in range(self.frames):
            at = self.frame_hash(
                self.frame_image[i], self.frame_address[i], self.frame_runtime[i], self.frame_provenance[i]
            )
            at = at & mask
            while new[at]:
                at = (at + 1) & mask
            new[at] = i + 1
        self.frame_slots = new

    @cython.locals(
        new="unsigned int[::1]",
        old_q="unsigned long long[::1]",
        new_q="unsigned long long[::1]",
        i=cython.Py_ssize_t,
        at=cython.ulonglong,
        mask=cython.ulonglong,
    )
    def grow_nodes(self) -> None:
        """Double the room for nodes."""
        size: cython.Py_ssize_t = len(self.node_key)
        old_q = self.node_key
        new_q = zeros("Q", 2 * size)
        new_q[:size] = old_q
        self.node_key = new_q
        # Half full at most: first touches of a larger one cost more than it saves.
        new = zeros("I", 4 * size)
        mask = 4 * size - 1
        with cython.nogil:
            for i in range(self.nodes):
                at = ((old_q[i] ^ (old_q[i] >> 32)) * MULTIPLIER) >> 24 & mask
                while new[at]:
                    at = (at + 1) & mask
                new[at] = cython.cast(cython.uint, i + 1)
        self.node_slots = new

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def frame_hash(
        self, image: cython.uint, address: cython.ulonglong, runtime: cython.ulonglong, provenance: cython.uint
    ) -> cython.ulonglong:
        key: cython.ulonglong = (address + (runtime << 7) + provenance) * MULTIPLIER
        key = (key ^ (key >> 31) ^ image) * MULTIPLIER
        return key >> 20

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def frame(
        self, image: cython.uint, address: cython.ulonglong, runtime: cython.ulonglong, provenance: cython.uint
    ) -> cython.longlong:
        """The number of this frame."""
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.frame_slots.shape[0]) - 1
        at: cython.ulonglong = self.frame_hash(image, address, runtime, provenance) & mask
        found: cython.Py_ssize_t
        while self.frame_slots[at]:
            found = cython.cast(cython.Py_ssize_t, self.frame_slots[at]) - 1
            if (
                self.frame_address[found] == address
                and self.frame_image[found] == image
                and self.frame_runtime[found] == runtime
                and self.frame_provenance[found] == provenance
            ):
                return found
            at = (at + 1) & mask
        if self.frames >= self.frame_image.shape[0]:
            with cython.gil:
                self.grow_frames()
            return self.frame(image, address, runtime, provenance)
        found = self.frames
        self.frames += 1
        self.frame_slots[at] = cython.cast(cython.uint, found + 1)
        self.frame_image[found] = image
        self.frame_address[found] = address
        self.frame_runtime[found] = runtime
        self.frame_provenance[found] = cython.cast(cython.uchar, provenance)
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def node(self, parent: cython.uint, frame: cython.uint) -> cython.longlong:
        """The number of the node with this parent (0xffffffff for a root) and frame."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, parent) << 32 | frame
        mask: cython.ulonglong = cython.cast(cython.ulonglong, self.node_slots.shape[0]) - 1
        at: cython.ulonglong = ((key ^ (key >> 32)) * MULTIPLIER) >> 24 & mask
        found: cython.Py_ssize_t
        while self.node_slots[at]:
            found = cython.cast(cython.Py_ssize_t, self.node_slots[at]) - 1
            if self.node_key[found] == key:
                return found
            at = (at + 1) & mask
        if self.nodes >= self.node_key.shape[0]:
            with cython.gil:
                self.grow_nodes()
            return self.node(parent, frame)
        found = self.nodes
        self.nodes += 1
        self.node_slots[at] = cython.cast(cython.uint, found + 1)
        self.node_key[found] = key
        return found

    @cython.locals(frame_map="unsigned int[::1]", node_map="unsigned int[::1]", i=cython.Py_ssize_t, parent=cython.uint)
    def adopt(self, other: Stacks) -> memoryview:  # noqa: F821 - the class itself, which Cython knows here
        """Take over another thread's frames and nodes; returns the column that maps its node numbers to ours."""
        frame_map = zeros("I", other.frames)
        mapped = zeros("I", other.nodes)
        node_map = mapped
        with cython.nogil:
            for i in range(other.frames):
                frame_map[i] = cython.cast(
                    cython.uint,
                    self.frame(
                        other.frame_image[i],
                        other.frame_address[i],
                        other.frame_runtime[i],
                        other.frame_provenance[i],
                    ),
                )
            for i in range(other.nodes):
                parent = cython.cast(cython.uint, other.node_key[i] >> 32)
                if parent != NOTHING:
                    parent = node_map[parent]
                node_map[i] = cython.cast(
                    cython.uint,
                    self.node(parent, frame_map[cython.cast(cython.Py_ssize_t, other.node_key[i] & NOTHING)]),
                )
        return mapped

    def nodes_total(self) -> int:
        """How many nodes there are."""
        return self.nodes

    @cython.locals(parents="unsigned int[::1]", frames="unsigned int[::1]", i=cython.Py_ssize_t)
    def columns(self) -> dict[str, memoryview]:
        """``parent`` and ``frame`` by node; ``image``, ``address``, ``runtime`` and ``provenance`` by frame."""
        parent = zeros("I", self.nodes)
        frame = zeros("I", self.nodes)
        parents = parent
        frames = frame
        with cython.nogil:
            for i in range(self.nodes):
                parents[i] = cython.cast(cython.uint, self.node_key[i] >> 32)
                frames[i] = cython.cast(cython.uint, self.node_key[i] & NOTHING)
        count: cython.Py_ssize_t = self.frames
        return {
            "parent": parent,
            "frame": frame,
            "image": memoryview(self.frame_image)[:count],
            "address": memoryview(self.frame_address)[:count],
            "runtime": memoryview(self.frame_runtime)[:count],
            "provenance": memoryview(self.frame_provenance)[:count],
        }


@cython.final
@cython.cclass
class Walker:
    """Walks samples of one recording in one thread.

    ``source`` (undwarf.unwind.sources.Sources) answers what the walk meets for the first time: ``load(image)`` gives
    (state, segments, table, entry) with state 1 (has a table), 2 (a file that cannot be used), 3 (no further source)
    or 4 (anonymous code); ``call_before(image, address)`` says whether a call instruction ends there (1 yes, 2 no, 3
    cannot be read); ``read(image, address)`` gives a word of read-only file data. ``runtime`` keeps the absolute
    address of each frame, which makes frames of different processes different.
    """

    stacks = cython.declare(Stacks, visibility="readonly")
    source: Any
    loaded: Any
    frame_pointers: cython.bint
    seen_rules: Any
    seen_expressions: Any
    kernel_image: cython.uint
    # address spaces (undwarf.spaces.replay.Replay.columns)
    chunk_count = cython.declare("const unsigned int[::1]")
    starts = cython.declare("const unsigned long long[::1]")
    ends = cython.declare("const unsigned long long[::1]")
    offsets = cython.declare("const unsigned long long[::1]")
    images = cython.declare("const unsigned int[::1]")
    flags = cython.declare("const unsigned char[::1]")
    lists = cython.declare("const unsigned int[::1]")
    snapshot_at = cython.declare("const unsigned int[::1]")
    snapshot_count = cython.declare("const unsigned int[::1]")
    # samples
    positions = cython.declare("const unsigned long long[::1]")
    miscs = cython.declare("const unsigned short[::1]")
    ips = cython.declare("const unsigned long long[::1]")
    events = cython.declare("const unsigned short[::1]")
    chain_at = cython.declare("const unsigned short[::1]")
    regs_at = cython.declare("const unsigned short[::1]")
    stack_at = cython.declare("const unsigned short[::1]")
    space_of = cython.declare("const unsigned int[::1]")
    kernel_of = cython.declare("const unsigned int[::1]")
    slots = cython.declare("const unsigned char[::1]")
    # chains that came later (undwarf.unwind.deferred): by sample where in `later` they lie, and how long they are
    later_at = cython.declare("const unsigned long long[::1]")
    later_count = cython.declare("const unsigned int[::1]")
    later = cython.declare("const unsigned long long[::1]")
    stitched: cython.bint
    selected = cython.declare("const unsigned char[::1]")
    # rules
    words = cython.declare("const int[::1]")
    expression_bytes = cython.declare("const unsigned char[::1]")
    expression_offsets = cython.declare("const unsigned int[::1]")
    # images, by number
    image_state = cython.declare("unsigned char[::1]")
    image_entry = cython.declare("unsigned long long[::1]")
    image_segments = cython.declare("unsigned int[::1]")
    image_segment_count = cython.declare("unsigned int[::1]")
    # Functions of an image: where the columns of their starts and ends begin, which all threads share, and this
    # thread's column of where their rows are (twice as long: place and count).
    image_starts = cython.declare("unsigned long long[::1]")
    image_ends = cython.declare("unsigned long long[::1]")
    image_function_rows = cython.declare("unsigned long long[::1]")
    image_function_count = cython.declare("unsigned int[::1]")
    # Rows of a whole image, shared by all threads: where the columns begin, and how many rows they have.
    image_row_addresses = cython.declare("unsigned long long[::1]")
    image_row_rules = cython.declare("unsigned long long[::1]")
    image_row_count = cython.declare("unsigned long long[::1]")
    # 1 while the image's table has sources that have not been consulted.
    image_open = cython.declare("unsigned char[::1]")
    segment_offset = cython.declare("unsigned long long[::1]")
    segment_end = cython.declare("unsigned long long[::1]")
    segment_address = cython.declare("unsigned long long[::1]")
    row_address = cython.declare("unsigned long long[::1]")
    row_rule = cython.declare("unsigned int[::1]")
    # the small cache: four words an entry: address, space and exactness, rule and frame, image
    cache = cython.declare("unsigned long long[::1]")
    # the cache behind it, three words an entry: address, image and exactness, rule and frame
    sites = cython.declare("unsigned long long[::1]")
    # the sample at hand
    window = cython.declare("const unsigned char[::1]")
    base: cython.ulonglong
    dump: cython.Py_ssize_t
    low: cython.ulonglong
    high: cython.ulonglong
    regs = cython.declare("unsigned long long[17]")
    caller = cython.declare("unsigned long long[17]")
    known: cython.uint
    space: cython.uint
    found_rule: cython.uint
    found_frame: cython.uint
    found_image: cython.uint
    fault: cython.int
    chain = cython.declare("unsigned int[::1]")
    # The last whole stack: states from the root inwards, and where its dump lies in the window. A stack that comes to
    # one of these states, with the same memory above it, goes on as that one did.
    memo = cython.declare("unsigned long long[::1]")
    fresh = cython.declare("unsigned long long[::1]")
    memo_count: cython.Py_ssize_t
    memo_space: cython.uint
    memo_dump: cython.Py_ssize_t
    memo_low: cython.ulonglong
    memo_top: cython.ulonglong
    top: cython.ulonglong
    odd: cython.bint
    ended_at_zero: cython.bint
    fresh_count: cython.Py_ssize_t
    tail_count: cython.Py_ssize_t
    tail_node: cython.uint
    evaluation = cython.declare("unsigned long long[64]")
    # Where the machine has a link register, its place (else -1); address bits that are no signature; the places of
    # DWARF registers, for a machine whose registers are not kept by their own numbers.
    link: cython.int
    address_bits: cython.ulonglong
    place_of = cython.declare("unsigned char[64]")
    innermost: cython.bint
    runtime: cython.bint
    max_frames: cython.Py_ssize_t
    max_chain: cython.Py_ssize_t
    max_steps: cython.Py_ssize_t
    # Memory of the process itself: all of it as it was, or (deep) what is proven to be what it was.
    live: Any
    deep: Any
    proof_slots = cython.declare("unsigned long long[::1]")
    proof_values = cython.declare("unsigned long long[::1]")
    trial: cython.bint
    live_block = cython.declare("const unsigned char[::1]")
    live_low: cython.ulonglong
    live_high: cython.ulonglong
    live_state: cython.int
    live_whole: cython.bint
    returns: cython.bint
    back: cython.ulonglong
    number: cython.Py_ssize_t
    completed = cython.declare(cython.Py_ssize_t, visibility="readonly")
    unproven = cython.declare(cython.Py_ssize_t, visibility="readonly")
    deferred = cython.declare(cython.Py_ssize_t, visibility="readonly")
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        source: Any,
        spaces: dict[str, memoryview],
        samples: Any,
        space_of: memoryview,
        kernel_of: memoryview,
        slots: memoryview,
        selected: memoryview,
        image_count: int,
        limits: Any,
        runtime: bool = False,
        kernel_image: int = 0xFFFFFFFF,
    ) -> None:
        self.source = source
        self.address_bits = ALL_ONES
        self.link = -1
        for i in range(64):
            self.place_of[i] = i
        if source.machine is AARCH64:
            self.address_bits = (cython.cast(cython.ulonglong, 1) << 48) - 1
            self.link = LINK
            for i in range(64):
                self.place_of[i] = PLACE_OF_DWARF[i]
        self.frame_pointers = source.frame_pointers
        self.seen_rules: Any = None
        self.seen_expressions: Any = None
        self.see_spaces(spaces, kernel_image)
        self.see(samples, space_of, kernel_of, selected)
        self.slots = slots
        loaded = self.loaded = Loaded(source, image_count)
        self.image_state = loaded.state
        self.image_open = loaded.open
        self.image_entry = loaded.entry
        self.image_segments = loaded.first_segment
        self.image_segment_count = loaded.segments
        self.image_starts = zeros("Q", image_count)
        self.image_ends = zeros("Q", image_count)
        self.image_function_rows = zeros("Q", image_count)
        self.image_function_count = zeros("I", image_count)
        self.image_row_addresses = zeros("Q", image_count)
        self.image_row_rules = zeros("Q", image_count)
        self.image_row_count = zeros("Q", image_count)
        self._take_rows()
        self.cache = zeros("Q", 4 * CACHE)
        self.sites = zeros("Q", 3 * SITES)
        self.max_frames = limits.max_frames
        self.max_chain = limits.max_chain
        self.max_steps = limits.expression_steps
        self.chain = zeros("I", self.max_frames + self.max_chain + 8)
        self.memo = zeros("Q", STATE * (self.max_frames + 1))
        self.fresh = zeros("Q", STATE * (self.max_frames + 1))
        self.runtime = runtime
        self.stitched = False
        self.live = None
        self.deep = None
        self.trial = False
        self.live_block = zeros("B", 0)
        self.live_state = LIVE_UNUSED
        self.live_whole = False
        self.returns = False
        self.set_later(zeros("Q", 0), zeros("I", 0), zeros("Q", 0))
        self.reset()

    def set_later(self, at: memoryview, count: memoryview, addresses: memoryview) -> None:
        """Take user chains that came after their samples from ``addresses``; by sample, ``at`` is where they start
        and ``count`` how many they are (0xffffffff: none came)."""
        self.later_at = at
        self.later_count = count
        self.later = addresses

    def set_stitched(self) -> None:
        """Take the user chains of samples that carry a stop reason as already unwound: no address is a raw return
        address (undwarf.perfdata.emit)."""
        self.stitched = True

    def see(self, samples: Any, space_of: memoryview, kernel_of: memoryview, selected: memoryview) -> None:
        """Walk these samples from now on."""
        self.positions = samples.position
        self.miscs = samples.misc
        self.ips = samples.ip
        self.events = samples.event
        self.chain_at = samples.callchain_at
        self.regs_at = samples.regs_at
        self.stack_at = samples.stack_at
        self.space_of = space_of
        self.kernel_of = kernel_of
        self.selected = selected

    def see_spaces(self, spaces: dict[str, memoryview], kernel_image: int, *, renumbered: bool = False) -> None:
        """Take mappings from these columns, which hold more than those before or, if ``renumbered``, others."""
        # The kernel's mapping leaves out its start-up code, which the idle tasks still return to.
        self.kernel_image = kernel_image
        self.chunk_count = spaces["chunk_count"]
        self.starts = spaces["starts"]
        self.ends = spaces["ends"]
        self.offsets = spaces["offsets"]
        self.images = spaces["images"]
        self.flags = spaces["flags"]
        self.lists = spaces["lists"]
        self.snapshot_at = spaces["snapshot_at"]
        self.snapshot_count = spaces["snapshot_count"]
        if renumbered:
            self._forget()

    def see_live(self, memory: Any) -> None:
        """Go on reading where a dump ends: ``memory(sample, start, end)`` gives the bytes of the sample's process from
        ``start`` on, to ``end`` at least, as they were at the time of the sample; or None."""
        self.live = memory
        self.live_whole = True

    def see_deep(self, deep: Any) -> None:
        """Go on in the memory of running processes where a dump ends: :class:`undwarf.live.deep_stacks.DeepStacks`."""
        self.deep = deep
        self.proof_slots = zeros("Q", self.max_frames + 1)
        self.proof_values = zeros("Q", self.max_frames + 1)

    def show_returns(self) -> None:
        """Keep return addresses as the absolute addresses of callers, not what they are looked up by."""
        self.returns = True

    def take_over(self, other: Walker) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Go on with the stacks and the counts of a walker that had room for fewer images."""
        self.stacks = other.stacks
        self.live = other.live
        self.live_whole = other.live_whole
        if other.deep is not None:
            self.see_deep(other.deep)
        self.completed = other.completed
        self.unproven = other.unproven
        self.deferred = other.deferred
        self.damaged = other.damaged

    def reset(self) -> None:
        """Forget all stacks (their memory goes with the :class:`Stacks` that others may still hold)."""
        self.stacks = Stacks()
        self._forget()

    def _forget(self) -> None:
        """Forget what was remembered of the last stack and of addresses."""
        self.memo_count = 0
        for i in range(CACHE):
            self.cache[4 * i + 1] = ALL_ONES
        for i in range(SITES):
            self.sites[3 * i + 1] = 0

    # -- loading, with the GIL ----------------------------------------------------------------------------------

    def _take_rows(self) -> None:
        """Search in the rows, and go by the rules, that are there now."""
        loaded = self.loaded
        self.row_address = loaded.row_address
        self.row_rule = loaded.row_rule
        # There is room for more rules than there are: only a set that has grown is another buffer.
        if self.seen_rules is not loaded.rules:
            self.seen_rules = loaded.rules
            self.words = self.seen_rules
        if self.seen_expressions is not loaded.expression_offsets:
            self.seen_expressions = loaded.expression_offsets
            self.expression_bytes = loaded.expression_bytes
            self.expression_offsets = self.seen_expressions

    @cython.locals(
        starts="const unsigned long long[::1]",
        ends="const unsigned long long[::1]",
        places="unsigned int[::1]",
        addresses="const unsigned long long[::1]",
        rules="const unsigned int[::1]",
        count=cython.Py_ssize_t,
    )
    def _take_image(self, image: cython.Py_ssize_t) -> None:
        """Search in what is loaded of an image now. What the pointers lead to lives as long as ``loaded`` has it."""
        loaded = self.loaded
        self._take_rows()
        self.segment_offset = loaded.segment_offset
        self.segment_end = loaded.segment_end
        self.segment_address = loaded.segment_address
        self.image_row_count[image] = 0
        whole = loaded.whole.get(image)
        if whole is not None:
            addresses, rules = whole
            count = min(len(addresses), len(rules))
            if count:
                self.image_row_addresses[image] = cython.cast(cython.ulonglong, cython.address(addresses[0]))
                self.image_row_rules[image] = cython.cast(cython.ulonglong, cython.address(rules[0]))
                self.image_row_count[image] = count
        self.image_function_count[image] = 0
        functions = loaded.functions.get(image)
        if functions is not None:
            starts = functions.starts
            ends = functions.ends
            places = loaded.places[image]
            count = min(len(starts), len(ends), len(places) // 2)
            if count:
                self.image_starts[image] = cython.cast(cython.ulonglong, cython.address(starts[0]))
                self.image_ends[image] = cython.cast(cython.ulonglong, cython.address(ends[0]))
                self.image_function_rows[image] = cython.cast(cython.ulonglong, cython.address(places[0]))
                self.image_function_count[image] = count

    def _load(self, image: cython.Py_ssize_t) -> None:
        """Load an image."""
        self.loaded.load(image)
        self._take_image(image)

    def _compile(self, image: cython.Py_ssize_t, function: cython.Py_ssize_t) -> None:
        """Have a function's rows made."""
        self.loaded.make_rows(image, function)
        self._take_rows()

    @cython.cfunc
    @cython.exceptval(-1)
    def _file_word(self, image: cython.Py_ssize_t, offset: cython.ulonglong) -> cython.ulonglong:
        """A word of read-only file data; sets ``fault`` if there is none. Apart from who asks: what has Python objects
        takes the GIL at every call."""
        if self.image_state[image] == 0:
            self._load(image)
        found = self.source.read(image, self.stated(image, offset))
        if found is None:
            self.fault = STOP_UNREADABLE
            return 0
        word: cython.ulonglong = found
        return word

    @cython.cfunc
    @cython.exceptval(-1)
    def _live_bytes(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.bint:
        """Have the process's memory read; False if that cannot be done."""
        block = self.live(self.number, start, end + LIVE_BLOCK)
        if block is None or len(block) < end - start:
            return False
        self.live_block = block
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _deep_bytes(self, count: cython.Py_ssize_t) -> cython.bint:
        """Have memory behind the dump, for which ``count`` return addresses in the dump stand; False without."""
        found = self.deep.beyond(
            self.number,
            memoryview(self.proof_slots)[:count],
            memoryview(self.proof_values)[:count],
            self.low,
            self.high,
        )
        if found is None:
            return False
        self.live_low = found[0]
        self.live_block = found[1]
        self.live_high = self.live_low + cython.cast(cython.ulonglong, self.live_block.shape[0])
        self.trial = self.deep.trial
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _more_bytes(self, address: cython.ulonglong) -> cython.bint:
        """During a trial, have more of it, up to behind ``address``; False without."""
        found = self.deep.more(address)
        if found is None:
            return False
        self.live_block = found
        self.live_high = self.live_low + cython.cast(cython.ulonglong, self.live_block.shape[0])
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _end_trial(self, root: cython.bint) -> cython.int:
        self.deep.tried(bool(root))
        return 0

    @property
    def made(self) -> int:
        """How often rows of a function had to be asked for."""
        made: int = self.loaded.made
        return made

    def _more(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> bool:
        """Ask the image's table for a further source that covers the address."""
        covered: bool = self.loaded.ask_further(image, address)
        self._take_image(image)
        return covered

    # -- lookup -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def mapping(self, space: cython.uint, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The entry of the mapping that holds ``address`` in a snapshot, or -1."""
        first: cython.Py_ssize_t
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        if space == NOTHING:
            return -1
        first = self.snapshot_at[space]
        high = self.snapshot_count[space]
        while low < high:
            middle = (low + high) >> 1
            if self.starts[CHUNK * self.lists[first + middle]] <= address:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return -1
        chunk = self.lists[first + low - 1]
        low = chunk * CHUNK
        high = low + self.chunk_count[chunk]
        first = low
        while low < high:
            middle = (low + high) >> 1
            if self.starts[middle] <= address:
                low = middle + 1
            else:
                high = middle
        if low == first or self.ends[low - 1] <= address:
            return -1
        return low - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def stated(self, image: cython.Py_ssize_t, offset: cython.ulonglong) -> cython.ulonglong:
        """The address the file states for a file offset, by its loadable segments; 0 if none holds it."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.image_segments[image]
        for i in range(at, at + self.image_segment_count[image]):
            if self.segment_offset[i] <= offset < self.segment_end[i]:
                return cython.cast(cython.ulonglong, self.segment_address[i] + (offset - self.segment_offset[i]))
        # The kernel maps whole pages: what lies on a segment's last page is mapped as well.
        for i in range(at, at + self.image_segment_count[image]):
            if self.segment_offset[i] & ~0xFFF <= offset < (self.segment_end[i] + 0xFFF) & ~0xFFF:
                return cython.cast(cython.ulonglong, self.segment_address[i] + (offset - self.segment_offset[i]))
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def function(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The number in its image of the function whose range holds the address, or -2."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.image_function_count[image]
        middle: cython.Py_ssize_t
        # The columns have that many entries (_take_image); all indices stay below.
        starts: cython.p_ulonglong = cython.cast(cython.p_ulonglong, self.image_starts[image])
        ends: cython.p_ulonglong = cython.cast(cython.p_ulonglong, self.image_ends[image])
        while low < high:
            middle = (low + high) >> 1
            if starts[middle] <= address:
                low = middle + 1
            else:
                high = middle
        if low == 0 or ends[low - 1] <= address:
            return -2
        return low - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def flat_rule(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.uint:
        """The number of the rule in an image's columns, NOTHING where they have none, UNKNOWN where they do not say.

        ``Loaded.whole`` keeps the columns alive; they have ``image_row_count`` entries, below which all indices stay.
        """
        addresses: cython.p_ulonglong = cython.cast(cython.p_ulonglong, self.image_row_addresses[image])
        rules: cython.p_uint = cython.cast(cython.p_uint, self.image_row_rules[image])
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.image_row_count[image])
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if addresses[middle] <= address:
                low = middle + 1
            else:
                high = middle
        return cython.cast(cython.uint, rules[low - 1] if low else NOTHING)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def rule(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.longlong:
        """The number of the rule for an address of an image with a table."""
        function: cython.Py_ssize_t
        first: cython.Py_ssize_t
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        covered: cython.bint = True
        places: cython.p_uint
        # Whether further sources may know more.
        ask: cython.bint = self.image_state[image] == 1
        found: cython.uint
        if self.image_row_count[image]:
            found = self.flat_rule(image, address)
            if found == UNKNOWN:
                ask = self.image_open[image] != 0
            elif found != NOTHING or not ask:
                return RULE_NO if found == NOTHING else cython.cast(cython.longlong, found)
        function = self.function(image, address)
        if function < 0 and ask:
            with cython.gil:
                covered = self._more(image, address)
            if covered:
                function = self.function(image, address)
        if function < 0:
            return RULE_NO
        # Two entries for each function, whose number is below their count.
        places = cython.cast(cython.p_uint, self.image_function_rows[image])
        if places[2 * function + 1] == 0:
            with cython.gil:
                self._compile(image, function)
        if places[2 * function + 1] == NOTHING:
            return RULE_NO
        first = cython.cast(cython.Py_ssize_t, places[2 * function])
        low = first
        high = first + cython.cast(cython.Py_ssize_t, places[2 * function + 1])
        while low < high:
            middle = (low + high) >> 1
            if self.row_address[middle] <= address:
                low = middle + 1
            else:
                high = middle
        if low == first:
            return RULE_NO
        if self.row_rule[low - 1] == NOTHING and ask:
            with cython.gil:
                covered = self._more(image, address)
            if covered:
                return self.rule(image, address)
        return cython.cast(cython.longlong, self.row_rule[low - 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def resolve(self, lookup: cython.ulonglong, raw: cython.ulonglong, provenance: cython.int) -> cython.int:
        """Find rule, frame and image of a user address that the small cache does not know.

        ``lookup`` is the address itself if it is exact, else the return address minus one; ``raw`` is the address
        before that. ``provenance`` is 0 for a frame of the walk, else that of a frame of a sampled chain.
        """
        entry: cython.Py_ssize_t = self.mapping(self.space, lookup)
        image: cython.Py_ssize_t
        address: cython.ulonglong
        rule: cython.uint = RULE_NO
        source: cython.int = provenance
        shown: cython.ulonglong = lookup if provenance == 0 and not self.returns else raw
        site: cython.Py_ssize_t = -1
        key: cython.ulonglong = 0
        asked: cython.ulonglong
        if entry < 0 or not self.flags[entry]:
            self.found_rule = RULE_UNMAPPED
            self.found_image = NOTHING if entry < 0 else self.images[entry]
            self.found_frame = cython.cast(
                cython.uint,
                self.stacks.frame(
                    NOTHING, lookup, shown if self.runtime else 0, provenance if provenance else FROM_NOTHING
                ),
            )
            return 0
        image = self.images[entry]
        if self.image_state[image] == 0:
            with cython.gil:
                self._load(image)
        address = lookup - self.starts[entry] + self.offsets[entry]
        if self.image_state[image] == 2:
            rule = RULE_NO_FILE
        if self.image_segment_count[image]:
            address = self.stated(image, address)
        elif self.image_state[image] == 4:
            # Anonymous code has no file: its addresses are those it ran at.
            address = lookup
        asked = address
        if provenance == 0 and not self.runtime:
            key = SITE_USED | cython.cast(cython.ulonglong, image) << 1 | (lookup == raw)
            site = 3 * (((address ^ key << 40) * MULTIPLIER) >> 40 & (SITES - 1))
            if self.sites[site] == address and self.sites[site + 1] == key:
                self.found_rule = cython.cast(cython.uint, self.sites[site + 2] >> 32)
                self.found_frame = cython.cast(cython.uint, self.sites[site + 2] & NOTHING)
                self.found_image = cython.cast(cython.uint, image)
                return 0
        if provenance == 0:
            if self.image_state[image] == 1 or self.image_state[image] == 3:
                rule = cython.cast(cython.uint, self.rule(image, address))
            if rule < RULE_LIMIT:
                source = self.words[STRIDE * rule + 5]
                if lookup != raw and self.words[STRIDE * rule + 4] & FLAG_SIGNAL:
                    # The rule of a signal trampoline starts a byte early, so that the return address minus one
                    # finds it; the frame itself is the trampoline's first byte.
                    address += 1
                    shown = raw
            else:
                source = FROM_FRAME_POINTER
        self.found_rule = rule
        self.found_image = cython.cast(cython.uint, image)
        self.found_frame = cython.cast(
            cython.uint,
            self.stacks.frame(cython.cast(cython.uint, image), address, shown if self.runtime else 0, source),
        )
        if site >= 0:
            self.sites[site] = asked
            self.sites[site + 1] = key
            self.sites[site + 2] = cython.cast(cython.ulonglong, rule) << 32 | self.found_frame
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def find(self, lookup: cython.ulonglong, raw: cython.ulonglong) -> cython.int:
        """Set ``found_rule``, ``found_frame`` and ``found_image`` for an address of the walk."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, self.space) << 1 | (lookup == raw)
        at: cython.Py_ssize_t = 4 * (((lookup * MULTIPLIER) >> 40 ^ key) & (CACHE - 1))
        if self.cache[at] == lookup and self.cache[at + 1] == key:
            self.found_rule = cython.cast(cython.uint, self.cache[at + 2] >> 32)
            self.found_frame = cython.cast(cython.uint, self.cache[at + 2] & NOTHING)
            self.found_image = cython.cast(cython.uint, self.cache[at + 3])
            return 0
        self.resolve(lookup, raw, 0)
        self.cache[at] = lookup
        self.cache[at + 1] = key
        self.cache[at + 2] = cython.cast(cython.ulonglong, self.found_rule) << 32 | self.found_frame
        self.cache[at + 3] = self.found_image
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def kernel_frame(self, space: cython.uint, lookup: cython.ulonglong, raw: cython.ulonglong) -> cython.longlong:
        """The frame of a kernel address; kernel frames keep the address they ran at."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, space) << 1 | KERNEL_KEY | (lookup == raw)
        at: cython.Py_ssize_t = 4 * (((lookup * MULTIPLIER) >> 40 ^ key) & (CACHE - 1))
        entry: cython.Py_ssize_t
        frame: cython.longlong
        if self.cache[at] == lookup and self.cache[at + 1] == key:
            return cython.cast(cython.longlong, self.cache[at + 2])
        entry = self.mapping(space, lookup)
        frame = self.stacks.frame(
            self.kernel_image if entry < 0 else self.images[entry],
            lookup,
            raw if self.runtime else 0,
            FROM_KERNEL_CHAIN,
        )
        self.cache[at] = lookup
        self.cache[at + 1] = key
        self.cache[at + 2] = frame
        return frame

    # -- memory -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def word(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """The 8 bytes at an offset of the window, which need not be aligned."""
        if at < 0 or at > self.window.shape[0] - 8:
            with cython.gil:
                raise IndexError(at)
        return cython.cast(cython.p_ulonglong, cython.address(self.window[at]))[0]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def load(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the process; sets ``fault`` to a stop reason if it is not to be had."""
        if self.low <= address and address < self.high and self.high - address >= 8:
            if address >= self.top:
                self.top = address + 8
            # low and high bound the part of the dump that lies in the window (checked when the sample was opened).
            return cython.cast(
                cython.p_ulonglong,
                cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, address - self.low)]),
            )[0]
        return self.load_elsewhere(address)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load_elsewhere(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of memory that is not in the dump, or of read-only file data; sets ``fault`` if there is none."""
        entry: cython.Py_ssize_t
        image: cython.Py_ssize_t
        offset: cython.ulonglong
        self.odd = True
        if self.live_whole:
            if (
                self.live_low <= address and address < self.live_high and self.live_high - address >= 8
            ) or self.read_live(address, address + 8):
                return self.live_word(address)
        elif self.live_state != LIVE_REFUSED and address >= self.high and address - self.high < LIVE_REACH:
            if self.live_state == LIVE_UNUSED:
                self.live_state = LIVE_REFUSED
                if self.deep is not None and self.high > self.low:
                    self.open_live()
            if self.live_state == LIVE_OPEN:
                return self.load_live(address)
        entry = self.mapping(self.space, address)
        if entry < 0:
            self.fault = STOP_TRUNCATED if address >= self.high and self.high - self.low > 0 else STOP_UNREADABLE
            return 0
        image = self.images[entry]
        offset = address - self.starts[entry] + self.offsets[entry]
        with cython.gil:
            return self._file_word(image, offset)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_live(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.bint:
        """Read the process's memory from ``start`` to behind ``end``; False if that cannot be done."""
        done: cython.bint
        with cython.gil:
            done = self._live_bytes(start, end)
        if done:
            self.live_low = start
            self.live_high = start + cython.cast(cython.ulonglong, self.live_block.shape[0])
        return done

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def live_word(self, address: cython.ulonglong) -> cython.ulonglong:
        """The word at an address of the block that was read; 0 outside, which no return address is."""
        if address < self.live_low or address >= self.live_high or self.live_high - address < 8:
            return 0
        return cython.cast(
            cython.p_ulonglong, cython.address(self.live_block[cython.cast(cython.Py_ssize_t, address - self.live_low)])
        )[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def open_live(self) -> cython.int:
        """Ask for the process's stack behind the dump, with the return addresses in the dump that prove it."""
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        slot: cython.ulonglong
        done: cython.bint = False
        for i in range(1, self.fresh_count):
            slot = self.fresh[STATE * i + 1] - 8
            # Frames entered by signals, and those on other stacks, have no such place.
            if slot < self.low or slot >= self.high or self.high - slot < 8:
                continue
            if count and slot <= self.proof_slots[count - 1]:
                continue
            if (
                cython.cast(
                    cython.p_ulonglong,
                    cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, slot - self.low)]),
                )[0]
                == self.fresh[STATE * i]
            ):
                self.proof_slots[count] = slot
                self.proof_values[count] = self.fresh[STATE * i]
                count += 1
        if count:
            with cython.gil:
                done = self._deep_bytes(count)
        if done:
            self.live_state = LIVE_OPEN
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def load_live(self, address: cython.ulonglong) -> cython.ulonglong:
        """A word of the process's own memory behind the dump."""
        inside: cython.bint = self.live_low <= address and address < self.live_high and self.live_high - address >= 8
        if not inside and self.trial:
            with cython.gil:
                inside = self._more_bytes(address)
        if not inside:
            self.fault = STOP_TRUNCATED
            return 0
        return self.live_word(address)

    # -- rules --------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def register(self, number: cython.int) -> cython.ulonglong:
        """A register's value; sets ``fault`` if it is not known."""
        if number < 0 or number >= REGISTERS:
            self.fault = STOP_BAD_RULE
            return 0
        if not self.known >> number & 1:
            self.fault = STOP_UNKNOWN_REGISTER
            return 0
        return cython.cast(cython.ulonglong, self.regs[number])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def evaluate(self, expression: cython.int, cfa: cython.ulonglong, with_cfa: cython.bint) -> cython.ulonglong:
        """The value of a DWARF expression (DWARF 5, 2.5), within limits; sets ``fault`` if it has none."""
        at: cython.Py_ssize_t
        end: cython.Py_ssize_t
        depth: cython.int = 0
        steps: cython.Py_ssize_t = 0
        op: cython.int
        operand: cython.ulonglong
        a: cython.ulonglong
        b: cython.ulonglong
        size: cython.int
        if expression < 0 or expression + 1 >= self.expression_offsets.shape[0]:
            self.fault = STOP_BAD_RULE
            return 0
        at = self.expression_offsets[expression]
        end = self.expression_offsets[expression + 1]
        if with_cfa:
            self.evaluation[0] = cfa
            depth = 1
        while at < end:
            steps += 1
            if steps > self.max_steps or depth >= EVALUATION - 2:
                self.fault = STOP_BAD_RULE
                return 0
            op = self.expression_bytes[at]
            at += 1
            operand = 0
            # operands
            if op == 0x03 or op == 0x0E or op == 0x0F:
                at = self.fixed(at, end, 8, False)
            elif op == 0x08 or op == 0x09 or op == 0x15 or op == 0x94:
                at = self.fixed(at, end, 1, op == 0x09)
            elif op == 0x0A or op == 0x0B or op == 0x28 or op == 0x2F:
                at = self.fixed(at, end, 2, op != 0x0A)
            elif op == 0x0C or op == 0x0D:
                at = self.fixed(at, end, 4, op == 0x0D)
            elif op == 0x10 or op == 0x23:
                at = self.leb(at, end, False)
            elif op == 0x11 or (0x70 <= op <= 0x8F):
                at = self.leb(at, end, True)
            elif op == 0x92:
                at = self.leb(at, end, False)
                size = cython.cast(cython.int, min(self.operand, 0xFFFF))
                if at >= 0:
                    at = self.leb(at, end, True)
            if at < 0:
                self.fault = STOP_BAD_RULE
                return 0
            operand = self.operand
            # pushes
            if op == 0x03 or 0x08 <= op <= 0x11:
                self.evaluation[depth] = operand
                depth += 1
            elif 0x30 <= op <= 0x4F:
                self.evaluation[depth] = cython.cast(cython.ulonglong, op - 0x30)
                depth += 1
            elif 0x70 <= op <= 0x8F:
                self.evaluation[depth] = self.register(self.place_of[op - 0x70]) + operand
                depth += 1
            elif op == 0x92:
                self.evaluation[depth] = self.register(self.place_of[size] if 0 <= size < 64 else -1) + operand
                depth += 1
            elif op == 0x9C:
                self.evaluation[depth] = cfa
                depth += 1
            elif op == 0x96:
                pass
            elif op == 0x2F:
                at += cython.cast(cython.longlong, operand)
                if at < self.expression_offsets[expression] or at > end:
                    self.fault = STOP_BAD_RULE
                    return 0
            elif depth < 1:
                self.fault = STOP_BAD_RULE
                return 0
            # one operand
            elif op == 0x06:
                self.evaluation[depth - 1] = self.load(self.evaluation[depth - 1])
            elif op == 0x94:
                if operand < 1 or operand > 8:
                    self.fault = STOP_BAD_RULE
                    return 0
                a = self.load(self.evaluation[depth - 1])
                if operand < 8:
                    a &= (cython.cast(cython.ulonglong, 1) << (8 * operand)) - 1
                self.evaluation[depth - 1] = a
            elif op == 0x12:
                self.evaluation[depth] = self.evaluation[depth - 1]
                depth += 1
            elif op == 0x13:
                depth -= 1
            elif op == 0x15:
                if operand >= cython.cast(cython.ulonglong, depth):
                    self.fault = STOP_BAD_RULE
                    return 0
                self.evaluation[depth] = self.evaluation[depth - 1 - cython.cast(cython.int, operand)]
                depth += 1
            elif op == 0x19:
                if cython.cast(cython.longlong, self.evaluation[depth - 1]) < 0:
                    self.evaluation[depth - 1] = 0 - self.evaluation[depth - 1]
            elif op == 0x1F:
                self.evaluation[depth - 1] = 0 - self.evaluation[depth - 1]
            elif op == 0x20:
                self.evaluation[depth - 1] = ~self.evaluation[depth - 1]
            elif op == 0x23:
                self.evaluation[depth - 1] += operand
            elif op == 0x28:
                depth -= 1
                if self.evaluation[depth]:
                    at += cython.cast(cython.longlong, operand)
                    if at < self.expression_offsets[expression] or at > end:
                        self.fault = STOP_BAD_RULE
                        return 0
            elif depth < 2:
                self.fault = STOP_BAD_RULE
                return 0
            # two operands
            elif op == 0x14:
                self.evaluation[depth] = self.evaluation[depth - 2]
                depth += 1
            elif op == 0x16:
                a = self.evaluation[depth - 1]
                self.evaluation[depth - 1] = self.evaluation[depth - 2]
                self.evaluation[depth - 2] = a
            elif op == 0x17:
                if depth < 3:
                    self.fault = STOP_BAD_RULE
                    return 0
                a = self.evaluation[depth - 1]
                self.evaluation[depth - 1] = self.evaluation[depth - 2]
                self.evaluation[depth - 2] = self.evaluation[depth - 3]
                self.evaluation[depth - 3] = a
            else:
                b = self.evaluation[depth - 1]
                a = self.evaluation[depth - 2]
                depth -= 1
                if op == 0x1A:
                    a &= b
                elif op == 0x1C:
                    a -= b
                elif op == 0x1E:
                    a *= b
                elif op == 0x21:
                    a |= b
                elif op == 0x22:
                    a += b
                elif op == 0x24:
                    a = a << b if b < 64 else 0
                elif op == 0x25:
                    a = a >> b if b < 64 else 0
                elif op == 0x26:
                    a = cython.cast(cython.ulonglong, cython.cast(cython.longlong, a) >> (b if b < 63 else 63))
                elif op == 0x27:
                    a ^= b
                elif op == 0x29:
                    a = a == b
                elif op == 0x2A:
                    a = cython.cast(cython.longlong, a) >= cython.cast(cython.longlong, b)
                elif op == 0x2B:
                    a = cython.cast(cython.longlong, a) > cython.cast(cython.longlong, b)
                elif op == 0x2C:
                    a = cython.cast(cython.longlong, a) <= cython.cast(cython.longlong, b)
                elif op == 0x2D:
                    a = cython.cast(cython.longlong, a) < cython.cast(cython.longlong, b)
                elif op == 0x2E:
                    a = a != b
                else:
                    self.fault = STOP_BAD_RULE
                    return 0
                self.evaluation[depth - 1] = a
            if self.fault:
                return 0
        if depth < 1:
            self.fault = STOP_BAD_RULE
            return 0
        return cython.cast(cython.ulonglong, self.evaluation[depth - 1])

    operand: cython.ulonglong

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def fixed(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, size: cython.Py_ssize_t, signed: cython.bint
    ) -> cython.Py_ssize_t:
        """Read a fixed-size operand; returns where it ends, or -1."""
        value: cython.ulonglong = 0
        i: cython.Py_ssize_t
        if size > end - at:
            return -1
        for i in range(size):
            value |= cython.cast(cython.ulonglong, self.expression_bytes[at + i]) << (8 * i)
        if signed and size < 8 and value >> (8 * size - 1) & 1:
            value |= ALL_ONES << (8 * size)
        self.operand = value
        return at + size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def leb(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, signed: cython.bint) -> cython.Py_ssize_t:
        """Read a LEB128 operand; returns where it ends, or -1."""
        value: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.uint
        while at < end:
            byte = self.expression_bytes[at]
            at += 1
            if shift < 64:
                value |= cython.cast(cython.ulonglong, byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                if signed and shift < 64 and byte & 0x40:
                    value |= ALL_ONES << shift
                self.operand = value
                return at
            if shift > 140:
                return -1
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step(self, rule: cython.uint) -> cython.int:
        """Go from a frame to its caller by a rule; returns 0 or a stop reason."""
        at: cython.Py_ssize_t = STRIDE * rule
        kind: cython.int = self.words[at]
        flags: cython.int = self.words[at + 4]
        offset: cython.ulonglong = cython.cast(cython.ulonglong, cython.cast(cython.longlong, self.words[at + 2]))
        cfa: cython.ulonglong
        value: cython.ulonglong
        saved: cython.int
        number: cython.int
        how: cython.int
        amount: cython.ulonglong
        i: cython.int
        old_known: cython.uint
        simple: cython.bint = True
        stack_set: cython.bint = False
        sp: cython.ulonglong = self.regs[RSP]
        elsewhere: cython.bint = False
        self.fault = 0
        if flags & FLAG_OUTERMOST:
            return STOP_ROOT
        if kind == CFA_REGISTER:
            cfa = self.register(self.words[at + 1]) + offset
        elif kind == CFA_DEREF:
            cfa = self.register(self.words[at + 1]) + offset
            if not self.fault:
                cfa = self.load(cfa) + cython.cast(cython.ulonglong, cython.cast(cython.longlong, self.words[at + 3]))
        elif kind == CFA_PLT:
            cfa = self.register(RSP) + offset
            if (self.regs[RIP] & 15) >= cython.cast(cython.ulonglong, self.words[at + 3]):
                cfa += 8
        elif kind == CFA_EXPRESSION:
            cfa = self.evaluate(self.words[at + 3], 0, False)
        else:
            return STOP_NO_RULE
        elsewhere = kind == CFA_EXPRESSION and self.words[at + 5] == FROM_GOPCLNTAB
        if self.fault:
            return STOP_OTHER_STACK if elsewhere and self.fault in (STOP_TRUNCATED, STOP_UNREADABLE) else self.fault
        # Only the stack and frame pointer bound the frame; other registers may lead to another stack.
        number = self.words[at + 1]
        if cfa < sp and kind == CFA_REGISTER and not flags & FLAG_SIGNAL and number in (RSP, RBP):
            return STOP_BAD_CFA
        saved = self.words[at + 6]
        number = self.words[at + 7]
        if saved < 1 or saved > REGISTERS or number != RIP or self.words[at + 8] != RIP:
            return STOP_BAD_RULE
        if flags & FLAG_INTERRUPTED:
            amount = cython.cast(cython.ulonglong, cython.cast(cython.longlong, self.words[at + 10]))
            value = self.load(cfa + amount + 8)
            if not self.fault and value & 3:
                # The code segment of user mode: this is where the kernel was entered.
                return STOP_ROOT
            self.fault = 0
        # Most rules only say where registers were saved, so that their order does not matter; the others read
        # registers of this frame while those of the caller are written.
        for i in range(saved):
            how = self.words[at + 9 + 4 * i]
            if how >= KIND_REGISTER:
                simple = False
        if not simple or kind != CFA_REGISTER or not CALLEE_SAVED >> self.words[at + 1] & 1 or cfa < sp:
            self.odd = True
        if simple:
            for i in range(saved):
                number = self.words[at + 8 + 4 * i]
                if number < 0 or number >= REGISTERS:
                    continue
                how = self.words[at + 9 + 4 * i]
                amount = cython.cast(cython.ulonglong, cython.cast(cython.longlong, self.words[at + 10 + 4 * i]))
                if number == RSP:
                    stack_set = True
                if how == KIND_AT_CFA:
                    if cfa + amount < sp and number != RIP:
                        # Below the stack pointer: an epilogue has taken the register back already, and compilers
                        # do not say so again.
                        continue
                    if cfa + amount < sp:
                        self.odd = True
                    self.regs[number] = self.load(cfa + amount)
                    if self.fault:
                        if number == RIP:
                            return self.fault
                        self.fault = 0
                        self.known &= ~(cython.cast(cython.uint, 1) << number)
                    else:
                        self.known |= cython.cast(cython.uint, 1) << number
                elif how == KIND_IS_CFA:
                    self.regs[number] = cfa + amount
                    self.known |= cython.cast(cython.uint, 1) << number
                else:
                    self.known &= ~(cython.cast(cython.uint, 1) << number)
                    if number == RIP:
                        return STOP_ROOT
            if not stack_set:
                self.regs[RSP] = cfa
                self.known |= cython.cast(cython.uint, 1) << RSP
            return 0
        old_known = self.known
        for i in range(REGISTERS):
            self.caller[i] = self.regs[i]
        self.caller[RSP] = cfa
        old_known |= cython.cast(cython.uint, 1) << RSP
        for i in range(saved):
            number = self.words[at + 8 + 4 * i]
            if number < 0 or number >= REGISTERS:
                continue
            how = self.words[at + 9 + 4 * i]
            amount = cython.cast(cython.ulonglong, cython.cast(cython.longlong, self.words[at + 10 + 4 * i]))
            value = 0
            if how == KIND_AT_CFA:
                value = self.load(cfa + amount)
            elif how == KIND_IS_CFA:
                value = cfa + amount
            elif how == KIND_REGISTER:
                if self.words[at + 10 + 4 * i] == self.link and number == RIP and not self.innermost:
                    # A frame that called another has its own return address elsewhere.
                    return STOP_NO_RULE
                value = self.register(self.words[at + 10 + 4 * i])
            elif how == KIND_AT_REGISTER:
                value = self.register(self.words[at + 11 + 4 * i]) + amount
                if not self.fault:
                    value = self.load(value)
            elif how == KIND_EXPRESSION:
                value = self.evaluate(self.words[at + 10 + 4 * i], cfa, True)
                if not self.fault:
                    value = self.load(value)
            elif how == KIND_IS_EXPRESSION:
                value = self.evaluate(self.words[at + 10 + 4 * i], cfa, True)
            else:
                self.fault = STOP_ROOT
            if self.fault:
                if number == RIP:
                    if elsewhere and self.fault in (STOP_TRUNCATED, STOP_UNREADABLE):
                        return STOP_OTHER_STACK
                    return self.fault
                self.fault = 0
                old_known &= ~(cython.cast(cython.uint, 1) << number)
            else:
                self.caller[number] = value
                old_known |= cython.cast(cython.uint, 1) << number
        for i in range(REGISTERS):
            self.regs[i] = self.caller[i]
        self.known = old_known
        return 0

    # -- steps without a rule -----------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def at_entry(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Whether an address lies in the few instructions at an image's entry point."""
        return cython.cast(cython.bint, self.image_entry[image] != 0 and 0 <= address - self.image_entry[image] < ENTRY)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def call_proof(self) -> cython.int:
        """Whether a call ends at the return address found last: 1 yes, 2 no, 3 where its code cannot be read."""
        proof: cython.int = self.stacks.frame_proof[self.found_frame] & 3
        if proof == 0:
            with cython.gil:
                proof = self.source.call_before(self.found_image, self.stacks.frame_address[self.found_frame] + 1)
            self.stacks.frame_proof[self.found_frame] |= cython.cast(cython.uchar, proof)
        return proof

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def is_return(self, frame: cython.uint) -> cython.bint:
        """Whether the instruction at a sampled address returns."""
        proof: cython.int = self.stacks.frame_proof[frame] >> 2
        image: cython.uint = self.stacks.frame_image[frame]
        if image == NOTHING:
            return False
        if proof == 0:
            with cython.gil:
                proof = self.source.return_at(image, self.stacks.frame_address[frame])
            self.stacks.frame_proof[frame] |= cython.cast(cython.uchar, proof << 2)
        return proof == 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step_by_frame_pointer(self, depth: cython.Py_ssize_t) -> cython.int:
        """Go to the caller by the frame pointer, if all that can be checked speaks for it; 0 or a stop reason.

        The pointer must lie in known memory above the stack pointer, and the return address in executable code behind a
        call instruction; where that code cannot be read, the saved pointer must lie above this one.
        """
        pointer: cython.ulonglong = self.regs[RBP]
        upper: cython.ulonglong
        back: cython.ulonglong
        proof: cython.int
        if not self.frame_pointers or not self.known >> RBP & 1:
            return STOP_NO_RULE
        if pointer == 0:
            # The System V ABI marks the outermost frame by a frame pointer of zero; where code was interrupted, a
            # zero may be any number.
            return STOP_ROOT if depth > 1 else STOP_NO_RULE
        if pointer & 7 or pointer < self.regs[RSP]:
            return STOP_NO_RULE
        if not self.live_whole and (pointer >= self.high or self.high - pointer < 16):
            return STOP_NO_RULE
        self.fault = 0
        upper = self.load(pointer)
        back = self.load(pointer + 8) & self.address_bits
        if self.fault or back == 0:
            self.fault = 0
            return STOP_NO_RULE
        self.find(back - 1, back)
        if self.found_rule == RULE_UNMAPPED:
            return STOP_NO_RULE
        proof = self.call_proof()
        # Where code cannot be read, an unbroken chain of frame pointers has to speak for itself.
        if proof == 2 or (proof == 3 and upper and upper <= pointer):
            return STOP_NO_RULE
        self.regs[RSP] = pointer + 16
        self.regs[RBP] = upper
        self.regs[RIP] = back
        # Nothing says what the callee did with the other callee-saved registers.
        self.known = 1 << RSP | 1 << RBP | 1 << RIP
        if self.link >= 0:
            # The frame record may lie anywhere in the frame.
            self.known = 1 << RBP | 1 << RIP
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def called_from(self) -> cython.bint:
        """Whether a call led to where there is no code, as through a pointer that is NULL; sets ``back``, where it
        would return to.

        Nothing was executed there yet, so the return address is where the call has put it.
        """
        self.fault = 0
        if self.link >= 0:
            self.back = cython.cast(cython.ulonglong, self.regs[self.link]) if self.known >> self.link & 1 else 0
        else:
            self.back = self.load(self.regs[RSP])
        self.back &= self.address_bits
        if self.fault or self.back == 0:
            self.fault = 0
            return False
        self.find(self.back - 1, self.back)
        return self.found_rule != RULE_UNMAPPED and self.call_proof() == 1

    # -- samples ------------------------------------------------------------------------------------------------

    @cython.locals(results="unsigned int[::1]", stops="unsigned char[::1]", stop_images="unsigned int[::1]")
    def walk(
        self,
        window: memoryview,
        base: int,
        first: int,
        last: int,
        results: memoryview,
        stops: memoryview,
        stop_images: memoryview,
    ) -> None:
        """Walk samples ``first`` to ``last - 1``, whose records lie in ``window`` (stream position ``base``).

        Writes each sample's stack node, stop reason and the image where it stopped (0xffffffff: none).
        """
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t = first
        end: cython.Py_ssize_t = last
        self.window = window
        self.base = base
        self.memo_count = 0
        with cython.nogil:
            for i in range(begin, end):
                if not self.selected[i]:
                    continue
                stops[i] = cython.cast(cython.uchar, self.sample(i))
                results[i] = self.result
                stop_images[i] = self.stop_image
        self.window = None

    result: cython.uint
    stop_image: cython.uint

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Make one sample's stack; returns its stop reason and sets ``result`` and ``stop_image``."""
        record: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        kernel_count: cython.Py_ssize_t
        stop: cython.int = STOP_NONE
        node: cython.uint = NOTHING
        i: cython.Py_ssize_t
        mode: cython.uint = self.miscs[s] & 7
        walked: cython.bint = False
        self.stop_image = NOTHING
        self.number = s
        self.live_state = LIVE_UNUSED
        self.trial = False
        self.live_low = 0
        self.live_high = 0
        self.space = self.space_of[s]
        if self.positions[s] < self.base or self.positions[s] - self.base > cython.cast(
            cython.ulonglong, self.window.shape[0]
        ):
            self.damaged += 1
            self.result = NOTHING
            return STOP_NONE
        record = cython.cast(cython.Py_ssize_t, self.positions[s] - self.base)
        if self.chain_at[s]:
            count = self.kernel_part(s, record + self.chain_at[s])
        elif mode == 1 and self.ips[s]:
            self.chain[0] = cython.cast(cython.uint, self.kernel_frame(self.kernel_of[s], self.ips[s], self.ips[s]))
            count = 1
        kernel_count = count
        self.tail_node = NOTHING
        if self.open_dump(s, record, mode):
            walked = True
            count = self.user_part(count, 0, False)
            if (
                (self.ended_at_zero or self.stop == STOP_UNMAPPED or self.stop == STOP_BAD_CFA)
                and 0 < count - kernel_count <= 3
                and self.open_dump(s, record, mode)
            ):
                count = self.user_part(kernel_count, 0, True)
                if self.stop != STOP_ROOT or self.ended_at_zero:
                    self.open_dump(s, record, mode)
                    count = self.user_part(kernel_count, 0, False)
            if self.ended_at_zero or self.stop in (STOP_UNMAPPED, STOP_BAD_CFA, STOP_UNREADABLE):
                count = self.to_handler(kernel_count, count)
                if count < 0:
                    self.open_dump(s, record, mode)
                    count = self.user_part(kernel_count, 0, False)
            stop = self.stop
            node = self.tail_node
            if self.live_state == LIVE_OPEN and not self.trial:
                self.completed += stop == STOP_ROOT
            elif self.live_state != LIVE_UNUSED:
                if self.trial:
                    # Nothing says yet that these are the sample's own callers; those of later ones they may be.
                    with cython.gil:
                        self._end_trial(stop == STOP_ROOT)
                    self.trial = False
                    self.live_state = LIVE_REFUSED
                    self.open_dump(s, record, mode)
                    count = self.user_part(kernel_count, 0, False)
                    stop = self.stop
                    node = self.tail_node
                self.unproven += stop == STOP_TRUNCATED
            if (
                stop != STOP_ROOT
                and self.deferred_here
                and s < self.later_count.shape[0]
                and self.later_count[s] != NOTHING
                and self.later_count[s] > count - kernel_count
            ):
                # The kernel walked the real stack: further than the dump reaches.
                walked = False
                node = NOTHING
                count = self.later_user_chain(s, kernel_count)
                stop = self.stop
        elif self.chain_at[s] and self.user_chain_at >= 0:
            count = self.sampled_user_chain(count, cython.cast(cython.int, self.miscs[s] >> 8 & 15))
            stop = self.stop
        elif self.unsupported:
            stop = STOP_UNSUPPORTED
        elif self.deferred_here:
            if s < self.later_count.shape[0] and self.later_count[s] != NOTHING:
                count = self.later_user_chain(s, count)
                stop = self.stop
            else:
                stop = STOP_DEFERRED
                self.deferred += 1
        elif self.stitched:
            stop = self.miscs[s] >> 8 & 15
        if count == kernel_count and mode == 2 and self.ips[s] and stop != STOP_DEFERRED:
            # Neither registers nor a chain: the sampled address is all there is.
            self.resolve(self.ips[s], self.ips[s], FROM_USER_CHAIN)
            self.chain[count] = self.found_frame
            count += 1
            if stop == STOP_NONE:
                stop = STOP_NO_DUMP
        i = count - 1
        if walked:
            node = cython.cast(cython.uint, self.remember(node, kernel_count, count))
            i = kernel_count - 1
        while i >= 0:
            node = cython.cast(cython.uint, self.stacks.node(node, self.chain[i]))
            i -= 1
        self.result = node
        return stop

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remember(self, node: cython.uint, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.longlong:
        """Intern the user frames of the chain above ``node``, and keep their states for the next stack."""
        keep: cython.bint = self.stop == STOP_ROOT and not self.odd and self.fresh_count == count - first
        i: cython.Py_ssize_t = count - 1
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = STATE * self.tail_count
        source: cython.Py_ssize_t
        if not keep:
            self.memo_count = 0
            while i >= first:
                node = cython.cast(cython.uint, self.stacks.node(node, self.chain[i]))
                i -= 1
            return node
        while i >= first:
            node = cython.cast(cython.uint, self.stacks.node(node, self.chain[i]))
            source = STATE * (i - first)
            for k in range(STATE - 1):
                self.memo[at + k] = self.fresh[source + k]
            self.memo[at + STATE - 1] = node
            at += STATE
            i -= 1
        if self.tail_count == 0 or self.top > self.memo_top:
            self.memo_top = self.top
        self.memo_count = self.tail_count + count - first
        self.memo_space = self.space
        self.memo_dump = self.dump
        self.memo_low = self.low
        return node

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def same_memory(self, equal: cython.ulonglong, down_to: cython.ulonglong) -> cython.ulonglong:
        """Compare both dumps downwards from ``equal``; the lowest address not below ``down_to`` to which they agree."""
        here: cython.p_ulonglong
        there: cython.p_ulonglong
        words: cython.Py_ssize_t
        if down_to < self.low or down_to < self.memo_low or equal < down_to or equal > self.high:
            return equal
        words = cython.cast(cython.Py_ssize_t, (equal - down_to) >> 3)
        if not words:
            return equal
        # Both dumps hold [down_to, equal): it lies above their lower ends, below this one's upper end, and all of it
        # up to memo_top, which equal never passes, was read in the other one.
        here = cython.cast(
            cython.p_ulonglong,
            cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, down_to - self.low)]),
        )
        there = cython.cast(
            cython.p_ulonglong,
            cython.address(self.window[self.memo_dump + cython.cast(cython.Py_ssize_t, down_to - self.memo_low)]),
        )
        while words > 0 and here[words - 1] == there[words - 1]:
            words -= 1
            equal -= 8
        return equal

    stop: cython.int
    unsupported: cython.bint
    deferred_here: cython.bint
    user_chain_at: cython.Py_ssize_t
    user_chain_count: cython.Py_ssize_t

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def kernel_part(self, s: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take the kernel frames of the sampled chain; remembers where its user part lies."""
        total: cython.ulonglong = self.word(at)
        ip: cython.ulonglong
        kernel: cython.bint = False
        exact: cython.bint = True
        count: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        space: cython.uint = self.kernel_of[s]
        self.user_chain_at = -1
        self.user_chain_count = 0
        self.deferred_here = False
        at += 8
        if total > cython.cast(cython.ulonglong, self.window.shape[0] - at) // 8:
            self.damaged += 1
            return 0
        if total == 0:
            return 0
        # All of them lie in the window, as was checked just above.
        entries: cython.p_ulonglong = cython.cast(cython.p_ulonglong, cython.address(self.window[at]))
        for i in range(cython.cast(cython.Py_ssize_t, total)):
            ip = entries[i]
            if ip >= MARKERS:
                exact = True
                if ip == CONTEXT_KERNEL:
                    kernel = True
                elif ip == CONTEXT_USER:
                    if total - i == 3 and entries[i + 1] == CONTEXT_USER_DEFERRED:
                        continue
                    self.user_chain_at = at + 8 * (i + 1)
                    self.user_chain_count = cython.cast(cython.Py_ssize_t, total) - i - 1
                    break
                elif ip == CONTEXT_USER_DEFERRED:
                    # What follows is a cookie, not an address.
                    self.deferred_here = True
                    break
                else:
                    # A guest's frames, or a marker of the future: nothing here knows its addresses.
                    break
            elif kernel and count < self.max_chain:
                self.chain[count] = cython.cast(cython.uint, self.kernel_frame(space, ip if exact else ip - 1, ip))
                count += 1
                exact = False
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def sampled_user_chain(self, count: cython.Py_ssize_t, why: cython.int) -> cython.Py_ssize_t:
        """Append the user frames that the sample brings: those the kernel found by frame pointers, up to the first
        that cannot be code; or, where we unwound it before it was written, all with the reason ``why`` they end."""
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        if not self.stitched:
            why = STOP_NONE
        self.stop = why if why else STOP_NO_DUMP
        for i in range(min(self.user_chain_count, self.max_chain)):
            ip = self.word(self.user_chain_at + 8 * i)
            if ip >= MARKERS:
                break
            if ip == 0:
                break
            self.resolve(ip if i == 0 or why else ip - 1, ip, FROM_USER_CHAIN)
            if self.found_rule == RULE_UNMAPPED and i > 0 and not why:
                self.stop = STOP_UNMAPPED
                break
            self.chain[count] = self.found_frame
            count += 1
            if why and why != STOP_ROOT:
                self.stop_image = self.found_image
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def later_user_chain(self, s: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Append the user frames that came after the sample, seen in the address space that the sample saw."""
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.later_at[s])
        innermost: cython.bint = True
        self.stop = STOP_NO_DUMP
        for i in range(min(cython.cast(cython.Py_ssize_t, self.later_count[s]), self.max_chain)):
            ip = self.later[at + i]
            if ip == CONTEXT_USER:
                # All of them are the user's, marked or not.
                continue
            if ip == 0 or ip >= MARKERS:
                break
            self.resolve(ip if innermost else ip - 1, ip, FROM_LATER_CHAIN)
            if self.found_rule == RULE_UNMAPPED and not innermost:
                self.stop = STOP_UNMAPPED
                break
            innermost = False
            self.chain[count] = self.found_frame
            count += 1
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def open_dump(self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint) -> cython.bint:
        """Set registers and dump bounds from the sample; False if it has none that can be walked."""
        at: cython.Py_ssize_t
        abi: cython.ulonglong
        size: cython.ulonglong
        valid: cython.ulonglong
        slot: cython.uint
        i: cython.int
        first: cython.Py_ssize_t
        self.unsupported = False
        if not self.chain_at[s]:
            self.user_chain_at = -1
            self.deferred_here = False
        if not self.regs_at[s]:
            return False
        at = record + self.regs_at[s]
        abi = self.word(at)
        if abi != 2:
            self.unsupported = abi == 1
            return False
        if not self.stack_at[s]:
            return False
        size = self.word(record + self.stack_at[s])
        if size == 0:
            return False
        self.dump = record + self.stack_at[s] + 8
        if size > cython.cast(cython.ulonglong, self.window.shape[0] - self.dump):
            self.damaged += 1
            return False
        valid = self.word(self.dump + cython.cast(cython.Py_ssize_t, size))
        if valid > size:
            valid = size
        self.known = 0
        first = cython.cast(cython.Py_ssize_t, self.events[s]) * 17
        for i in range(REGISTERS):
            slot = self.slots[first + i]
            if slot != 255:
                self.regs[i] = self.word(at + 8 + 8 * slot)
                self.known |= cython.cast(cython.uint, 1) << i
            else:
                self.regs[i] = 0
        if mode == 1 and self.link < 0:
            for i in range(RBX, 16):
                if NMI_UNKNOWN >> i & 1 and self.regs[i] == ALL_ONES:
                    self.known &= ~(cython.cast(cython.uint, 1) << i)
        if not self.known >> RIP & 1 or not self.known >> RSP & 1:
            return False
        self.low = self.regs[RSP]
        self.high = self.low + valid
        if self.high < self.low:
            self.high = self.low
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def returns_to_handler(self, rule: cython.uint) -> cython.bint:
        """Whether a rule is one of a function that leaves for an exception's handler: it saves rax and rdx, which no
        other does, since a handler finds its arguments there (gcc, `__builtin_eh_return`)."""
        at: cython.Py_ssize_t = STRIDE * rule
        found: cython.int = 0
        i: cython.int
        if rule >= RULE_LIMIT or self.link >= 0:
            return False
        for i in range(min(self.words[at + 6], REGISTERS)):
            if self.words[at + 9 + 4 * i] == KIND_AT_CFA and self.words[at + 8 + 4 * i] in (RAX, RDX):
                found += 1
        return found == 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def to_handler(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Walk on, if that leads to the root, where the unwinder of exceptions is about to leave for a handler.

        It puts the registers of the handler's frame where its own function saved those of its caller, the return
        address last; only the stack pointer is missing then. The frame it leaves for is the first above which the same
        return address still stands. Source: gcc, libgcc/unwind-dw2.c, `uw_install_context_1`. Returns the chain's
        length, -2 if the stack has to be walked again.
        """
        last: cython.Py_ssize_t = self.fresh_count - 1
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        place: cython.ulonglong
        back: cython.ulonglong
        if last > 3:
            last = 3
        for k in range(last):
            at = STATE * k
            back = self.fresh[at]
            self.find(back if self.fresh[at + 8] == ALL_ONES else back - 1, back)
            if not self.returns_to_handler(self.found_rule):
                continue
            at += STATE
            back = self.fresh[at]
            place = self.fresh[at + 1]
            while self.low <= place and place < self.high and self.high - place >= 8 and self.load(place) != back:
                place += 8
            if place < self.low or place >= self.high or self.high - place < 8:
                return count
            self.regs[RIP] = back
            self.regs[RSP] = place + 8
            self.regs[RBX] = self.fresh[at + 2]
            self.regs[RBP] = self.fresh[at + 3]
            for i in range(4):
                self.regs[12 + i] = self.fresh[at + 4 + i]
            self.known = cython.cast(cython.uint, self.fresh[at + 8] & CALLEE_SAVED)
            self.stop_image = NOTHING
            count = self.user_part(first + k + 1, k + 1, False)
            return count if self.stop == STOP_ROOT and not self.ended_at_zero else -2
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def user_part(
        self, count: cython.Py_ssize_t, depth: cython.Py_ssize_t, second_look: cython.bint
    ) -> cython.Py_ssize_t:
        """Walk the dump, appending frames to the chain; sets ``stop`` and ``stop_image``. The registers are those of
        frame number ``depth``.

        A second look reads the code too. A return instruction means what it means, whatever its rule says; and behind
        no call lies no return address: execution goes on at just that address, as where an exception lands.
        """
        exact: cython.bint = depth == 0
        nowhere: cython.bint = False
        pc: cython.ulonglong
        reason: cython.int = 0
        rule: cython.uint
        image: cython.uint = NOTHING
        sp: cython.ulonglong
        turns: cython.int = 0
        left: cython.Py_ssize_t = 0
        # The remembered state to compare with next, from the innermost outwards, and down to where memory is equal.
        old: cython.Py_ssize_t = 0
        equal: cython.ulonglong = 0
        compared: cython.bint = False
        at: cython.Py_ssize_t
        self.top = 0
        self.odd = second_look or depth > 0
        self.ended_at_zero = False
        self.fresh_count = depth
        self.tail_count = 0
        if self.memo_count and self.memo_space == self.space and self.high >= self.memo_top:
            old = self.memo_count - 1
            equal = self.memo_top
        else:
            old = -1
        while True:
            pc = self.regs[RIP]
            while old >= 0 and self.memo[STATE * old + 1] < self.regs[RSP]:
                old -= 1
            if (
                old >= 0
                and exact == 0
                and depth + old < self.max_frames
                and self.memo[STATE * old + 1] == self.regs[RSP]
                and self.memo[STATE * old] == pc
            ):
                at = STATE * old
                if (
                    self.memo[at + 2] == self.regs[RBX]
                    and self.memo[at + 3] == self.regs[RBP]
                    and self.memo[at + 4] == self.regs[12]
                    and self.memo[at + 5] == self.regs[13]
                    and self.memo[at + 6] == self.regs[14]
                    and self.memo[at + 7] == self.regs[15]
                    and self.memo[at + 8] == (self.known & CALLEE_SAVED)
                    and not self.odd
                ):
                    if equal > self.regs[RSP] and not compared:
                        equal = self.same_memory(equal, self.regs[RSP])
                        compared = equal > self.regs[RSP] + 7
                    if equal < self.regs[RSP] + 8:
                        self.tail_count = old + 1
                        self.tail_node = cython.cast(cython.uint, self.memo[at + 9])
                        reason = STOP_ROOT
                        break
            if exact:
                self.find(pc, pc)
                nowhere = self.found_rule == RULE_UNMAPPED and self.called_from()
            if pc == 0 and depth and not nowhere:
                self.ended_at_zero = True
                reason = STOP_ROOT
                break
            self.find(pc if exact else pc - 1, pc)
            rule = self.found_rule
            if rule == RULE_UNMAPPED and depth and not nowhere:
                if self.runtime:
                    # Where addresses are shown, so is the one that leads nowhere.
                    self.chain[count] = self.found_frame
                    count += 1
                reason = STOP_UNMAPPED
                break
            image = self.found_image
            if depth < self.max_frames:
                at = STATE * depth
                self.fresh[at] = pc
                self.fresh[at + 1] = self.regs[RSP]
                self.fresh[at + 2] = self.regs[RBX]
                self.fresh[at + 3] = self.regs[RBP]
                self.fresh[at + 4] = self.regs[12]
                self.fresh[at + 5] = self.regs[13]
                self.fresh[at + 6] = self.regs[14]
                self.fresh[at + 7] = self.regs[15]
                # An exact address is looked up as it is, a return address is not: they never stand for each other.
                self.fresh[at + 8] = ALL_ONES if exact else self.known & CALLEE_SAVED
                self.fresh_count = depth + 1
            if depth >= self.max_frames:
                reason = STOP_DEPTH
                break
            self.chain[count] = self.found_frame
            count += 1
            depth += 1
            sp = self.regs[RSP]
            if nowhere:
                self.regs[RIP] = self.back
                if self.link < 0:
                    self.regs[RSP] = sp + 8
                exact = False
                nowhere = False
            elif (
                depth == 1 and (second_look or (rule == RULE_NO and self.link < 0)) and self.is_return(self.found_frame)
            ):
                # Whatever its function did, at a return instruction it is done with. So do system calls wait in
                # functions that nothing describes (musl's).
                self.fault = 0
                self.regs[RIP] = self.load(sp)
                if self.fault:
                    reason = self.fault
                    break
                self.regs[RSP] = sp + 8
                exact = False
                # A frame pointer of zero says nothing about this caller yet.
                left = 1
            elif rule < RULE_LIMIT:
                self.innermost = exact
                reason = self.step(rule)
                if reason:
                    break
                self.regs[RIP] &= self.address_bits
                exact = (self.words[STRIDE * rule + 4] & FLAG_SIGNAL) != 0
            else:
                if image != NOTHING and self.at_entry(image, self.stacks.frame_address[self.found_frame]):
                    # A program's or the loader's first instructions have no caller, and often no rule that says so.
                    reason = STOP_ROOT
                    break
                reason = self.step_by_frame_pointer(0 if exact else depth - left)
                if reason:
                    if rule != RULE_NO and reason == STOP_NO_RULE:
                        reason = STOP_NO_FILE if rule == RULE_NO_FILE else STOP_UNMAPPED
                    break
                exact = False
            if second_look and not exact:
                self.find(self.regs[RIP] - 1, self.regs[RIP])
                exact = self.found_rule != RULE_UNMAPPED and self.call_proof() == 2
            if self.regs[RSP] <= sp:
                # Down is where only signal stacks and coroutines go; a stack that keeps doing so is going in circles.
                turns += 1
                if turns > 64:
                    reason = STOP_LOOP
                    break
        if self.tail_count:
            # What lies above was read when that stack was walked.
            self.top = self.memo_top if self.memo_top > self.top else self.top
        self.stop = reason
        if reason != STOP_ROOT:
            self.stop_image = image
        return count
