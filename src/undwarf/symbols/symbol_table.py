# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Symbol tables of all file formats: sorted address ranges with names, looked up in batches.

Which symbol stands for an address that several name follows perf (tools/perf/util/symbol.c, ``symbols__fixup_end``
and ``choose_best_symbol``), so that reports agree: a size, then not a bare label, then not weak, then global, then
fewer leading underscores, then the longer name. The last two need the names, which is slower, so they are compared
when such an address is first hit; until then aliases that tie are kept together.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.symbols.symbol_constants import NAME_OFFSET_MASK, NAME_TEXT_SHIFT, RANK_SIZED

from undwarf.column import zeros
from undwarf.ordering import sort_order

PAGE = cython.declare(cython.ulonglong, 4096)

MAX_TEXTS = 3
MAX_NAME = cython.declare(cython.Py_ssize_t, 16384)
"""Maximum bytes of a name."""
MAX_TIES = cython.declare(cython.uint, 32)
"""Maximum aliases of an address that are compared by name."""

UNTIL_NUL = 0
UNTIL_SPACE = 1
UNTIL_LINE = 2
"""End of a name in its text: NUL in a string table, white space in kallsyms, the end of line in a perf map."""


@cython.final
@cython.cclass
class SymbolTable:
    """Symbols by address.

    Built from columns with one entry a symbol, in their file's order: ``values`` Q addresses, ``sizes`` Q bytes (0
    where the file does not tell), ``limits`` Q where a symbol without a size ends at the latest (the end of its
    section; 0 for no limit), ``names`` Q (text << 48 | offset), ``ranks`` B, and ``owners`` I or None: symbols
    without a size do not reach from one owner into the next. ``texts`` hold the names.
    """

    starts = cython.declare("unsigned long long[::1]")
    ends = cython.declare("unsigned long long[::1]")
    around = cython.declare("unsigned int[::1]")
    first_tie = cython.declare("unsigned int[::1]")
    ties = cython.declare("unsigned int[::1]")
    names = cython.declare("const unsigned long long[::1]")
    values = cython.declare("const unsigned long long[::1]")
    text0 = cython.declare("const unsigned char[::1]")
    text1 = cython.declare("const unsigned char[::1]")
    text2 = cython.declare("const unsigned char[::1]")
    count: cython.Py_ssize_t
    until: cython.int
    nested: cython.bint

    def __init__(
        self,
        values: Any,
        sizes: Any,
        limits: Any,
        names: Any,
        ranks: Any,
        owners: Any,
        texts: Any,
        until: cython.int = UNTIL_NUL,
    ) -> None:
        parts = list(texts)[:MAX_TEXTS] + [b"\0"] * MAX_TEXTS
        self.text0 = parts[0] if len(parts[0]) else b"\0"
        self.text1 = parts[1] if len(parts[1]) else b"\0"
        self.text2 = parts[2] if len(parts[2]) else b"\0"
        self.until = until
        self.names = names
        self.values = values
        self._build(values, sizes, limits, ranks, owners)

    @cython.locals(
        values="const unsigned long long[::1]",
        sizes="const unsigned long long[::1]",
        limits="const unsigned long long[::1]",
        ranks="const unsigned char[::1]",
        owners="const unsigned int[::1]",
        order="unsigned int[::1]",
        ends="unsigned long long[::1]",
        starts="unsigned long long[::1]",
        out_ends="unsigned long long[::1]",
        around="unsigned int[::1]",
        first_tie="unsigned int[::1]",
        ties="unsigned int[::1]",
        owned=cython.bint,
        n=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        j=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        made=cython.Py_ssize_t,
        tied=cython.Py_ssize_t,
        at=cython.uint,
        start=cython.ulonglong,
        end=cython.ulonglong,
        rank=cython.uint,
        best=cython.uint,
        up=cython.uint,
    )
    def _build(self, values: Any, sizes: Any, limits: Any, ranks: Any, owners: Any) -> None:
        n = len(values)
        order = sort_order(values)
        ends = zeros("Q", n)
        owned = owners is not None
        if not owned:
            owners = zeros("I", 0)
        starts = zeros("Q", n)
        out_ends = zeros("Q", n)
        around = zeros("I", n)
        first_tie = zeros("I", n + 1)
        ties = zeros("I", n)
        made = 0
        tied = 0
        self.nested = False
        with cython.nogil:
            # Ends. A symbol without a size reaches to the next one, which may be its alias: then it has none.
            for i in range(n):
                at = order[i]
                start = values[at]
                if sizes[at]:
                    end = start + sizes[at] if sizes[at] <= ALL_ONES - start else ALL_ONES
                else:
                    if i + 1 < n:
                        end = values[order[i + 1]]
                        if owned and owners[at] != owners[order[i + 1]] and end - start > 2 * PAGE:
                            end = (start + 2 * PAGE - 1) & ~(PAGE - 1)
                    else:
                        end = (start & ~(PAGE - 1)) + 2 * PAGE if start < ALL_ONES - 2 * PAGE else ALL_ONES
                    if limits[at] > start and end > limits[at]:
                        end = limits[at]
                ends[i] = end
            i = 0
            while i < n:
                start = values[order[i]]
                best = 0
                j = i
                while j < n and values[order[j]] == start:
                    rank = ranks[order[j]] + (RANK_SIZED if ends[j] > start else 0)
                    if rank > best:
                        best = rank
                    j += 1
                end = start
                first_tie[made] = tied
                for k in range(i, j):
                    rank = ranks[order[k]] + (RANK_SIZED if ends[k] > start else 0)
                    if rank == best:
                        ties[tied] = order[k]
                        tied += 1
                        if ends[k] > end:
                            end = ends[k]
                if end > start:
                    starts[made] = start
                    out_ends[made] = end
                    # The nearest earlier symbol that reaches beyond this one's start, counted from 1.
                    up = made
                    while up and out_ends[up - 1] <= start:
                        up = around[up - 1]
                    around[made] = up
                    if up:
                        self.nested = True
                    made += 1
                else:
                    tied = first_tie[made]
                i = j
            first_tie[made] = tied
        self.count = made
        self.starts = starts[:made]
        self.ends = out_ends[:made]
        self.around = around[:made]
        self.first_tie = first_tie[: made + 1]
        self.ties = ties[:tied]

    def __len__(self) -> int:
        return self.count

    def ranges(self) -> tuple[memoryview, memoryview]:
        """Starts and ends (exclusive) of all symbols as columns of Q, sorted by start."""
        return memoryview(self.starts), memoryview(self.ends)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t, up=cython.uint)
    @cython.exceptval(-2, check=False)
    def _find(self, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The symbol with the nearest start that contains ``address``, else -1."""
        low = 0
        high = self.count
        while low < high:
            middle = (low + high) >> 1
            if self.starts[middle] <= address:
                low = middle + 1
            else:
                high = middle
        up = low
        while up:
            if address < self.ends[up - 1]:
                return up - 1
            up = self.around[up - 1]
        return -1

    def find(self, address: int) -> int | None:
        """The symbol that contains an address, or None."""
        if not 0 <= address <= 0xFFFFFFFFFFFFFFFF:
            return None
        found: int = self._find(address)
        return None if found < 0 else found

    def extent(self, symbol: cython.Py_ssize_t) -> tuple[int, int]:
        """The start and the end (exclusive) of a symbol."""
        if not 0 <= symbol < self.count:
            raise IndexError(symbol)
        return self.starts[symbol], self.ends[symbol]

    @cython.locals(
        addresses="const unsigned long long[::1]",
        order="const unsigned int[::1]",
        function_of="unsigned int[::1]",
        functions="unsigned int[::1]",
        new="unsigned int[::1]",
        i=cython.Py_ssize_t,
        frame=cython.uint,
        number=cython.uint,
        fresh=cython.Py_ssize_t,
        symbol=cython.Py_ssize_t,
        last=cython.Py_ssize_t,
        address=cython.ulonglong,
        offset=cython.ulonglong,
    )
    def assign(
        self,
        addresses: Any,
        order: Any,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        delta: cython.ulonglong,
        function_of: Any,
        functions: Any,
        first_number: cython.uint,
        new: Any,
    ) -> int:
        """Gives the frames ``order[begin:end]`` the number of the function that contains ``addresses[frame] - delta``.

        ``function_of`` (I, one a symbol) remembers number + 1 between calls; symbols that are hit for the first
        time get numbers from ``first_number`` on and are listed in ``new``. Frames without a symbol, and those
        that have a function already, are left as they are. Returns how many symbols are new.
        """
        fresh = 0
        last = -1
        offset = delta
        with cython.nogil:
            for i in range(begin, end):
                frame = order[i]
                if functions[frame] != NOTHING:
                    continue
                address = addresses[frame] - offset
                if last >= 0 and not self.nested and self.starts[last] <= address < self.ends[last]:
                    symbol = last
                else:
                    symbol = self._find(address)
                    if symbol < 0:
                        continue
                    last = symbol
                number = function_of[symbol]
                if not number:
                    new[fresh] = symbol
                    fresh += 1
                    number = first_number + fresh
                    function_of[symbol] = number
                functions[frame] = number - 1
        return fresh

    @cython.locals(
        symbols="const unsigned int[::1]",
        starts="unsigned long long[::1]",
        i=cython.Py_ssize_t,
        first=cython.uint,
        last=cython.uint,
        k=cython.uint,
    )
    def describe(self, numbers: Any, count: cython.Py_ssize_t) -> tuple[list[bytes | list[bytes]], memoryview]:
        """Names and starts (Q) of the first ``count`` symbols in ``numbers``; a list of names where aliases tie."""
        symbols = numbers
        found: list[bytes | list[bytes]] = []
        at = zeros("Q", count)
        starts = at
        for i in range(count):
            starts[i] = self.starts[symbols[i]]
            first = self.first_tie[symbols[i]]
            last = self.first_tie[symbols[i] + 1]
            if last == first + 1:
                found.append(self._name(self.ties[first]))
            else:
                if last > first + MAX_TIES:
                    last = first + MAX_TIES
                found.append([self._name(self.ties[k]) for k in range(first, last)])
        return found, at

    def names_at(self, symbol: int) -> list[bytes]:
        """The name of one symbol, with the aliases that tie with it."""
        one = zeros("I", 1)
        one[0] = symbol
        name = self.describe(one, 1)[0][0]
        return name if isinstance(name, list) else [name]

    @cython.locals(
        wanted="const unsigned char[::1]",
        text="const unsigned char[::1]",
        i=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        size=cython.Py_ssize_t,
        source=cython.ulonglong,
    )
    def address_of_name(self, name: bytes) -> int | None:
        """The address of the first symbol with exactly this name, all aliases included; None without one."""
        wanted = name
        size = len(name)
        for source in range(MAX_TEXTS):
            text = self.text0 if source == 0 else (self.text1 if source == 1 else self.text2)
            for i in range(self.names.shape[0]):
                if self.names[i] >> NAME_TEXT_SHIFT != source:
                    continue
                at = cython.cast(cython.Py_ssize_t, self.names[i] & NAME_OFFSET_MASK)
                if at + size >= text.shape[0]:
                    continue
                k = 0
                while k < size and text[at + k] == wanted[k]:
                    k += 1
                if k == size and (text[at + k] == 0 or (self.until and text[at + k] <= 32)):
                    return int(self.values[i])
        return None

    @cython.cfunc
    def _name(self, raw: cython.uint) -> bytes:
        name: cython.ulonglong = self.names[raw]
        source: cython.ulonglong = name >> NAME_TEXT_SHIFT
        if source == 0:
            return _cut(self.text0, name & NAME_OFFSET_MASK, self.until)
        if source == 1:
            return _cut(self.text1, name & NAME_OFFSET_MASK, self.until)
        return _cut(self.text2, name & NAME_OFFSET_MASK, self.until)


@cython.cfunc
@cython.locals(
    text="const unsigned char[::1]",
    at=cython.ulonglong,
    until=cython.int,
    start=cython.Py_ssize_t,
    end=cython.Py_ssize_t,
    size=cython.Py_ssize_t,
    byte=cython.uchar,
)
def _cut(text: Any, at: cython.ulonglong, until: cython.int) -> bytes:
    """The name that starts at an offset of a text."""
    size = text.shape[0]
    if at >= cython.cast(cython.ulonglong, size):
        return b""
    start = at
    end = start
    if size > start + MAX_NAME:
        size = start + MAX_NAME
    while end < size:
        byte = text[end]
        if byte == 0 or (until and (byte == 10 or (until == 1 and (byte == 32 or byte == 9 or byte == 13)))):
            break
        end += 1
    if end == start:
        return b""
    return cython.cast("const char *", cython.address(text[start]))[: end - start]  # type: ignore[no-any-return]  # C string
