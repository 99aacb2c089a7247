from undwarf.disasm.listing cimport Listing
from undwarf.disasm.instruction cimport Instruction


cdef class _Function:
    cdef readonly object low
    cdef readonly object high
    cdef readonly object tracker
    cdef readonly object left
    cdef object flow
    cdef Listing instructions
    cdef tuple trackers
    cdef _Function inferred
    cdef list type_parameters
    cdef dict answers


cdef class Resolver:
    cdef readonly object source
    cdef readonly object graph
    cdef readonly object machine
    cdef readonly object binary
    cdef readonly object program
    cdef readonly object _functions
    cdef object _elf
    cdef object _operands
    cdef bint _kernel
    cdef bint _by_dwarf
    cdef object _ways
    cdef object _callers
    cdef object _given_by_callers
    cdef list _expected
    cdef bint _late
    cdef list _ranges
    # The function queried last (queries are sorted), or the reason why there is none.
    cdef _Function _last
    cdef str _why

    cdef _Function _function(self, address)
    cdef _Function _followed_at(self, address)
    cdef _flow_of(self, _Function function)
