from undwarf.unwind.caller_choice cimport CallerChoice
from undwarf.unwind.frame_step cimport FrameStepper
from undwarf.unwind.process_memory cimport ProcessMemory
from undwarf.unwind.register_file cimport RegisterFile
from undwarf.unwind.rule_cache cimport RuleCache


cdef class RulelessStepper:
    cdef RuleCache rules
    cdef ProcessMemory memory
    cdef RegisterFile registers
    cdef FrameStepper stepper
    cdef CallerChoice choice
    cdef bint use_frame_pointers
    # Whether the code is asked which return address is the frame's own.
    cdef bint chooses
    # Calls that enter code without rules: their frames, and the distance of the return address from the stack pointer.
    cdef Py_ssize_t entry_count
    cdef unsigned int[::1] entry_frames
    cdef unsigned long long[::1] entry_distances
    # How the last step was made, if not as the frame's provenance states; 0: as that. Whether it followed the frame
    # pointer.
    cdef int provenance
    cdef bint by_frame_pointer
    # The caller that the frame pointer has found.
    cdef unsigned long long return_address
    cdef unsigned long long saved

    cdef int step(self, Py_ssize_t depth) except? -1 nogil
    cdef int step_to_entry(self, unsigned int image, unsigned int rule) except? -1 nogil
    cdef unsigned long long next_entry(self, unsigned long long at, unsigned long long end) except? 0 nogil
    cdef int _find_by_frame_pointer(self, Py_ssize_t depth) except? -1 nogil
    cdef int _take_frame_pointer(self) except? -1 nogil
    cdef bint _is_frame_of_callee(self) except? -1 nogil
    cdef int _take_chosen(self, unsigned long long slot) except? -1 nogil
    cdef bint _skips_frames(self, unsigned long long frame_pointer) except? -1 nogil
