cimport cython


cdef class Mappings:
    # Chunks: 32 consecutive entries of each column, and how many are in use; the process that may change it.
    cdef unsigned int[::1] _chunk_count
    cdef unsigned long long[::1] _starts
    cdef unsigned long long[::1] _ends
    cdef unsigned long long[::1] _offsets
    cdef unsigned int[::1] _images
    cdef unsigned char[::1] _flags
    cdef unsigned int[::1] _chunk_owner
    cdef Py_ssize_t chunks
    # Snapshots: slices of lists of chunk numbers.
    cdef unsigned int[::1] _lists
    cdef Py_ssize_t listed
    cdef unsigned int[::1] _snapshot_at
    cdef unsigned int[::1] _snapshot_count
    cdef Py_ssize_t snapshots
    # Processes: each owns a slice of `work`, its current list of chunks, and may have a snapshot that is as it is now.
    cdef unsigned int[::1] _work
    cdef Py_ssize_t worked
    cdef unsigned int[::1] _process_at
    cdef unsigned int[::1] _process_count
    cdef unsigned int[::1] _process_room
    cdef unsigned int[::1] _process_frozen
    cdef Py_ssize_t processes

    cdef Py_ssize_t new_process(self) except? -1 nogil
    cdef int make_room(self, Py_ssize_t process, Py_ssize_t count) except? -1 nogil
    cdef int clear(self, Py_ssize_t process) except? -1 nogil
    cdef int clone(self, Py_ssize_t child, Py_ssize_t parent) except? -1 nogil
    cdef Py_ssize_t freeze(self, Py_ssize_t process) except? -1 nogil
    cdef Py_ssize_t new_chunk(self, Py_ssize_t process) except? -1 nogil
    @cython.final
    cdef int move(self, Py_ssize_t to, Py_ssize_t source, Py_ssize_t count) except? -1 nogil
    @cython.final
    cdef Py_ssize_t own(self, Py_ssize_t process, Py_ssize_t index) except? -1 nogil
    cdef int remove_chunk(self, Py_ssize_t process, Py_ssize_t index) except? -1 nogil
    cdef int insert_chunk(self, Py_ssize_t process, Py_ssize_t index, Py_ssize_t chunk) except? -1 nogil
    @cython.final
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
