# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The rows of a whole table, packed so that one look-up stays fast.

Rows are in blocks of 32. A block has one byte, the number of bytes of its wide deltas; a byte for each row but the
first, its distance from the row before; a byte for each row, its rule; the wide deltas; the wide rules. An index has
two columns of 32-bit numbers by block: its first address, relative to the table's, and its offset in the data.

A delta byte below 224 is the delta; up to 254 it holds the upper bits of a 13-bit delta, whose lower eight are the next
byte of the wide deltas; 255 stands for a 32-bit delta there. A rule byte below 240 is the rule's number in the file,
where rules are ordered by use; up to 254 it holds the upper bits of a number minus 240, whose lower eight bits are the
next byte of the wide rules; 255 stands for a 16-bit number there. Number 0 (UNKNOWN in columns) stands for unknown, 1
(NO_RULE) for no rule.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.undwarf.tables.rule_format import NO_RULE, UNKNOWN

from undwarf.column import zeros

BLOCK = cython.declare(cython.Py_ssize_t, 32)
SPAN = cython.declare(cython.ulonglong, 0xFFFFFFFF)
TOP_BITS = cython.declare(cython.ulonglong, 0x8080808080808080)
EVEN_BYTES = cython.declare(cython.ulonglong, 0x00FF00FF00FF00FF)
ONES = cython.declare(cython.ulonglong, 0x0001000100010001)
MULTIPLIER = cython.declare(cython.ulonglong, 6364136223846793005)
INCREMENT = cython.declare(cython.ulonglong, 1442695040888963407)

WIDE_DELTA = cython.declare(cython.uint, 224)
WIDE_RULE = cython.declare(cython.uint, 240)
MOST_NARROW = cython.declare(cython.uint, 240 + (15 << 8))
"""The first rule number that takes two bytes of its own."""


@cython.locals(
    rules="const unsigned int[::1]",
    uses="unsigned int[::1]",
    found="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    most=cython.Py_ssize_t,
    rule=cython.Py_ssize_t,
)
def ranked(all_rules: Any, count: int) -> list[int] | None:
    """The rules in a column, those used most first; None if one is not below ``count``."""
    rules = all_rules
    most = count
    use_counts = zeros("I", most)
    uses = use_counts
    numbers = zeros("I", min(most, rules.shape[0]))
    found = numbers
    n = 0
    for i in range(rules.shape[0]):
        if rules[i] < UNKNOWN:
            rule = cython.cast(cython.Py_ssize_t, rules[i])
            if rule >= most:
                return None
            if uses[rule] == 0:
                found[n] = rules[i]
                n += 1
            uses[rule] += 1
    return sorted(memoryview(numbers)[:n].tolist(), key=use_counts.__getitem__, reverse=True)


@cython.locals(
    addresses="const unsigned long long[::1]",
    rules="const unsigned int[::1]",
    numbers="const unsigned int[::1]",
    index="unsigned int[::1]",
    data="unsigned char[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    rows=cython.Py_ssize_t,
    block=cython.Py_ssize_t,
    blocks=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    head=cython.Py_ssize_t,
    wide=cython.Py_ssize_t,
    delta=cython.ulonglong,
    rule=cython.uint,
)
def pack_rows(addresses: Any, rules: Any, numbers: Any) -> tuple[memoryview, memoryview] | None:
    """(index, data) of ascending rows; ``numbers`` gives each rule's number in the file, from 2 to 65535. None if the
    addresses span more than 4 GiB."""
    rows = addresses.shape[0]
    if rows == 0 or addresses[rows - 1] - addresses[0] > SPAN:
        return None
    blocks = (rows + BLOCK - 1) // BLOCK
    index_column = zeros("I", 2 * blocks)
    packed = zeros("B", rows * 8 + blocks)
    index = index_column
    data = packed
    with cython.nogil:
        at = 0
        for block in range(blocks):
            i = block * BLOCK
            n = min(BLOCK, rows - i)
            index[block] = cython.cast(cython.uint, addresses[i] - addresses[0])
            index[blocks + block] = cython.cast(cython.uint, at)
            head = at
            wide = at + 2 * n
            for k in range(1, n):
                delta = addresses[i + k] - addresses[i + k - 1]
                if delta < WIDE_DELTA:
                    data[head + k] = cython.cast(cython.uchar, delta)
                elif delta < 31 << 8:
                    data[head + k] = cython.cast(cython.uchar, WIDE_DELTA + (delta >> 8))
                    data[wide] = cython.cast(cython.uchar, delta & 255)
                    wide += 1
                else:
                    data[head + k] = 255
                    data[wide] = cython.cast(cython.uchar, delta & 255)
                    data[wide + 1] = cython.cast(cython.uchar, delta >> 8 & 255)
                    data[wide + 2] = cython.cast(cython.uchar, delta >> 16 & 255)
                    data[wide + 3] = cython.cast(cython.uchar, delta >> 24 & 255)
                    wide += 4
            # 31 wide deltas of four bytes at most
            data[head] = cython.cast(cython.uchar, wide - head - 2 * n)
            for k in range(n):
                rule = rules[i + k]
                if rule == NO_RULE:
                    rule = 1
                elif rule == UNKNOWN:
                    rule = 0
                else:
                    rule = numbers[rule]
                if rule < WIDE_RULE:
                    data[head + n + k] = cython.cast(cython.uchar, rule)
                elif rule < MOST_NARROW:
                    data[head + n + k] = cython.cast(cython.uchar, WIDE_RULE + ((rule - WIDE_RULE) >> 8))
                    data[wide] = cython.cast(cython.uchar, (rule - WIDE_RULE) & 255)
                    wide += 1
                else:
                    data[head + n + k] = 255
                    data[wide] = cython.cast(cython.uchar, rule & 255)
                    data[wide + 1] = cython.cast(cython.uchar, rule >> 8)
                    wide += 2
            at = wide
    return memoryview(index_column), memoryview(packed)[:at]


@cython.final
@cython.cclass
class PackedRows:
    """The rows of a table, looked up in packed form.

    ``index`` (I) and ``data`` (B) are those of :func:`pack_rows`, ``rules`` (I) are the numbers of the file's rules in
    the rule set, ``first`` is the table's first address, ``rows`` their number. Raises ValueError if these do not fit
    together; look-ups then stay inside of them.
    """

    first = cython.declare(cython.ulonglong, visibility="readonly")
    rows = cython.declare(cython.Py_ssize_t, visibility="readonly")
    index = cython.declare(object, visibility="readonly")
    data = cython.declare(object, visibility="readonly")
    rules = cython.declare(object, visibility="readonly")
    blocks = cython.declare(cython.Py_ssize_t, visibility="readonly")
    _index = cython.declare("const unsigned int[::1]")
    _data = cython.declare("const unsigned char[::1]")
    _rules = cython.declare("const unsigned int[::1]")
    guide = cython.declare(object, visibility="readonly")
    _guide = cython.declare("unsigned int[::1]")
    shift = cython.declare(cython.int, visibility="readonly")
    last_range: cython.uint

    def __init__(self, index: memoryview, data: memoryview, rules: memoryview, first: int, rows: int) -> None:
        self.index = index
        self.data = data
        self.rules = rules
        self._index = index
        self._data = data
        self._rules = rules
        self.first = first
        self.rows = rows
        self.blocks = self._index.shape[0] // 2
        if self.blocks == 0 or self.rows <= (self.blocks - 1) * BLOCK or self.rows > self.blocks * BLOCK:
            raise ValueError("rows")
        if len(index) % 2 or not self.valid():
            raise ValueError("blocks")
        self._make_guide()

    def _make_guide(self) -> None:
        """The block in which each of equal ranges of addresses begins, of about as many ranges as blocks."""
        last: cython.uint = self._index[self.blocks - 1]
        block: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        self.shift = 0
        while last >> self.shift >= cython.cast(cython.uint, self.blocks):
            self.shift += 1
        n = (last >> self.shift) + 2
        self.last_range = cython.cast(cython.uint, n - 2)
        self.guide = zeros("I", n)
        self._guide = self.guide
        for i in range(n):
            while block + 1 < self.blocks and self._index[block + 1] <= cython.cast(cython.ulonglong, i) << self.shift:
                block += 1
            self._guide[i] = cython.cast(cython.uint, block)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def valid(self) -> cython.bint:
        """Whether all blocks are complete, ascend, and name existing rules."""
        base = cython.declare("const unsigned char *", cython.address(self._data[0]))
        size: cython.Py_ssize_t = self._data.shape[0]
        known: cython.uint = cython.cast(cython.uint, self._rules.shape[0]) + 2
        block: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        wide: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        code: cython.uint
        delta: cython.ulonglong
        # The first address that the next row may have.
        least: cython.ulonglong = 0
        here: cython.ulonglong
        if self._index[0]:
            return False
        for block in range(self.blocks):
            here = self._index[block]
            if here < least or self._index[self.blocks + block] != cython.cast(cython.ulonglong, at):
                return False
            n = min(BLOCK, self.rows - block * BLOCK)
            if size - at < 2 * n:
                return False
            wide = at + 2 * n
            stop = wide + base[at]
            if stop > size:
                return False
            for k in range(1, n):
                code = base[at + k]
                delta = code
                if code == 255:
                    if stop - wide < 4:
                        return False
                    delta = (
                        base[wide]
                        | cython.cast(cython.uint, base[wide + 1]) << 8
                        | cython.cast(cython.uint, base[wide + 2]) << 16
                        | cython.cast(cython.uint, base[wide + 3]) << 24
                    )
                    wide += 4
                elif code >= WIDE_DELTA:
                    if stop - wide < 1:
                        return False
                    delta = (code - WIDE_DELTA) << 8 | base[wide]
                    wide += 1
                if delta == 0:
                    return False
                here += delta
            if wide != stop or here > SPAN:
                return False
            least = here + 1
            for k in range(n):
                code = base[at + n + k]
                if code == 255:
                    if size - wide < 2:
                        return False
                    code = base[wide] | cython.cast(cython.uint, base[wide + 1]) << 8
                    wide += 2
                elif code >= WIDE_RULE:
                    if size - wide < 1:
                        return False
                    code = WIDE_RULE + ((code - WIDE_RULE) << 8 | base[wide])
                    wide += 1
                if code >= known:
                    return False
            at = wide
        return at == size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find(self, address: cython.ulonglong) -> cython.uint:
        """The rule for an address, 0xFFFFFFFE or 0xFFFFFFFF. Nothing is checked here: :meth:`valid` did."""
        index = cython.declare("const unsigned int *", cython.address(self._index[0]))
        at = cython.declare("const unsigned char *")
        wide = cython.declare("const unsigned char *")
        low: cython.Py_ssize_t
        some: cython.Py_ssize_t
        half: cython.Py_ssize_t
        eight: cython.ulonglong = 0
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        code: cython.uint
        left: cython.uint
        target: cython.uint
        if address < self.first or address - self.first > SPAN:
            return UNKNOWN
        target = cython.cast(cython.uint, address - self.first)
        low = cython.cast(cython.Py_ssize_t, min(target >> self.shift, self.last_range))
        some = self._guide[low + 1]
        low = self._guide[low]
        some = some + 1 - low
        while some > 1:
            # Without a branch, which the processor could not predict.
            half = some >> 1
            low += half * (index[low + half] <= target)
            some -= half
        left = target - index[low]
        at = cython.address(self._data[0]) + index[self.blocks + low]
        n = min(BLOCK, self.rows - low * BLOCK)
        wide = at + 2 * n
        k = 1
        while k + 8 <= n:
            # Eight narrow deltas at once, if all of them are to be passed.
            memcpy(cython.address(eight), at + k, 8)
            if eight & eight << 1 & eight << 2 & TOP_BITS:
                break
            eight = (eight & EVEN_BYTES) + (eight >> 8 & EVEN_BYTES)
            code = cython.cast(cython.uint, eight * ONES >> 48)
            if code > left:
                break
            left -= code
            k += 8
        while k < n:
            code = at[k]
            if code >= 224:
                if code == 255:
                    code = (
                        wide[0]
                        | cython.cast(cython.uint, wide[1]) << 8
                        | cython.cast(cython.uint, wide[2]) << 16
                        | cython.cast(cython.uint, wide[3]) << 24
                    )
                    wide += 4
                else:
                    code = (code - 224) << 8 | wide[0]
                    wide += 1
            if code > left:
                break
            left -= code
            k += 1
        k -= 1
        code = at[n + k]
        if code >= 240:
            wide = at + 2 * n + at[0]
            for i in range(k):
                left = at[n + i]
                if left >= 240:
                    wide += 2 if left == 255 else 1
            if code == 255:
                code = wide[0] | cython.cast(cython.uint, wide[1]) << 8
            else:
                code = 240 + ((code - 240) << 8 | wide[0])
        if code < 2:
            return 0xFFFFFFFF if code else 0xFFFFFFFE
        rule: cython.uint = self._rules[cython.cast(cython.Py_ssize_t, code) - 2]
        return rule

    def rule_at(self, address: int) -> int:
        """The rule for an address; 0xfffffffe where nothing is known, 0xffffffff where there is no rule."""
        return int(self.find(address))

    def lookups(self, count: int, low: int, high: int) -> int:
        """Look up ``count`` random addresses from ``low`` to ``high`` (to time it); the sum of what was found."""
        seed: cython.ulonglong = 88172645463325252
        span: cython.ulonglong = high - low
        start: cython.ulonglong = low
        total: cython.ulonglong = 0
        n: cython.Py_ssize_t = count
        _i: cython.Py_ssize_t
        with cython.nogil:
            for _i in range(n):
                seed = seed * MULTIPLIER + INCREMENT
                total += self.find(start + (((seed >> 32) * span) >> 32))
        return int(total)

    @cython.locals(new="unsigned long long[::1]", new_i="unsigned int[::1]")
    def unpack(self) -> tuple[memoryview, memoryview]:
        """All rows as columns: addresses (Q) and rules (I), with the two marks."""
        address_column = zeros("Q", self.rows)
        rule_column = zeros("I", self.rows)
        new = address_column
        new_i = rule_column
        with cython.nogil:
            self.unpack_to(cython.address(new[0]), cython.address(new_i[0]))
        return memoryview(address_column), memoryview(rule_column)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.locals(addresses="unsigned long long *", rules="unsigned int *")
    def unpack_to(self, addresses: Any, rules: Any) -> cython.int:
        at = cython.declare("const unsigned char *", cython.address(self._data[0]))
        wide = cython.declare("const unsigned char *")
        block: cython.Py_ssize_t
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t = 0
        code: cython.uint
        here: cython.ulonglong
        for block in range(self.blocks):
            n = min(BLOCK, self.rows - row)
            wide = at + 2 * n
            here = self.first + self._index[block]
            addresses[row] = here
            for k in range(1, n):
                code = at[k]
                if code == 255:
                    code = (
                        wide[0]
                        | cython.cast(cython.uint, wide[1]) << 8
                        | cython.cast(cython.uint, wide[2]) << 16
                        | cython.cast(cython.uint, wide[3]) << 24
                    )
                    wide += 4
                elif code >= WIDE_DELTA:
                    code = (code - WIDE_DELTA) << 8 | wide[0]
                    wide += 1
                here += code
                addresses[row + k] = here
            for k in range(n):
                code = at[n + k]
                if code == 255:
                    code = wide[0] | cython.cast(cython.uint, wide[1]) << 8
                    wide += 2
                elif code >= WIDE_RULE:
                    code = WIDE_RULE + ((code - WIDE_RULE) << 8 | wide[0])
                    wide += 1
                if code < 2:
                    rules[row + k] = NO_RULE if code else UNKNOWN
                else:
                    rules[row + k] = self._rules[cython.cast(cython.Py_ssize_t, code) - 2]
            row += n
            at = wide
        return 0
