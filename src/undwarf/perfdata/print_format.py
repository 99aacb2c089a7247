"""The text of a tracepoint's records, by the ``print fmt`` of its description.

Each format is compiled once, to a template and a function for each of its arguments; a record then costs some
microseconds. The text is libtraceevent's (`src/event-parse.c`), since that is what perf prints; where that calculates
wrongly (it takes `a - b + c` for `a - (b + c)`, and `%*pbl` for a pointer), it is the kernel's.
"""

import re
import struct
from collections.abc import Callable
from typing import Any

from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata.header import order_mark
from undwarf.perfdata.print_expression import (
    MASK,
    OPERATORS,
    Array,
    Bytes,
    Cast,
    Choice,
    Dynamic,
    Entries,
    Field,
    Index,
    Node,
    Number,
    Operation,
    Text,
    Unparsed,
    narrow,
    parse_print_format,
)
from undwarf.perfdata.tracing import TraceField, TraceFormat, Tracing

FunctionOf = Callable[[int], tuple[bytes, int] | None]
"""(name, offset) of the kernel function at an address, or None."""
Record = bytes
_Numbered = Callable[[Record], int]
_Shown = Callable[[Record], bytes]

FAILED = b"[FAILED TO PARSE]"
UNKNOWN = b"[unknown]"
MAX_ELEMENTS = DEFAULT.print_elements
_CONVERSION = re.compile(rb"%%|%([-#+ 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|L|z|Z|j|t|q)?(.)", re.DOTALL)
_POINTER = re.compile(rb"[FfSsB]|[Mm][FR]?|[Ii][46][chnbl]?|[Ii]S[pfschnbl]*|U[bBlL]?|bl?")
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_SIZES = {b"hh": 1, b"h": 2, b"": 4, b"l": 8, b"ll": 8, b"L": 8, b"z": 8, b"Z": 8, b"j": 8, b"t": 8, b"q": 8}


class PrintFormat:
    """Writes the records of one tracepoint as text: call it with a record's raw bytes.

    ``failed`` says whether the format could not be understood; then the fields are written instead, as perf does.
    """

    def __init__(
        self, described: TraceFormat, tracing: Tracing, function_of: FunctionOf, limits: Limits = DEFAULT
    ) -> None:
        self.failed = False
        self._described = described
        self._tracing = tracing
        self._mark = order_mark(tracing.byte_order)
        self._function_of = function_of
        self._template = b""
        self._arguments: list[Callable[[Record], Any]] = []
        try:
            shown, arguments = parse_print_format(described, limits)
            self._compile(shown, arguments)
        except Unparsed:
            self.failed = True

    def __call__(self, record: Record) -> bytes:
        """The text of a record. Raises ValueError if it is too short for the fields that are printed."""
        if self.failed:
            return FAILED + self.fields(record)
        try:
            return self._template % tuple([argument(record) for argument in self._arguments])
        except (struct.error, IndexError, OverflowError, TypeError) as error:
            raise ValueError(f"record of {self._described.name}") from error

    def fields(self, record: Record) -> bytes:
        """All fields by name."""
        fields = self._described.fields
        return b"".join([b" %s=%s" % (one.name.encode(), self._content(record, one)) for one in fields])

    # The format string --------------------------------------------------------------------------------------

    def _compile(self, shown: bytes, arguments: list[Node]) -> None:
        template: list[bytes] = []
        left = arguments[::-1]
        at = 0
        while at < len(shown):
            found = shown.find(b"%", at)
            if found < 0:
                found = len(shown)
            template.append(shown[at:found])
            if found == len(shown):
                break
            conversion = _CONVERSION.match(shown, found)
            if conversion is None:
                break
            at = conversion.end()
            if conversion[0] == b"%%":
                template.append(b"%%")
                continue
            letter = conversion[5]
            if letter not in b"diuxXocsp":
                # As libtraceevent handles unknown ones.
                template.append(b">%s<" % letter.replace(b"%", b"%%"))
                continue
            stars = [
                self._number(left.pop() if left else self._no_argument()) for _ in range(conversion[0].count(b"*"))
            ]
            if not left:
                self._no_argument()
            node = left.pop()
            if letter == b"p":
                kind = _POINTER.match(shown, at)
                at = kind.end() if kind else at
                template.append(b"%s")
                if kind and kind[0][:1] == b"b" and not stars:
                    raise Unparsed("bits without their number")
                self._arguments.append(self._pointer(node, kind[0] if kind else b"", *stars[:1]))
            elif letter == b"s":
                template.append(b"%s")
                self._arguments.append(self._string(node, conversion, stars))
            else:
                template.append(self._digits(node, conversion, stars))
        self._template = b"".join(template)

    def _no_argument(self) -> Node:
        raise Unparsed("no argument")

    def _digits(self, node: Node, conversion: "re.Match[bytes]", stars: list[_Numbered]) -> bytes:
        """The template's part for a number, whose function is added."""
        flags, width, precision, letter = conversion[1], conversion[2], conversion[3], conversion[5]
        for digits in (width, precision):
            if digits and digits != b"*" and int(digits) > MAX_ELEMENTS:
                raise Unparsed("width")
        size = _SIZES[conversion[4] or b""]
        value = self._sized(node, size, letter in b"di")
        if letter == b"c":
            self._arguments.append(lambda record: bytes([value(record) & 0xFF]).strip(b"\0"))
            return b"%" + flags.replace(b"0", b"") + (width or b"") + b"s"
        if stars or b"#" in flags:
            form = b"%" + flags + (b"*" if width == b"*" else width or b"")
            if b"." in conversion[0]:
                form += b"." + (precision or b"0")
            plain = form.replace(b"#", b"")
            ending = letter.replace(b"i", b"d").replace(b"u", b"d")
            self._arguments.append(lambda record: _alternative(form, plain, ending, value(record), stars, record))
            return b"%s"
        self._arguments.append(value)
        if b"." in conversion[0]:
            # C ignores the flag 0 where there is a precision.
            return b"%" + flags.replace(b"0", b"") + (width or b"") + b"." + (precision or b"0") + _letter(letter)
        return b"%" + flags + (width or b"") + _letter(letter)

    def _string(self, node: Node, conversion: "re.Match[bytes]", stars: list[_Numbered]) -> _Shown:
        flags, width, precision = conversion[1].replace(b"0", b""), conversion[2], conversion[3]
        dotted = b"." in conversion[0]
        if not stars and not width and not dotted:
            return self._text(node, None)
        for digits in (width, precision):
            if digits and digits != b"*" and int(digits) > MAX_ELEMENTS:
                raise Unparsed("width")
        form = b"%" + flags + (width or b"") + (b"." + (precision or b"0") if dotted else b"") + b"s"
        if not stars:
            return self._text(node, lambda shown, _record: form % shown)
        return self._text(
            node, lambda shown, record: form % (*(_signed(star(record), 4) % MAX_ELEMENTS for star in stars), shown)
        )

    # Numbers ------------------------------------------------------------------------------------------------

    def _read(self, field: TraceField, size: int | None = None, signed: bool = False) -> _Numbered:
        """A function that reads a field as an integer; 0 for unsupported sizes."""
        code = _CODES.get(field.size if size is None else size)
        if code is None:
            return lambda _record: 0
        take = struct.Struct(self._mark + (code.lower() if signed else code)).unpack_from
        offset = field.offset
        return lambda record: take(record, offset)[0]

    def _sized(self, node: Node, size: int, signed: bool) -> _Numbered:
        """A number as C passes it to printf: of so many bytes, signed or not."""
        inner = node
        while isinstance(inner, Cast) and narrow(inner.type) == MASK:
            inner = inner.item
        if isinstance(inner, Field) and inner.field.size in _CODES and not inner.field.array:
            if inner.field.size == size:
                return self._read(inner.field, signed=signed)
            if inner.field.size < size:
                # Not sign-extended: libtraceevent reads all integers as unsigned.
                return self._read(inner.field)
        value = self._number(node)
        if signed:
            return lambda record: _signed(value(record), size)
        mask = (1 << 8 * size) - 1
        return lambda record: value(record) & mask

    def _number(self, node: Node) -> _Numbered:
        """A function that evaluates a node on 64 unsigned bits."""
        match node:
            case Number(constant):
                return lambda _record: constant
            case Field(field):
                return self._read(field)
            case Cast(type_, item):
                inner, mask = self._number(item), narrow(type_)
                return inner if mask == MASK else lambda record: inner(record) & mask
            case Choice(condition, yes, no):
                asked, true, false = self._number(condition), self._number(yes), self._number(no)
                return lambda record: true(record) if asked(record) else false(record)
            case Operation(operator, left, right):
                return self._operation(operator, left, right)
            case Index(item, index):
                return self._element(item, index)
            case Dynamic("length", field):
                place = self._place(field)
                return lambda record: place(record)[1]
            case _:
                return lambda _record: 0

    def _operation(self, operator: str, left: Node | None, right: Node) -> _Numbered:
        calculate = OPERATORS[operator]
        b = self._number(right)
        if left is None:
            return lambda record: int(calculate(0, b(record)))
        a = self._number(left)
        return lambda record: int(calculate(a(record), b(record)))

    def _element(self, item: Node, index: Node) -> _Numbered:
        """A function that reads an element of an array."""
        mask = MASK
        while isinstance(item, Cast):
            mask = narrow(item.type.removesuffix(" *"))
            size = mask.bit_length() // 8
            item = item.item
            if isinstance(item, Dynamic) and item.what == "array" and size < 8:
                return self._element_at(self._place(item.field), size, self._number(index), mask)
        if isinstance(item, Dynamic) and item.what == "array":
            size = item.field.element_size or self._tracing.long_size
            return self._element_at(self._place(item.field), size, self._number(index), mask)
        if isinstance(item, Field):
            start = item.field.offset
            return self._element_at(lambda _record: (start, 0), item.field.element_size, self._number(index), mask)
        return lambda _record: 0

    def _element_at(
        self, place: Callable[[Record], tuple[int, int]], size: int, index: _Numbered, mask: int
    ) -> _Numbered:
        code = _CODES.get(size)
        if code is None:
            return lambda _record: 0
        take = struct.Struct(self._mark + code).unpack_from

        def read(record: Record) -> int:
            at = place(record)[0] + size * index(record)
            if at > len(record):
                raise IndexError(at)
            return int(take(record, at)[0]) & mask

        return read

    def _place(self, field: TraceField) -> Callable[[Record], tuple[int, int]]:
        """A function that gives (offset, size) of a dynamic field's value in the record."""
        if not field.dynamic:
            fixed = (field.offset, field.size)
            return lambda _record: fixed
        word = self._read(field, 4)
        added = field.offset + field.size if field.relative else 0

        def find(record: Record) -> tuple[int, int]:
            value = word(record)
            return (value & 0xFFFF) + added, value >> 16

        return find

    # Texts --------------------------------------------------------------------------------------------------

    def _text(self, node: Node, fill: Callable[[bytes, Record], bytes] | None) -> _Shown:
        """A function that writes a node for ``%s``; ``fill`` does what width and precision say, with each string, but
        not with what libtraceevent writes in place of strings."""
        filled = fill or (lambda shown, _record: shown)
        match node:
            case Text(constant):
                return (lambda _record: constant) if fill is None else lambda record: filled(constant, record)
            case Field(field):
                return self._field_text(field, filled)
            case Choice(condition, yes, no):
                asked, true, false = self._number(condition), self._text(yes, fill), self._text(no, fill)
                return lambda record: true(record) if asked(record) else false(record)
            case Entries(value, None, entries):
                return _symbolic(self._number(value), entries, filled)
            case Entries(value, delimiter, entries):
                return _flags(self._number(value), delimiter or b"", entries, filled)
            case Bytes(array, count, blanks):
                return self._hexadecimal(array, self._number(count), blanks)
            case Array(array, count, size):
                return self._elements(array, self._number(count), self._number(size))
            case Dynamic("string", field):
                place = self._place(field)
                return lambda record: _string_at(record, *place(record), filled)
            case Dynamic("bits", field):
                place = self._place(field)
                return lambda record: filled(_bitmask(_part(record, *place(record)), self._little), record)
            case Dynamic("cpus", field):
                place = self._place(field)
                return lambda record: filled(_bit_list(_part(record, *place(record)), self._little), record)
            case _:
                return lambda _record: b""

    @property
    def _little(self) -> bool:
        return self._mark == "<"

    def _field_text(self, field: TraceField, filled: Callable[[bytes, Record], bytes]) -> _Shown:
        if not field.array and field.size == self._tracing.long_size:
            # The address of a string in the kernel.
            read, strings = self._read(field), self._tracing.strings
            return lambda record: strings.get(address := read(record)) or b"%x" % address
        start, end = field.offset, field.offset + field.size if field.size else None
        return lambda record: filled(_c_string(record[start:end]), record)

    def _bytes_of(self, node: Node) -> Callable[[Record, int], bytes]:
        """A function that reads that many bytes of an array, fewer at the record's end."""
        while isinstance(node, Cast):
            node = node.item
        if isinstance(node, Dynamic):
            place = self._place(node.field)
            return lambda record, count: record[(at := place(record)[0]) : at + count]
        if isinstance(node, Field):
            start = node.field.offset
            return lambda record, count: record[start : start + count]
        raise Unparsed("array")

    def _all_bytes_of(self, node: Node) -> Callable[[Record, int], bytes]:
        """As :meth:`_bytes_of`, but all bytes must be present."""
        taken = self._bytes_of(node)
        return lambda record, count: _part(taken(record, count), 0, count)

    def _hexadecimal(self, array: Node, count: _Numbered, blanks: bool) -> _Shown:
        taken = self._bytes_of(array)
        separator = " " if blanks else ""

        def shown(record: Record) -> bytes:
            many = min(_signed(count(record), 4), MAX_ELEMENTS)
            raw = taken(record, max(0, many))
            return (raw.hex(separator) if separator else raw.hex()).encode()

        return shown

    def _elements(self, array: Node, count: _Numbered, size: _Numbered) -> _Shown:
        taken = self._bytes_of(array)
        order: Any = "little" if self._little else "big"

        def shown(record: Record) -> bytes:
            many, each = min(_signed(count(record), 4), MAX_ELEMENTS), size(record)
            if each not in _CODES:
                raise IndexError(each)
            raw = taken(record, max(0, many) * each)
            numbers = [int.from_bytes(raw[at : at + each], order) for at in range(0, len(raw), each)]
            return f"{{{','.join(map(hex, numbers))}}}".encode()

        return shown

    # Pointers -----------------------------------------------------------------------------------------------

    def _pointer(self, node: Node, kind: bytes, count: _Numbered | None = None) -> _Shown:
        """A function that formats a node for ``%p`` with its suffix; ``count`` of bits for bitmaps."""
        if isinstance(node, Text):
            constant = node.value
            return lambda _record: constant
        if kind[:1] in (b"F", b"f", b"S", b"s"):
            value, offset, function_of = self._number(node), kind in (b"F", b"S"), self._function_of
            return lambda record: _function(value(record), offset, function_of)
        try:
            if kind[:1] == b"b" and count is not None:
                return self._bits(self._bytes_of(node), count, kind == b"bl")
            if kind[:1] in (b"M", b"m"):
                taken = self._all_bytes_of(node)
                separator = "" if kind[:1] == b"m" else "-" if kind[1:2] == b"F" else ":"
                return lambda record: _hex(taken(record, 6), separator)
            if kind[:1] in (b"I", b"i"):
                return self._address_of(self._all_bytes_of(node), kind)
            if kind[:1] == b"U":
                taken = self._all_bytes_of(node)
                return lambda record: _uuid(taken(record, 16), kind[1:])
        except Unparsed:
            return lambda _record: b""
        value = self._number(node)
        return lambda record: b"0x%x" % number if (number := value(record)) else b"(nil)"

    def _bits(self, taken: Callable[[Record, int], bytes], count: _Numbered, as_list: bool) -> _Shown:
        little, shape = self._little, _bit_list if as_list else _bitmask
        return lambda record: shape(taken(record, min(count(record) + 7 >> 3, MAX_ELEMENTS)), little)

    def _address_of(self, taken: Callable[[Record, int], bytes], kind: bytes) -> _Shown:
        small = kind[:1] == b"i"
        if kind[1:2] == b"4":
            return lambda record: _ipv4(taken(record, 4), small)
        if kind[1:2] == b"6":
            return lambda record: _ipv6(taken(record, 16), small, b"c" in kind[2:])
        return lambda record: self._socket(taken(record, 2), taken, record, small, kind)

    def _socket(
        self, family: bytes, taken: Callable[[Record, int], bytes], record: Record, small: bool, kind: bytes
    ) -> bytes:
        number = int.from_bytes(family, "little" if self._little else "big")
        if number == 2:
            raw = taken(record, 8)
            port = b":%d" % int.from_bytes(raw[2:4], "big") if b"p" in kind else b""
            return _ipv4(raw[4:8], small) + port
        if number == 10:
            raw = taken(record, 24)
            shown = _ipv6(raw[8:24], small, b"c" in kind)
            return b"[%s]:%d" % (shown, int.from_bytes(raw[2:4], "big")) if b"p" in kind else shown
        return b""

    # Plain fields ------------------------------------------------------------------------------------------

    def _content(self, record: Record, one: TraceField) -> bytes:
        """A field's value without a format."""
        try:
            if one.array:
                place, length = self._place(one)(record)
                raw = _part(record, place, min(length, MAX_ELEMENTS))
                text = _c_string(raw)
                if one.string and raw and all(32 <= byte < 127 or 9 <= byte <= 13 for byte in text):
                    return text
                return b"ARRAY[%s]" % ", ".join(f"{byte:02x}" for byte in raw).encode()
            value = self._read(one)(record)
            if one.pointer or (one.long and not (one.signed and one.size == 8)):
                return b"0x%x" % value
            if not one.signed:
                return b"%d" % value
            return (b"%2d" if one.size == 2 else b"%d") % _signed(value, one.size)
        except (struct.error, IndexError):
            return UNKNOWN


def _letter(letter: bytes) -> bytes:
    return b"d" if letter in b"iu" else letter


def _alternative(form: bytes, plain: bytes, ending: bytes, value: int, stars: list[_Numbered], record: Record) -> bytes:
    """Formats an integer with ``#``, which C ignores for 0, or with a width from an argument."""
    values = [_signed(star(record), 4) % MAX_ELEMENTS for star in stars]
    if b"#" not in form or value == 0 or ending == b"d":
        return (plain + ending) % (*values, value)
    if ending == b"o":
        return (plain + b"s") % (*values, b"0%o" % value)
    return (form + ending) % (*values, value)


def _signed(value: int, size: int) -> int:
    """The low bytes of a number as a signed one."""
    half = 1 << (8 * size - 1)
    return (value + half & (half << 1) - 1) - half if size else 0


def _part(record: Record, start: int, count: int) -> bytes:
    """Bytes of a record; raises ValueError if some are missing."""
    found = record[start : start + count]
    if len(found) < count:
        raise IndexError(start + count)
    return found


def _c_string(raw: bytes) -> bytes:
    return raw.partition(b"\0")[0]


def _string_at(record: Record, start: int, length: int, filled: Callable[[bytes, Record], bytes]) -> bytes:
    if not length:
        return b""
    return filled(_c_string(_part(record, start, length)), record)


def _flags(
    value: _Numbered,
    delimiter: bytes,
    entries: tuple[tuple[int, bytes], ...],
    filled: Callable[[bytes, Record], bytes],
) -> _Shown:
    """The names of all bits of an integer, then the remaining bits as a number."""
    nothing = next((name for flag, name in entries if flag >> 63), None)

    def shown(record: Record) -> bytes:
        left = value(record)
        if not left:
            return filled(nothing, record) if nothing is not None else b""
        found = []
        for flag, name in entries:
            if flag >> 63 or not flag or left & flag != flag:
                continue
            found.append(filled(name, record))
            left &= ~flag
        if left:
            found.append(b"0x%x" % left)
        return delimiter.join(found)

    return shown


def _symbolic(
    value: _Numbered, entries: tuple[tuple[int, bytes], ...], filled: Callable[[bytes, Record], bytes]
) -> _Shown:
    """The name of a value, or the value."""
    names: dict[int, bytes] = {}
    for number, name in entries:
        names.setdefault(number, name)

    def shown(record: Record) -> bytes:
        number = value(record)
        name = names.get(number)
        return filled(name, record) if name is not None else b"0x%x" % number

    return shown


def _function(address: int, offset: bool, function_of: FunctionOf) -> bytes:
    found = function_of(address)
    if found is None:
        return b"0x%x" % address
    return b"%s+0x%x" % found if offset else found[0]


def _hex(raw: bytes, separator: str) -> bytes:
    return (raw.hex(separator) if separator else raw.hex()).encode()


def _ipv4(raw: bytes, padded: bool) -> bytes:
    return (b"%03d.%03d.%03d.%03d" if padded else b"%d.%d.%d.%d") % tuple(raw)


def _ipv6(raw: bytes, small: bool, short: bool) -> bytes:
    if small:
        return raw.hex().encode()
    if not short:
        return raw.hex(":", 2).encode()
    # RFC 5952: the longest run of zeros is omitted, and embedded IPv4 addresses are in dotted form.
    from ipaddress import IPv6Address

    address = IPv6Address(raw)
    if address.ipv4_mapped is not None:
        return f"::ffff:{address.ipv4_mapped}".encode()
    return str(address).encode()


def _uuid(raw: bytes, order: bytes) -> bytes:
    if order[:1] in (b"l", b"L"):
        raw = raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]
    digits = raw.hex()
    shown = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return (shown.upper() if order[:1] in (b"B", b"L") else shown).encode()


def _bitmask(raw: bytes, little: bool) -> bytes:
    """Words of 32 bits, the highest first."""
    number = int.from_bytes(raw, "little" if little else "big")
    digits = f"{number:0{2 * len(raw)}x}"
    return ",".join(digits[max(0, end - 8) : end] for end in range(len(digits), 0, -8)[::-1]).encode()


def _bit_list(raw: bytes, little: bool) -> bytes:
    """The indices of set bits, as in 0-3,7."""
    number = int.from_bytes(raw, "little" if little else "big")
    found: list[str] = []
    bit = 0
    while number >> bit:
        if number >> bit & 1:
            first = bit
            while number >> (bit + 1) & 1:
                bit += 1
            found.append(str(first) if first == bit else f"{first}-{bit}")
        bit += 1
    return ",".join(found).encode()
