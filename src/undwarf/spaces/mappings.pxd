cimport cython


@cython.final
cdef class Mappings:
    # Chunks: 32 consecutive entries of each column; how many are used; the process that may change them.
    cdef unsigned int[::1] chunk_count
    cdef unsigned long long[::1] starts
    cdef unsigned long long[::1] ends
    cdef unsigned long long[::1] offsets
    cdef unsigned int[::1] images
    cdef unsigned char[::1] flags
    cdef unsigned int[::1] chunk_owner
    cdef Py_ssize_t chunks
    # Snapshots: slices of `lists`, of chunk indices.
    cdef unsigned int[::1] lists
    cdef Py_ssize_t listed
    cdef unsigned int[::1] snapshot_at
    cdef unsigned int[::1] snapshot_count
    cdef Py_ssize_t snapshots
    # Processes: each has a slice of `work`, its current list of chunks, and the index of a snapshot that is up to date.
    cdef unsigned int[::1] work
    cdef Py_ssize_t worked
    cdef unsigned int[::1] process_at
    cdef unsigned int[::1] process_count
    cdef unsigned int[::1] process_capacity
    cdef unsigned int[::1] process_frozen
    cdef Py_ssize_t processes

    cdef Py_ssize_t new_process(self) except? -1 nogil
    cdef int reserve(self, Py_ssize_t process, Py_ssize_t count) except? -1 nogil
    cdef int clear(self, Py_ssize_t process) except? -1 nogil
    cdef int clone(self, Py_ssize_t child, Py_ssize_t parent) except? -1 nogil
    cdef Py_ssize_t freeze(self, Py_ssize_t process) except? -1 nogil
    cdef Py_ssize_t new_chunk(self, Py_ssize_t process) except? -1 nogil
    cdef int move(self, Py_ssize_t to, Py_ssize_t source, Py_ssize_t count) except? -1 nogil
    cdef Py_ssize_t own(self, Py_ssize_t process, Py_ssize_t index) except? -1 nogil
    cdef int remove_chunk(self, Py_ssize_t process, Py_ssize_t index) except? -1 nogil
    cdef int insert_chunk(self, Py_ssize_t process, Py_ssize_t index, Py_ssize_t chunk) except? -1 nogil
    cdef Py_ssize_t chunk_for(self, Py_ssize_t process, unsigned long long address) except? -1 nogil
    cdef int insert(
        self,
        Py_ssize_t process,
        unsigned long long start,
        unsigned long long end,
        unsigned long long offset,
        unsigned int image,
        unsigned char flags,
    ) except? -1 nogil
    cdef Py_ssize_t entry_at(self, Py_ssize_t process, unsigned long long address) except? -2 nogil
    cdef int cut(self, Py_ssize_t process, unsigned long long start, unsigned long long end) except? -1 nogil
    cdef int overlay(self, Py_ssize_t target, Py_ssize_t source) except? -1 nogil
