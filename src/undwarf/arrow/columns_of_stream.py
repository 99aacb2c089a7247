# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads streams of the Arrow C interface, as queries of DuckDB give them, into columns of our own.

The batches of a stream are put behind each other and copied, so that nothing of the producer's is kept. What a producer
says of its own memory is believed: it is a library of this process.
Source: arrow.apache.org/docs/format/CDataInterface.html
"""

from typing import Any, NamedTuple

import cython
from cython.cimports.libc.stdlib import calloc
from cython.cimports.libc.string import memcpy
from cython.cimports.undwarf.arrow.c_interface import (
    ArrowArray,
    ArrowArrayStream,  # noqa: F401 - a type of cython.locals
    ArrowSchema,
    free_array,
    free_schema,
    is_end,
    last_error,
    next_array,
    stream_of,
    stream_schema,
)

from undwarf.column import Typecode, zeros

_CODES: dict[str, tuple[Typecode, int]] = {
    "c": ("b", 1),
    "C": ("B", 1),
    "s": ("h", 1),
    "S": ("H", 1),
    "i": ("i", 1),
    "I": ("I", 1),
    "l": ("q", 1),
    "L": ("Q", 1),
    "w:16": ("Q", 2),
}
"""By format string, the typecode and how many values an entry has."""
_TEXTS = {"u": 4, "z": 4, "U": 8, "Z": 8}
_LISTS = {"+l": 4, "+L": 8}
"""By format string, the bytes of an offset."""
_Part = tuple[int, int, int]
"""The address of an array, the first entry of it, the number of entries."""


class Column(NamedTuple):
    """The entries of one column.

    ``values``: numbers; of entries of 16 bytes two words (Q) each; of texts all their bytes; of lists and structs none.
    ``starts``: where texts and lists begin in ``values`` or their child (q), one more than there are entries; of others
    empty. ``nulls``: 1 where an entry is null, else 0 (B); None if none is. ``children``: of structs by name, of lists
    the one under "".
    """

    length: int
    values: memoryview
    starts: memoryview
    nulls: memoryview | None
    children: "dict[str, Column]"

    @property
    def entries(self) -> "Column":
        """The column that lists have parts of."""
        return self.children[""]


class StreamError(Exception):
    """What the producer of a stream says when it fails."""


@cython.locals(
    one="ArrowArrayStream *", schema="ArrowSchema *", array="ArrowArray *", code="int", address="unsigned long long"
)
def columns_of_stream(capsule: Any) -> dict[str, Column]:
    """The columns by name of a capsule with a stream. Raises StreamError with the producer's text if it fails, and
    ValueError for columns of types that this does not read."""
    one = stream_of(capsule)
    schema = cython.cast("ArrowSchema *", calloc(1, cython.sizeof(ArrowSchema)))
    if schema == cython.NULL:
        raise MemoryError
    parts: list[_Part] = []
    arrays: list[int] = []
    try:
        code = stream_schema(one, schema)
        if code:
            raise StreamError(last_error(one, code))
        if _text(schema.format) != "+s":
            raise ValueError("a stream without columns")
        while True:
            array = cython.cast("ArrowArray *", calloc(1, cython.sizeof(ArrowArray)))
            if array == cython.NULL:
                raise MemoryError
            arrays.append(_address(array))
            code = next_array(one, array)
            if code:
                raise StreamError(last_error(one, code))
            if is_end(array):
                break
            parts.append((_address(array), 0, array.length))
        return _column(_address(schema), parts).children
    finally:
        free_schema(schema)
        for address in arrays:
            free_array(cython.cast("ArrowArray *", cython.cast("size_t", address)))


@cython.cfunc
@cython.locals(pointer="const void *")
def _address(pointer: Any) -> cython.ulonglong:
    number: cython.ulonglong = cython.cast("unsigned long long", cython.cast("size_t", pointer))
    return number


@cython.cfunc
@cython.locals(text="const char *")
def _text(text: Any) -> str:
    return "" if text == cython.NULL else bytes(text).decode("utf-8", "replace")


@cython.cfunc
@cython.locals(schema="ArrowSchema *", array="ArrowArray *", at="Py_ssize_t", one="unsigned long long")
def _column(address: cython.ulonglong, parts: list[_Part]) -> Column:
    """The column of some arrays with one schema."""
    schema = cython.cast("ArrowSchema *", cython.cast("size_t", address))
    kind = _text(schema.format)
    length = 0
    moved = []
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        moved.append((one, array.offset + first, count))
        length += count
    nulls = _nulls(moved, length)
    nothing = zeros("B", 0)
    starts = zeros("q", 0)
    children: dict[str, Column] = {}
    if schema.dictionary != cython.NULL:
        raise ValueError("a column with a dictionary")
    if kind in _CODES:
        code, each = _CODES[kind]
        return Column(length, _numbers(moved, length, code, each), starts, nulls, children)
    if kind in _TEXTS:
        starts, inner = _starts(moved, length, _TEXTS[kind])
        return Column(length, _bytes(inner, starts[length]), starts, nulls, children)
    if kind in _LISTS and schema.n_children == 1:
        starts, inner = _starts(moved, length, _LISTS[kind])
        children[""] = _column(_address(schema.children[0]), _of_child(inner, 0))
        return Column(length, nothing, starts, nulls, children)
    if kind == "+s":
        for at in range(schema.n_children):
            name = _text(schema.children[at].name)
            children[name] = _column(_address(schema.children[at]), _of_child(moved, at))
        return Column(length, nothing, starts, nulls, children)
    raise ValueError(f"a column of type {kind!r}")


@cython.cfunc
@cython.locals(array="ArrowArray *", one="unsigned long long")
def _of_child(parts: list[_Part], number: cython.Py_ssize_t) -> list[_Part]:
    """The parts of a child of some arrays."""
    inner = []
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        inner.append((_address(array.children[number]), first, count))
    return inner


@cython.cfunc
@cython.locals(
    array="ArrowArray *",
    one="unsigned long long",
    bits="const unsigned char *",
    out="unsigned char[::1]",
    at="Py_ssize_t",
    row="Py_ssize_t",
    first="Py_ssize_t",
    count="Py_ssize_t",
)
def _nulls(parts: list[_Part], length: cython.Py_ssize_t) -> Any:
    """Which entries are null (B), None if none is."""
    found: Any = None
    at = 0
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        if array.null_count != 0 and array.n_buffers and array.buffers[0] != cython.NULL:
            bits = cython.cast("const unsigned char *", array.buffers[0])
            if found is None:
                found = zeros("B", length)
            out = found
            for row in range(count):
                out[at + row] = 1 - ((bits[(first + row) >> 3] >> ((first + row) & 7)) & 1)
        at += count
    return found


@cython.cfunc
@cython.locals(
    array="ArrowArray *",
    one="unsigned long long",
    out="unsigned char[::1]",
    at="Py_ssize_t",
    size="Py_ssize_t",
    first="Py_ssize_t",
    count="Py_ssize_t",
)
def _numbers(parts: list[_Part], length: cython.Py_ssize_t, code: Any, each: cython.Py_ssize_t) -> memoryview:
    """The numbers of arrays without offsets."""
    found: memoryview = zeros(code, length * each)
    size = found.itemsize * each
    if length == 0:
        return found
    out = found.cast("B")
    at = 0
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        if count:
            memcpy(
                cython.address(out[at]),
                cython.cast("const char *", array.buffers[1]) + first * size,
                count * size,
            )
        at += count * size
    return found


@cython.cfunc
@cython.locals(
    array="ArrowArray *",
    one="unsigned long long",
    small="const int *",
    large="const long long *",
    out="long long[::1]",
    at="long long",
    base="long long",
    end="long long",
    row="Py_ssize_t",
    place="Py_ssize_t",
    first="Py_ssize_t",
    count="Py_ssize_t",
)
def _starts(parts: list[_Part], length: cython.Py_ssize_t, width: cython.int) -> tuple[memoryview, list[_Part]]:
    """(where each entry begins, with the end of the last (q); the part of each array's values)."""
    found = zeros("q", length + 1)
    out = found
    inner = []
    at = 0
    place = 0
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        if count == 0:
            continue
        if width == 4:
            small = cython.cast("const int *", array.buffers[1]) + first
            base, end = small[0], small[count]
            for row in range(count + 1):
                out[place + row] = at + small[row] - base
        else:
            large = cython.cast("const long long *", array.buffers[1]) + first
            base, end = large[0], large[count]
            for row in range(count + 1):
                out[place + row] = at + large[row] - base
        inner.append((one, base, end - base))
        place += count
        at += end - base
    return found, inner


@cython.cfunc
@cython.locals(
    array="ArrowArray *",
    one="unsigned long long",
    out="unsigned char[::1]",
    at="Py_ssize_t",
    first="Py_ssize_t",
    count="Py_ssize_t",
)
def _bytes(parts: list[_Part], size: cython.Py_ssize_t) -> memoryview:
    """The bytes of arrays of texts."""
    found = zeros("B", size)
    out = found
    at = 0
    for one, first, count in parts:
        array = cython.cast("ArrowArray *", cython.cast("size_t", one))
        if count:
            memcpy(cython.address(out[at]), cython.cast("const char *", array.buffers[2]) + first, count)
        at += count
    return found
