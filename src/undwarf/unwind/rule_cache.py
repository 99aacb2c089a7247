# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""From addresses to rules and frames: functions and rows of an image, and what its code shows of an address.

What was looked up before is in two caches: the first, small one by address and snapshot, the second by image, whoever
maps it where. Images are loaded, and rows of functions computed, at their first use and with the GIL
(:mod:`undwarf.unwind.loaded_images`); all else runs without.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.tables.rule_format import UNKNOWN
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.walk_constants import (
    RULE_LIMIT,
    RULE_NO,
    RULE_NO_FILE,
    RULE_UNMAPPED,
    Evidence,
    ImageState,
)

from undwarf.column import zeros
from undwarf.spaces.address_spaces import AddressSpaces
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.loaded_images import LoadedImages
from undwarf.unwind.stacks import Stacks

FIRST_CACHE = cython.declare(cython.ulonglong, 4096)
"""Entries of the first cache; a larger one hits more and is slower, since it does not fit in the second-level cache."""
SECOND_CACHE = cython.declare(cython.ulonglong, 32768)
"""Entries of the second cache."""
USED = cython.declare(cython.ulonglong, 1 << 63)
"""Set in the keys of the second cache."""
KERNEL_KEY = cython.declare(cython.ulonglong, 1 << 40)
"""Set in the first cache's keys of kernel addresses."""
ENTRY_CODE = cython.declare(cython.ulonglong, 96)
"""Bytes of start-up code at an entry point that call the rest and never return."""


@cython.final
@cython.cclass
class RuleCache:
    """The unwind rules of addresses met so far, in columns that are searched.

    ``source`` answers what is looked up for the first time, from images (:class:`ImageTable`) and their unwind tables
    (:class:`undwarf.unwind.unwind_tables.UnwindTables`). With ``runtime`` frames keep the absolute address that they
    ran at, so that frames of different processes differ; with ``returns`` that of callers is the return address, else
    what it was looked up by, which is one less.
    """

    def __init__(
        self,
        source: ImageTable,
        columns: dict[str, memoryview],
        image_count: int,
        runtime: bool,
        kernel_image: int,
        returns: bool = False,
    ) -> None:
        self.source = source
        self.spaces = AddressSpaces(columns)
        self.space = NOTHING
        self.kernel_image = kernel_image
        self.runtime = runtime
        self.returns = returns
        self.rules_buffer: Any = None
        self.earlier_buffers: list[Any] = []
        self.expressions_buffer: Any = None
        loaded = self.loaded = LoadedImages(source, image_count)
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
        self._use_rows()
        self.by_space = zeros("Q", 4 * FIRST_CACHE)
        self.reset()

    def set_spaces(self, columns: dict[str, memoryview], kernel_image: int, *, renumbered: bool = False) -> None:
        """Take mappings from these columns, which hold more than those before or, if ``renumbered``, others."""
        # The kernel's mapping leaves out its start-up code, which the idle tasks still return to.
        self.kernel_image = kernel_image
        self.spaces.set_columns(columns)
        if renumbered:
            self._clear_caches()

    def reset(self) -> None:
        """Drop all stacks (their memory is freed with the :class:`Stacks` that others may still hold)."""
        self.stacks = Stacks()
        self._clear_caches()

    @cython.locals(i=cython.Py_ssize_t)
    def _clear_caches(self) -> None:
        for i in range(FIRST_CACHE):
            self.by_space[4 * i + 1] = ALL_ONES
        self.by_image = zeros("Q", 3 * SECOND_CACHE)

    def _use_rows(self) -> None:
        """Use the rows and the rules that are loaded now."""
        loaded = self.loaded
        self.row_address = loaded.row_address
        self.row_rule = loaded.row_rule
        # The buffer has space for more rules than there are: it is another one only when it has grown.
        if self.rules_buffer is not loaded.rules:
            self.earlier_buffers.append(self.rules_buffer)
            self.rules_buffer = loaded.rules
            self.words = self.rules_buffer
        if self.expressions_buffer is not loaded.expression_offsets:
            self.expressions_buffer = loaded.expression_offsets
            self.expression_bytes = loaded.expression_bytes
            self.expression_offsets = self.expressions_buffer

    @cython.locals(
        starts="const unsigned long long[::1]",
        ends="const unsigned long long[::1]",
        places="unsigned int[::1]",
        addresses="const unsigned long long[::1]",
        rules="const unsigned int[::1]",
        count=cython.Py_ssize_t,
    )
    def _use_image(self, image: cython.Py_ssize_t) -> None:
        """Use what is loaded of an image now. The columns that are pointed to live as long as ``loaded`` has them."""
        loaded = self.loaded
        self._use_rows()
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
            places = loaded.rows_of_functions[image]
            count = min(len(starts), len(ends), len(places) // 2)
            if count:
                self.image_starts[image] = cython.cast(cython.ulonglong, cython.address(starts[0]))
                self.image_ends[image] = cython.cast(cython.ulonglong, cython.address(ends[0]))
                self.image_function_rows[image] = cython.cast(cython.ulonglong, cython.address(places[0]))
                self.image_function_count[image] = count

    def load_image(self, image: cython.Py_ssize_t) -> None:
        """Load an image."""
        self.loaded.load(image)
        self._use_image(image)

    def _load_rows(self, image: cython.Py_ssize_t, function: cython.Py_ssize_t) -> None:
        """Load the rows of a function."""
        self.loaded.load_rows(image, function)
        self._use_rows()

    def _consult_source(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> bool:
        """Have the image's table consult a further source that covers the address; False if none does."""
        covered: bool = self.loaded.consult_source(image, address)
        self._use_image(image)
        return covered

    @property
    def functions_loaded(self) -> int:
        """How often rows of a function had to be loaded."""
        loaded: int = self.loaded.functions_loaded
        return loaded

    def mapping(self, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The entry in ``spaces`` of the mapping that holds an address of the sample's process, or -1."""
        return self.spaces.mapping(self.space, address)

    def stated_address(self, image: cython.Py_ssize_t, offset: cython.ulonglong) -> cython.ulonglong:
        """The address that an image's file states for a file offset, by its loadable segments; 0 if none holds it."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.image_segments[image]
        for i in range(at, at + self.image_segment_count[image]):
            if self.segment_offset[i] <= offset < self.segment_end[i]:
                return cython.cast(cython.ulonglong, self.segment_address[i] + (offset - self.segment_offset[i]))
        # The kernel maps whole pages: the rest of a segment's last page is mapped as well.
        for i in range(at, at + self.image_segment_count[image]):
            if self.segment_offset[i] & ~0xFFF <= offset < (self.segment_end[i] + 0xFFF) & ~0xFFF:
                return cython.cast(cython.ulonglong, self.segment_address[i] + (offset - self.segment_offset[i]))
        return 0

    def _function(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The index of the image's function whose range holds the address, or -2."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.image_function_count[image]
        middle: cython.Py_ssize_t
        # The columns have that many entries (_use_image); all indices stay below.
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

    def _rule_of_row(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.uint:
        """The rule in the rows of a whole image: NOTHING where there is none, UNKNOWN where these rows do not cover the
        address.

        ``LoadedImages.whole`` keeps the columns alive; they have ``image_row_count`` entries, below which all indices
        stay.
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

    def rule(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.uint:
        """The number of the rule for an address of an image with a table; RULE_NO without one."""
        function: cython.Py_ssize_t
        first: cython.Py_ssize_t
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        covered: cython.bint = True
        places: cython.p_uint
        # Whether further sources may cover the address.
        ask: cython.bint = self.image_state[image] == ImageState.HAS_TABLE or (
            self.image_state[image] == ImageState.COPIED and self.image_open[image] != 0
        )
        found: cython.uint
        if self.image_row_count[image]:
            found = self._rule_of_row(image, address)
            if found == UNKNOWN:
                ask = self.image_open[image] != 0
            elif found != NOTHING or not ask:
                return RULE_NO if found == NOTHING else found
        function = self._function(image, address)
        if function < 0 and ask:
            with cython.gil:
                covered = self._consult_source(image, address)
            if covered:
                function = self._function(image, address)
        if function < 0:
            return RULE_NO
        # Two entries for each function, whose index is below their count.
        places = cython.cast(cython.p_uint, self.image_function_rows[image])
        if places[2 * function + 1] == 0:
            with cython.gil:
                self._load_rows(image, function)
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
                covered = self._consult_source(image, address)
            if covered:
                return self.rule(image, address)
        return cython.cast(cython.uint, self.row_rule[low - 1])

    def rule_in(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.uint:
        """The number of the rule for an address of an image, which is loaded if need be; at least RULE_LIMIT without
        one."""
        if self.image_state[image] == ImageState.NOT_LOADED:
            with cython.gil:
                self.load_image(image)
        if self.image_state[image] in (ImageState.HAS_TABLE, ImageState.EXHAUSTED, ImageState.COPIED):
            return self.rule(image, address)
        return RULE_NO

    def resolve(self, lookup: cython.ulonglong, raw: cython.ulonglong, provenance: cython.int) -> cython.int:
        """Look up the frame and image of a user address, and the rule of an address of the walk; sets ``found_frame``,
        ``found_image`` and ``found_rule``.

        ``raw`` is the address, ``lookup`` the same if it is exact, else (a return address) one less. ``provenance`` is
        0 in the walk, else that of a frame whose address was recorded.
        """
        entry: cython.Py_ssize_t = self.mapping(lookup)
        image: cython.Py_ssize_t
        address: cython.ulonglong
        rule: cython.uint = RULE_NO
        source: cython.int = provenance
        shown: cython.ulonglong = lookup if provenance == 0 and not self.returns else raw
        is_return: cython.bint = lookup != raw
        site: cython.Py_ssize_t = -1
        key: cython.ulonglong = 0
        looked_up: cython.ulonglong
        if entry < 0 or not self.spaces.flags[entry]:
            self.found_rule = RULE_UNMAPPED
            self.found_image = NOTHING if entry < 0 else self.spaces.images[entry]
            self.found_frame = self.stacks.frame(
                NOTHING, lookup, shown if self.runtime else 0, provenance if provenance else Provenance.NOTHING
            )
            self.stacks.frame_is_return[self.found_frame] = is_return
            return 0
        image = self.spaces.images[entry]
        if self.image_state[image] == ImageState.NOT_LOADED:
            with cython.gil:
                self.load_image(image)
        address = lookup - self.spaces.starts[entry] + self.spaces.offsets[entry]
        if self.image_state[image] == ImageState.UNUSABLE:
            rule = RULE_NO_FILE
        if self.image_segment_count[image]:
            address = self.stated_address(image, address)
        elif self.image_state[image] in (ImageState.ANONYMOUS, ImageState.COPIED):
            address = lookup
        looked_up = address
        if provenance == 0 and not self.runtime:
            key = USED | cython.cast(cython.ulonglong, image) << 1 | (lookup == raw)
            site = 3 * (((address ^ key << 40) * GOLDEN_RATIO) >> 40 & (SECOND_CACHE - 1))
            if self.by_image[site] == address and self.by_image[site + 1] == key:
                self.found_rule = cython.cast(cython.uint, self.by_image[site + 2] >> 32)
                self.found_frame = cython.cast(cython.uint, self.by_image[site + 2] & NOTHING)
                self.found_image = cython.cast(cython.uint, image)
                return 0
        if provenance == 0:
            if self.image_state[image] in (ImageState.HAS_TABLE, ImageState.EXHAUSTED, ImageState.COPIED):
                rule = self.rule(image, address)
            if rule < RULE_LIMIT:
                source = rule_at(self.words, rule).source
                if lookup != raw and rule_at(self.words, rule).flags & kinds.FLAG_SIGNAL:
                    # The rule of a signal trampoline starts a byte early, so that the return address minus one
                    # finds it; the frame itself is the trampoline's first byte.
                    address += 1
                    shown = raw
                    is_return = False
            else:
                source = Provenance.FRAME_POINTER
        self.found_rule = rule
        self.found_image = cython.cast(cython.uint, image)
        self.found_frame = self.stacks.frame(
            cython.cast(cython.uint, image), address, shown if self.runtime else 0, source
        )
        self.stacks.frame_is_return[self.found_frame] = is_return
        if site >= 0:
            self.by_image[site] = looked_up
            self.by_image[site + 1] = key
            self.by_image[site + 2] = cython.cast(cython.ulonglong, rule) << 32 | self.found_frame
        return 0

    def find(self, lookup: cython.ulonglong, raw: cython.ulonglong) -> cython.int:
        """Look up an address of the walk, as :meth:`resolve`, in the first cache."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, self.space) << 1 | (lookup == raw)
        at: cython.Py_ssize_t = 4 * (((lookup * GOLDEN_RATIO) >> 40 ^ key) & (FIRST_CACHE - 1))
        if self.by_space[at] == lookup and self.by_space[at + 1] == key:
            self.found_rule = cython.cast(cython.uint, self.by_space[at + 2] >> 32)
            self.found_frame = cython.cast(cython.uint, self.by_space[at + 2] & NOTHING)
            self.found_image = cython.cast(cython.uint, self.by_space[at + 3])
            return 0
        self.resolve(lookup, raw, 0)
        self.by_space[at] = lookup
        self.by_space[at + 1] = key
        self.by_space[at + 2] = cython.cast(cython.ulonglong, self.found_rule) << 32 | self.found_frame
        self.by_space[at + 3] = self.found_image
        return 0

    def kernel_frame(self, space: cython.uint, lookup: cython.ulonglong, raw: cython.ulonglong) -> cython.uint:
        """The frame of a kernel address; kernel frames keep the address they ran at."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, space) << 1 | KERNEL_KEY | (lookup == raw)
        at: cython.Py_ssize_t = 4 * (((lookup * GOLDEN_RATIO) >> 40 ^ key) & (FIRST_CACHE - 1))
        entry: cython.Py_ssize_t
        frame: cython.uint
        if self.by_space[at] == lookup and self.by_space[at + 1] == key:
            return cython.cast(cython.uint, self.by_space[at + 2])
        entry = self.spaces.mapping(space, lookup)
        frame = self.stacks.frame(
            self.kernel_image if entry < 0 else self.spaces.images[entry],
            lookup,
            raw if self.runtime else 0,
            Provenance.KERNEL_CHAIN,
        )
        self.stacks.frame_is_return[frame] = lookup != raw
        self.by_space[at] = lookup
        self.by_space[at + 1] = key
        self.by_space[at + 2] = frame
        return frame

    def at_entry(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Whether an address is one of the few instructions at an image's entry point."""
        return cython.cast(
            cython.bint, self.image_entry[image] != 0 and 0 <= address - self.image_entry[image] < ENTRY_CODE
        )

    def in_entry_function(self, image: cython.Py_ssize_t, address: cython.ulonglong) -> cython.bint:
        """Whether an address is in the function at an image's entry point, which nothing calls."""
        function: cython.Py_ssize_t
        if self.image_entry[image] == 0 or address < self.image_entry[image]:
            return False
        function = self._function(image, self.image_entry[image])
        if function < 0:
            return self.at_entry(image, address)
        return self._function(image, address) == function

    def fiber_evidence(self) -> cython.int:
        """Whether the return address that was looked up last follows no call and is where the root of a fiber would
        return to: YES if its code is known as such, POSSIBLE at the start of a function."""
        evidence: cython.int
        frame: cython.uint = self.found_frame
        if self.found_image == NOTHING or self.call_evidence() != Evidence.NO:
            return Evidence.NO
        evidence = self.stacks.frame_evidence[frame] >> 4 & 3
        if evidence == 0:
            with cython.gil:
                evidence = self.source.fiber_root_at(self.found_image, self.stacks.frame_address[frame] + 1)
            self.stacks.frame_evidence[frame] |= cython.cast(cython.uchar, evidence << 4)
        return evidence

    def calls_haskell(self) -> cython.bint:
        """Whether the return address that was looked up last is where Haskell's scheduler calls Haskell code."""
        frame: cython.uint = self.found_frame
        evidence: cython.int = self.stacks.frame_evidence[frame] >> 6
        if evidence == 0 and self.found_image != NOTHING:
            with cython.gil:
                evidence = self.source.calls_haskell(self.found_image, self.stacks.frame_address[frame] + 1)
            self.stacks.frame_evidence[frame] |= cython.cast(cython.uchar, evidence << 6)
        return evidence == Evidence.YES

    def call_evidence(self) -> cython.int:
        """Whether a call ends at the return address that was looked up last; POSSIBLE where its code cannot be read."""
        evidence: cython.int = self.stacks.frame_evidence[self.found_frame] & 3
        if evidence == 0:
            with cython.gil:
                evidence = self.source.call_before(self.found_image, self.stacks.frame_address[self.found_frame] + 1)
            self.stacks.frame_evidence[self.found_frame] |= cython.cast(cython.uchar, evidence)
        return evidence

    def follows_call(self, return_address: cython.ulonglong) -> cython.bint:
        """Look up a return address; whether it follows a call instruction in executable code."""
        self.find(return_address - 1, return_address)
        return self.found_rule != RULE_UNMAPPED and self.call_evidence() == Evidence.YES

    def inferred_frame(self, frame: cython.uint) -> cython.uint:
        """The frame that stands for this one where it is taken from another dump; 0xffffffff if its address follows no
        call."""
        if self.stacks.frame_provenance[frame] == Provenance.OTHER_DUMP:
            return frame
        self.found_image = self.stacks.frame_image[frame]
        self.found_frame = frame
        if self.found_image == NOTHING or self.call_evidence() != Evidence.YES:
            return NOTHING
        return self.stacks.with_provenance(frame, Provenance.OTHER_DUMP)

    def inferred_node(self, parent: int, frame: int) -> int:
        """The node of a caller that is taken from another dump, below that of its own caller; 0xffffffff if its address
        follows no call."""
        inferred: cython.uint = self.inferred_frame(frame)
        return 0xFFFFFFFF if inferred == NOTHING else self.stacks.node(parent, inferred)

    def is_return(self, frame: cython.uint) -> cython.bint:
        """Whether the instruction at a sampled address returns."""
        evidence: cython.int = self.stacks.frame_evidence[frame] >> 2 & 3
        image: cython.uint = self.stacks.frame_image[frame]
        if image == NOTHING:
            return False
        if evidence == 0:
            with cython.gil:
                evidence = self.source.return_at(image, self.stacks.frame_address[frame])
            self.stacks.frame_evidence[frame] |= cython.cast(cython.uchar, evidence << 2)
        return evidence == Evidence.YES
