cdef class Budget:
    cdef int steps

    cdef int step(self) except? -1


cdef Budget new_budget(int steps)
