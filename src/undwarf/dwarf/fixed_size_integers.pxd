# Numbers of a fixed size; in a .pxd, so that each compiled module that reads them has them inlined.
cimport cython


@cython.boundscheck(False)
@cython.wraparound(False)
cdef inline unsigned long long fixed(
    const unsigned char[::1] data, Py_ssize_t at, int size, bint big
) noexcept nogil:
    """The number of `size` bytes, 8 at most, at `at`; 0 where the data ends before it."""
    cdef unsigned long long value = 0
    cdef int k
    # Nothing below reads anything else.
    if at < 0 or size > data.shape[0] - at:
        return 0
    if big:
        for k in range(size):
            value = value << 8 | data[at + k]
        return value
    if size == 4:
        # Most are, or one.
        value = <unsigned int>data[at + 3] << 24
        value |= data[at] | data[at + 1] << 8 | data[at + 2] << 16
        return value
    if size == 1:
        return data[at]
    k = size
    while k > 0:
        k -= 1
        value = value << 8 | data[at + k]
    return value
