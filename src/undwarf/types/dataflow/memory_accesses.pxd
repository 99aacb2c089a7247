from undwarf.types.dataflow.stack_frame cimport StackFrame


cdef class MemoryAccesses(StackFrame):
    # Whether any variable's value is the address of a stack slot.
    cdef bint pointed

    cdef long long displacement(self, Py_ssize_t k, Py_ssize_t m) except? -0x7FFFFFFFFFFFFFFF
    cdef long long immediate(self, Py_ssize_t k, Py_ssize_t row) except? -0x7FFFFFFFFFFFFFFF
    cdef int number(self, Py_ssize_t k, Py_ssize_t row, bint whole) except? -1
    cdef int address_of(self, Py_ssize_t k, Py_ssize_t m, long long more) except? -1
    cdef int moved_by(self, Py_ssize_t k, int value, int other) except? -1
    cdef int _in_virtual_base(self, int value, int away, long long displacement) except? -1
    cdef int _sum(
        self, Py_ssize_t m, long long base_register, long long index_register, long long displacement
    ) except? -1
    cdef int _is_data(self, long long address) except? -1
    cdef bint _counted(self, int number) except? -1
    cdef int _from(self, long long address, int number) except? -1
    cdef bint memory_variable(self, Py_ssize_t k, Py_ssize_t m, long long more) except? -1
    cdef int load(self, Py_ssize_t k, Py_ssize_t m, long long size, long long more) except? -1
    cdef int own_name(self, int value, Py_ssize_t k) except? -1
    cdef bint _is_placing(self, Py_ssize_t m) except? -1
    cdef int _at(self, int where, long long size) except? -1
    cdef int _at_other(self, Py_ssize_t k, Py_ssize_t m, long long more) except? -1
    cdef int _load_frame(self, Py_ssize_t k, int where, long long size) except? -1
    cdef int stores(self, Py_ssize_t k, Py_ssize_t row) except? -1
    cdef int _escape_to(self, int value, int where, long long size) except? -1
    cdef int _learn_stored(self, Py_ssize_t k, long long register, int where) except? -1
    cdef bint _leads_nowhere(self, int value) except? -1
    cdef int _learn(self, Py_ssize_t k, long long offset, int value) except? -1
    cdef int _cast(self, Py_ssize_t k, long long offset, int value) except? -1
