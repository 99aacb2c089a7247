# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Messages of pprof's ``Profile`` as columns.

Source: ``proto/profile.proto`` (google/pprof); protobuf's encoding (protobuf.dev, "Encoding").
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.profile.grouping import Pairs

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""
LABELS = 5
"""Labels of a sample that may be kept."""


@cython.final
@cython.cclass
class Cursor:
    """Reads fields one after another: ``field``, ``wire``, and ``value``, or ``start`` to ``end`` of bytes."""

    data = cython.declare("const unsigned char[::1]")
    at: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    field: cython.ulonglong
    wire: cython.int
    value: cython.ulonglong
    start: cython.Py_ssize_t
    end: cython.Py_ssize_t
    damaged: cython.bint

    def __init__(self, data: Any) -> None:
        self.data = data

    @cython.cfunc
    @cython.exceptval(-1)
    def within(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Read the message in these bytes from its beginning."""
        self.at = start
        self.stop = end
        self.damaged = False
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=True)
    @cython.locals(byte="unsigned char")
    def varint(self) -> cython.ulonglong:
        """A number of up to ten bytes of seven bits each; bits above 64 are dropped, as protobuf's own readers do."""
        result: cython.ulonglong = 0
        shift: cython.int = 0
        while self.at < self.stop and shift < 70:
            byte = self.data[self.at]
            self.at += 1
            if shift < 64:
                result |= cython.cast("unsigned long long", byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
        self.damaged = True
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(key="unsigned long long", i="int")
    def next(self) -> cython.bint:
        """Read a field; False at the end, or where the bytes are no field (``damaged``)."""
        if self.at >= self.stop or self.damaged:
            return False
        key = self.varint()
        self.field = key >> 3
        self.wire = cython.cast("int", key & 7)
        if self.wire == VARINT:
            self.value = self.varint()
        elif self.wire == BYTES:
            self.value = self.varint()
            if self.value > cython.cast("unsigned long long", self.stop - self.at):
                self.damaged = True
            else:
                self.start = self.at
                self.at += cython.cast("Py_ssize_t", self.value)
                self.end = self.at
        elif self.wire == FIXED64 or self.wire == FIXED32:
            i = 8 if self.wire == FIXED64 else 4
            if self.stop - self.at < i:
                self.damaged = True
            else:
                self.at += i
        else:
            self.damaged = True
        return not self.damaged and self.field != 0


def parts(data: Any, columns: int) -> tuple[list[memoryview], list[memoryview], int, int]:
    """Where the messages and strings of each field below ``columns`` are: (starts, ends) (Q), how many bytes were read
    as fields, and the number of fields of other kinds or higher numbers."""
    cursor: Cursor = Cursor(data)
    size: cython.Py_ssize_t = len(data)
    start: cython.Py_ssize_t = 0
    field: cython.Py_ssize_t
    other: cython.Py_ssize_t = 0
    most: cython.ulonglong = columns
    starts: list[Any] = [zeros("Q", 16) for _ in range(columns)]
    ends: list[Any] = [zeros("Q", 16) for _ in range(columns)]
    counts = [0] * columns
    cursor.within(0, size)
    while cursor.next():
        start = cursor.at
        if cursor.wire != BYTES or cursor.field >= most:
            other += 1
            continue
        field = cython.cast("Py_ssize_t", cursor.field)
        used = counts[field]
        if used == len(starts[field]):
            starts[field] = doubled(starts[field], used)
            ends[field] = doubled(ends[field], used)
        starts[field][used] = cursor.start
        ends[field][used] = cursor.end
        counts[field] = used + 1
    return (
        [copied(column, used) for column, used in zip(starts, counts, strict=True)],
        [copied(column, used) for column, used in zip(ends, counts, strict=True)],
        start,
        other,
    )


@cython.locals(
    first="const unsigned long long[::1]",
    last="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    count="Py_ssize_t",
    width="Py_ssize_t",
    i="Py_ssize_t",
)
def numbers(data: Any, starts: Any, ends: Any, fields: int) -> tuple[memoryview, int]:
    """The numbers in messages that are nothing else: a row of ``fields`` for each message (Q; number of the field
    less one), 0 for what it has not; and the number of damaged messages."""
    cursor: Cursor = Cursor(data)
    damaged = 0
    first = starts
    last = ends
    count = first.shape[0]
    width = fields
    result = zeros("Q", count * width)
    out = result
    for i in range(count):
        cursor.within(first[i], last[i])
        while cursor.next():
            if cursor.wire == VARINT and cursor.field <= cython.cast("unsigned long long", width):
                out[i * width + cython.cast("Py_ssize_t", cursor.field) - 1] = cursor.value
        damaged += cursor.damaged
    return result, damaged


@cython.locals(
    first="const unsigned long long[::1]",
    last="const unsigned long long[::1]",
    begins="unsigned int[::1]",
    values="unsigned long long[::1]",
    i="Py_ssize_t",
    used="Py_ssize_t",
)
def lines(data: Any, starts: Any, ends: Any) -> tuple[memoryview, memoryview, memoryview]:
    """The lines of locations: (start (Q), end (Q), first line of each location and one entry more (I))."""
    cursor: Cursor = Cursor(data)
    first = starts
    last = ends
    begin_column = zeros("I", first.shape[0] + 1)
    begins = begin_column
    start_column: Any = zeros("Q", 1024)
    end_column: Any = zeros("Q", 1024)
    used = 0
    for i in range(first.shape[0]):
        begins[i] = cython.cast("unsigned int", used)
        cursor.within(first[i], last[i])
        while cursor.next():
            if cursor.wire == BYTES and cursor.field == 4:
                if used == len(start_column):
                    start_column, end_column = doubled(start_column, used), doubled(end_column, used)
                values = start_column
                values[used] = cursor.start
                values = end_column
                values[used] = cursor.end
                used += 1
    begins[first.shape[0]] = cython.cast("unsigned int", used)
    return copied(start_column, used), copied(end_column, used), begin_column


@cython.final
@cython.cclass
class PprofSamples:
    """The samples: :meth:`read` fills the columns.

    ``node`` (I, NOTHING: no location), ``value`` (Q) and ``event`` (H) have an entry for each value above 0 of each
    sample, ``parent`` and ``frame`` (I) are the tree of stacks, parents first. ``labels`` (Q) has ``LABELS`` values for
    each of these entries, all bits set for a label that the sample has not; it is empty if no labels were asked for.
    ``damaged`` counts samples that end inside a field, ``wrong`` those with another number of values than there are
    sample types, ``negative`` values below 0, ``lost`` locations that are not in the profile,
    ``damaged_labels`` labels that end inside a field.
    """

    _nodes: Pairs
    _node: Any
    _value: Any
    _event: Any
    _labels: Any
    _used: cython.Py_ssize_t
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    wrong = cython.declare(cython.Py_ssize_t, visibility="readonly")
    negative = cython.declare(cython.Py_ssize_t, visibility="readonly")
    lost = cython.declare(cython.Py_ssize_t, visibility="readonly")
    damaged_labels = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self) -> None:
        self._nodes = Pairs()
        self._node, self._value, self._event = zeros("I", 1024), zeros("Q", 1024), zeros("H", 1024)
        self._labels = zeros("Q", 0)
        self._used = 0
        self.damaged = self.wrong = self.negative = self.lost = self.damaged_labels = 0

    @cython.locals(
        first="const unsigned long long[::1]",
        last="const unsigned long long[::1]",
        sorted_ids="const unsigned long long[::1]",
        of_sorted="const unsigned int[::1]",
        begins="const unsigned int[::1]",
        frames="const unsigned int[::1]",
        ids="unsigned long long[::1]",
        values="unsigned long long[::1]",
        node_column="unsigned int[::1]",
        value_column="unsigned long long[::1]",
        event_column="unsigned short[::1]",
        event_of="const unsigned short[::1]",
        at="unsigned long long",
        id_count="Py_ssize_t",
        value_count="Py_ssize_t",
        packed_end="Py_ssize_t",
        types="Py_ssize_t",
        i="Py_ssize_t",
        j="Py_ssize_t",
        low="Py_ssize_t",
        high="Py_ssize_t",
        middle="Py_ssize_t",
        line="Py_ssize_t",
        number="unsigned long long",
        keys="const unsigned long long[::1]",
        label_values="unsigned long long[::1]",
        label_column="unsigned long long[::1]",
        kept="Py_ssize_t",
    )
    def read(
        self,
        data: Any,
        starts: Any,
        ends: Any,
        locations: tuple[Any, Any],
        location_frames: tuple[Any, Any],
        unknown: int,
        events: Any,
        label_keys: Any,
        most_nodes: int,
    ) -> bool:
        """Read all samples; False if their stacks have more than ``most_nodes`` nodes, and the rest is not read.

        ``locations``: their ids, ascending (Q), and the number of each (I). ``location_frames``: the first frame of
        each location in a list of frames, and one entry more (I), and that list, outermost function first (I).
        ``unknown``: the frame of a location that is not in the profile. ``events``: the number of each sample type (H).
        ``label_keys``: the strings (by number, Q) that are the keys of labels to keep, 0 for none; an empty column if
        none are kept. A label's value is its number, or that of its string.
        """
        cursor: Cursor = Cursor(data)
        label: Cursor = Cursor(data)
        keys = label_keys
        kept = keys.shape[0]
        label_values = zeros("Q", LABELS)
        if kept:
            self._labels = zeros("Q", LABELS * len(self._node))
        most: cython.Py_ssize_t = most_nodes
        lost_frame: cython.uint = unknown
        ids_object: Any = zeros("Q", 1024)
        values_object: Any = zeros("Q", 1024)
        first = starts
        last = ends
        sorted_ids, of_sorted = locations
        begins, frames = location_frames
        event_of = events
        types = event_of.shape[0]
        ids = ids_object
        values = values_object
        for i in range(first.shape[0]):
            id_count = value_count = 0
            for j in range(kept):
                label_values[j] = ALL_ONES
            cursor.within(first[i], last[i])
            while cursor.next():
                if cursor.field == 3 and cursor.wire == BYTES and kept:
                    self._label(label, cursor.start, cursor.end, keys, label_values)
                if cursor.field != 1 and cursor.field != 2:
                    continue
                if cursor.wire == VARINT:
                    packed_end = -1
                elif cursor.wire == BYTES:
                    packed_end = cursor.end
                    cursor.at = cursor.start
                else:
                    continue
                while packed_end < 0 or cursor.at < packed_end:
                    if packed_end >= 0:
                        # A number that goes on behind the list is damage that the next field shows.
                        cursor.value = cursor.varint()
                        if cursor.damaged:
                            break
                    if cursor.field == 1:
                        if id_count == ids.shape[0]:
                            ids_object = doubled(ids_object, id_count)
                            ids = ids_object
                        ids[id_count] = cursor.value
                        id_count += 1
                    else:
                        if value_count == values.shape[0]:
                            values_object = doubled(values_object, value_count)
                            values = values_object
                        values[value_count] = cursor.value
                        value_count += 1
                    if packed_end < 0:
                        break
            if cursor.damaged:
                self.damaged += 1
                continue
            if value_count != types:
                self.wrong += 1
                continue
            at = NOTHING
            for j in range(id_count - 1, -1, -1):
                low = 0
                high = sorted_ids.shape[0]
                number = ids[j]
                # Writers number locations from 1 on.
                if 0 < number <= cython.cast("unsigned long long", high) and sorted_ids[number - 1] == number:
                    low = cython.cast("Py_ssize_t", number) - 1
                else:
                    while low < high:
                        middle = (low + high) >> 1
                        if sorted_ids[middle] < number:
                            low = middle + 1
                        else:
                            high = middle
                if low == sorted_ids.shape[0] or sorted_ids[low] != number:
                    self.lost += 1
                    at = self._nodes.number((at << 32) | lost_frame)
                    continue
                middle = of_sorted[low]
                for line in range(begins[middle], begins[middle + 1]):
                    at = self._nodes.number((at << 32) | frames[line])
            if self._nodes.count > most:
                return False
            if self._used + types > len(self._node):
                while self._used + types > len(self._node):
                    self._node = doubled(self._node, self._used)
                    self._value = doubled(self._value, self._used)
                    self._event = doubled(self._event, self._used)
                    if kept:
                        self._labels = doubled(self._labels, LABELS * self._used)
            node_column = self._node
            value_column = self._value
            event_column = self._event
            label_column = self._labels
            for j in range(types):
                if values[j] >> 63:
                    self.negative += 1
                elif values[j]:
                    node_column[self._used] = cython.cast("unsigned int", at)
                    value_column[self._used] = values[j]
                    event_column[self._used] = event_of[j]
                    for line in range(kept):
                        label_column[LABELS * self._used + line] = label_values[line]
                    self._used += 1
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(keys="const unsigned long long[::1]", found="unsigned long long[::1]", number="unsigned long long")
    def _label(
        self, label: Cursor, start: cython.Py_ssize_t, end: cython.Py_ssize_t, keys: Any, found: Any
    ) -> cython.int:
        """Keep a label's value, if its key is among ``keys``."""
        key: cython.ulonglong = 0
        i: cython.Py_ssize_t
        number = 0
        label.within(start, end)
        while label.next():
            if label.wire == VARINT:
                if label.field == 1:
                    key = label.value
                elif label.field == 2 or (label.field == 3 and number == 0):
                    number = label.value
        self.damaged_labels += label.damaged
        for i in range(keys.shape[0]):
            if key != 0 and keys[i] == key:
                found[i] = number
        return 0

    def labels(self) -> memoryview:
        """``labels``."""
        return copied(self._labels, LABELS * self._used if len(self._labels) else 0)

    def columns(self) -> tuple[memoryview, memoryview, memoryview]:
        """``node``, ``value`` and ``event``."""
        return copied(self._node, self._used), copied(self._value, self._used), copied(self._event, self._used)

    def stacks(self) -> tuple[memoryview, memoryview]:
        """``parent`` and ``frame``."""
        return self._nodes.high(), self._nodes.low()
