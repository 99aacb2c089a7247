from undwarf.spaces.int_map cimport IntMap


cdef class InstructionFlows:
    # The code; what decodes an instruction, and gives the function whose address a slot has.
    cdef list segments
    cdef object decode
    cdef object function_in
    # By instruction: its Flow, the address it jumps to or calls, and the address of the next one. The rows by address.
    cdef IntMap rows
    cdef unsigned char[::1] flows
    cdef unsigned long long[::1] targets
    cdef unsigned long long[::1] ends
    cdef Py_ssize_t used

    cdef Py_ssize_t find(self, unsigned long long address) except? -2
    cdef int _decode(self, unsigned long long address) except? -1
    cdef int _keep(self, unsigned long long address, int flow, unsigned long long target, unsigned long long end) except? -1
