from undwarf.unwind.call_steps cimport CallSteps
from undwarf.unwind.position_table cimport PositionTable
from undwarf.unwind.state_candidates cimport StateCandidates


cdef class PathEvidence:
    cdef CallSteps steps
    cdef PositionTable positions
    cdef StateCandidates candidates
    # Where paths may have ended, by frame and the calls they have returned to.
    cdef dict ends

    cdef int weigh(self, unsigned long long pc, unsigned int frame, int reach) except? -1 nogil
    cdef int _weigh(self, unsigned long long pc, unsigned int frame, int reach) except? -1
    cdef list _ends(self, unsigned int frame, tuple sites, int reach)
    cdef dict _rows(self, Py_ssize_t first, unsigned long long address)
