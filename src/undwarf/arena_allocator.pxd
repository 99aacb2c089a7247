# Where CPython gets the memory from that its small objects are put into (`PyObject_SetArenaAllocator`).


cdef extern from "Python.h" nogil:
    ctypedef struct PyObjectArenaAllocator:
        void *ctx
        void *(*alloc)(void *ctx, size_t size) noexcept nogil
        void (*free)(void *ctx, void *ptr, size_t size) noexcept nogil

    void PyObject_GetArenaAllocator(PyObjectArenaAllocator *allocator)
    void PyObject_SetArenaAllocator(PyObjectArenaAllocator *allocator)
