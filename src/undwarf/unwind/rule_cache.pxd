from undwarf.spaces.address_spaces cimport AddressSpaces
from undwarf.unwind.stacks cimport Stacks


cdef class RuleCache:
    cdef readonly AddressSpaces spaces
    cdef readonly Stacks stacks
    # Images and their tables (undwarf.unwind.image_table.ImageTable), and what is loaded of them.
    cdef object source
    cdef object loaded
    cdef unsigned int kernel_image
    # Whether frames keep the absolute address that they ran at; whether that of callers is the return address.
    cdef bint runtime
    cdef bint returns
    # Rules, and the buffers that have them now. Earlier, smaller buffers are kept: pointers to rules stay valid during
    # a step.
    cdef const int[::1] words
    cdef object rules_buffer
    cdef list earlier_buffers
    cdef const unsigned char[::1] expression_bytes
    cdef const unsigned int[::1] expression_offsets
    cdef object expressions_buffer
    # By image: its ImageState, where its program starts, its segments, and whether its table has sources that were not
    # consulted.
    cdef unsigned char[::1] image_state
    cdef unsigned long long[::1] image_entry
    cdef unsigned int[::1] image_segments
    cdef unsigned int[::1] image_segment_count
    cdef unsigned char[::1] image_open
    # Functions of an image: pointers to the columns of their starts and ends, which all threads share, and to this
    # thread's column of where their rows are (two entries each: index and count).
    cdef unsigned long long[::1] image_starts
    cdef unsigned long long[::1] image_ends
    cdef unsigned long long[::1] image_function_rows
    cdef unsigned int[::1] image_function_count
    # Rows of a whole image, shared by all threads: pointers to the columns, and how many rows they have.
    cdef unsigned long long[::1] image_row_addresses
    cdef unsigned long long[::1] image_row_rules
    cdef unsigned long long[::1] image_row_count
    cdef unsigned long long[::1] segment_offset
    cdef unsigned long long[::1] segment_end
    cdef unsigned long long[::1] segment_address
    cdef unsigned long long[::1] row_address
    cdef unsigned int[::1] row_rule
    # The first cache, four words an entry: address, space and exactness, rule and frame, image.
    cdef unsigned long long[::1] by_space
    # The second one, three words an entry: address, image and exactness, rule and frame.
    cdef unsigned long long[::1] by_image
    # The address space of the current sample, and the rule, frame and image of the address that was looked up last.
    cdef unsigned int space
    cdef unsigned int found_rule
    cdef unsigned int found_frame
    cdef unsigned int found_image

    cdef Py_ssize_t mapping(self, unsigned long long address) except? -2 nogil
    cdef unsigned long long stated_address(self, Py_ssize_t image, unsigned long long offset) except? 0xFFFFFFFFFFFFFFFF nogil
    cdef Py_ssize_t _function(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef unsigned int _rule_of_row(self, Py_ssize_t image, unsigned long long address) noexcept nogil
    cdef unsigned int rule(self, Py_ssize_t image, unsigned long long address) except? 0xFFFFFFFC nogil
    cdef unsigned int rule_in(self, Py_ssize_t image, unsigned long long address) except? 0xFFFFFFFC nogil
    cdef int resolve(self, unsigned long long lookup, unsigned long long raw, int provenance) except? -1 nogil
    cdef int find(self, unsigned long long lookup, unsigned long long raw) except? -1 nogil
    cdef unsigned int kernel_frame(
        self, unsigned int space, unsigned long long lookup, unsigned long long raw
    ) except? 0xFFFFFFFF nogil
    cdef bint at_entry(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef bint in_entry_function(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef bint calls_haskell(self) except? -1 nogil
    cdef int call_evidence(self) except? -1 nogil
    cdef bint follows_call(self, unsigned long long return_address) except? -1 nogil
    cdef int fiber_evidence(self) except? -1 nogil
    cdef unsigned int inferred_frame(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef bint is_return(self, unsigned int frame) except? -1 nogil
