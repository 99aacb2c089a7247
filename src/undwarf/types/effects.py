# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""What each instruction does to what is known of registers and stack slots, over a whole function to a fixed point.

Instructions come as templates and columns (:mod:`undwarf.disasm.listing`), values as numbers of :class:`Values`, whose
five parts `undwarf.types.values` explains; 0 is what is not known. What only types can answer - what a load from an
object gives, whether a variable or what was tracked is right - is asked of Python (:class:`Questions` of `addresses`)
once for each value, and remembered.

What an instruction writes without our understanding how is not known after it (the decoder's list of written registers
says so); nothing stale survives. To teach a new instruction's effect: let the decoder give it an
:class:`undwarf.disasm.Action` (`_act` in `disasm/x86_64.py`), and say in :meth:`Effects.result` what its destination
becomes, or in :meth:`Effects.apply` if it changes more than that.
"""

from typing import Any

import cython

from undwarf.buffers import longer, zeros

NOTHING = cython.declare(cython.int, 0)
UNKNOWN = cython.declare(cython.int, 1)
NULL = cython.declare(cython.int, 2)
NOWHERE = cython.declare(cython.int, 3)
"""Numbers of values: none, any number, the number 0, an address of nothing."""

# Bases of values, as in undwarf.types.values.
NUMBER = cython.declare(cython.int, 0)
FRAME = cython.declare(cython.int, 1)
OBJECT = cython.declare(cython.int, 2)
ADDRESS = cython.declare(cython.int, 3)
PERCPU = cython.declare(cython.int, 4)
THREAD = cython.declare(cython.int, 5)
POISON = cython.declare(cython.int, 6)
VIRTUAL = cython.declare(cython.int, 7)

# undwarf.disasm.model.Flow
CALL = cython.declare(cython.int, 4)
INDIRECT_CALL = cython.declare(cython.int, 5)

# undwarf.disasm.model.Action
OTHER = cython.declare(cython.int, 0)
COPY = cython.declare(cython.int, 1)
CONSTANT = cython.declare(cython.int, 2)
LOAD = cython.declare(cython.int, 3)
STORE = cython.declare(cython.int, 4)
LEA = cython.declare(cython.int, 5)
ADD = cython.declare(cython.int, 6)
SUBTRACT = cython.declare(cython.int, 7)
MULTIPLY = cython.declare(cython.int, 8)
SHIFT_LEFT = cython.declare(cython.int, 9)
AND = cython.declare(cython.int, 10)
EXTEND = cython.declare(cython.int, 11)
SELECT = cython.declare(cython.int, 12)
EXCHANGE = cython.declare(cython.int, 13)
PUSH = cython.declare(cython.int, 14)
POP = cython.declare(cython.int, 15)
LEAVE = cython.declare(cython.int, 16)
ADD_MEMORY = cython.declare(cython.int, 17)
LOAD_PAIR = cython.declare(cython.int, 18)
STORE_PAIR = cython.declare(cython.int, 19)
OR = cython.declare(cython.int, 20)
UPDATE = cython.declare(cython.int, 21)
SHIFT_RIGHT = cython.declare(cython.int, 22)
CARRY = cython.declare(cython.int, 23)

# Words of templates and of their operands, as in undwarf.disasm.listing.
ROW_WORDS = cython.declare(cython.Py_ssize_t, 16)
ROW_ACTION = cython.declare(cython.Py_ssize_t, 1)
ROW_DESTINATION = cython.declare(cython.Py_ssize_t, 2)
ROW_LEFT = cython.declare(cython.Py_ssize_t, 3)
ROW_RIGHT = cython.declare(cython.Py_ssize_t, 4)
ROW_WIDTH = cython.declare(cython.Py_ssize_t, 5)
ROW_IMMEDIATE = cython.declare(cython.Py_ssize_t, 6)
ROW_RULE = cython.declare(cython.Py_ssize_t, 7)
ROW_WRITES = cython.declare(cython.Py_ssize_t, 8)
ROW_OPERAND = cython.declare(cython.Py_ssize_t, 10)
ROW_OPERANDS = cython.declare(cython.Py_ssize_t, 11)
ROW_READ = cython.declare(cython.Py_ssize_t, 13)
OPERAND_WORDS = cython.declare(cython.Py_ssize_t, 12)
OPERAND_BASE = cython.declare(cython.Py_ssize_t, 0)
OPERAND_INDEX = cython.declare(cython.Py_ssize_t, 1)
OPERAND_SCALE = cython.declare(cython.Py_ssize_t, 2)
OPERAND_DISPLACEMENT = cython.declare(cython.Py_ssize_t, 3)
OPERAND_DISPLACED = cython.declare(cython.Py_ssize_t, 4)
OPERAND_SEGMENT = cython.declare(cython.Py_ssize_t, 5)
OPERAND_SIZE = cython.declare(cython.Py_ssize_t, 6)
OPERAND_ACCESS = cython.declare(cython.Py_ssize_t, 7)
OPERAND_IMPLICIT = cython.declare(cython.Py_ssize_t, 8)
OPERAND_WRITEBACK = cython.declare(cython.Py_ssize_t, 9)

REGISTERS = cython.declare(cython.Py_ssize_t, 96)
"""Registers of a state, by DWARF number; stack slots come behind them."""
MOST_VALUES = cython.declare(cython.Py_ssize_t, 4 << 20)
"""Values that are told apart; past them all new ones are unknown."""
MOST_AT_ONCE = cython.declare(cython.Py_ssize_t, 1024)
"""Variables valid at one instruction that are looked at: the innermost ones."""
ANY = cython.declare(cython.longlong, 1 << 40)
"""The symbol of what any load from a union gives, as in undwarf.types.values."""
LARGEST = cython.declare(cython.longlong, 1 << 62)
"""Offsets and steps at least this large say nothing."""
EVERYTHING = cython.declare(cython.longlong, 1 << 20)
"""How far a store through an address in the frame reaches where no variable says."""
ALIGNED = cython.declare(cython.longlong, 1 << 24)
"""How far below a frame lies, for us, what a stack pointer leads to that was aligned: how far it is nobody knows, and
both are counted from there on."""
NEAR = cython.declare(cython.Py_ssize_t, 32)
"""Segments whose places are looked for at a time."""
FEW_SLOTS = cython.declare(cython.Py_ssize_t, 32)
"""Slots of which those that a store writes over are found quicker by looking at all of them."""
MOST_NOTED = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Words about what stayed in the frame at calls; where more would be noted, the flow is followed once more."""

# Words of a row that says where a variable is.
PLACE_WORDS = cython.declare(cython.Py_ssize_t, 9)
PLACE_LOW = cython.declare(cython.Py_ssize_t, 0)
PLACE_HIGH = cython.declare(cython.Py_ssize_t, 1)
PLACE_KIND = cython.declare(cython.Py_ssize_t, 2)
PLACE_REGISTER = cython.declare(cython.Py_ssize_t, 3)
PLACE_OFFSET = cython.declare(cython.Py_ssize_t, 4)
PLACE_PIECE = cython.declare(cython.Py_ssize_t, 5)
PLACE_PIECE_SIZE = cython.declare(cython.Py_ssize_t, 6)
PLACE_TYPE = cython.declare(cython.Py_ssize_t, 7)
PLACE_SIZE = cython.declare(cython.Py_ssize_t, 8)
"""Bytes of the variable's type; -1 until they are asked for."""
PLACE_IN_REGISTER = cython.declare(cython.int, 1)
PLACE_MEMORY = cython.declare(cython.int, 2)
PLACE_CFA = cython.declare(cython.int, 3)
TOLD = cython.declare(cython.ulonglong, 1 << 31)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _gcd(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    left: cython.longlong = -a if a < 0 else a
    right: cython.longlong = -b if b < 0 else b
    rest: cython.longlong
    while right:
        rest = left % right
        left = right
        right = rest
    return left


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _product(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """a * b, or LARGEST where that is larger."""
    left: cython.longlong = -a if a < 0 else a
    right: cython.longlong = -b if b < 0 else b
    if a == 0 or b == 0:
        return 0
    # The most negative number has no positive one.
    if left < 0 or right < 0 or left > LARGEST // right:
        return LARGEST
    return a * b


@cython.final
@cython.cclass
class Answers:
    """Numbers by keys that are not 0: what was answered once."""

    keys = cython.declare("unsigned long long[::1]")
    numbers = cython.declare("int[::1]")
    mask: cython.ulonglong
    used: cython.Py_ssize_t

    def __init__(self, size: cython.Py_ssize_t) -> None:
        """With room for so many, a power of two, at first."""
        self.keys = zeros("Q", size)
        self.numbers = zeros("i", size)
        self.mask = size - 1
        self.used = 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2)
    def find(self, key: cython.ulonglong) -> cython.int:
        """The number of a key; -1 for none."""
        at: cython.ulonglong = (key * MULTIPLIER) >> 32 & self.mask
        while self.keys[at]:
            if self.keys[at] == key:
                return cython.cast(cython.int, self.numbers[at])
            at = (at + 1) & self.mask
        return -1

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, key: cython.ulonglong, number: cython.int) -> cython.int:
        """Keep the number of a key that has none."""
        at: cython.ulonglong = (key * MULTIPLIER) >> 32 & self.mask
        while self.keys[at]:
            at = (at + 1) & self.mask
        self.keys[at] = key
        self.numbers[at] = number
        self.used += 1
        if 2 * self.used > len(self.keys):
            self._spread()
        return 0

    def _spread(self) -> None:
        keys = cython.declare("unsigned long long[::1]", self.keys)
        numbers = cython.declare("int[::1]", self.numbers)
        k: cython.Py_ssize_t
        self.keys = zeros("Q", 4 * len(keys))
        self.numbers = zeros("i", 4 * len(keys))
        self.mask = 4 * len(keys) - 1
        self.used = 0
        for k in range(len(keys)):
            if keys[k]:
                self.put(keys[k], numbers[k])


@cython.final
@cython.cclass
class Values:
    """Values by number, each kept once: (base, type, step, symbol, offset)."""

    parts = cython.declare("long long[::1]")
    index = cython.declare("int[::1]")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    mask: cython.ulonglong
    joined: Answers
    """What Python said of joins, by the two numbers."""
    loaded: Answers
    """What loads give that are the same in all functions, by number and size."""
    reconciled: Answers
    """What tracking and a variable give together, where it is the same in all functions."""
    indexed: Answers
    """Pointers into arrays with a second index, by the two numbers."""
    data: Answers
    """Whether an address is that of a variable."""
    held: Answers
    """What registers hold that hold bytes of a variable, by its type, which byte is the first and how many."""
    called = cython.declare(dict)
    """What calls do, by what is called."""
    pointers = cython.declare(dict)
    """What pointers hold whose addresses calls take, by what is called and by register."""

    def __init__(self) -> None:
        self.parts = zeros("q", 5 * 1024)
        self.index = zeros("i", 4096)
        self.mask = 4095
        self.count = 1
        self.joined = Answers(256)
        self.loaded = Answers(256)
        self.reconciled = Answers(256)
        self.indexed = Answers(64)
        self.data = Answers(64)
        self.held = Answers(256)
        self.called = {}
        self.pointers = {}
        self.intern(NUMBER, 0, 1, 0, 0)
        self.intern(NUMBER, 0, 0, 0, 0)
        self.intern(POISON, 0, 1, 0, 0)

    @cython.cfunc
    @cython.exceptval(-1)
    def intern(
        self,
        base: cython.longlong,
        t: cython.longlong,
        step: cython.longlong,
        symbol: cython.longlong,
        offset: cython.longlong,
    ) -> cython.int:
        """The number of a value; of one that says less where its numbers outgrew an address."""
        if offset >= LARGEST or offset <= -LARGEST or step >= LARGEST or step <= -LARGEST:
            if base == POISON:
                return NOWHERE
            step, symbol, offset = 1, 0, 0
        mixed: cython.ulonglong = cython.cast(cython.ulonglong, offset) * MULTIPLIER
        mixed = (mixed ^ (mixed >> 31) ^ cython.cast(cython.ulonglong, base)) + cython.cast(cython.ulonglong, t) * 31
        mixed = (mixed + cython.cast(cython.ulonglong, symbol)) * MULTIPLIER + cython.cast(cython.ulonglong, step)
        at: cython.ulonglong = ((mixed ^ (mixed >> 29)) * MULTIPLIER) >> 17 & self.mask
        number: cython.int
        k: cython.Py_ssize_t
        while self.index[at]:
            number = self.index[at]
            k = 5 * number
            if (
                self.parts[k + 4] == offset
                and self.parts[k + 1] == t
                and self.parts[k] == base
                and self.parts[k + 2] == step
                and self.parts[k + 3] == symbol
            ):
                return number
            at = (at + 1) & self.mask
        if self.count >= MOST_VALUES:
            return NOTHING
        number = self.count
        k = 5 * self.count
        if k + 5 > len(self.parts):
            self.parts = longer(self.parts, len(self.parts), 2 * len(self.parts))
        self.parts[k] = base
        self.parts[k + 1] = t
        self.parts[k + 2] = step
        self.parts[k + 3] = symbol
        self.parts[k + 4] = offset
        self.index[at] = number
        self.count += 1
        if 2 * self.count > len(self.index):
            self._spread()
        return number

    def _spread(self) -> None:
        """A larger index."""
        old = memoryview(self.parts)
        count = self.count
        size = 4 * len(self.index)
        self.index = zeros("i", size)
        self.mask = size - 1
        self.parts = zeros("q", len(old))
        self.count = 1
        k: cython.Py_ssize_t
        column = cython.declare("long long[::1]", old)
        for k in range(1, count):
            self.intern(column[5 * k], column[5 * k + 1], column[5 * k + 2], column[5 * k + 3], column[5 * k + 4])

    def number(self, value: Any) -> cython.int:
        """The number of a value given as a tuple; 0 for None."""
        if value is None:
            return NOTHING
        base, t, step, symbol, offset = value
        if not -(1 << 62) < offset < 1 << 62 or not -(1 << 62) < step < 1 << 62:
            step, symbol, offset = 1, 0, 0
        return self.intern(base, t, step, symbol, offset)

    def of(self, number: cython.Py_ssize_t) -> "tuple[int, int, int, int, int] | None":
        """The value of a number."""
        if number <= 0 or number >= self.count:
            return None
        at: cython.Py_ssize_t = 5 * number
        return self.parts[at], self.parts[at + 1], self.parts[at + 2], self.parts[at + 3], self.parts[at + 4]


@cython.final
@cython.cclass
class Segments:
    """Places by instruction: in a segment, instructions in a row, the same are valid.

    ``places`` are rows of words, in them the offsets in the function from which on and up to which a place is valid;
    the outermost scope's come first. ``offsets`` are those of the instructions, ``size`` is the function's.
    """

    places = cython.declare("const long long[::1]")
    count: cython.Py_ssize_t
    data = cython.declare("int[::1]")
    """The segment of each instruction and of the function's end; the first and last segment of each place; by segment,
    then by group of segments, where in ``items`` the places begin, plus one, and where they end."""
    lows: cython.Py_ssize_t
    firsts: cython.Py_ssize_t
    groups: cython.Py_ssize_t
    items = cython.declare("int[::1]")
    used: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t

    @cython.locals(
        k=cython.Py_ssize_t,
        low=cython.Py_ssize_t,
        high=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        known=cython.int,
        row=cython.Py_ssize_t,
        end=cython.longlong,
        starts="const unsigned int[::1]",
        data="int[::1]",
    )
    def __init__(self, places: Any, offsets: Any, size: Any) -> None:
        self.places = places
        self.count = len(self.places) // PLACE_WORDS
        self.used = 0
        self.begin = self.end = 0
        starts = offsets
        total = len(starts) + 1
        end = size
        self.lows = total
        self.firsts = total + 2 * self.count
        self.groups = self.firsts + 2 * (total + 1)
        data = self.data = zeros("i", self.groups + 2 * ((total + 1) // NEAR + 1))
        self.items = zeros("i", 64 + 4 * self.count)
        for k in range(self.count):
            row = k * PLACE_WORDS
            low = _first_from(starts, end, self.places[row + PLACE_LOW])
            high = _first_from(starts, end, self.places[row + PLACE_HIGH])
            data[self.lows + 2 * k] = low
            data[self.lows + 2 * k + 1] = high
            if low < total:
                data[low] = 1
            if high < total:
                data[high] = 1
        known = 0
        for k in range(total):
            known += data[k]
            data[k] = known
        known += 1
        for k in range(self.lows, self.firsts):
            data[k] = data[data[k]] if data[k] < total else known

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def find(self, k: cython.Py_ssize_t) -> cython.int:
        """Sets ``begin`` and ``end`` to where in ``items`` those valid at an instruction are."""
        at: cython.Py_ssize_t = self.firsts + 2 * cython.cast(cython.Py_ssize_t, self.data[k])
        if not self.data[at]:
            self.fill(self.data[k], at)
        self.begin = self.data[at] - 1
        self.end = self.data[at + 1]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def fill(self, segment: cython.int, at: cython.Py_ssize_t) -> cython.int:
        """Look for the places of a segment among those of its neighbours."""
        group: cython.Py_ssize_t = segment // NEAR
        near: cython.Py_ssize_t = self.groups + 2 * group
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        if not self.data[near]:
            self._room(self.count)
            self.data[near] = self.used + 1
            for i in range(self.count):
                place = self.lows + 2 * i
                if self.data[place] < (group + 1) * NEAR and self.data[place + 1] > group * NEAR:
                    self.items[self.used] = i
                    self.used += 1
            self.data[near + 1] = self.used
        self._room(self.data[near + 1] - self.data[near] + 1)
        self.data[at] = self.used + 1
        for i in range(self.data[near] - 1, self.data[near + 1]):
            place = self.lows + 2 * cython.cast(cython.Py_ssize_t, self.items[i])
            if self.data[place] <= segment < self.data[place + 1]:
                self.items[self.used] = self.items[i]
                self.used += 1
        if self.used + 1 - self.data[at] > MOST_AT_ONCE:
            self.data[at] = self.used + 1 - MOST_AT_ONCE
        self.data[at + 1] = self.used
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room(self, more: cython.Py_ssize_t) -> cython.int:
        if self.used + more > len(self.items):
            self.items = longer(self.items, self.used, 2 * len(self.items) + more)
        return 0


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(starts="const unsigned int[::1]")
def _first_from(starts: Any, end: cython.longlong, offset: cython.longlong) -> cython.Py_ssize_t:
    """The first instruction that begins at an offset or behind it; how many there are for the function's end, one more
    for what is behind that."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(starts)
    middle: cython.Py_ssize_t
    if offset > end:
        return high + 1
    while low < high:
        middle = (low + high) // 2
        if starts[middle] < offset:
            low = middle + 1
        else:
            high = middle
    return low


@cython.final
@cython.cclass
class Own:
    """What was answered for one function only, as in :class:`Values`."""

    loaded: Answers
    reconciled: Answers

    def __init__(self) -> None:
        self.loaded = Answers(32)
        self.reconciled = Answers(32)


@cython.cclass
class Effects:
    """The data flow of one function.

    ``questions`` answers what types must answer, and says where variables are: ``in_registers`` and ``in_frame`` are
    rows of words; ``machine`` gives numbers of registers.
    """

    values: Values
    questions: Any
    count: cython.Py_ssize_t
    offsets: Any
    rows = cython.declare("const long long[::1]")
    operands = cython.declare("const long long[::1]")
    templates = cython.declare("const unsigned int[::1]")
    displacements = cython.declare("const long long[::1]")
    immediates = cython.declare("const long long[::1]")
    targets = cython.declare("const long long[::1]")
    flows = cython.declare("const unsigned char[::1]")

    state = cython.declare("int[::1]")
    slot_key = cython.declare("long long[::1]")
    slot_index = cython.declare("int[::1]")
    slots: cython.Py_ssize_t
    marks = cython.declare("unsigned char[::1]")
    """By instruction, 1 and 2: it has named a number."""
    escaped = cython.declare(list)
    reach = cython.declare("long long[::1]")
    reach_of: cython.Py_ssize_t
    reach_count: cython.Py_ssize_t
    stayed = cython.declare("long long[::1]")
    """What was in the frame behind each call: the instruction, how many addresses had escaped, how many places were
    known, and these."""
    stayed_used: cython.Py_ssize_t
    noting: cython.bint

    seeds: Segments
    seeded = cython.declare("int[::1]")
    """The registers of the variables that are in registers, and what they hold."""
    frames: Segments
    frame = cython.declare("long long[::1]")
    placing: cython.ulonglong
    """The registers that variables in memory are counted from, other than the stack's, as bits."""
    escaped_as = cython.declare(dict)
    """By offset of a pointer in the frame whose address was given to somebody, what it holds as far as that is said."""
    forgotten = cython.declare(set)
    """Offsets of pointers that somebody may have changed and of which nothing was said until then."""

    own: Any = cython.declare(Own)
    pool = cython.declare("int[::1]")
    pool_used: cython.Py_ssize_t
    entries = cython.declare("int[::1]")
    """By block, where in ``pool`` what is known at its begin is, and how much; -1 for nothing yet."""
    block_first = cython.declare("const int[::1]")
    block_end = cython.declare("const int[::1]")
    rule_register = cython.declare("const int[::1]")
    rule_offset = cython.declare("const long long[::1]")
    following_first = cython.declare("const int[::1]")
    following = cython.declare("const int[::1]")
    taught = cython.declare("int[::1]")
    taught_register = cython.declare("int[::1]")
    taught_begin = cython.declare(dict)
    teaching: cython.bint

    stack_pointer: cython.int
    frame_pointer: cython.int
    result_register: cython.int
    parameters = cython.declare(tuple)
    kernel: cython.bint
    fixed: cython.bint
    open: cython.bint
    found: cython.Py_ssize_t
    within: cython.longlong

    visits: cython.longlong
    most_words: cython.Py_ssize_t
    most_slots: cython.Py_ssize_t

    def __init__(self, listing: Any, values: Values, questions: Any, machine: Any, limits: Any) -> None:
        self.visits = max(0, min(limits.flow_visits, 1 << 20))
        self.most_words = limits.flow_words
        self.most_slots = limits.flow_slots
        self.values = values
        self.questions = questions
        self.count = len(listing)
        self.rows = listing.table.rows
        self.operands = listing.table.operands
        self.templates = listing.templates
        self.displacements = listing.displacements
        self.immediates = listing.immediates
        self.targets = listing.targets
        self.flows = listing.flows
        self.state = zeros("i", REGISTERS + 64)
        self.slot_key = zeros("q", 64)
        self.slot_index = zeros("i", 256)
        self.slots = 0
        self.marks = zeros("B", self.count + 1)
        self.taught_begin = {}
        self.teaching = False
        self.escaped = []
        self.escaped_as = {}
        self.forgotten = set()
        self.reach_of = -1
        self.reach_count = 0
        self.stayed_used = 0
        self.noting = False
        self.own = None
        self.stack_pointer = machine.stack_pointer
        self.frame_pointer = machine.frame_pointer
        self.result_register = machine.result
        self.parameters = machine.parameters
        self.kernel = questions.program.kernel
        self.fixed = questions.program.is_data is not None
        self.open = False
        self.found = 0
        self.within = 0

        self.seeds = Segments(questions.in_registers, listing.offsets, questions.size)
        self.seeded = questions.seeds
        self._seed_all()
        self.frames = Segments(questions.in_frame, listing.offsets, questions.size)
        self.frame = questions.in_frame
        self.placing = questions.placing

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(k=cython.Py_ssize_t, row=cython.Py_ssize_t, register=cython.longlong, value=cython.int)
    def _seed_all(self) -> cython.int:
        """What the variables that are in registers say these hold."""
        for k in range(self.seeds.count):
            row = k * PLACE_WORDS
            register = self.seeds.places[row + PLACE_REGISTER]
            value = NOTHING
            if 0 <= register < REGISTERS:
                if self.seeds.places[row + PLACE_KIND] == PLACE_IN_REGISTER:
                    value = self._held(
                        self.seeds.places[row + PLACE_TYPE],
                        self.seeds.places[row + PLACE_PIECE],
                        self.seeds.places[row + PLACE_PIECE_SIZE] or 8,
                    )
                else:
                    value = self.questions.seed(k)
            self.seeded[2 * k] = register
            self.seeded[2 * k + 1] = value
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _held(self, t: cython.longlong, offset: cython.longlong, size: cython.longlong) -> cython.int:
        """What a register holds when it holds bytes of a variable of a type."""
        if not 0 <= offset < 1 << 24 or not 0 < size < 1 << 7 or not 0 <= t < 1 << 32:
            return cython.cast(cython.int, self.questions.held(t, offset, size))
        key: cython.ulonglong = cython.cast(cython.ulonglong, t) << 32 | offset << 7 | size
        found: cython.int = self.values.held.find(key)
        if found < 0:
            found = self.questions.held(t, offset, size)
            self.values.held.put(key, found)
        return found

    # The whole ---------------------------------------------------------------------------------------------

    def solve(self, blocks: Any) -> bool:
        """Follow the flow to a fixed point; whether there was one.

        ``blocks``: in one column i where blocks begin and end, the register of the call frame address at their begins
        (-1: not known), where their successors begin (one more than blocks), the successors and the order; how many
        blocks and successors there are; the offsets of the call frame addresses q; roots B (1: entered with nothing
        known, 2: the function's begin); whether anything may be entered from anywhere; and (register, value)s at the
        function's begin.
        """
        column, count, total, self.rule_offset, roots, self.open, begin = blocks
        self.block_first, self.block_end = column[:count], column[count : 2 * count]
        self.rule_register, self.following_first = column[2 * count : 3 * count], column[3 * count : 4 * count + 1]
        self.following = column[4 * count + 1 : 4 * count + 1 + total]
        order = column[4 * count + 1 + total :]
        before: cython.Py_ssize_t
        for _again in range(3):
            before = len(self.escaped)
            self.stayed_used = 0
            self.forgotten.clear()
            if not self._iterate(order, roots, begin):
                return False
            if any(self.escaped_as.get(offset) for offset in self.forgotten):
                # It became known too late that there are pointers of which others change what they lead to.
                continue
            if len(self.escaped) == before or not self._stayed_too_long():
                break
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        at=cython.Py_ssize_t, k=cython.Py_ssize_t, e=cython.Py_ssize_t, i=cython.Py_ssize_t, offset=cython.longlong,
        begin=cython.longlong, end=cython.longlong,
    )  # fmt: skip
    def _stayed_too_long(self) -> cython.bint:
        """Whether an address that escaped later than a call was come to led to what stayed in the frame there."""
        if self.stayed_used > MOST_NOTED:
            return True
        at = 0
        while at < self.stayed_used:
            k = self.stayed[at]
            for e in range(self.stayed[at + 1], len(self.escaped)):
                begin = self.escaped[e]
                end = self._extent(k, begin)
                for i in range(at + 3, at + 3 + self.stayed[at + 2]):
                    offset = self.stayed[i]
                    if begin - 7 <= offset < end:
                        return True
            at += 3 + self.stayed[at + 2]
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, begin=cython.Py_ssize_t)
    def _note_stayed(self, k: cython.Py_ssize_t) -> cython.int:
        """Note what is in the frame behind a call."""
        if self.stayed_used > MOST_NOTED or not self.slots:
            return 0
        begin = self.stayed_used
        if begin == 0 and not self.noting:
            self.stayed = zeros("q", 256)
            self.noting = True
        if begin + 3 + self.slots > len(self.stayed):
            self.stayed = longer(self.stayed, begin, 2 * (begin + 3 + self.slots))
        at: cython.Py_ssize_t = begin + 3
        for i in range(self.slots):
            if self.state[REGISTERS + i]:
                self.stayed[at] = self.slot_key[i] >> 1
                at += 1
        if at > begin + 3:
            self.stayed[begin] = k
            self.stayed[begin + 1] = len(self.escaped)
            self.stayed[begin + 2] = at - begin - 3
            self.stayed_used = at
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        order="const int[::1]",
        roots="const unsigned char[::1]",
        rank="int[::1]",
        queued="unsigned char[::1]",
        last=cython.bint,
        at=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        number=cython.Py_ssize_t,
        following=cython.Py_ssize_t,
        lowest=cython.Py_ssize_t,
        budget=cython.longlong,
    )
    def _iterate(self, order_of: Any, roots_of: Any, begin: Any) -> cython.bint:
        order, roots = order_of, roots_of
        count: cython.Py_ssize_t = len(self.block_first)
        self.pool = zeros("i", min(count * (REGISTERS + 16), 1 << 16))
        self.pool_used = 0
        self.entries = zeros("i", 2 * count)
        rank = zeros("i", count)
        # The blocks that are to be visited, in the order of visits; then by number those of which nothing more is lost.
        queued = zeros("B", len(order) + count + 1)
        settled: cython.Py_ssize_t = len(order) + 1
        last = False
        for number in range(count):
            rank[number] = -1
            self.entries[2 * number + 1] = -1
        for i in range(len(order)):
            rank[order[i]] = i
        lowest = len(order)
        for i in range(len(order)):
            number = order[i]
            if roots[number] == 2 or (roots[number] and self.open):
                self._clear()
                if roots[number] == 2:
                    for register, value in begin:
                        self.state[register] = self.values.number(value)
                self._keep(number)
                queued[i] = 1
                lowest = min(lowest, i)
        budget = self.visits * count + (64 if self.visits else 0)
        at = lowest
        while True:
            if at >= len(order):
                # What nothing leads to goes on with nothing known, but takes nothing away from what was come to.
                for number in range(count):
                    if self.entries[2 * number + 1] >= 0:
                        queued[settled + number] = 1
                for i in range(len(order)):
                    number = order[i]
                    if self.entries[2 * number + 1] < 0 and (roots[number] or last):
                        self._clear()
                        self._keep(number)
                        queued[i] = 1
                        at = min(at, i)
                if at >= len(order):
                    if last:
                        break
                    last = True
                continue
            if not queued[at]:
                at += 1
                continue
            queued[at] = 0
            number = order[at]
            budget -= 1
            if budget < 0 or self.pool_used > self.most_words:
                # Give up: nothing is known at the begin of any block but what variables say.
                for number in range(count):
                    self.entries[2 * number] = 0
                    self.entries[2 * number + 1] = 0
                return False
            self.enter(number)
            for i in range(self.block_first[number], self.block_end[number]):
                self.seed(i)
                self.apply(i)
            lowest = at + 1
            for i in range(self.following_first[number], self.following_first[number + 1]):
                following = self.following[i]
                if not queued[settled + following] and self._merge(following) and rank[following] >= 0:
                    queued[rank[following]] = 1
                    lowest = min(lowest, cython.cast(cython.Py_ssize_t, rank[following]))
            at = lowest
        return True

    # The state has room for all registers and slots, the pool for what its entries say: no index is outside of them.

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def _clear(self) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(REGISTERS + self.slots):
            self.state[i] = NOTHING
        return 0

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(-1)
    def _keep(self, number: cython.Py_ssize_t) -> cython.int:
        """The state becomes what is known at a block's begin."""
        length: cython.Py_ssize_t = REGISTERS + self.slots
        i: cython.Py_ssize_t
        if self.pool_used + length > len(self.pool):
            self.pool = longer(self.pool, self.pool_used, 2 * len(self.pool) + length)
        self.entries[2 * number] = self.pool_used
        self.entries[2 * number + 1] = length
        for i in range(length):
            self.pool[self.pool_used + i] = self.state[i]
        self.pool_used += length
        return 0

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(-1)
    def _merge(self, number: cython.Py_ssize_t) -> cython.bint:
        """Join the state into what is known at a block's begin; whether that changed it."""
        length: cython.Py_ssize_t = self.entries[2 * number + 1]
        if length < 0:
            self._keep(number)
            return True
        if self.open:
            return False
        first: cython.Py_ssize_t = self.entries[2 * number]
        changed: cython.bint = False
        known: cython.int
        met: cython.int
        i: cython.Py_ssize_t
        for i in range(length):
            known = self.pool[first + i]
            if not known or self.state[i] == known:
                continue
            met = self.join(known, self.state[i])
            if met != known:
                self.pool[first + i] = met
                changed = True
        return changed

    @cython.ccall
    @cython.exceptval(-1)
    def enter(self, number: cython.Py_ssize_t) -> cython.int:
        """The state becomes that at a block's begin."""
        self._fill(self.entries[2 * number], max(self.entries[2 * number + 1], 0))
        register: cython.int = self.rule_register[number]
        if register >= 0 and register < REGISTERS and self._base(self.state[register]) != FRAME:
            self.state[register] = self.values.intern(FRAME, 0, 0, 0, -self.rule_offset[number])
        if self.teaching:
            for known, value in self.taught_begin.get(number, ()):
                self._taught(known, value)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def _fill(self, first: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.int:
        """The state becomes so much of the pool, and nothing behind that."""
        i: cython.Py_ssize_t
        for i in range(length):
            self.state[i] = self.pool[first + i]
        for i in range(length, REGISTERS + self.slots):
            self.state[i] = NOTHING
        return 0

    def has_escaped(self) -> cython.bint:
        """Whether the address of a part of the frame goes where others may see it."""
        return len(self.escaped) > 0

    def teach(self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """What an instruction writes into a register is a value, unless something else is known of it."""
        if not 0 <= k < self.count or not 0 <= register < REGISTERS:
            return
        if not self.teaching:
            self.taught, self.taught_register = zeros("i", self.count), zeros("i", self.count)
        self.teaching = True
        self.taught[k] = value
        self.taught_register[k] = register

    def teach_begin(self, block: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """The same of what a register holds at a block's begin."""
        if not 0 <= register < REGISTERS:
            return
        if not self.teaching:
            self.taught, self.taught_register = zeros("i", self.count), zeros("i", self.count)
        self.teaching = True
        self.taught_begin.setdefault(block, []).append((register, value))

    @cython.cfunc
    @cython.exceptval(-1)
    def _taught(self, register: cython.Py_ssize_t, value: cython.int) -> cython.int:
        known: cython.int = self.state[register]
        several: cython.bint = self._is_several(known)
        nothing: cython.bint = not known or (
            self._base(known) == NUMBER and self._step(known) == 1 and not self._offset(known)
        )
        if not nothing and not several:
            return 0
        if known and self._symbol(known):
            self._replace(known, value)
        self.state[register] = value
        return 0

    @cython.locals(
        found=list, number=cython.Py_ssize_t, k=cython.Py_ssize_t, m=cython.Py_ssize_t, row=cython.Py_ssize_t,
        base=cython.longlong, value=cython.int, at=cython.Py_ssize_t,
    )  # fmt: skip
    def through_unions(self) -> Any:
        """All accesses through pointers that were loaded from unions: the pointer's symbol, the type that says what it
        may lead to, the instruction, the operand and how far behind the pointer."""
        found = []
        for number in range(len(self.block_first)):
            if self.entries[2 * number + 1] < 0:
                continue
            self.enter(number)
            for k in range(self.block_first[number], self.block_end[number]):
                self.seed(k)
                row = self.templates[k] * ROW_WORDS
                m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
                for at in range(self.rows[row + ROW_OPERANDS]):
                    base = self.operands[m + OPERAND_BASE]
                    if base >= 0 and self.operands[m + OPERAND_ACCESS] and self.operands[m + OPERAND_INDEX] < 0:
                        value = self.state[base]
                        if self._base(value) == OBJECT and self._symbol(value) and not self._step(value):
                            found.append(
                                (self._symbol(value), self._type(value), k, at,
                                 self._offset(value) + self._displacement(k, m))
                            )  # fmt: skip
                    m += OPERAND_WORDS
                self.apply(k)
        return found

    # Asking ------------------------------------------------------------------------------------------------

    def register(self, register: cython.Py_ssize_t) -> Any:
        """What a register holds, as a tuple; None for unknown."""
        return self.values.of(self.state[register]) if 0 <= register < REGISTERS else None

    def address(self, k: cython.Py_ssize_t, operand: cython.Py_ssize_t) -> Any:
        """Where an operand of an instruction is, as a tuple; None for unknown."""
        row: cython.Py_ssize_t = self.templates[k] * ROW_WORDS
        return self.values.of(self.address_of(k, (self.rows[row + ROW_OPERAND] + operand) * OPERAND_WORDS, 0))

    def variable(self, k: cython.Py_ssize_t, offset: cython.longlong) -> "tuple[int, int] | None":
        """(number of the innermost variable that holds an offset from the call frame address, offset in it)."""
        return (self.found, self.within) if self.stack_variable(k, offset) else None

    def variable_by_register(self, k: cython.Py_ssize_t, operand: cython.Py_ssize_t) -> "tuple[int, int] | None":
        """The same by the very register an operand has as its base, whatever that holds."""
        row: cython.Py_ssize_t = self.templates[k] * ROW_WORDS
        at: cython.Py_ssize_t = (self.rows[row + ROW_OPERAND] + operand) * OPERAND_WORDS
        return (self.found, self.within) if self.memory_variable(k, at, 0) else None

    # Values ------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2)
    def _base(self, value: cython.int) -> cython.longlong:
        return (
            cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value)]) if value else -1
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _step(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 2])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _symbol(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 3])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _offset(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 4])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _type(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 1])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def constant(self, value: cython.longlong) -> cython.int:
        return self.values.intern(NUMBER, 0, 0, 0, value)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def moved(self, value: cython.int, by: cython.longlong) -> cython.int:
        """A value plus a number."""
        if not value or not by:
            return value
        parts = self.values.parts
        at: cython.Py_ssize_t = 5 * cython.cast(cython.Py_ssize_t, value)
        if by >= LARGEST or by <= -LARGEST:
            return self.values.intern(parts[at], parts[at + 1], 1, 0, 0)
        if parts[at] == NUMBER and parts[at + 2] == 1 and parts[at + 4] + by < 0:
            # Any number less some is any number: no index is below zero.
            return self.values.intern(NUMBER, 0, 1, parts[at + 3], 0)
        return self.values.intern(parts[at], parts[at + 1], parts[at + 2], parts[at + 3], parts[at + 4] + by)

    @cython.cfunc
    @cython.exceptval(-1)
    def add(self, left: cython.int, right: cython.int) -> cython.int:
        """The sum; nothing if neither part says anything."""
        if not left and not right:
            return NOTHING
        a: cython.int = left if left else UNKNOWN
        b: cython.int = right if right else UNKNOWN
        swapped: cython.int
        if self._base(a) == POISON or self._base(b) == POISON:
            return NOWHERE
        if self._base(b) != NUMBER:
            if self._base(a) == VIRTUAL or self._base(b) == VIRTUAL:
                return self._virtual_base(a, b)
            if self._base(a) != NUMBER:
                if self._base(a) == PERCPU:
                    swapped = a
                    a = b
                    b = swapped
                if self.kernel and self._base(a) == OBJECT and self._base(b) == PERCPU:
                    # A pointer to a per-cpu object, and the base of a cpu's area: that cpu's copy.
                    return NOWHERE if self._step(b) or self._offset(b) else a
                # Per-cpu: the address of a per-cpu variable and the base of a cpu's area.
                if self._base(a) != ADDRESS or self._base(b) != PERCPU:
                    return NOWHERE
                return self.values.intern(PERCPU, 0, self._step(a), self._symbol(a), self._offset(a))
            swapped = a
            a = b
            b = swapped
        step: cython.longlong
        symbol: cython.longlong
        if not self._step(a):
            step, symbol = self._step(b), self._symbol(b)
        elif not self._step(b):
            step, symbol = self._step(a), self._symbol(a)
        elif self._symbol(a) and self._symbol(a) == self._symbol(b):
            step = self._step(a) + self._step(b)
            symbol = self._symbol(a) if step else 0
        else:
            step, symbol = _gcd(self._step(a), self._step(b)), 0
            if (self._base(a) in (OBJECT, ADDRESS)) and step != abs(self._step(a)):
                return self._indexed_twice(a, b)
            if self._base(a) == OBJECT and step != abs(self._step(b)):
                return self._indexed_twice(a, b)
        offset: cython.longlong = self._offset(a) + self._offset(b)
        if step == 1 and offset < 0 and self._base(a) == NUMBER:
            # As in `moved`.
            offset = 0
        return self.values.intern(self._base(a), self._type(a), step, symbol, offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def _virtual_base(self, left: cython.int, right: cython.int) -> cython.int:
        """An object and how far its virtual base is from it."""
        value: cython.int = right if self._base(left) == VIRTUAL else left
        slot: cython.int = left if self._base(left) == VIRTUAL else right
        if self._base(value) != OBJECT:
            return NOTHING
        return cython.cast(
            cython.int, self.values.number(self.questions.virtual_base(self.values.of(value), self._offset(slot)))
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def _indexed_twice(self, value: cython.int, number: cython.int) -> cython.int:
        """A pointer into an array that is moved by an index of its own: within an element, or from one to the next."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, value) << 32 | cython.cast(cython.ulonglong, number)
        found: cython.int = self.values.indexed.find(key)
        if found < 0:
            found = self._index_again(value, number)
            self.values.indexed.put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _index_again(self, value: cython.int, number: cython.int) -> cython.int:
        symbol: cython.longlong
        element: cython.int = self.values.number(self.questions.element(self.values.of(value)))
        size: cython.longlong = self.questions.apart(self._type(element)) if self._base(element) == OBJECT else 0
        step: cython.longlong = _gcd(self._step(value), self._step(number))
        if not size or (self._step(element) % size and self._step(number) % size):
            return self.values.intern(
                self._base(value), self._type(value), step, 0, self._offset(value) + self._offset(number)
            )
        if self._step(number) % size:
            # Within an element; the first index only said which.
            step, symbol = self._step(number), self._symbol(number)
        else:
            step, symbol = self._step(element), self._symbol(element)
        offset: cython.longlong = (self._offset(element) + self._offset(number)) % size
        return self.values.intern(OBJECT, self._type(element), step, symbol, offset + size if offset < 0 else offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def scaled(self, value: cython.int, factor: cython.longlong) -> cython.int:
        """A number times a constant; nothing is known of an address times something."""
        if not value:
            value = UNKNOWN
        if self._base(value) != NUMBER:
            return NOWHERE if factor != 1 else value
        step: cython.longlong = _product(self._step(value), factor)
        if step == -1 and not self._symbol(value):
            # Any number.
            step = 1
        return self.values.intern(
            NUMBER, 0, step, self._symbol(value) if step else 0, _product(self._offset(value), factor)
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def difference(self, left: cython.int, right: cython.int) -> cython.int:
        """left - right."""
        if not right:
            return NOTHING if not left or self._base(left) == NUMBER else self.add(left, NOTHING)
        if self._base(right) == NUMBER:
            return self.add(left, self.scaled(right, -1))
        if not left or self._base(left) == NUMBER:
            return NOWHERE
        a: cython.longlong = self._base(left)
        if a == self._base(right) and (a == ADDRESS or self._type(left) == self._type(right)):
            step: cython.longlong = _gcd(self._step(left), self._step(right))
            if self._base(left) == OBJECT:
                # Two pointers to a type: elements of one array, or it would mean nothing.
                size: cython.longlong = self.questions.graph.size(self._type(left))
                step = _gcd(step, size)
                if not step:
                    step = 1
            return self.values.intern(NUMBER, 0, step, 0, self._offset(left) - self._offset(right))
        return NOWHERE

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _nameless(self, value: cython.int) -> cython.int:
        """A pointer to one of several types without the symbol that says which pointer it is."""
        if self._base(value) != OBJECT or not self._symbol(value) or self._step(value):
            return value
        return self.values.intern(OBJECT, self._type(value), 0, 0, self._offset(value))

    @cython.cfunc
    @cython.exceptval(-1)
    def join(self, left: cython.int, right: cython.int) -> cython.int:
        """What holds on both of two ways; `left` is the one known longer, whose offset stays."""
        if not left or not right or left == right:
            return right if left else NOTHING
        a: cython.longlong = self._base(left)
        b: cython.longlong = self._base(right)
        if (a == ADDRESS or b == ADDRESS) and (a in (ADDRESS, OBJECT)) and (b in (ADDRESS, OBJECT)):
            return self._asked_join(left, right)
        if a == b:
            if a == OBJECT and self._type(left) != self._type(right):
                return self._asked_join(left, right)
            if a == POISON:
                return NOWHERE
            if a == VIRTUAL:
                return NOTHING
            apart: cython.longlong = self._offset(left) - self._offset(right)
            if self._step(left) == self._step(right) and self._symbol(left) == self._symbol(right) and not apart:
                return left
            step: cython.longlong = _gcd(_gcd(self._step(left), self._step(right)), apart)
            if a == OBJECT and step != self._step(left) and (self._step(left) or self._step(right)):
                # Steps from one element of an array to the next may not matter.
                return self._asked_join(left, right)
            return self.values.intern(a, self._type(left), step, 0, self._offset(left))
        # A null pointer is never what is accessed.
        if left == NULL and (b in (OBJECT, ADDRESS)):
            return right
        if right == NULL and (a in (OBJECT, ADDRESS)):
            return left
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _asked_join(self, left: cython.int, right: cython.int) -> cython.int:
        left, right = self._nameless(left), self._nameless(right)
        key: cython.ulonglong = cython.cast(cython.ulonglong, left) << 32 | cython.cast(cython.ulonglong, right)
        found: cython.int = self.values.joined.find(key)
        if found < 0:
            found = self.values.number(self.questions.join(self.values.of(left), self.values.of(right)))
            self.values.joined.put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def reconcile(self, known: cython.int, said: cython.int, register: cython.Py_ssize_t) -> cython.int:
        """What a register, or a slot (-1), holds, given what was tracked and what a variable says."""
        if not known or known == said:
            return said
        base: cython.longlong = self._base(known)
        if base == FRAME or known == NULL:
            return known
        if base == NUMBER and self._step(known) != 1 and self._symbol(known) >= 0:
            # An index, whatever is said of it: optimizers let variables stay with what replaced them.
            return known
        if base != OBJECT and base != ADDRESS:
            return said
        same = base == OBJECT and not self._step(known) and self._type(known) == self._type(said)
        if same and self._offset(known) == self._offset(said):
            return known
        told: cython.bint = register < 0 or self._told(register, known)
        symbol: cython.longlong = self._symbol(known) if base == OBJECT and not self._step(known) else 0
        known = self._nameless(known)
        key: cython.ulonglong = cython.cast(cython.ulonglong, known) << 32 | cython.cast(cython.ulonglong, said)
        if told:
            key |= TOLD
        found: cython.int = self.values.reconciled.find(key)
        if found < 0 and self.own is not None:
            found = self.own.reconciled.find(key)
        if found < 0:
            value, own = self.questions.reconcile(self.values.of(known), self.values.of(said), told)
            found = self.values.number(value)
            if own and self.own is None:
                self.own = Own()
            (self.own.reconciled if own else self.values.reconciled).put(key, found)
        if symbol and self._is_several(found):
            return self.values.intern(OBJECT, self._type(found), 0, symbol, self._offset(found))
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _told(self, register: cython.Py_ssize_t, known: cython.int) -> cython.bint:
        """Whether a variable that is valid where `seeds` was asked last says what is known of a register."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            if self.seeded[place] == register and self.seeded[place + 1] == known:
                return True
        return False

    # The frame ---------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-2)
    def _slot(self, offset: cython.longlong, size: cython.longlong, make: cython.bint) -> cython.Py_ssize_t:
        """The place in the state of a stack slot of 4 or 8 bytes; -1 where there is none."""
        key: cython.longlong = 2 * offset + (1 if size == 8 else 0)
        mask: cython.ulonglong = len(self.slot_index) - 1
        at: cython.ulonglong = (cython.cast(cython.ulonglong, key) * MULTIPLIER) >> 40 & mask
        number: cython.Py_ssize_t
        while self.slot_index[at]:
            number = self.slot_index[at] - 1
            if self.slot_key[number] == key:
                return REGISTERS + number
            at = (at + 1) & mask
        if not make or self.slots >= self.most_slots:
            return -1
        if self.slots == len(self.slot_key):
            self.slot_key = longer(self.slot_key, self.slots, 2 * self.slots)
            self.state = longer(self.state, REGISTERS + self.slots, REGISTERS + 2 * self.slots)
        self.slot_key[self.slots] = key
        self.slots += 1
        self.state[REGISTERS + self.slots - 1] = NOTHING
        self.slot_index[at] = self.slots
        number = self.slots
        if 3 * self.slots > len(self.slot_index):
            self._spread()
        return REGISTERS + number - 1

    def _spread(self) -> None:
        size = 4 * len(self.slot_index)
        self.slot_index = zeros("i", size)
        number: cython.Py_ssize_t
        at: cython.ulonglong
        for number in range(self.slots):
            at = (cython.cast(cython.ulonglong, self.slot_key[number]) * MULTIPLIER) >> 40 & (size - 1)
            while self.slot_index[at]:
                at = (at + 1) & (size - 1)
            self.slot_index[at] = number + 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _drop(self, offset: cython.longlong, size: cython.longlong) -> cython.int:
        at: cython.Py_ssize_t = self._slot(offset, size, False)
        if at >= 0:
            self.state[at] = NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, offset: cython.longlong, size: cython.longlong, value: cython.int) -> cython.int:
        """A store to the frame."""
        at: cython.longlong
        i: cython.Py_ssize_t
        if size <= 16 and self.slots > FEW_SLOTS:
            for at in range(offset - 7, offset + size):
                self._drop(at, 8)
                if at > offset - 4:
                    self._drop(at, 4)
        else:
            for i in range(self.slots):
                at = self.slot_key[i] >> 1
                if offset - 8 < at < offset + size and (self.slot_key[i] & 1 or at > offset - 4 or size > 16):
                    self.state[REGISTERS + i] = NOTHING
        if value and (size == 8 or (size == 4 and self._base(value) == NUMBER)):
            i = self._slot(offset, size, True)
            if i >= 0:
                self.state[i] = value
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _size_of(self, place: cython.Py_ssize_t) -> cython.longlong:
        """Bytes of the type of a variable in the frame."""
        at: cython.Py_ssize_t = place * PLACE_WORDS + PLACE_SIZE
        if self.frame[at] < 0:
            self.frame[at] = self.questions.frame_size(place)
        return cython.cast(cython.longlong, self.frame[at])

    @cython.cfunc
    @cython.exceptval(-1)
    def stack_variable(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.bint:
        """Sets `found` and `within` to the innermost variable that holds an offset, and the offset in it."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        row: cython.Py_ssize_t
        begin: cython.longlong
        size: cython.longlong
        base: cython.int
        register: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.end - 1, self.frames.begin - 1, -1):
            place = self.frames.items[i]
            row = place * PLACE_WORDS
            begin = self.frame[row + PLACE_OFFSET]
            if self.frame[row + PLACE_KIND] == PLACE_MEMORY:
                register = self.frame[row + PLACE_REGISTER]
                if not 0 <= register < REGISTERS:
                    continue
                base = self.state[register]
                if self._base(base) != FRAME or self._step(base):
                    continue
                begin += self._offset(base)
            if begin > offset:
                continue
            size = self.frame[row + PLACE_PIECE_SIZE]
            if not size:
                size = max(self._size_of(place), 1)
            if offset < begin + size:
                self.found = place
                self.within = offset - begin + self.frame[row + PLACE_PIECE]
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def memory_variable(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.bint:
        """A variable whose place is said by the very register an operand has as its base, whatever that holds."""
        if self.operands[m + OPERAND_INDEX] >= 0 or self.operands[m + OPERAND_BASE] < 0:
            return False
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        row: cython.Py_ssize_t
        offset: cython.longlong
        size: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.end - 1, self.frames.begin - 1, -1):
            place = self.frames.items[i]
            row = place * PLACE_WORDS
            if (
                self.frame[row + PLACE_KIND] == PLACE_MEMORY
                and self.frame[row + PLACE_REGISTER] == self.operands[m + OPERAND_BASE]
            ):
                offset = self._displacement(k, m) + more - self.frame[row + PLACE_OFFSET]
                size = self.frame[row + PLACE_PIECE_SIZE]
                if not size:
                    size = self._size_of(place)
                if 0 <= offset < size:
                    self.found = place
                    self.within = offset + self.frame[row + PLACE_PIECE]
                    return True
        return False

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _extent(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.longlong:
        """Where the object that an escaped address leads to ends."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        row: cython.Py_ssize_t
        begin: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.begin, self.frames.end):
            place = self.frames.items[i]
            row = place * PLACE_WORDS
            begin = self.frame[row + PLACE_OFFSET]
            if self.frame[row + PLACE_KIND] == PLACE_CFA and begin <= offset < begin + self._size_of(place):
                return begin + self._size_of(place)
        return offset + EVERYTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def escape(self, value: cython.int) -> cython.int:
        """The address of a part of the frame goes where others may see it."""
        offset: Any
        if value and self._base(value) == FRAME:
            offset = self._offset(value)
            if offset not in self.escaped:
                self.escaped.append(offset)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, e=cython.Py_ssize_t, at=cython.longlong, begin=cython.longlong)
    def lose_escaped(self, k: cython.Py_ssize_t) -> cython.int:
        """Somebody may have changed what lies behind addresses of the frame."""
        count: cython.Py_ssize_t = len(self.escaped)
        segment: cython.Py_ssize_t = self.frames.data[k]
        if count and (self.reach_of != segment or self.reach_count != count):
            if not self.reach_count or len(self.reach) < 2 * count:
                self.reach = zeros("q", 4 * count)
            for e in range(count):
                begin = self.escaped[e]
                self.reach[2 * e] = begin - 7
                self.reach[2 * e + 1] = self._extent(k, begin)
            self.reach_of = segment
            self.reach_count = count
        for i in range(self.slots if count else 0):
            if not self.state[REGISTERS + i]:
                continue
            at = self.slot_key[i] >> 1
            for e in range(count):
                if self.reach[2 * e] <= at < self.reach[2 * e + 1]:
                    self.state[REGISTERS + i] = self._still(at, self.state[REGISTERS + i])
                    break
        self._note_stayed(k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _still(self, offset: cython.longlong, value: cython.int) -> cython.int:
        """What a slot holds that somebody may have changed: another pointer to the same, if it is known to be one."""
        if self._base(value) != OBJECT:
            return NOTHING
        said: Any = self.escaped_as.get(offset)
        if said is None:
            self.forgotten.add(offset)
            return NOTHING
        graph: Any = self.questions.graph
        if not said or graph.canonical(self._type(said)) != graph.canonical(self._type(value)):
            return NOTHING
        return cython.cast(cython.int, said)

    @cython.cfunc
    @cython.exceptval(-1)
    def _spoil(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.int:
        """A store somewhere into an array of the frame."""
        end: cython.longlong = self._extent(k, offset)
        at: cython.longlong
        i: cython.Py_ssize_t
        for i in range(self.slots):
            at = self.slot_key[i] >> 1
            if end - offset >= EVERYTHING or offset - 8 < at < end:
                self.state[REGISTERS + i] = NOTHING
        return 0

    # Operands ----------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _displacement(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.longlong:
        if self.operands[m + OPERAND_DISPLACED]:
            return cython.cast(cython.longlong, self.operands[m + OPERAND_DISPLACEMENT] + self.displacements[k])
        return cython.cast(cython.longlong, self.operands[m + OPERAND_DISPLACEMENT])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _immediate(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.longlong:
        rule: cython.longlong = self.rows[row + ROW_RULE]
        value: cython.longlong
        if rule == 0:
            return cython.cast(cython.longlong, self.rows[row + ROW_IMMEDIATE])
        value = self.immediates[k]
        if value < 0:
            if rule == 2 or rule == 4:
                value += cython.cast(cython.longlong, 1) << 32
            elif rule >= 5:
                value += 1 << 16
        return -value if rule == 3 or rule == 4 or rule == 6 else value

    @cython.cfunc
    @cython.exceptval(-1)
    def address_of(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.int:
        """Where an operand is."""
        base: cython.longlong = self.operands[m + OPERAND_BASE]
        index: cython.longlong = self.operands[m + OPERAND_INDEX]
        displacement: cython.longlong = self._displacement(k, m) + more
        inner: cython.int
        area: cython.int
        if self.operands[m + OPERAND_SEGMENT]:
            area = PERCPU if self.kernel else THREAD
            if base < 0 and index < 0:
                return self.values.intern(area, 0, 0, 0, displacement)
            inner = self._sum(m, base, index, displacement)
            if self.kernel and self._base(inner) == OBJECT:
                # A pointer to a per-cpu object: this cpu's copy of it.
                return inner
            if not inner or (self._base(inner) != NUMBER and self._base(inner) != ADDRESS):
                return NOTHING
            return self.values.intern(area, 0, self._step(inner), self._symbol(inner), self._offset(inner))
        if base < 0 and index < 0:
            return self.values.intern(ADDRESS, displacement, 0, 0, displacement)
        return self._sum(m, base, index, displacement)

    @cython.cfunc
    @cython.exceptval(-1)
    def _sum(
        self, m: cython.Py_ssize_t, base_register: cython.longlong, index_register: cython.longlong,
        displacement: cython.longlong,
    ) -> cython.int:  # fmt: skip
        base: cython.int = self.state[base_register] if base_register >= 0 else NULL
        if index_register < 0:
            number: cython.bint = base_register >= 0 and (not base or self._base(base) == NUMBER)
            if number and self.fixed and displacement:
                if self._counted(base) and self._is_data(displacement + self._offset(base)):
                    # table-8(%rax) where %rax was added to before: less than the address.
                    return self.values.intern(
                        ADDRESS, displacement + self._offset(base), self._step(base), self._symbol(base),
                        displacement + self._offset(base),
                    )  # fmt: skip
                if self._is_data(displacement):
                    # table(%rax): the displacement is the address.
                    return self._from(displacement, base if base else UNKNOWN)
            return self.moved(base, displacement)
        scale: cython.longlong = self.operands[m + OPERAND_SCALE]
        index: cython.int = self.state[index_register]
        total: cython.int
        if scale > 1 and self._base(index) == OBJECT and index_register != base_register:
            # No pointer is multiplied: a variable stayed with a register that holds a number now.
            index = UNKNOWN
        if index_register == base_register and (not base or self._base(base) == NUMBER):
            total = self.scaled(base, 1 + scale)
        else:
            total = self.add(base, index if scale == 1 else self.scaled(index, scale))
        if displacement and (not total or self._base(total) == NUMBER):
            # table(,%rax,8): the displacement is the address.
            if not total and base_register < 0:
                total = self.values.intern(NUMBER, 0, scale, 0, 0)
            if self.fixed and self._is_data(displacement):
                return self._from(displacement, total if total else UNKNOWN)
        if not total:
            return NOTHING
        if self._base(total) == NUMBER and not base and index_register != base_register:
            # The base may have been the pointer.
            return NOTHING
        return self.moved(total, displacement)

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_data(self, address: cython.longlong) -> cython.int:
        """Whether a number is the address of a variable, in code whose addresses are fixed."""
        if not address:
            return 0
        found: cython.int = self.values.data.find(cython.cast(cython.ulonglong, address))
        if found < 0:
            found = 1 if self.questions.is_data(address) else 0
            self.values.data.put(cython.cast(cython.ulonglong, address), found)
        return found

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _counted(self, number: cython.int) -> cython.bint:
        """Whether a number is one that goes up in steps, of which the first is known."""
        return number > 0 and self._step(number) > 1 and self._offset(number) > 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _from(self, address: cython.longlong, number: cython.int) -> cython.int:
        """An address of the program, and a number more."""
        return self.values.intern(
            ADDRESS, address, self._step(number), self._symbol(number), self._offset(number) + address
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def load(
        self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, size: cython.longlong, more: cython.longlong
    ) -> cython.int:
        """What a load puts into its register."""
        where: cython.int = self.address_of(k, m, more)
        if not where:
            if size == 8 and self.memory_variable(k, m, more):
                return self._held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, size)
            return NOTHING
        base: cython.longlong = self._base(where)
        if base == FRAME:
            return self._load_frame(k, where, size)
        if base in (NUMBER, POISON) or (size != 8 and base != ADDRESS):
            return NOTHING
        if base == THREAD and self.operands[m + OPERAND_SEGMENT] and not self._step(where) and not self._offset(where):
            return where
        value: cython.int = self._at(where, size)
        if not value and size == 8 and base == OBJECT and self._offset(where) < 0:
            value = self._at_other(k, m, more)
        told: cython.bint = size == 8 and self._is_placing(m) and (not value or self._is_several(value))
        if told and self.memory_variable(k, m, more):
            # A member that may lead to anything, in which a variable is that says to what.
            said: cython.int = self._held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, size)
            if said and not (value and self.questions.graph.is_pointer(self._type(said))):
                # Else a variable is the first member of one of several.
                return said
        return self._own_name(value, k)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _own_name(self, value: cython.int, k: cython.Py_ssize_t) -> cython.int:
        """What is loaded from a union as the pointer that this load gave."""
        if not value or self._symbol(value) != ANY:
            return value
        self._forget(k + 1)
        return self.values.intern(OBJECT, self._type(value), 0, k + 1, self._offset(value))

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _is_placing(self, m: cython.Py_ssize_t) -> cython.bint:
        """Whether a variable in memory is anywhere counted from the base register of an operand."""
        register: cython.longlong = self.operands[m + OPERAND_BASE]
        return 0 <= register < 64 and bool(self.placing >> register & 1)

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_several(self, value: cython.int) -> cython.bint:
        """Whether a value leads to one of several types."""
        return self._base(value) == OBJECT and bool(self.questions.is_one_of_several(self._type(value)))

    @cython.cfunc
    @cython.exceptval(-1)
    def _at(self, where: cython.int, size: cython.longlong) -> cython.int:
        """What lies at a place that is not in the frame."""
        where = self._nameless(where)
        key: cython.ulonglong = cython.cast(cython.ulonglong, where) << 32 | cython.cast(cython.ulonglong, size)
        found: cython.int = self.values.loaded.find(key)
        if found < 0 and self.own is not None:
            found = self.own.loaded.find(key)
        if found < 0:
            value, own = self.questions.load(self.values.of(where), size)
            found = self.values.number(value)
            if own and self.own is None:
                self.own = Own()
            (self.own.loaded if own else self.values.loaded).put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _at_other(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.int:
        """What lies in what a variable says is at an operand's base, where that is before the object it is said to
        lead to by another one."""
        offset: cython.longlong = self._displacement(k, m) + more
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        said: cython.int
        if self.operands[m + OPERAND_INDEX] >= 0 or offset < 0:
            return NOTHING
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            said = self.seeded[place + 1]
            if self.seeded[place] != self.operands[m + OPERAND_BASE] or self._base(said) != OBJECT:
                continue
            if not self._offset(said) and offset < self.questions.graph.size(self._type(said)):
                return self._at(self.moved(said, offset), 8)
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _load_frame(self, k: cython.Py_ssize_t, where: cython.int, size: cython.longlong) -> cython.int:
        offset: cython.longlong = self._offset(where)
        there: cython.bint = self.stack_variable(k, offset)
        place: cython.Py_ssize_t = self.found
        within: cython.longlong = self.within
        step: cython.longlong = self._step(where)
        if step:
            if not there or size != 8:
                return NOTHING
            return self._own_name(self.questions.frame_element(place, step, within, size), k)
        at: cython.Py_ssize_t = self._slot(offset, size, True) if size == 4 or size == 8 else -1
        known: cython.int = self.state[at] if at >= 0 else NOTHING
        said: cython.int = NOTHING
        room: cython.longlong
        at_place: cython.Py_ssize_t
        if there and size == 8:
            at_place = place * PLACE_WORDS
            room = self.frame[at_place + PLACE_PIECE] + self.frame[at_place + PLACE_PIECE_SIZE]
            if within + size <= (room if room else self._size_of(place)):
                said = self._held(self.frame[at_place + PLACE_TYPE], within, size)
        if not known:
            if not said and at >= 0:
                # The same number as long as nothing is stored there.
                self._forget(k + 1)
                known = self.values.intern(NUMBER, 0, 1, k + 1, 0)
                self.state[at] = known
            return said if said else known
        if self._base(known) == NUMBER:
            return said if said and known != NULL else self.name(at, known, k)
        return self.reconcile(known, said, -1) if said else known

    @cython.cfunc
    @cython.exceptval(-1)
    def stores(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """What an instruction writes to memory, as far as the frame is concerned."""
        action: cython.longlong = self.rows[row + ROW_ACTION]
        left: cython.longlong = self.rows[row + ROW_LEFT]
        right: cython.longlong = self.rows[row + ROW_RIGHT]
        m: cython.Py_ssize_t = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        size: cython.longlong
        at: cython.Py_ssize_t
        where: cython.int
        value: cython.int
        base: cython.longlong
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            if not self.operands[m + OPERAND_ACCESS] & 2:
                m += OPERAND_WORDS
                continue
            size = self.operands[m + OPERAND_SIZE]
            where = self.address_of(k, m, 0)
            base = self._base(where)
            m += OPERAND_WORDS
            if base == FRAME:
                if self._step(where) or not size:
                    self._spoil(k, self._offset(where))
                    continue
                if action == STORE_PAIR:
                    self.put(self._offset(where), size // 2, self.get(left))
                    self.put(self._offset(where) + size // 2, size // 2, self.get(right))
                    continue
                value = NOTHING
                if action == STORE:
                    if left < 0:
                        value = self.number(k, row, size == 8)
                    else:
                        value = self.get(left)
                        if not value or self._base(value) == NUMBER:
                            value = self.name(left, value if value else UNKNOWN, k)
                            if size == 8 and self._symbol(value) and self._step(value) == 1:
                                value = self._learn(k, self._offset(where), value)
                        else:
                            self.escape(value)
                            if size == 8 and self._base(value) == OBJECT and self._step(value):
                                value = self._cast(k, self._offset(where), value)
                elif action == UPDATE and (size == 4 or size == 8):
                    at = self._slot(self._offset(where), size, False)
                    value = self.state[at] if at >= 0 else NOTHING
                    value = self.add(value, self.get(left) if left >= 0 else self.constant(self._immediate(k, row)))
                    if value and size == 4 and self._base(value) != NUMBER:
                        value = NOTHING
                self.put(self._offset(where), size, value)
                continue
            if action == STORE and left >= 0 and size == 8 and base in (OBJECT, ADDRESS):
                self._learn_stored(k, left, where)
            if base != ADDRESS and base != THREAD and base != PERCPU:
                if action == STORE and left >= 0:
                    self.escape(self.get(left))
                self.lose_escaped(k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _learn_stored(self, k: cython.Py_ssize_t, register: cython.longlong, where: cython.int) -> cython.int:
        """An unknown value goes into a member that is a pointer: that is what it was, wherever else it is."""
        value: cython.int = self.get(register)
        if value and (self._base(value) != NUMBER or self._step(value) != 1 or self._offset(value)):
            return 0
        said: cython.int = self._own_name(self._at(where, 8), k)
        if said and self._base(said) == OBJECT:
            if value and self._symbol(value) > 0:
                self._replace(value, said)
            self.set(register, said)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _learn(self, k: cython.Py_ssize_t, offset: cython.longlong, value: cython.int) -> cython.int:
        """An unknown value goes into a variable that is a pointer: that is what it was, wherever else it is."""
        if self._offset(value) or not self.stack_variable(k + 1, offset):
            return value
        said: cython.int = self._held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, 8)
        if not said:
            return value
        self._replace(value, said)
        return said

    @cython.cfunc
    @cython.exceptval(-1)
    def _cast(self, k: cython.Py_ssize_t, offset: cython.longlong, value: cython.int) -> cython.int:
        """A pointer to numbers that was calculated goes into a variable that leads to numbers of another size: that is
        what is meant from there on."""
        if not self.stack_variable(k + 1, offset):
            return value
        said: cython.int = self._held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, 8)
        if not said or self._type(said) == self._type(value):
            return value
        graph: Any = self.questions.graph
        if not graph.is_scalar(self._type(said)) or not graph.is_scalar(self._type(value)):
            return value
        if graph.size(self._type(said)) == graph.size(self._type(value)):
            return value
        self._replace(value, said)
        return said

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def _replace(self, value: cython.int, by: cython.int) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(REGISTERS + self.slots):
            if self.state[i] == value:
                self.state[i] = by
        return 0

    # Instructions ------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def get(self, register: cython.longlong) -> cython.int:
        return self.state[register] if register >= 0 else NOTHING

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def set(self, register: cython.longlong, value: cython.int) -> cython.int:
        if register >= 0:
            self.state[register] = value
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _forget(self, symbol: cython.longlong) -> cython.int:
        """The instruction that names a number comes by again: what it named before is another number."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t = symbol if symbol > 0 else -symbol
        bit: cython.uchar = 1 if symbol > 0 else 2
        value: cython.int
        if not self.marks[k] & bit:
            self.marks[k] |= bit
            return 0
        for i in range(REGISTERS + self.slots):
            value = self.state[i]
            if value and self._symbol(value) == symbol:
                self.state[i] = self.values.intern(
                    self._base(value), self._type(value), self._step(value), 0, self._offset(value)
                )
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def name(self, at: cython.longlong, value: cython.int, k: cython.Py_ssize_t) -> cython.int:
        """An unknown number that is now in two places, so that sums of the two can be told."""
        if not self._step(value) or self._symbol(value):
            return value
        self._forget(k + 1)
        value = self.values.intern(self._base(value), self._type(value), self._step(value), k + 1, self._offset(value))
        if at >= 0:
            self.state[at] = value
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    def number(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, whole: cython.bint) -> cython.int:
        """An immediate; the address of a variable where it can be one."""
        value: cython.longlong = self._immediate(k, row)
        if whole and self.fixed and self._is_data(value):
            return self.values.intern(ADDRESS, value, 0, 0, value)
        return self.constant(value)

    @cython.ccall
    @cython.exceptval(-1)
    def seed(self, k: cython.Py_ssize_t) -> cython.int:
        """Put the variables that are in registers at an instruction into the state."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        register: cython.Py_ssize_t
        value: cython.int
        known: cython.int
        self.seeds.find(k)
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            register = self.seeded[place]
            value = self.seeded[place + 1]
            if not value or self.state[register] == value or register == self.stack_pointer:
                continue
            known = self.state[register]
            if (
                self._base(known) == NUMBER
                and self._symbol(known)
                and (self._step(known) == 1 or self._symbol(known) < 0)
            ):
                # What was copied from there, or to there, is the same.
                self._replace(known, value)
            elif self._base(known) == OBJECT and self._symbol(known) and not self._step(known):
                # One of several, of which a variable says which one it is.
                value = self.reconcile(known, value, register)
                self._replace(known, value)
                continue
            self.state[register] = self.reconcile(known, value, register)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def apply(self, k: cython.Py_ssize_t) -> cython.int:
        """Change the state into the one behind an instruction."""
        self._apply(k)
        if self.teaching and self.taught[k]:
            self._taught(self.taught_register[k], self.taught[k])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        row=cython.Py_ssize_t, m=cython.Py_ssize_t, action=cython.longlong, flow=cython.int, value=cython.int,
        other=cython.int, destination=cython.longlong, back=cython.longlong, half=cython.longlong, top=cython.longlong,
    )  # fmt: skip
    def _apply(self, k: cython.Py_ssize_t) -> cython.int:
        row = self.templates[k] * ROW_WORDS
        action = self.rows[row + ROW_ACTION]
        flow = self.flows[k] & 15
        if flow in (CALL, INDIRECT_CALL):
            self.call(k, row, flow)
            return 0
        if action in (OTHER, UPDATE):
            self.stores(k, row)
            self._write(row, -1)
            return 0
        destination = self.rows[row + ROW_DESTINATION]
        if action in (PUSH, POP, LEAVE):
            value = self._on_stack(k, row, action)
            if action == POP:
                self.set(destination, value)
            return 0
        if action == EXCHANGE:
            value = self.get(self.rows[row + ROW_LEFT])
            self.set(self.rows[row + ROW_LEFT], self.get(self.rows[row + ROW_RIGHT]))
            self.set(self.rows[row + ROW_RIGHT], value)
            return 0
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        back = -1
        top = NOTHING
        if self.rows[row + ROW_OPERANDS] and self.operands[m + OPERAND_WRITEBACK]:
            back = self.operands[m + OPERAND_BASE]
            top = self.add(self.get(back), self.constant(self.operands[m + OPERAND_WRITEBACK]))
        if action == LOAD_PAIR:
            half = self.operands[m + OPERAND_SIZE] // 2
            value = self.load(k, m, half, 0) if half == 8 else NOTHING
            other = self.load(k, m, half, half) if half == 8 else NOTHING
            self._write(row, -1)
            self.set(destination, value)
            self.set(self.rows[row + ROW_RIGHT], other)
        else:
            value = self.result(k, row, action)
            self._write(row, destination)
            self.set(destination, value)
        self.set(back, top)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _write(self, row: cython.Py_ssize_t, but: cython.longlong) -> cython.int:
        """Nothing is known of the registers that an instruction writes."""
        bits: cython.ulonglong
        register: cython.Py_ssize_t
        half: cython.Py_ssize_t
        for half in range(2):
            bits = cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES + half])
            register = 64 * half
            while bits and register < REGISTERS:
                if bits & 1 and register != but:
                    self.state[register] = NOTHING
                bits >>= 1
                register += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        left=cython.int, right=cython.int, width=cython.longlong, m=cython.Py_ssize_t, register=cython.longlong,
        bits=cython.longlong, immediate=cython.longlong,
    )  # fmt: skip
    def result(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """The destination's new value; what else the instruction does is done to the state."""
        width = self.rows[row + ROW_WIDTH]
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        if action == COPY:
            return self._copied(k, row, width)
        if action == CONSTANT:
            return self.number(k, row, True)
        if action == LOAD:
            return self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
        if action in (STORE, STORE_PAIR):
            self.stores(k, row)
            return NOTHING
        left = self.get(self.rows[row + ROW_LEFT])
        if action == LEA:
            self._name_index(k, row, m)
            left = self.address_of(k, m, 0)
            if left and width < 8 and self._base(left) != NUMBER and self._base(left) != ADDRESS:
                return NOTHING
            self._note_escape(row, left)
            return left
        register = self.rows[row + ROW_RIGHT]
        if action == ADD_MEMORY:
            return self.add(left, self.load(k, m, self.operands[m + OPERAND_SIZE], 0))
        if action == SELECT:
            right = self.get(register) if register >= 0 else self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
            return self.join(left, right) if left else NOTHING
        if action in (ADD, SUBTRACT, MULTIPLY):
            right = self.get(register) if register >= 0 else self.constant(self._immediate(k, row))
            if action == MULTIPLY:
                if right and self._base(right) == NUMBER and not self._step(right):
                    return self._only_number(self.scaled(left, self._offset(right)))
                if left and self._base(left) == NUMBER and not self._step(left):
                    return self._only_number(self.scaled(right, self._offset(left)))
                return NOTHING
            if action == SUBTRACT:
                left = self.difference(left, right)
            elif register == self.rows[row + ROW_LEFT]:
                left = self.scaled(left, 2)
            else:
                left = self.add(left, right)
            return left if width == 8 else self._only_number(left)
        immediate = self._immediate(k, row)
        if action == CARRY:
            left = self.moved(left, immediate)
            return self.join(left, self.moved(left, 1))
        if action == SHIFT_LEFT:
            if immediate > 61:
                return UNKNOWN
            return self._only_number(self.scaled(left, cython.cast(cython.longlong, 1) << immediate))
        if action == SHIFT_RIGHT:
            return self._shifted(left, immediate) if width == 8 else NOTHING
        if action == AND:
            return self._masked(k, row, left, register, width, immediate)
        if action == OR:
            bits = 1
            while bits <= immediate and bits < LARGEST:
                bits <<= 1
            if not left or self._base(left) != NUMBER or immediate < 0:
                return NOTHING
            if self._step(left) % bits or self._offset(left) % bits:
                return NOTHING
            # Bits that were 0: as good as a sum.
            return self.moved(left, immediate)
        if action == EXTEND:
            if not left:
                left = UNKNOWN
            if self._base(left) != NUMBER or width < 4:
                return NOTHING
            return self.name(self.rows[row + ROW_LEFT], left, k)
        return NOTHING

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _only_number(self, value: cython.int) -> cython.int:
        return value if value and self._base(value) == NUMBER else NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _shifted(self, value: cython.int, by: cython.longlong) -> cython.int:
        """A number divided by a power of two: the distance of two pointers, where that leaves no rest."""
        if not value or self._base(value) != NUMBER or not 0 <= by < 62:
            return NOTHING
        unit: cython.longlong = cython.cast(cython.longlong, 1) << by
        if self._step(value) % unit or self._offset(value) % unit:
            return NOTHING
        return self.values.intern(NUMBER, 0, self._step(value) // unit, 0, self._offset(value) // unit)

    @cython.cfunc
    @cython.exceptval(-1)
    def _copied(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, width: cython.longlong) -> cython.int:
        register: cython.longlong = self.rows[row + ROW_LEFT]
        value: cython.int = self.get(register)
        if not value:
            value = UNKNOWN
        if self._base(value) == NUMBER:
            return self.name(register, value, k)
        if width < 8:
            return value if self._base(value) == ADDRESS else NOTHING
        self._note_escape(row, value)
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    def _note_escape(self, row: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """The address of a part of the frame goes to a register that others may see."""
        register: cython.longlong = self.rows[row + ROW_DESTINATION]
        if register != self.stack_pointer and register != self.frame_pointer:
            self.escape(value)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _name_index(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.int:
        """An index that goes into a sum may be added to it again, as in multiples by 3 made of two additions."""
        index: cython.longlong = self.operands[m + OPERAND_INDEX]
        if index < 0 or index == self.rows[row + ROW_DESTINATION]:
            return 0
        value: cython.int = self.get(index)
        if not value:
            value = UNKNOWN
        if self._base(value) == NUMBER:
            self.name(index, value, k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _masked(
        self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, left: cython.int, register: cython.longlong,
        width: cython.longlong, mask: cython.longlong,
    ) -> cython.int:  # fmt: skip
        if register >= 0:
            return NOTHING
        if self._base(left) == FRAME and width == 8 and -4096 <= mask < 0 and not self._step(left):
            if self.rows[row + ROW_DESTINATION] == self.stack_pointer and self._offset(left) > -ALIGNED:
                return self.values.intern(FRAME, 0, 0, 0, (self._offset(left) & mask) - ALIGNED)
            return NOTHING
        if not left or self._base(left) == NUMBER:
            lowest: cython.longlong = mask & -mask
            if mask < 0 and width == 8 and (not left or self._step(left) == 1):
                # It may be an address that is aligned: a symbol below zero says so.
                self._forget(-k - 1)
                return self.values.intern(NUMBER, 0, lowest, -k - 1, 0)
            return self.values.intern(NUMBER, 0, max(lowest, 1), 0, 0) if mask else NULL
        if self._base(left) == OBJECT and -16 <= mask < 0:
            if not self._offset(left) and not self._step(left):
                # Flags in a pointer's low bits.
                return left
            if not self._step(left) % -mask:
                alignment: cython.longlong = self.questions.graph.alignment(self._type(left))
                if not alignment % -mask:
                    return self.moved(left, (self._offset(left) & mask) - self._offset(left))
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _on_stack(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """Pushes and pops; what is popped."""
        pointer: cython.int = self.stack_pointer
        top: cython.int = self.state[pointer]
        left: cython.longlong = self.rows[row + ROW_LEFT]
        m: cython.Py_ssize_t = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        offset: cython.longlong
        at: cython.Py_ssize_t
        value: cython.int
        if action == PUSH:
            if self._base(top) == FRAME and not self._step(top):
                offset = self._offset(top) - 8
                value = self.get(left) if left >= 0 else self.constant(self._immediate(k, row))
                if left < 0 and self.rows[row + ROW_OPERANDS] and not self.operands[m + OPERAND_IMPLICIT]:
                    value = NOTHING
                self.put(offset, 8, value)
                self.state[pointer] = self.values.intern(FRAME, 0, 0, 0, offset)
            else:
                self.state[pointer] = NOTHING
            return NOTHING
        if action == LEAVE:
            top = self.state[self.frame_pointer]
        value = NOTHING
        if self._base(top) == FRAME and not self._step(top):
            at = self._slot(self._offset(top), 8, False)
            value = self.state[at] if at >= 0 else NOTHING
            self.state[pointer] = self.values.intern(FRAME, 0, 0, 0, self._offset(top) + 8)
        else:
            self.state[pointer] = NOTHING
        if action == LEAVE:
            self.state[self.frame_pointer] = value
            return NOTHING
        return value

    # Calls -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(value=cython.int, number=cython.longlong, m=cython.Py_ssize_t, register=cython.longlong)
    def call(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, flow: cython.int) -> cython.int:
        """What a call leaves: registers the callee must keep, the stack but what it may have seen, what it returns."""
        target: Any = self.targets[k] if self.flows[k] & 16 else None
        lost: Any = self.questions.lost
        returned: Any
        if flow == CALL:
            known: Any = self.values.called.get(target)
            if known is None:
                known = self.values.called[target] = self.questions.call(target)
            transparent, passed, returned, through, same, lost = known
            if transparent:
                return 0
            if through is not None:
                value = self.state[through]
                if self._base(value) == OBJECT and not self._offset(value):
                    returned = self._returned_through(value)
            if same is not None and self.state[same] and self._base(self.state[same]) != NUMBER:
                returned = ((self.result_register, self.state[same]),)
            for register, said in passed:
                value = self.state[register]
                if self._base(value) != NUMBER or self._step(value) != 1:
                    continue
                if self._symbol(value) and not self._offset(value):
                    self._replace(value, said)
        else:
            m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
            value = NOTHING
            for _operand in range(self.rows[row + ROW_OPERANDS]):
                if not self.operands[m + OPERAND_IMPLICIT]:
                    value = self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
                    break
                m += OPERAND_WORDS
            else:
                register = self.rows[row + ROW_LEFT]
                value = self.get(register if register >= 0 else self.rows[row + ROW_READ])
            if self._base(value) == OBJECT and not self._step(value) and not self._offset(value):
                returned = self._returned_through(value)
            else:
                returned = ()
        for register in self.parameters:
            value = self.state[register]
            if value and self._base(value) == FRAME:
                self.escape(value)
                if flow == CALL and not self._step(value):
                    self._given(target, register, self._offset(value))
        self.lose_escaped(k)
        for register in lost:
            self.state[register] = NOTHING
        for register, said in returned:
            self.state[register] = said
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _given(self, target: Any, register: Any, offset: cython.longlong) -> cython.int:
        """The address of a slot is given to what is called: if that takes the address of a pointer to what the slot is
        known to lead to, it may have changed it to another one."""
        at: cython.Py_ssize_t = self._slot(offset, 8, False)
        if at < 0 or self._base(self.state[at]) != OBJECT:
            return 0
        pointers: Any = self.values.pointers.get(target)
        if pointers is None:
            pointers = self.values.pointers[target] = self.questions.pointers(target)
        self.escaped_as[offset] = pointers.get(register, NOTHING)
        return 0

    @cython.cfunc
    def _returned_through(self, value: cython.int) -> Any:
        return self.questions.returned_through(self._type(value))
