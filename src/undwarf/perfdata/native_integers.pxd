# Numbers in record bytes, of the machine's own byte order; in a .pxd, so that each module that reads has them inlined.


cdef inline unsigned long long u64(const unsigned char *data, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """The u64 at `at` of `size` bytes, 0 outside. Records may be unaligned behind an odd-sized one."""
    if at < 0 or at > size - 8:
        return 0
    return (<unsigned long long *> (data + at))[0]


cdef inline unsigned int u32(const unsigned char *data, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    if at < 0 or at > size - 4:
        return 0
    return (<unsigned int *> (data + at))[0]


cdef inline unsigned int u16(const unsigned char *data, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    if at < 0 or at > size - 2:
        return 0
    return (<unsigned short *> (data + at))[0]
