# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Exports arrays as a stream of the Arrow C interface, in the capsules that Python libraries exchange.

Nothing is copied: the stream has the addresses of the buffers, and keeps them alive until the consumer releases it.
Source: arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

import errno
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import cython
from cython.cimports.libc.stdlib import calloc
from cython.cimports.undwarf.arrow.c_interface import (
    ARROW_FLAG_NULLABLE,
    ArrowArray,
    ArrowSchema,
    address_of,
    clear_array,
    own_array,
    own_schema,
    release_array,
    schema_capsule,
    stream_capsule,
)


class Field(NamedTuple):
    """A column's name and type: an Arrow format string, as in ``"L"`` for uint64; with a ``dictionary`` that of the
    indices, ``dictionary`` being that of the values."""

    name: str
    format: str
    dictionary: str = ""


class Array(NamedTuple):
    """A column's ``length`` entries. ``buffers``: the bitmap of entries that are not null (None: all), for text the
    offsets, and the values; with a ``dictionary`` these are indices of it."""

    length: int
    buffers: tuple[Any, ...]
    nulls: int = 0
    dictionary: "Array | None" = None


def schema(fields: Sequence[Field]) -> Any:
    """A capsule with the schema of a table."""
    return schema_capsule(Stream(fields, iter(())))


def stream(fields: Sequence[Field], batches: Iterator[Sequence[Array]]) -> Any:
    """A capsule with the stream of a table: in each batch an array for each field, all of one length. What the
    iterator raises is the consumer's error."""
    return stream_capsule(Stream(fields, batches))


@cython.final
@cython.cclass
class Stream:
    """What a stream's callbacks ask; ``error`` is the text of the last error."""

    fields: list[Any] = cython.declare(list)
    batches: Any = cython.declare(object)
    error: bytes = cython.declare(object, visibility="public")

    def __init__(self, fields: Sequence[Field], batches: Iterator[Sequence[Array]]) -> None:
        # Names and formats as C strings, which the schemas point to.
        self.fields = [tuple(text.encode() for text in field) for field in fields]
        self.batches = batches
        self.error = b""

    @cython.locals(into="ArrowSchema *", child="ArrowSchema *", at="Py_ssize_t")
    def fill_schema(self, address: cython.ulonglong) -> int:
        """Fill the ArrowSchema at this address: a struct with a child for each column. An errno, 0 if it is filled."""
        into = cython.cast("ArrowSchema *", cython.cast("size_t", address))
        own_schema(into, self)
        into.format = b"+s"
        into.name = b""
        into.children = cython.cast("ArrowSchema **", calloc(len(self.fields) + 1, cython.sizeof("ArrowSchema *")))
        if into.children == cython.NULL:
            raise MemoryError
        into.n_children = len(self.fields)
        for at in range(len(self.fields)):
            name, kind, dictionary = self.fields[at]
            child = cython.cast("ArrowSchema *", calloc(1, cython.sizeof(ArrowSchema)))
            if child == cython.NULL:
                raise MemoryError
            into.children[at] = child
            fill_field(child, self.fields, kind, name, dictionary)
        return 0

    @cython.locals(into="ArrowArray *")
    def fill_next(self, address: cython.ulonglong) -> int:
        """Fill the ArrowArray at this address with the next batch, or with zeros at the end. An errno, 0 if it is
        filled."""
        into = cython.cast("ArrowArray *", cython.cast("size_t", address))
        clear_array(into)
        try:
            arrays = next(self.batches, None)
            if arrays is not None:
                fill_batch(into, arrays)
        except Exception as error:  # noqa: BLE001 - the consumer raises it
            self.error = f"{type(error).__name__}: {error}".encode()
            release_array(into)
            return errno.ENOMEM if isinstance(error, MemoryError) else errno.EIO
        return 0


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(into="ArrowSchema *", child="ArrowSchema *")
def fill_field(into: Any, owner: Any, kind: bytes, name: bytes, dictionary: bytes) -> cython.int:
    """A column's schema; its texts belong to ``owner``."""
    own_schema(into, owner)
    into.format = kind
    into.name = name
    into.flags = ARROW_FLAG_NULLABLE
    if dictionary:
        child = cython.cast("ArrowSchema *", calloc(1, cython.sizeof(ArrowSchema)))
        if child == cython.NULL:
            raise MemoryError
        into.dictionary = child
        fill_field(child, owner, dictionary, b"", b"")
    return 0


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(into="ArrowArray *", child="ArrowArray *", at="Py_ssize_t")
def fill_batch(into: Any, arrays: Sequence[Array]) -> cython.int:
    """A struct with a child for each array."""
    own_array(into, None)
    into.length = arrays[0].length
    into.n_buffers = 1
    into.buffers = cython.cast("const void **", calloc(1, cython.sizeof("const void *")))
    into.children = cython.cast("ArrowArray **", calloc(len(arrays) + 1, cython.sizeof("ArrowArray *")))
    if into.buffers == cython.NULL or into.children == cython.NULL:
        raise MemoryError
    into.n_children = len(arrays)
    for at in range(len(arrays)):
        if arrays[at].length != into.length:
            raise ValueError("the columns of a batch differ in length")
        child = cython.cast("ArrowArray *", calloc(1, cython.sizeof(ArrowArray)))
        if child == cython.NULL:
            raise MemoryError
        into.children[at] = child
        fill_array(child, arrays[at])
    return 0


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(into="ArrowArray *", child="ArrowArray *", at="Py_ssize_t")
def fill_array(into: Any, array: Array) -> cython.int:
    """One column; it owns memoryviews of its own, so that nobody can release the memory."""
    views = [None if one is None else memoryview(one) for one in array.buffers]
    own_array(into, views)
    into.length = array.length
    into.null_count = array.nulls
    into.buffers = cython.cast("const void **", calloc(len(views) + 1, cython.sizeof("const void *")))
    if into.buffers == cython.NULL:
        raise MemoryError
    into.n_buffers = len(views)
    for at in range(len(views)):
        view = views[at]
        if view is not None:
            into.buffers[at] = address_of(view)
    if array.dictionary is not None:
        child = cython.cast("ArrowArray *", calloc(1, cython.sizeof(ArrowArray)))
        if child == cython.NULL:
            raise MemoryError
        into.dictionary = child
        fill_array(child, array.dictionary)
    return 0
