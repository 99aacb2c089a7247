from undwarf.types.layouts.type_store cimport TypeStore


cdef class TypeGraph(TypeStore):
    cdef dict _names
    cdef dict _canonical
    cdef dict _alone
    cdef dict _by_layout
    cdef dict _by_shape
    cdef dict _shapes
    cdef dict _layouts
    cdef dict _fields
    cdef dict _searched
    cdef dict _objects
    cdef dict _alignments
    cdef dict _choices
    cdef dict _choice_of
    cdef dict _arrays
    cdef dict _given
    cdef readonly dict passed

    cdef _shape(self, t)
    cdef list _leaves(self, t, offset, size)
