# The mappings whose missing pages are replaced, and what <signal.h> has that Cython's own declarations lack.

cdef enum:
    MAPPINGS = 65536  # as many as Linux lets a process have (vm.max_map_count)

cdef struct Mapping:
    size_t start
    size_t end
    int cut

cdef extern from "<signal.h>" nogil:
    enum: SIGBUS
    enum: BUS_ADRERR
    void SIG_DFL(int)
