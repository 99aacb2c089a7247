cdef class LocationIntervals:
    cdef const long long[::1] places
    cdef Py_ssize_t count
    # The segment of each instruction and of the function's end; the first and last segment of each location; by
    # segment, then by group of segments, start (plus one) and end of its locations in `items`.
    cdef int[::1] data
    cdef Py_ssize_t lows
    cdef Py_ssize_t firsts
    cdef Py_ssize_t groups
    cdef int[::1] items
    cdef Py_ssize_t used
    cdef Py_ssize_t begin
    cdef Py_ssize_t end

    cdef int find(self, Py_ssize_t k) except? -1
    cdef int fill(self, int segment, Py_ssize_t at) except? -1
    cdef int _room(self, Py_ssize_t more) except? -1
