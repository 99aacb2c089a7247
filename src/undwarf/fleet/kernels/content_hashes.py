# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Content hashes of frames and stacks: BLAKE2b with 16 bytes of digest, as ``hashlib.blake2b(text, digest_size=16)``.

Whoever has a recording taken into a store could otherwise make a stack with the hash of another one, whose frames would
then be shown in its place; so it is no faster hash without that promise. Each hashed text is at most one block of 128
bytes. Hashes are 16 bytes one after the other. Source: RFC 7693.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros

FRAME_BYTES = 48
"""Bytes of the text of which a frame's hash is made."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def turned(word: cython.ulonglong, by: cython.int) -> cython.ulonglong:
    """The word rotated right."""
    return (word >> by) | (word << (64 - by))


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
@cython.locals(
    v="unsigned long long[16]",
    h="unsigned long long[8]",
    orders="unsigned char[160]",
    i=cython.int,
    k=cython.int,
    a=cython.int,
    b=cython.int,
    c=cython.int,
    d=cython.int,
    at=cython.int,
)
def digest(
    m: cython.pointer(cython.ulonglong),  # type: ignore[valid-type]
    size: cython.int,
    out: cython.pointer(cython.ulonglong),  # type: ignore[valid-type]
) -> cython.int:
    """The hash, as two words, of a text of ``size`` bytes, at most one block, given as 16 words with zeros behind."""
    orders = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
        11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
        7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
        9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
        2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
        12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
        13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
        6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
        10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
    ]  # fmt: skip  # the table of RFC 7693, 2.7
    h = [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ]  # fmt: skip  # its initial vector
    v = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    for i in range(8):
        v[i + 8] = h[i]
    # The parameter block: 16 bytes of digest, no key, one leaf.
    h[0] ^= 0x01010010
    for i in range(8):
        v[i] = h[i]
    v[12] ^= cython.cast(cython.ulonglong, size)
    v[14] = ~v[14]
    for k in range(12):
        at = 16 * (k % 10)
        for i in range(8):
            # Four columns, then four diagonals.
            a = i & 3
            b = 4 + ((i + (i >> 2)) & 3)
            c = 8 + ((i + 2 * (i >> 2)) & 3)
            d = 12 + ((i + 3 * (i >> 2)) & 3)
            v[a] = v[a] + v[b] + m[orders[at + 2 * i]]
            v[d] = turned(v[d] ^ v[a], 32)
            v[c] = v[c] + v[d]
            v[b] = turned(v[b] ^ v[c], 24)
            v[a] = v[a] + v[b] + m[orders[at + 2 * i + 1]]
            v[d] = turned(v[d] ^ v[a], 16)
            v[c] = v[c] + v[d]
            v[b] = turned(v[b] ^ v[c], 63)
    out[0] = h[0] ^ v[0] ^ v[8]
    out[1] = h[1] ^ v[1] ^ v[9]
    return 0


@cython.locals(
    images="const unsigned long long[::1]",
    names="const unsigned long long[::1]",
    image_of="const unsigned int[::1]",
    name_of="const unsigned int[::1]",
    offset_of="const unsigned long long[::1]",
    flag_of="const unsigned int[::1]",
    out="unsigned long long[::1]",
    block="unsigned long long[16]",
    found="unsigned long long[2]",
    i=cython.Py_ssize_t,
)
def frame_hashes(image_hashes: Any, image: Any, offset: Any, flags: Any, name_hashes: Any, name: Any) -> memoryview:
    """The hashes (Q, two words each) of frames.

    ``image_hashes`` and ``name_hashes`` (Q) have two words each; ``image``, ``flags`` and ``name`` (I) and ``offset``
    (Q) one entry a frame, NOTHING for a frame without an image or a name. The text of a hash is 48 bytes, numbers in
    little-endian order: the hash of the image, the offset, the flags, the hash of the name; zeros for none.
    """
    images, names, image_of, name_of, offset_of, flag_of = image_hashes, name_hashes, image, name, offset, flags
    count: cython.Py_ssize_t = image_of.shape[0]
    result = zeros("Q", 2 * count)
    out = result
    block = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    found = [0, 0]
    for i in range(count):
        block[0] = block[1] = block[4] = block[5] = 0
        if image_of[i] != NOTHING:
            block[0] = images[2 * image_of[i]]
            block[1] = images[2 * image_of[i] + 1]
        block[2] = offset_of[i]
        block[3] = flag_of[i]
        if name_of[i] != NOTHING:
            block[4] = names[2 * name_of[i]]
            block[5] = names[2 * name_of[i] + 1]
        digest(cython.address(block[0]), 48, cython.address(found[0]))
        out[2 * i] = found[0]
        out[2 * i + 1] = found[1]
    return result


@cython.locals(
    parents="const unsigned int[::1]",
    frames="const unsigned int[::1]",
    of_frame="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    block="unsigned long long[16]",
    found="unsigned long long[2]",
    i=cython.Py_ssize_t,
)
def stack_hashes(parent: Any, frame: Any, hashes: Any) -> memoryview:
    """The hashes (Q, two words each) of all nodes of a tree of stacks.

    ``parent`` and ``frame`` (I) are the tree, callers first; ``hashes`` (Q, two words each) those of the frames. The
    text of a hash is 32 bytes: the hash of the caller's stack, zeros for none, and the hash of the frame.
    """
    parents, frames, of_frame = parent, frame, hashes
    count: cython.Py_ssize_t = parents.shape[0]
    result = zeros("Q", 2 * count)
    out = result
    block = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    found = [0, 0]
    for i in range(count):
        block[0] = block[1] = 0
        if parents[i] != NOTHING:
            if cython.cast("Py_ssize_t", parents[i]) >= i:
                raise ValueError("a stack node comes before its parent")
            block[0] = out[2 * parents[i]]
            block[1] = out[2 * parents[i] + 1]
        block[2] = of_frame[2 * frames[i]]
        block[3] = of_frame[2 * frames[i] + 1]
        digest(cython.address(block[0]), 32, cython.address(found[0]))
        out[2 * i] = found[0]
        out[2 * i + 1] = found[1]
    return result
