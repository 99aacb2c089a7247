from undwarf.unwind.call_steps cimport CallSteps


cdef class CallerEvidence:
    cdef CallSteps steps

    cdef int agreeing(
        self, unsigned int image, unsigned long long function, unsigned long long back, unsigned long long return_address,
        unsigned long long *registers, unsigned int known
    ) except? -9 nogil
    cdef bint has_pointer(self, unsigned int image, unsigned long long function) except? -1 nogil
    cdef int _agreeing(
        self, unsigned int image, unsigned long long function, unsigned long long back, unsigned int outer,
        unsigned long long *registers, unsigned int known
    ) except? -9
