from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class RulelessStepper:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStepper stepper
    cdef bint use_frame_pointers
    # Calls that enter code without rules: their frames, and the distance of the return address from the stack pointer.
    cdef Py_ssize_t entry_count
    cdef unsigned int[::1] entry_frames
    cdef unsigned long long[::1] entry_distances
    # Whether the last step went to a function that enters code without rules, and whether it followed the frame
    # pointer.
    cdef bint entered
    cdef bint by_frame_pointer

    cdef int step(self, Py_ssize_t depth) except? -1 nogil
    cdef int step_to_entry(self, unsigned int image, unsigned int rule) except? -1 nogil
    cdef unsigned long long next_entry(self, unsigned long long at, unsigned long long end) except? 0 nogil
    cdef int _step_by_frame_pointer(self, Py_ssize_t depth) except? -1 nogil
    cdef bint _skips_frames(self, unsigned long long frame_pointer) except? -1 nogil
