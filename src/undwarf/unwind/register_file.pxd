cimport cython


cdef class RegisterFile:
    # By place, and the places whose values are known, as bits. On x86-64 a place is DWARF's number of the register.
    cdef unsigned long long[17] values
    cdef unsigned int known
    # Those of the innermost frame, -1 if they were not recorded.
    cdef long long flags
    cdef unsigned char[64] place_of_dwarf
    # The place of the machine's link register (-1: calls push the return address).
    cdef int link
    # Bits of an address; the others may be a signature (pointer authentication).
    cdef unsigned long long address_bits


# 64-bit words of a FrameState.
cdef enum:
    STATE_WORDS = 10

# What determines all callers of a frame, together with the memory above it: the registers that the x86-64 calling
# convention preserves (on AArch64 those that undwarf.unwind.aarch64.registers keeps in their places).
cdef struct FrameState:
    unsigned long long address
    unsigned long long stack_pointer
    unsigned long long rbx
    unsigned long long rbp
    unsigned long long r12
    unsigned long long r13
    unsigned long long r14
    unsigned long long r15
    # The callee-saved registers that are known, as bits. All ones where the address is that of an instruction: a return
    # address is looked up one byte before, so the two never stand for each other.
    unsigned long long known
    # Of the last whole stack: the frame's stack node, and its index in this window's log (0xffffffff: not logged).
    unsigned int node
    unsigned int log_index

ctypedef FrameState *FrameStatePointer


# The state with this index; what is checked against the bounds of `words` is the state's last word.
@cython.boundscheck(True)
@cython.wraparound(False)
cdef inline FrameStatePointer state_at(unsigned long long[::1] words, Py_ssize_t index) except NULL nogil:
    return <FrameStatePointer> (&words[STATE_WORDS * index + STATE_WORDS - 1] - (STATE_WORDS - 1))


cdef class FrameStates:
    cdef RegisterFile registers
    cdef unsigned long long[::1] words
    cdef Py_ssize_t count

    cdef int keep(self, Py_ssize_t depth, bint exact) except? -1 nogil
