cimport cython

# A frame description entry: its function, as ELF virtual addresses, where its instructions are in the section, and the
# number of its CIE.
cdef struct Fde:
    unsigned long long start
    unsigned long long end
    Py_ssize_t program
    Py_ssize_t program_end
    Py_ssize_t cie

# A common information entry: alignment factors (of data: as two's complement), the return address's column, how
# addresses are encoded, with `undwarf.tables.cfi.entry_kinds.CieFlag`, and where its instructions are in the section.
cdef struct Cie:
    unsigned long long code_align
    unsigned long long data_align
    unsigned long long column
    unsigned long long flags
    unsigned long long program
    unsigned long long program_end

ctypedef Cie *CiePointer

cdef enum:
    CIE_WORDS = 6  # of 64 bits each


# The CIE of a number; `words` has those of all. That its last word is there is what bounds are checked for.
@cython.boundscheck(True)
@cython.wraparound(False)
cdef inline CiePointer cie_at(unsigned long long[::1] words, Py_ssize_t number) except NULL nogil:
    return <CiePointer> (&words[CIE_WORDS * number + CIE_WORDS - 1] - (CIE_WORDS - 1))
