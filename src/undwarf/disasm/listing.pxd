from undwarf.disasm.instruction cimport Instruction, Memory


cdef class Listing:
    cdef readonly object address
    cdef readonly object table
    cdef readonly object offsets
    cdef readonly object lengths
    cdef readonly object templates
    cdef readonly object displacements
    cdef readonly object immediates
    cdef readonly object targets
    cdef readonly object flows
    # `offsets` and `templates` as typed memory.
    cdef const unsigned int[::1] begins
    cdef const unsigned int[::1] numbers
    # The table's rows and operands when `seen` was its `rows`, and its registers by template.
    cdef object seen
    cdef const long long[::1] rows
    cdef const long long[::1] operands
    cdef dict registers
    cdef object native
    cdef object text
    cdef dict made
    cdef object jumps

    cpdef index_of(self, address)
    cdef Instruction _describe(self, Py_ssize_t k)
    cdef tuple _operands(self, Py_ssize_t k, Py_ssize_t first, Py_ssize_t count)
