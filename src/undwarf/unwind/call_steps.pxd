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
    # Proofs by the frame of the caller, the return address less one, and the function that is called.
    cdef IntMap proofs
    cdef IntMap entry_proofs
    # Functions by number, by (image, start); their images and starts; those of frames.
    cdef dict function_numbers
    cdef unsigned int[::1] function_images
    cdef unsigned long long[::1] function_starts
    cdef IntMap functions_of_frames
    # By frame, how far its stack pointer is below the call frame address, 0 for unknown.
    cdef IntMap depths
    # By address space and image, the place in `biases` of what addresses of its file are moved by.
    cdef IntMap bias_numbers
    cdef unsigned long long[::1] biases
    cdef Py_ssize_t bias_count
    # By address space, the number of the images that its process has mapped; those, by that number.
    cdef IntMap set_numbers
    cdef dict image_sets
    cdef list image_lists

    cdef int save(self) except? -1 nogil
    cdef int restore(self) except? -1 nogil
    cdef bint is_code(self, unsigned long long address) except? -1 nogil
    cdef unsigned int function_of(self, unsigned int frame) except? 0xFFFFFFFF nogil
    cdef unsigned int number_function(self, unsigned int image, unsigned long long start) except? 0xFFFFFFFF
    cdef unsigned int _find_function(self, unsigned int frame) except? 0xFFFFFFFF
    cdef int proof(self, unsigned long long return_address, unsigned int function) except? -1 nogil
    cdef int entry_proof(self, unsigned long long return_address, unsigned int function) except? -1 nogil
    cdef int _level(self, unsigned long long return_address, unsigned int function, bint entry_alone) except? -1 nogil
    cdef int step(self, unsigned long long pc, bint is_innermost, unsigned int function) except? -1 nogil
    cdef int step_by(self, unsigned int rule, unsigned long long pc, bint is_innermost, unsigned int function) except? -1 nogil
    cdef bint _is_by_frame_pointer(self, unsigned int rule) except? -1 nogil
    cdef bint _is_entry(self, unsigned int rule) except? -1 nogil
    cdef unsigned long long depth(
        self, unsigned int rule, unsigned long long pc, bint is_innermost
    ) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef unsigned int _find_depth(self, unsigned int frame, bint is_return) except? 0xFFFFFFFF
    cdef bint next_is_false(self) except? -1 nogil
    cdef unsigned long long bias(self, unsigned int image) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef int _ask_level(self, unsigned int caller, unsigned int function, bint entry_alone) except? -1
    cdef unsigned long long _find_bias(self, unsigned int image) except? 0xFFFFFFFFFFFFFFFE nogil
    cdef Py_ssize_t _keep_bias(self, unsigned long long bias) except? -1
    cdef unsigned int image_set(self) except? 0xFFFFFFFE nogil
    cdef unsigned int _number_image_set(self) except? 0xFFFFFFFE
    cdef tuple images_of(self, unsigned int image_set)
    cdef tuple _images(self)
