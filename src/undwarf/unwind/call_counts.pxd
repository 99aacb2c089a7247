from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.stacks cimport Stacks


cdef class CallCounts:
    # What numbers functions (undwarf.unwind.exact_paths.CodeEvidence), and the image and address of each frame.
    cdef object evidence
    cdef Stacks stacks
    cdef const unsigned int[::1] image
    cdef const unsigned long long[::1] address
    # By frame, the first of its callees in the columns that follow (0xffffffff: none).
    cdef unsigned int[::1] first
    cdef unsigned int[::1] following
    cdef unsigned int[::1] callee
    cdef unsigned int[::1] samples
    # By function, its callers and their samples.
    cdef dict by_function
    # The callers of most samples, by function and how many.
    cdef dict heaviest
    # The numbers of functions, by image and start; and by frame.
    cdef dict numbers
    cdef IntMap functions
    # By caller and callee, the samples of calls between the caller and the callee's function.
    cdef IntMap known
    # The same for all callers, by function.
    cdef IntMap totals

    cdef Py_ssize_t count(self, unsigned int caller, unsigned int callee) except? -1 nogil
    cdef Py_ssize_t total(self, unsigned int callee) except? -1 nogil
    cdef unsigned int _total(self, unsigned int function) except? 0xFFFFFFFF
    cdef unsigned int _count(self, unsigned int caller, unsigned int callee) except? 0xFFFFFFFE nogil
    cdef unsigned int _function_of(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef unsigned int _number_function(self, unsigned int frame) except? 0xFFFFFFFE
