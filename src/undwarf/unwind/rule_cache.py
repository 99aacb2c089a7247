# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""From addresses to rules and frames: mappings of an address space, functions and rows of an image, and what code says
of an address.

What was found once is in two caches: a small one, by address and snapshot, and behind it one by image, whoever maps it
where. Images are loaded, and functions compiled, at their first touch and with the GIL
(:mod:`undwarf.unwind.loaded_images`); all else runs without.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK, OVER_FILE
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.tables.words import UNKNOWN
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_NO, RULE_NO_FILE, RULE_UNMAPPED

from undwarf.column import zeros
from undwarf.unwind.image_table import Places
from undwarf.unwind.loaded_images import Loaded
from undwarf.unwind.stacks import Stacks

CACHE = cython.declare(cython.ulonglong, 4096)
"""Entries of the small cache; larger ones hit more and are slower, since they leave the second-level cache."""
SITES = cython.declare(cython.ulonglong, 32768)
"""Entries of the cache behind it, which holds what an image says of an address, whoever maps it where."""
SITE_USED = cython.declare(cython.ulonglong, 1 << 63)
KERNEL_KEY = cython.declare(cython.ulonglong, 1 << 40)
"""Set in the cache's keys of kernel addresses."""
ENTRY = cython.declare(cython.ulonglong, 96)
"""Bytes of start-up code behind an entry point that call the rest and never return."""


@cython.final
@cython.cclass
class RuleCache:
    """What is known of addresses, in columns that are searched.

    ``source`` (undwarf.unwind.unwind_tables.Sources; without tables its base class) answers what is met for the first
    time: ``load(image)`` gives (state, segments, table, entry) with state 1 (has a table), 2 (a file that cannot be
    used), 3 (no further source), 4 (anonymous code) or 5 (anonymous code with a table by the addresses it runs at);
    ``call_before(image, address)`` says whether a call instruction ends there (1 yes, 2 no, 3 cannot be read);
    ``read(image, address)`` gives a word of read-only file data. ``runtime`` keeps the absolute address of each frame,
    which makes frames of different processes different.
    """

    def __init__(
        self,
        source: Places,
        spaces: dict[str, memoryview],
        image_count: int,
        runtime: bool,
        kernel_image: int,
        returns: bool = False,
    ) -> None:
        self.source = source
        self.runtime = runtime
        self.returns = returns
        self.seen_rules: Any = None
        self.earlier_rules: list[Any] = []
        self.seen_expressions: Any = None
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
        self.space = NOTHING
        self.see_spaces(spaces, kernel_image)
        self.reset()

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

    def reset(self) -> None:
        """Forget all stacks (their memory goes with the :class:`Stacks` that others may still hold)."""
        self.stacks = Stacks()
        self._forget()

    @cython.locals(i=cython.Py_ssize_t)
    def _forget(self) -> None:
        """Forget what was found."""
        for i in range(CACHE):
            self.cache[4 * i + 1] = ALL_ONES
        self.sites = zeros("Q", 3 * SITES)

    def _take_rows(self) -> None:
        """Search in the rows, and go by the rules, that are there now."""
        loaded = self.loaded
        self.row_address = loaded.row_address
        self.row_rule = loaded.row_rule
        # There is room for more rules than there are: only a set that has grown is another buffer.
        if self.seen_rules is not loaded.rules:
            self.earlier_rules.append(self.seen_rules)
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

    def load_image(self, image: cython.Py_ssize_t) -> None:
        """Load an image."""
        self.loaded.load(image)
        self._take_image(image)

    def _compile(self, image: cython.Py_ssize_t, function: cython.Py_ssize_t) -> None:
        """Have a function's rows made."""
        self.loaded.make_rows(image, function)
        self._take_rows()

    def _more(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> bool:
        """Ask the image's table for a further source that covers the address."""
        covered: bool = self.loaded.ask_further(image, address)
        self._take_image(image)
        return covered

    @property
    def made(self) -> int:
        """How often rows of a function had to be asked for."""
        made: int = self.loaded.made
        return made

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
        if low == first or self.ends[low - 1] <= address or self.flags[low - 1] == OVER_FILE:
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
        ask: cython.bint = self.image_state[image] == 1 or (
            self.image_state[image] == 5 and self.image_open[image] != 0
        )
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
                    NOTHING, lookup, shown if self.runtime else 0, provenance if provenance else Provenance.NOTHING
                ),
            )
            return 0
        image = self.images[entry]
        if self.image_state[image] == 0:
            with cython.gil:
                self.load_image(image)
        address = lookup - self.starts[entry] + self.offsets[entry]
        if self.image_state[image] == 2:
            rule = RULE_NO_FILE
        if self.image_segment_count[image]:
            address = self.stated(image, address)
        elif self.image_state[image] >= 4:
            # Anonymous code has no file: its addresses are those it ran at.
            address = lookup
        asked = address
        if provenance == 0 and not self.runtime:
            key = SITE_USED | cython.cast(cython.ulonglong, image) << 1 | (lookup == raw)
            site = 3 * (((address ^ key << 40) * GOLDEN_RATIO) >> 40 & (SITES - 1))
            if self.sites[site] == address and self.sites[site + 1] == key:
                self.found_rule = cython.cast(cython.uint, self.sites[site + 2] >> 32)
                self.found_frame = cython.cast(cython.uint, self.sites[site + 2] & NOTHING)
                self.found_image = cython.cast(cython.uint, image)
                return 0
        if provenance == 0:
            if self.image_state[image] in (1, 3, 5):
                rule = cython.cast(cython.uint, self.rule(image, address))
            if rule < RULE_LIMIT:
                source = rule_at(self.words, rule).source
                if lookup != raw and rule_at(self.words, rule).flags & kinds.FLAG_SIGNAL:
                    # The rule of a signal trampoline starts a byte early, so that the return address minus one
                    # finds it; the frame itself is the trampoline's first byte.
                    address += 1
                    shown = raw
            else:
                source = Provenance.FRAME_POINTER
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
        at: cython.Py_ssize_t = 4 * (((lookup * GOLDEN_RATIO) >> 40 ^ key) & (CACHE - 1))
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
        at: cython.Py_ssize_t = 4 * (((lookup * GOLDEN_RATIO) >> 40 ^ key) & (CACHE - 1))
        entry: cython.Py_ssize_t
        frame: cython.longlong
        if self.cache[at] == lookup and self.cache[at + 1] == key:
            return cython.cast(cython.longlong, self.cache[at + 2])
        entry = self.mapping(space, lookup)
        frame = self.stacks.frame(
            self.kernel_image if entry < 0 else self.images[entry],
            lookup,
            raw if self.runtime else 0,
            Provenance.KERNEL_CHAIN,
        )
        self.cache[at] = lookup
        self.cache[at + 1] = key
        self.cache[at + 2] = frame
        return frame

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def at_entry(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Whether an address lies in the few instructions at an image's entry point."""
        return cython.cast(cython.bint, self.image_entry[image] != 0 and 0 <= address - self.image_entry[image] < ENTRY)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def in_entry_function(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Whether an address lies in the function at an image's entry point, which nothing calls."""
        function: cython.Py_ssize_t
        if self.image_entry[image] == 0 or address < self.image_entry[image]:
            return False
        function = self.function(image, self.image_entry[image])
        if function < 0:
            return self.at_entry(image, address)
        return self.function(image, address) == function

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def fiber_proof(self) -> cython.int:
        """Whether the return address found last is where the function at the root of a fiber would return to, which no
        call has put there: 1 its code says so, 3 it is the start of some function, 2 neither."""
        proof: cython.int
        frame: cython.uint = self.found_frame
        if self.found_image == NOTHING or self.call_proof() != 2:
            return 2
        proof = self.stacks.frame_proof[frame] >> 4 & 3
        if proof == 0:
            with cython.gil:
                proof = self.source.fiber_root_at(self.found_image, self.stacks.frame_address[frame] + 1)
            self.stacks.frame_proof[frame] |= cython.cast(cython.uchar, proof << 4)
        return proof

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def calls_haskell(self) -> cython.bint:
        """Whether the return address found last is where the scheduler of Haskell runs Haskell code."""
        frame: cython.uint = self.found_frame
        proof: cython.int = self.stacks.frame_proof[frame] >> 6
        if proof == 0 and self.found_image != NOTHING:
            with cython.gil:
                proof = self.source.calls_haskell(self.found_image, self.stacks.frame_address[frame] + 1)
            self.stacks.frame_proof[frame] |= cython.cast(cython.uchar, proof << 6)
        return proof == 1

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
    def follows_call(self, return_address: cython.ulonglong) -> cython.bint:
        """Look up a return address; whether it follows a call instruction in executable code."""
        self.find(return_address - 1, return_address)
        return self.found_rule != RULE_UNMAPPED and self.call_proof() == 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFE, check=True)
    def inferred_frame(self, frame: cython.uint) -> cython.uint:
        """The frame that stands for this one where it is taken from another dump; 0xffffffff if its address follows no
        call."""
        if self.stacks.frame_provenance[frame] == Provenance.OTHER_DUMP:
            return frame
        self.found_image = self.stacks.frame_image[frame]
        self.found_frame = frame
        if self.found_image == NOTHING or self.call_proof() != 1:
            return NOTHING
        return self.stacks.with_provenance(frame, Provenance.OTHER_DUMP)

    def inferred_node(self, parent: int, frame: int) -> int:
        """The node of a caller that is taken from another dump, below that of its own caller; 0xffffffff if its address
        follows no call."""
        inferred: cython.uint = self.inferred_frame(frame)
        return 0xFFFFFFFF if inferred == NOTHING else self.stacks.node(parent, inferred)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def is_return(self, frame: cython.uint) -> cython.bint:
        """Whether the instruction at a sampled address returns."""
        proof: cython.int = self.stacks.frame_proof[frame] >> 2 & 3
        image: cython.uint = self.stacks.frame_image[frame]
        if image == NOTHING:
            return False
        if proof == 0:
            with cython.gil:
                proof = self.source.return_at(image, self.stacks.frame_address[frame])
            self.stacks.frame_proof[frame] |= cython.cast(cython.uchar, proof << 2)
        return proof == 1
