cdef class Memory:
    cdef public object base
    cdef public object index
    cdef public object scale
    cdef public object displacement
    cdef public object segment
    cdef public object size
    cdef public object access
    cdef public bint implicit
    cdef public object element
    cdef public bint absolute
    cdef public bint floating
    cdef public object writeback
    cdef public bint pre


cdef class Instruction:
    cdef public object address
    cdef public object size
    cdef public object flow
    cdef public object target
    cdef public object memory
    cdef public object writes
    cdef public object reads
    cdef public object action
    cdef public object destination
    cdef public object left
    cdef public object right
    cdef public object immediate
    cdef public object width
    cdef public bint signed
    cdef public object _native
    cdef public object _decode
    cdef public object _text
