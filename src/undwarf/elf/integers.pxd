# Unsigned integers of either byte order in bytes; in a .pxd, so that kernels inline it.
cimport cython


@cython.boundscheck(False)
@cython.wraparound(False)
cdef inline unsigned long long integer_at(
    const unsigned char[::1] data, Py_ssize_t at, int size, bint big
) noexcept nogil:
    """The integer of `size` bytes (1 to 8) at `at`; 0 if the data ends before its end."""
    cdef unsigned long long value = 0
    cdef int k
    # The only bounds check.
    if at < 0 or size > data.shape[0] - at:
        return 0
    if big:
        for k in range(size):
            value = value << 8 | data[at + k]
        return value
    if size == 4:
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
