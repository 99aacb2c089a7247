cdef class RegisterFile:
    # By place, and the places whose values are known, as bits. On x86-64 a place is DWARF's number of the register.
    cdef unsigned long long[17] values
    cdef unsigned int known
    cdef unsigned char[64] place_of_dwarf
    # The place of the machine's link register (-1: calls push the return address).
    cdef int link
    # Bits of an address; the others may be a signature (pointer authentication).
    cdef unsigned long long address_bits
