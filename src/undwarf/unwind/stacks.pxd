cdef class Stacks:
    # By frame: its image, address there, the absolute address it ran at, what led to its caller.
    cdef unsigned int[::1] frame_image
    cdef unsigned long long[::1] frame_address
    cdef unsigned long long[::1] frame_runtime
    cdef unsigned char[::1] frame_provenance
    # What its code says, once it was looked at: in the lowest two bits whether a call stands before the return address,
    # above them whether the instruction is a return; 1 yes, 2 no, 3 not to be read.
    cdef unsigned char[::1] frame_proof
    # Hashes have a number n as n + 1; 0 is free.
    cdef unsigned int[::1] frame_slots
    cdef Py_ssize_t frames
    # By node: the parent above 32 bits of frame.
    cdef unsigned long long[::1] node_key
    cdef unsigned int[::1] node_slots
    cdef Py_ssize_t nodes

    cdef unsigned long long frame_hash(
        self, unsigned int image, unsigned long long address, unsigned long long runtime, unsigned int provenance
    ) noexcept nogil
    cdef unsigned long long node_hash(self, unsigned long long key) noexcept nogil
    cdef long long frame(
        self, unsigned int image, unsigned long long address, unsigned long long runtime, unsigned int provenance
    ) except? -1 nogil
    cdef long long node(self, unsigned int parent, unsigned int frame) except? -1 nogil
    cdef unsigned int with_provenance(self, unsigned int frame, unsigned int provenance) except? 0xFFFFFFFF nogil
