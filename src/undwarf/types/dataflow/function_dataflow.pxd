cdef class Tracker:
    cdef readonly object program
    cdef readonly object flow
    cdef readonly object graph
    cdef readonly object facts
    cdef readonly object oracle
    cdef readonly bint has_variables
    cdef readonly object wanted
    cdef readonly bint converged
    cdef public object others
    cdef public object passed_as
    cdef public dict reaching_definitions
    cdef public object lost
    cdef public object named
    cdef public object said
    cdef public object origins
    cdef public object given
    cdef object _low
    cdef object _states
    cdef object _followed
    cdef object _crossed
    cdef object _through_unions
    cdef object _numbers_read
    # The cursor: the current block, and the next instruction in it.
    cdef Py_ssize_t _block
    cdef Py_ssize_t _next
