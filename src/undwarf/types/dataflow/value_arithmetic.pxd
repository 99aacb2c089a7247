from undwarf.types.dataflow.value_interner cimport ValueInterner


cdef class ValueArithmetic:
    cdef ValueInterner values
    cdef object oracle
    cdef bint kernel
    # Position-dependent code: integers may be addresses.
    cdef bint fixed

    cdef long long base_of(self, int value) except? -2
    cdef long long step_of(self, int value) except? -0x7FFFFFFFFFFFFFFF
    cdef long long symbol_of(self, int value) except? -0x7FFFFFFFFFFFFFFF
    cdef long long offset_of(self, int value) except? -0x7FFFFFFFFFFFFFFF
    cdef long long type_of(self, int value) except? -0x7FFFFFFFFFFFFFFF
    cdef int constant(self, long long value) except? -1
    cdef int moved(self, int value, long long by) except? -1
    cdef int add(self, int left, int right) except? -1
    cdef int _virtual_base(self, int left, int right) except? -1
    cdef int _bytes_by_index(self, int left, int right) except? -1
    cdef int _indexed_twice(self, int value, int number) except? -1
    cdef int _index_again(self, int value, int number) except? -1
    cdef int _in_numbers(self, int value, int number, int element, long long size, long long step) except? -1
    cdef int scaled(self, int value, long long factor) except? -1
    cdef int difference(self, int left, int right) except? -1
    cdef bint _is_alike(self, int left, int right) except? -1
    cdef int nameless(self, int value) except? -1
    cdef int join(self, int left, int right) except? -1
    cdef bint _is_no_address(self, int value) except? -1
    cdef bint _is_typed_for(self, int value, int other) except? -1
    cdef int _asked_join(self, int left, int right) except? -1
    cdef bint is_several(self, int value) except? -1
