# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stacks as lists of frames, made of a tree of stacks and turned back into one; 128-bit hashes numbered.

Columns are of typecode I where not said otherwise; NOTHING stands for none. Hashes are two words (Q) each.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import with_room, zeros
from undwarf.errors import UnreadableInput
from undwarf.profile.grouping import Pairs


@cython.locals(
    parents="const unsigned int[::1]",
    frames="const unsigned int[::1]",
    wanted="const unsigned int[::1]",
    starts="unsigned int[::1]",
    out="unsigned int[::1]",
    node="unsigned int",
    i=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    total=cython.Py_ssize_t,
)
def lists_of_tree(parent: Any, frame: Any, nodes: Any) -> tuple[memoryview, memoryview]:
    """(starts, frames): the frames of some nodes' stacks, root first, one list behind the other; list ``i`` is from
    ``starts[i]`` to ``starts[i + 1]``. Raises OverflowError beyond 2**31 frames."""
    parents, frames, wanted = parent, frame, nodes
    count: cython.Py_ssize_t = wanted.shape[0]
    first = zeros("I", count + 1)
    starts = first
    total = 0
    for i in range(count):
        node = wanted[i]
        while node != NOTHING:
            total += 1
            node = parents[node]
        if total >= 1 << 31:
            raise OverflowError
        starts[i + 1] = cython.cast("unsigned int", total)
    result = zeros("I", total)
    out = result
    for i in range(count):
        node = wanted[i]
        at = starts[i + 1]
        while node != NOTHING:
            at -= 1
            out[at] = frames[node]
            node = parents[node]
    return first, result


@cython.locals(
    begins="const int[::1]",
    frames="const unsigned int[::1]",
    out="unsigned int[::1]",
    path="unsigned int[::1]",
    node="unsigned int",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    begin=cython.Py_ssize_t,
    size=cython.Py_ssize_t,
    before=cython.Py_ssize_t,
    shared=cython.Py_ssize_t,
)
def tree_of_lists(starts: Any, frame: Any) -> tuple[memoryview, memoryview, memoryview]:
    """(parent, frame, node of each list) of lists of frames, root first; ``starts`` (i) as of :func:`lists_of_tree`.
    Parents have smaller numbers than their children. Callers that a list shares with the one before are not looked up,
    so lists that are sorted take a third of the time."""
    begins, frames = starts, frame
    count: cython.Py_ssize_t = begins.shape[0] - 1
    pairs: Pairs = Pairs(count + 1024)
    innermost = zeros("I", count)
    out = innermost
    column = zeros("I", 256)
    path = column
    room: cython.Py_ssize_t = 256
    before = begin = 0
    for i in range(count):
        size = begins[i + 1] - begins[i]
        if size > room:
            column = with_room(column, before, size)
            path, room = column, len(column)
        shared = 0
        while shared < size and shared < before and frames[begins[i] + shared] == frames[begin + shared]:
            shared += 1
        begin = begins[i]
        node = path[shared - 1] if shared > 0 else NOTHING
        for k in range(shared, size):
            node = cython.cast(
                "unsigned int",
                pairs.number((cython.cast("unsigned long long", node) << 32) | frames[begin + k]),
            )
            path[k] = node
        before = size
        out[i] = node
    return pairs.high(), pairs.low(), innermost


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(
    words="const unsigned long long[::1]",
    rows="const unsigned int[::1]",
    slots="unsigned int[::1]",
    i=cython.Py_ssize_t,
    slot=cython.Py_ssize_t,
    mask=cython.Py_ssize_t,
)
def _fill(slots: Any, words: Any, rows: Any, known: cython.Py_ssize_t) -> cython.int:
    """Put the hashes that are known into an empty table."""
    mask = slots.shape[0] - 1
    for i in range(known):
        slot = cython.cast("Py_ssize_t", words[2 * cython.cast("Py_ssize_t", rows[i])]) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = cython.cast("unsigned int", i + 1)
    return 0


@cython.locals(
    words="const unsigned long long[::1]",
    slots="unsigned int[::1]",
    rows="unsigned int[::1]",
    out="unsigned int[::1]",
    i=cython.Py_ssize_t,
    slot=cython.Py_ssize_t,
    mask=cython.Py_ssize_t,
    row=cython.Py_ssize_t,
    steps=cython.Py_ssize_t,
    found="unsigned int",
    known="unsigned int",
)
def numbered(hashes: Any) -> tuple[memoryview, memoryview]:
    """(number of each hash, row of each number): distinct hashes are numbered from 0 in the order of occurrence.

    The lower bits of a hash choose its slot. Hashes that somebody made alike there, which those of a store are not,
    would take long: for them UnreadableInput is raised.
    """
    words = hashes
    count: cython.Py_ssize_t = words.shape[0] // 2
    mask = (1 << 12) - 1
    slots = zeros("I", mask + 1)
    numbers, first = zeros("I", count), zeros("I", count)
    out, rows = numbers, first
    known = 0
    for i in range(count):
        slot = cython.cast("Py_ssize_t", words[2 * i]) & mask
        steps = 0
        while True:
            found = slots[slot]
            if found == 0:
                rows[known] = cython.cast("unsigned int", i)
                out[i] = known
                known += 1
                slots[slot] = known
                break
            found -= 1
            row = rows[found]
            if words[2 * row] == words[2 * i] and words[2 * row + 1] == words[2 * i + 1]:
                out[i] = found
                break
            slot = (slot + 1) & mask
            steps += 1
            if steps > 10_000:
                raise UnreadableInput("the store is damaged", "its hashes are none")
        if 2 * cython.cast("Py_ssize_t", known) > mask:
            # Small tables stay in the processor's cache: most hashes occur many times.
            mask = 4 * mask + 3
            slots = zeros("I", mask + 1)
            _fill(slots, words, rows, known)
    return numbers, first[:known]


@cython.locals(
    images="const unsigned int[::1]",
    addresses="const unsigned long long[::1]",
    first="const unsigned int[::1]",
    table="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
)
def file_offsets(image: Any, address: Any, starts: Any, segments: Any) -> memoryview:
    """The file offsets (Q) of addresses (Q) of images (I).

    Image ``k`` has the segments ``starts[k]`` to ``starts[k + 1]``, each three words of ``segments`` (Q): its address,
    its size, its offset in the file. An address in none of them stays as it is.
    """
    images, addresses, first, table = image, address, starts, segments
    count: cython.Py_ssize_t = images.shape[0]
    result = zeros("Q", count)
    out = result
    for i in range(count):
        out[i] = addresses[i]
        if images[i] == NOTHING:
            continue
        for at in range(first[images[i]], first[images[i] + 1]):
            if table[3 * at] <= addresses[i] and addresses[i] - table[3 * at] < table[3 * at + 1]:
                out[i] = addresses[i] - table[3 * at] + table[3 * at + 2]
                break
    return result


@cython.locals(
    begins="const long long[::1]",
    values="const unsigned int[::1]",
    wanted="const unsigned int[::1]",
    starts="int[::1]",
    out="unsigned int[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
)
def chosen_lists(starts_of: Any, column: Any, rows: Any) -> tuple[memoryview, memoryview]:
    """(starts (i), values) of some lists, by number; ``starts_of`` (q): where all lists begin, with the end of the
    last."""
    begins, values, wanted = starts_of, column, rows
    count: cython.Py_ssize_t = wanted.shape[0]
    first = zeros("i", count + 1)
    starts = first
    at = 0
    for i in range(count):
        at += begins[wanted[i] + 1] - begins[wanted[i]]
        starts[i + 1] = cython.cast(cython.int, at)
    result = zeros("I", at)
    out = result
    at = 0
    for i in range(count):
        for k in range(begins[wanted[i]], begins[wanted[i] + 1]):
            out[at] = values[k]
            at += 1
    return first, result


@cython.locals(
    words="const unsigned long long[::1]",
    numbers="const unsigned int[::1]",
    out="unsigned long long[::1]",
    i=cython.Py_ssize_t,
)
def hashes_at(hashes: Any, rows: Any) -> memoryview:
    """The hashes of some rows, by number."""
    words, numbers = hashes, rows
    result = zeros("Q", 2 * numbers.shape[0])
    out = result
    for i in range(numbers.shape[0]):
        out[2 * i] = words[2 * cython.cast("Py_ssize_t", numbers[i])]
        out[2 * i + 1] = words[2 * cython.cast("Py_ssize_t", numbers[i]) + 1]
    return result


@cython.locals(begins="const int[::1]", i=cython.Py_ssize_t, least=cython.int, most=cython.int)
def lengths(starts: Any) -> tuple[int, int]:
    """(the least, the largest) length of lists that begin at ``starts`` (i); of none (1, 1)."""
    begins = starts
    if begins.shape[0] < 2:
        return 1, 1
    least = most = begins[1] - begins[0]
    for i in range(1, begins.shape[0] - 1):
        least = min(least, begins[i + 1] - begins[i])
        most = max(most, begins[i + 1] - begins[i])
    return least, most
