from undwarf.types.dataflow.memory_accesses cimport MemoryAccesses


cdef class InstructionResults(MemoryAccesses):
    cdef int result_register
    cdef tuple parameters
    # Escape analysis of addresses.
    cdef object local

    cdef int _note_derived(self, Py_ssize_t k, Py_ssize_t row, Py_ssize_t m) except? -1
    cdef int result(self, Py_ssize_t k, Py_ssize_t row, long long action) except? -1
    cdef int _only_number(self, int value) except? -1
    cdef int _as_signed(self, Py_ssize_t row, long long size, int value) except? -1
    cdef long long _multiple(self, int value) except? -1
    cdef int _selected(self, Py_ssize_t k, Py_ssize_t row, int left, int right) except? -1
    cdef bint _is_unflagged(self, Py_ssize_t k, long long register, int value) except? -1
    cdef bint _is_object(self, int value) except? -1
    cdef int _shifted(self, int value, long long by) except? -1
    cdef int _divided(self, int value, long long by, long long step) except? -1
    cdef int _copied(self, Py_ssize_t k, Py_ssize_t row, long long width) except? -1
    cdef bint _makes_room(self, Py_ssize_t k, long long register) except? -1
    cdef int _note_escape(self, Py_ssize_t k, Py_ssize_t row, int value) except? -1
    cdef long long _added_next(self, Py_ssize_t k, long long register) except? -0x7FFFFFFFFFFFFFFF
    cdef bint _only_stores(self, Py_ssize_t k, long long register) except? -1
    cdef int _name_index(self, Py_ssize_t k, Py_ssize_t row, Py_ssize_t m) except? -1
    cdef int _masked(self, Py_ssize_t k, Py_ssize_t row, int left, long long register, long long width, long long mask) except? -1
