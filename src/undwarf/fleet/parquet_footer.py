"""What the footer of a Parquet file says about its size: rows and values of each column.

pyarrow cannot be asked: some damaged footers make it abort the process, since its ``ColumnChunkMetaData`` cannot raise
(version 26, about one in a hundred mutated footers). Reading without this check may take any amount of memory, since a
few bytes can encode any number of equal values.

Source: parquet.thrift of apache/parquet-format, and the compact protocol of Thrift in which it is written.
"""

import struct
from typing import Any, BinaryIO, NamedTuple

_MAGIC = b"PAR1"
_DEPTH = 16
_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_FILE, _COLUMN = 1, 3
_VALUES, _BYTES = 5, 6


class Footer(NamedTuple):
    """Rows of a file, values of all columns together, and their bytes before compression."""

    rows: int
    values: int
    size: int


def footer(file: BinaryIO, most: int) -> Footer:
    """The footer of an open file. Raises ValueError for one that is damaged, or has more than ``most`` bytes, or says
    that data is in other files."""
    end = file.seek(0, 2)
    if end < 12:
        raise ValueError("it is too short")
    file.seek(end - 8)
    length, magic = struct.unpack("<I4s", file.read(8))
    if magic != _MAGIC or length > end - 12:
        raise ValueError("it has no footer")
    if length > most:
        raise ValueError(f"its footer has more than {most:,} bytes")
    file.seek(end - 8 - length)
    try:
        return _sizes(_Reader(file.read(length)).struct())
    except (LookupError, TypeError, AttributeError, struct.error):
        raise ValueError("its footer is damaged") from None


def _sizes(document: dict[int, Any]) -> Footer:
    rows = values = size = 0
    for group in document.get(_GROUPS, ()):
        rows += _count(group[_GROUP_ROWS])
        for column in group[_COLUMNS]:
            if _FILE in column:
                raise ValueError("its data is in other files")
            values += _count(column[_COLUMN][_VALUES])
            size += _count(column[_COLUMN][_BYTES])
    if rows != document[_ROWS]:
        raise ValueError("its footer has other rows than its parts")
    return Footer(rows, values, size)


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("its footer is damaged")
    return number


class _Reader:
    """Values of Thrift's compact protocol: structs as dictionaries by number of the field."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEPTH:
            raise ValueError("its footer is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._signed()
            # Truth is in the kind of a field.
            found[number] = kind & 15 == 1 if kind & 15 in (1, 2) else self._value(kind & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            # Each element has a byte or more.
            if count > len(self._data) - self._at or depth > _DEPTH:
                raise ValueError("its footer is damaged")
            return [
                self.struct(depth + 1) if head & 15 == 12 else self._value(head & 15, depth + 1)
                for _one in range(count)
            ]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("its footer is damaged")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise ValueError("its footer is damaged")
        self._at += count
        return self._data[self._at - count : self._at]

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("its footer is damaged")
        return number | byte << shift

    def _signed(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
