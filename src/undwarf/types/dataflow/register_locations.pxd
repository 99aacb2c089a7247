from undwarf.types.dataflow.value_interner cimport FunctionCaches
from undwarf.types.dataflow.location_intervals cimport LocationIntervals
from undwarf.types.dataflow.machine_state cimport MachineState


cdef class RegisterLocations(MachineState):
    # Registers and value ids of the variables in registers.
    cdef LocationIntervals seeds
    cdef int[::1] seeded
    # Of the variables in registers, whether the location outlives the scope.
    cdef const unsigned char[::1] outliving_scope
    # By variable in a register: the last tracked value, the segment, and the reconciled value.
    cdef int[::1] met
    cdef FunctionCaches own
    # The instruction after one that derived a register from an unknown one: both registers, and the distance.
    cdef Py_ssize_t derived_before
    cdef long long derived
    cdef long long derived_from
    cdef long long derived_by

    # The segment that `seeds` has the variables of.
    cdef int segment

    cdef int find_seeds(self, int segment) except? -1
    cdef Py_ssize_t _differing(self, Py_ssize_t i) noexcept
    cdef int _said(self, Py_ssize_t place) except? -1
    cdef int held(self, long long t, long long offset, long long size) except? -1
    cpdef int seed(self, Py_ssize_t k) except? -1
    cdef int _type_origin(self, Py_ssize_t k, Py_ssize_t register, int value) except? -1
    cdef int _type_copied_register(self, Py_ssize_t k, Py_ssize_t register, int known, int value) except? -1
    cdef int reconcile(self, int known, int declared, Py_ssize_t register, bint outlives_scope) except? -1
    cdef int _variable_validity(self, Py_ssize_t register, int known, bint outlives_scope) except? -1
