from undwarf.spaces.int_map cimport IntMap
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class CallSteps:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStepper stepper
    # The registers that all attempts begin with.
    cdef unsigned long long[17] saved
    cdef unsigned int saved_known
    # Proofs by caller and callee; the first of them the return address less one.
    cdef IntMap proofs
    cdef IntMap entry_proofs
    # By address space and image, the place in `biases` of what addresses of its file are moved by.
    cdef IntMap bias_numbers
    cdef unsigned long long[::1] biases
    cdef Py_ssize_t bias_count
    # By address space, the number of the images that its process has mapped; those, by that number.
    cdef IntMap set_numbers
    cdef dict image_sets

    cdef int save(self) except? -1 nogil
    cdef int restore(self) except? -1 nogil
    cdef bint is_code(self, unsigned long long address) except? -1 nogil
    cdef int proof(self, unsigned long long return_address, unsigned int callee) except? -1 nogil
    cdef int entry_proof(self, unsigned long long return_address, unsigned int callee) except? -1 nogil
    cdef int _level(self, unsigned long long return_address, unsigned int callee, bint entry_alone) except? -1 nogil
    cdef int step(self, unsigned long long pc, bint is_innermost, unsigned int callee) except? -1 nogil
    cdef bint next_is_false(self) except? -1 nogil
    cdef unsigned long long bias(self, unsigned int image) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef int _ask_level(self, unsigned int caller, unsigned int callee, bint entry_alone) except? -1
    cdef unsigned long long _find_bias(self, unsigned int image) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef Py_ssize_t _keep_bias(self, unsigned long long bias) except? -1
    cdef unsigned int image_set(self) except? 0xFFFFFFFE nogil
    cdef unsigned int _number_image_set(self) except? 0xFFFFFFFE
    cdef tuple images(self)
