from undwarf.unwind.stacks cimport Stacks


cdef class RuleCache:
    cdef readonly Stacks stacks
    cdef object source
    cdef object loaded
    cdef object seen_rules
    cdef object seen_expressions
    cdef unsigned int kernel_image
    cdef bint runtime
    cdef bint returns
    # Address spaces (undwarf.spaces.replay.Replay.columns).
    cdef const unsigned int[::1] chunk_count
    cdef const unsigned long long[::1] starts
    cdef const unsigned long long[::1] ends
    cdef const unsigned long long[::1] offsets
    cdef const unsigned int[::1] images
    cdef const unsigned char[::1] flags
    cdef const unsigned int[::1] lists
    cdef const unsigned int[::1] snapshot_at
    cdef const unsigned int[::1] snapshot_count
    # Rules.
    cdef const int[::1] words
    # Earlier, smaller buffers of the same rules: pointers to rules stay what they are during a step.
    cdef list earlier_rules
    cdef const unsigned char[::1] expression_bytes
    cdef const unsigned int[::1] expression_offsets
    # Images, by number.
    cdef unsigned char[::1] image_state
    cdef unsigned long long[::1] image_entry
    cdef unsigned int[::1] image_segments
    cdef unsigned int[::1] image_segment_count
    # Functions of an image: where the columns of their starts and ends begin, which all threads share, and this
    # thread's column of where their rows are (twice as long: place and count).
    cdef unsigned long long[::1] image_starts
    cdef unsigned long long[::1] image_ends
    cdef unsigned long long[::1] image_function_rows
    cdef unsigned int[::1] image_function_count
    # Rows of a whole image, shared by all threads: where the columns begin, and how many rows they have.
    cdef unsigned long long[::1] image_row_addresses
    cdef unsigned long long[::1] image_row_rules
    cdef unsigned long long[::1] image_row_count
    # 1 while the image's table has sources that have not been consulted.
    cdef unsigned char[::1] image_open
    cdef unsigned long long[::1] segment_offset
    cdef unsigned long long[::1] segment_end
    cdef unsigned long long[::1] segment_address
    cdef unsigned long long[::1] row_address
    cdef unsigned int[::1] row_rule
    # The small cache, four words an entry: address, space and exactness, rule and frame, image.
    cdef unsigned long long[::1] cache
    # The cache behind it, three words an entry: address, image and exactness, rule and frame.
    cdef unsigned long long[::1] sites
    # The address space that addresses are looked up in, and what was found last.
    cdef unsigned int space
    cdef unsigned int found_rule
    cdef unsigned int found_frame
    cdef unsigned int found_image

    cdef Py_ssize_t mapping(self, unsigned int space, unsigned long long address) except? -2 nogil
    cdef unsigned long long stated(self, Py_ssize_t image, unsigned long long offset) except? -1 nogil
    cdef Py_ssize_t function(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef unsigned int flat_rule(self, Py_ssize_t image, unsigned long long address) noexcept nogil
    cdef long long rule(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef int resolve(self, unsigned long long lookup, unsigned long long raw, int provenance) except? -1 nogil
    cdef int find(self, unsigned long long lookup, unsigned long long raw) except? -1 nogil
    cdef long long kernel_frame(
        self, unsigned int space, unsigned long long lookup, unsigned long long raw
    ) except? -1 nogil
    cdef bint at_entry(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef bint in_entry_function(self, Py_ssize_t image, unsigned long long address) except? -1 nogil
    cdef bint calls_haskell(self) except? -1 nogil
    cdef int call_proof(self) except? -1 nogil
    cdef bint follows_call(self, unsigned long long return_address) except? -1 nogil
    cdef int fiber_proof(self) except? -1 nogil
    cdef unsigned int inferred_frame(self, unsigned int frame) except? 0xFFFFFFFE nogil
    cdef bint is_return(self, unsigned int frame) except? -1 nogil
