# LEB128 numbers (DWARF 5, 7.6); in a .pxd, so that each compiled module that reads them has them inlined.
cimport cython


@cython.boundscheck(False)
@cython.wraparound(False)
cdef inline unsigned long long leb128(
    const unsigned char[::1] data, Py_ssize_t *at, Py_ssize_t end, bint signed
) noexcept nogil:
    """The number at `at`, which is then behind it; signed ones as their two's complement, bits past the 64th dropped.
    Where it does not stop before `end`, 0, and `at` becomes past `end`."""
    cdef Py_ssize_t i = at[0]
    # Nothing outside of the data is read, wherever the caller's end is.
    cdef Py_ssize_t stop = min(end, data.shape[0])
    cdef unsigned long long byte, value
    cdef int shift = 7
    if i < 0 or i >= stop:
        at[0] = end + 1
        return 0
    byte = data[i]
    value = byte & 0x7F
    while byte >= 0x80:
        i += 1
        if i >= stop:
            at[0] = end + 1
            return 0
        byte = data[i]
        if shift < 64:
            value |= (byte & 0x7F) << shift
            shift += 7
    if signed and byte & 0x40 and shift < 64:
        value |= (<unsigned long long>0xFFFFFFFFFFFFFFFF) << shift
    at[0] = i + 1
    return value
