cdef class Stacks:
    # By frame: its image, address there, the absolute address it ran at (0: not kept), how its caller was found.
    cdef unsigned int[::1] frame_image
    cdef unsigned long long[::1] frame_address
    cdef unsigned long long[::1] frame_runtime
    cdef unsigned char[::1] frame_provenance
    # What its code shows (Evidence), two bits each from the lowest on: a call ends at the return address; the instruction
    # returns; it is the root of a fiber; it calls Haskell code.
    cdef unsigned char[::1] frame_evidence
    # 1: the address was looked up as that of the call before a return address, one less; 0: it is an instruction's.
    cdef unsigned char[::1] frame_is_return
    # Hash tables of the frames and nodes: numbers, plus one; 0 is free.
    cdef unsigned int[::1] frame_slots
    cdef Py_ssize_t frames
    # By node: the parent, in the upper 32 bits, and the frame.
    cdef unsigned long long[::1] node_key
    cdef unsigned int[::1] node_slots
    cdef Py_ssize_t nodes

    cdef unsigned long long frame_hash(
        self, unsigned int image, unsigned long long address, unsigned long long runtime, unsigned int provenance
    ) noexcept nogil
    cdef unsigned long long node_hash(self, unsigned long long key) noexcept nogil
    cdef unsigned int frame(
        self, unsigned int image, unsigned long long address, unsigned long long runtime, unsigned int provenance
    ) except? 0xFFFFFFFF nogil
    cdef unsigned int node(self, unsigned int parent, unsigned int frame) except? 0xFFFFFFFF nogil
    cdef unsigned int with_provenance(self, unsigned int frame, unsigned int provenance) except? 0xFFFFFFFF nogil
