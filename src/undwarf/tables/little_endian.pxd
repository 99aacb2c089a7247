# Little-endian numbers; in a .pxd, so that each compiled module that reads them has them inlined.


cdef inline unsigned long long number(const unsigned char *base, Py_ssize_t at, int size) noexcept nogil:
    """`size` bytes from `at` on, 8 at most; the caller has checked that they lie inside the data."""
    cdef unsigned long long value = 0
    cdef int i
    if size == 4:
        # One load, which the compiler makes of it.
        value = <unsigned int>base[at + 3] << 24
        value |= base[at] | base[at + 1] << 8 | base[at + 2] << 16
        return value
    for i in range(size):
        value |= <unsigned long long>base[at + i] << (8 * i)
    return value
