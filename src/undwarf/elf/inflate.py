# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Zlib streams of known size, unpacked straight into their place.

The libraries that are at hand unpack into pieces, which are then put together, at a third of the speed that is possible
where input and output lie in memory as a whole: to read compressed debugging information was a tenth of a run.

Sources: RFC 1950, RFC 1951. Codes are looked up by their first bits, longer ones once more, as in all fast readers.
"""

import zlib
from typing import Any

import cython
from cython.cimports.libc.string import memcpy, memset

LITERAL_BITS = cython.declare(cython.int, 11)
DISTANCE_BITS = cython.declare(cython.int, 8)
LITERALS = cython.declare(cython.int, 2400)
"""Entries of tables, more than any complete set of codes takes (zlib, `enough.c`: 2,342 for 288 codes and 11 bits, 402
for 32 codes and 8 bits)."""
DISTANCES = cython.declare(cython.int, 512)

# An entry: bits 0 to 7 how many bits it takes, those of the code (bits 8 to 11) and those that follow and are added;
# from bit 16 on the byte, or what is added to. Where LITERAL is set it is a byte; where OTHER is set, the end of the
# block, a further table (bits 8 to 11: bits that choose in it), or no code.
LITERAL = cython.declare(cython.uint, 0x80000000)
OTHER = cython.declare(cython.uint, 0x8000)
FURTHER = cython.declare(cython.uint, 0x4000)
END = cython.declare(cython.uint, 0x2000)

MARGIN = cython.declare(cython.Py_ssize_t, 280)
"""Bytes that one round writes at most: three literals, or a copy, by eight at a time."""
AHEAD = cython.declare(cython.Py_ssize_t, 16)
"""Bytes that one round reads at most."""

_LENGTH_BASE = (3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
                227, 258)  # fmt: skip
_LENGTH_EXTRA = (0,) * 8 + tuple(k for k in range(1, 6) for _ in range(4)) + (0,)
_DISTANCE_EXTRA = (0, 0, *(k for k in range(14) for _ in range(2)))
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)


def _meanings() -> tuple[bytes, bytes, bytes]:
    """By symbol, what entries say but for the code's length: of literals and lengths, of distances, of lengths of
    codes."""
    literals = [LITERAL | symbol << 16 for symbol in range(256)] + [OTHER | END]
    literals += [base << 16 | extra for base, extra in zip(_LENGTH_BASE, _LENGTH_EXTRA, strict=True)]
    literals += [OTHER] * (288 - len(literals))
    distances = []
    base = 1
    for extra in _DISTANCE_EXTRA:
        distances.append(base << 16 | extra)
        base += 1 << extra
    distances += [OTHER] * (32 - len(distances))
    lengths = [symbol << 16 for symbol in range(19)]
    packed = [b"".join(one.to_bytes(4, "little") for one in column) for column in (literals, distances, lengths)]
    return packed[0], packed[1], packed[2]


_OF_LITERALS, _OF_DISTANCES, _OF_LENGTHS = _meanings()
_FIXED = bytes([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8 + [5] * 32)
"""Lengths of the codes of a block that does not say them: 288 of literals and lengths, 32 of distances."""


@cython.final
@cython.cclass
class _Stream:
    """A stream and where it is unpacked to. ``at`` is what is read next, behind the ``count`` bits in ``bits``."""

    source = cython.declare("const unsigned char *")
    target = cython.declare("unsigned char *")
    at = cython.declare(cython.Py_ssize_t)
    end = cython.declare(cython.Py_ssize_t)
    done = cython.declare(cython.Py_ssize_t)
    size = cython.declare(cython.Py_ssize_t)
    bits = cython.declare(cython.ulonglong)
    count = cython.declare(cython.int)
    literals = cython.declare("unsigned int[2400]")
    distances = cython.declare("unsigned int[512]")
    lengths = cython.declare("unsigned char[352]")

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take(self, wanted: cython.int) -> cython.uint:
        """The next bits, 16 at most; where the stream has ended, zeros, and ``count`` is negative."""
        found: cython.uint
        while self.count < wanted and self.at < self.end:
            self.bits |= cython.cast(cython.ulonglong, self.source[self.at]) << self.count
            self.at += 1
            self.count += 8
        found = cython.cast(cython.uint, self.bits & ((cython.cast(cython.ulonglong, 1) << wanted) - 1))
        self.bits >>= wanted
        self.count -= wanted
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def symbol(self, table: cython.p_uint, first: cython.int) -> cython.uint:
        """The entry of the next code of a table that is chosen in by ``first`` bits; the code is stepped over, what
        follows it is not."""
        entry: cython.uint
        taken: cython.int
        while self.count < 15 and self.at < self.end:
            self.bits |= cython.cast(cython.ulonglong, self.source[self.at]) << self.count
            self.at += 1
            self.count += 8
        entry = table[self.bits & ((cython.cast(cython.ulonglong, 1) << first) - 1)]
        if entry & FURTHER:
            self.bits >>= first
            self.count -= first
            taken = (entry >> 8) & 15
            entry = table[(entry >> 16) + (self.bits & ((cython.cast(cython.ulonglong, 1) << taken) - 1))]
        taken = (entry >> 8) & 15
        self.bits >>= taken
        self.count -= taken
        return entry

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def build(
        self,
        table: cython.p_uint,
        room: cython.int,
        first: cython.int,
        lengths: cython.p_uchar,
        count: cython.int,
        meanings: cython.p_uchar,
    ) -> cython.bint:
        """Make a table of ``count`` codes of some lengths, at most 15; whether they are a complete set.

        ``meanings`` are what entries say, four bytes each.
        """
        k: cython.int
        n: cython.int
        length: cython.int
        left: cython.int = 1
        symbol: cython.int
        code: cython.uint = 0
        step: cython.uint
        at: cython.uint
        size: cython.int
        begin: cython.int = 0
        end: cython.int = 1 << first
        chosen: cython.int = 0
        prefix: cython.uint = 0xFFFFFFFF
        entry: cython.uint
        of_length = cython.declare("int[16]")
        next_of = cython.declare("int[16]")
        sorted_by = cython.declare("unsigned short[320]")
        for k in range(16):
            of_length[k] = 0
        for k in range(count):
            of_length[lengths[k]] += 1
        next_of[0] = 0
        n = 0
        for length in range(1, 16):
            left = 2 * left - of_length[length]
            if left < 0:
                return False
            next_of[length] = n
            n += of_length[length]
        if left or n > 320:
            return False
        for k in range(count):
            length = lengths[k]
            if length:
                sorted_by[next_of[length]] = cython.cast("unsigned short", k)
                next_of[length] += 1
        for k in range(n):
            symbol = sorted_by[k]
            length = lengths[symbol]
            entry = (
                cython.cast(cython.uint, meanings[4 * symbol])
                | cython.cast(cython.uint, meanings[4 * symbol + 1]) << 8
                | cython.cast(cython.uint, meanings[4 * symbol + 2]) << 16
                | cython.cast(cython.uint, meanings[4 * symbol + 3]) << 24
            )
            if length <= first:
                # As many bits as follow and are added were in the lowest place: these and the code's.
                entry += cython.cast(cython.uint, length * 0x101)
                at = code
                while at < cython.cast(cython.uint, 1 << first):
                    table[at] = entry
                    at += cython.cast(cython.uint, 1 << length)
            else:
                if code & cython.cast(cython.uint, (1 << first) - 1) != prefix:
                    # A further table, of all codes that begin so: as large as these fill it.
                    prefix = code & cython.cast(cython.uint, (1 << first) - 1)
                    chosen = length - first
                    left = 1 << chosen
                    while chosen + first < 15:
                        left -= of_length[chosen + first]
                        if left <= 0:
                            break
                        chosen += 1
                        left <<= 1
                    begin = end
                    end += 1 << chosen
                    if end > room:
                        return False
                    table[prefix] = (
                        OTHER | FURTHER | cython.cast(cython.uint, begin) << 16
                        | cython.cast(cython.uint, chosen) << 8 | cython.cast(cython.uint, first)
                    )  # fmt: skip
                size = length - first
                if size > chosen:
                    return False
                entry += cython.cast(cython.uint, size * 0x101)
                at = code >> first
                while at < cython.cast(cython.uint, 1 << chosen):
                    table[begin + at] = entry
                    at += cython.cast(cython.uint, 1 << size)
            of_length[length] -= 1
            # The next code, whose bits come the highest first.
            step = cython.cast(cython.uint, 1 << (length - 1))
            while code & step:
                step >>= 1
            code = (code & (step - 1)) + step if step else 0
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def codes(
        self,
        order: cython.p_uchar,
        of_lengths: cython.p_uchar,
        of_literals: cython.p_uchar,
        of_distances: cython.p_uchar,
    ) -> cython.bint:
        """Make the tables of a block that says the lengths of its codes."""
        literals: cython.int = 257 + self.take(5)
        distances: cython.int = 1 + self.take(5)
        given: cython.int = 4 + self.take(4)
        k: cython.int = 0
        n: cython.int
        symbol: cython.int
        again: cython.int
        if literals > 286 or distances > 30:
            return False
        memset(self.lengths, 0, 19)
        for k in range(given):
            self.lengths[order[k]] = cython.cast("unsigned char", self.take(3))
        if self.count < 0 or not self.build(self.distances, DISTANCES, 7, self.lengths, 19, of_lengths):
            return False
        k = 0
        while k < literals + distances:
            symbol = cython.cast(cython.int, self.symbol(self.distances, 7) >> 16)
            if symbol < 16:
                self.lengths[k] = cython.cast("unsigned char", symbol)
                k += 1
            else:
                again = 0
                if symbol == 16:
                    if k == 0:
                        return False
                    again = self.lengths[k - 1]
                    n = 3 + self.take(2)
                elif symbol == 17:
                    n = 3 + self.take(3)
                else:
                    n = 11 + self.take(7)
                if n > literals + distances - k:
                    return False
                memset(cython.address(self.lengths[k]), again, n)
                k += n
            if self.count < 0:
                return False
        return self.lengths[256] != 0 and self.tables(literals, distances, of_literals, of_distances)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def tables(
        self,
        literals: cython.int,
        distances: cython.int,
        of_literals: cython.p_uchar,
        of_distances: cython.p_uchar,
    ) -> cython.bint:
        """Make the tables of a block by the lengths of its codes."""
        of: cython.p_uchar = self.lengths
        return self.build(self.literals, LITERALS, LITERAL_BITS, of, literals, of_literals) and self.build(
            self.distances, DISTANCES, DISTANCE_BITS, of + literals, distances, of_distances
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def stored(self) -> cython.bint:
        """Copy a block that is not packed."""
        size: cython.Py_ssize_t
        self.bits >>= self.count & 7
        self.count -= self.count & 7
        size = self.take(16)
        if size != self.take(16) ^ 0xFFFF or self.count < 0:
            return False
        # What was read ahead is whole bytes.
        self.at -= self.count >> 3
        self.bits = 0
        self.count = 0
        if size > self.end - self.at or size > self.size - self.done:
            return False
        memcpy(self.target + self.done, self.source + self.at, size)
        self.at += size
        self.done += size
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.locals(source="const unsigned char *", target="unsigned char *", literals="unsigned int *",
                   distances="unsigned int *", begin="unsigned char *", last="unsigned char *",
                   final="const unsigned char *", behind="unsigned char *", copied="unsigned char *")  # fmt: skip
    def quickly(self) -> cython.int:
        """Unpack as long as there is more to read and more room than a round takes: 1 at the end of a block, 0 where
        there is not, -1 for damage."""
        bits: cython.ulonglong = self.bits
        kept: cython.ulonglong
        count: cython.uint = self.count
        entry: cython.uint
        taken: cython.uint
        length: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        found: cython.int = 0
        if self.end - self.at < AHEAD or self.size - self.done < MARGIN:
            return 0
        literals = self.literals
        distances = self.distances
        begin = self.target
        source = self.source + self.at
        final = self.source + (self.end - AHEAD)
        target = begin + self.done
        last = begin + (self.size - MARGIN)
        while source <= final and target <= last:
            # At least 56 bits: three codes of bytes that are in the first table, or what a copy takes.
            bits |= _eight(source) << count
            source += (63 - count) >> 3
            count |= 56
            entry = literals[bits & 0x7FF]
            if entry & LITERAL:
                bits >>= entry & 0xFF
                count -= entry & 0xFF
                target[0] = cython.cast("unsigned char", entry >> 16)
                target += 1
                entry = literals[bits & 0x7FF]
                if entry & LITERAL:
                    bits >>= entry & 0xFF
                    count -= entry & 0xFF
                    target[0] = cython.cast("unsigned char", entry >> 16)
                    target += 1
                    entry = literals[bits & 0x7FF]
                    if entry & LITERAL:
                        bits >>= entry & 0xFF
                        count -= entry & 0xFF
                        target[0] = cython.cast("unsigned char", entry >> 16)
                        target += 1
                        continue
                if source > final:
                    break
                bits |= _eight(source) << count
                source += (63 - count) >> 3
                count |= 56
            if entry & OTHER:
                if entry & FURTHER:
                    bits >>= LITERAL_BITS
                    count -= LITERAL_BITS
                    entry = literals[
                        (entry >> 16) + (bits & ((cython.cast(cython.ulonglong, 1) << ((entry >> 8) & 15)) - 1))
                    ]
                    if entry & LITERAL:
                        bits >>= entry & 0xFF
                        count -= entry & 0xFF
                        target[0] = cython.cast("unsigned char", entry >> 16)
                        target += 1
                        continue
                if entry & OTHER:
                    found = -1
                    if entry & END:
                        found = 1
                        bits >>= entry & 0xFF
                        count -= entry & 0xFF
                    break
            kept = bits
            taken = entry & 0xFF
            bits >>= taken
            count -= taken
            length = (entry >> 16) + ((kept & ((cython.cast(cython.ulonglong, 1) << taken) - 1)) >> ((entry >> 8) & 15))
            entry = distances[bits & 0xFF]
            if entry & FURTHER:
                bits >>= DISTANCE_BITS
                count -= DISTANCE_BITS
                entry = distances[
                    (entry >> 16) + (bits & ((cython.cast(cython.ulonglong, 1) << ((entry >> 8) & 15)) - 1))
                ]
            kept = bits
            taken = entry & 0xFF
            bits >>= taken
            count -= taken
            distance = (entry >> 16) + (
                (kept & ((cython.cast(cython.ulonglong, 1) << taken) - 1)) >> ((entry >> 8) & 15)
            )
            if entry & OTHER or distance > target - begin:
                found = -1
                break
            copied = target - distance
            behind = target + length
            if distance >= 8:
                # Up to seven bytes too many: there is room, and they are written again.
                while target < behind:
                    memcpy(target, copied, 8)
                    target += 8
                    copied += 8
            elif distance == 1:
                memset(target, copied[0], length)
            else:
                while target < behind:
                    target[0] = copied[0]
                    target += 1
                    copied += 1
            target = behind
        # What was read ahead in whole bytes is not taken.
        source -= count >> 3
        count &= 7
        self.bits = bits & ((cython.cast(cython.ulonglong, 1) << count) - 1)
        self.count = count
        self.at = source - self.source
        self.done = target - begin
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def slowly(self) -> cython.int:
        """Unpack what one code says, near the end of what is read or written; results as of `quickly`."""
        entry: cython.uint = self.symbol(self.literals, LITERAL_BITS)
        length: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        if self.count < 0:
            return -1
        if entry & LITERAL:
            if self.done >= self.size:
                return -1
            self.target[self.done] = cython.cast("unsigned char", entry >> 16)
            self.done += 1
            return 0
        if entry & OTHER:
            return 1 if entry & END else -1
        length = (entry >> 16) + self.take((entry & 0xFF) - ((entry >> 8) & 15))
        entry = self.symbol(self.distances, DISTANCE_BITS)
        distance = ((entry & 0x7FFFFFFF) >> 16) + self.take((entry & 0xFF) - ((entry >> 8) & 15))
        if self.count < 0 or entry & OTHER or distance > self.done or length > self.size - self.done:
            return -1
        while length:
            self.target[self.done] = self.target[self.done - distance]
            self.done += 1
            length -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def unpack(
        self,
        order: cython.p_uchar,
        fixed: cython.p_uchar,
        of_lengths: cython.p_uchar,
        of_literals: cython.p_uchar,
        of_distances: cython.p_uchar,
    ) -> cython.bint:
        """Unpack all blocks."""
        kind: cython.int
        last: cython.bint = False
        found: cython.int
        known: cython.bint
        while not last:
            last = self.take(1) != 0
            kind = self.take(2)
            if self.count < 0 or kind == 3:
                return False
            if kind == 0:
                if not self.stored():
                    return False
                continue
            if kind == 1:
                memcpy(self.lengths, fixed, 320)
                known = self.tables(288, 32, of_literals, of_distances)
            else:
                known = self.codes(order, of_lengths, of_literals, of_distances)
            if not known:
                return False
            found = 0
            while found == 0:
                found = self.quickly()
                if found == 0:
                    found = self.slowly()
            if found < 0:
                return False
        return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(at="const unsigned char *")
def _eight(at: Any) -> cython.ulonglong:
    """The eight bytes at a place, the first the lowest; compilers make one load of it."""
    return (
        cython.cast(cython.ulonglong, at[0])
        | cython.cast(cython.ulonglong, at[1]) << 8
        | cython.cast(cython.ulonglong, at[2]) << 16
        | cython.cast(cython.ulonglong, at[3]) << 24
        | cython.cast(cython.ulonglong, at[4]) << 32
        | cython.cast(cython.ulonglong, at[5]) << 40
        | cython.cast(cython.ulonglong, at[6]) << 48
        | cython.cast(cython.ulonglong, at[7]) << 56
    )


_stream = _Stream()
_ORDER_BYTES = bytes(_ORDER)


@cython.locals(source="const unsigned char[::1]", target="unsigned char[::1]")
def inflate(packed: Any, unpacked: Any) -> bool:
    """Whether a zlib stream fills exactly the room that it is given, and its checksum is right.

    What else it may be is for zlib itself to say; so is what it does not read: streams that need a dictionary, and
    codes of a length that are not a complete set.
    """
    source = packed
    target = unpacked
    size: cython.Py_ssize_t = source.shape[0]
    if size < 6 or not target.shape[0]:
        return False
    if source[0] & 15 != 8 or source[0] >> 4 > 7 or source[1] & 0x20 or (source[0] << 8 | source[1]) % 31:
        return False
    stream: _Stream = _stream
    stream.source = cython.address(source[0])
    stream.target = cython.address(target[0])
    stream.at = 2
    stream.end = size - 4
    stream.done = 0
    stream.size = target.shape[0]
    stream.bits = 0
    stream.count = 0
    order: bytes = _ORDER_BYTES
    fixed: bytes = _FIXED
    of_lengths: bytes = _OF_LENGTHS
    of_literals: bytes = _OF_LITERALS
    of_distances: bytes = _OF_DISTANCES
    whole: cython.bint = stream.unpack(
        cython.cast(cython.p_uchar, order),
        cython.cast(cython.p_uchar, fixed),
        cython.cast(cython.p_uchar, of_lengths),
        cython.cast(cython.p_uchar, of_literals),
        cython.cast(cython.p_uchar, of_distances),
    )
    if not whole or stream.done != stream.size:
        return False
    at: cython.Py_ssize_t = stream.at - (stream.count >> 3)
    return zlib.adler32(unpacked) == int.from_bytes(packed[at : at + 4], "big")
