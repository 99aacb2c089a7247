# The structs of the Arrow C data and stream interfaces (arrow.apache.org/docs/format/CDataInterface.html), which are a
# stable ABI, and their callbacks. Consumers call these from any thread, with or without the GIL, and may move a child
# out of its parent; so each struct has its own reference to the Python object that owns its memory. At the exit of
# the interpreter that reference is not dropped.

cdef extern from *:
    """
    #include <errno.h>
    #include <string.h>
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    #define ARROW_FLAG_NULLABLE 2
    struct ArrowSchema {
        const char *format, *name, *metadata;
        int64_t flags, n_children;
        struct ArrowSchema **children, *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children, *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
    };
    #endif

    static void undwarf_drop(void *owner) {
        if (owner && Py_IsInitialized()) {
            PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF((PyObject *)owner);
            PyGILState_Release(state);
        }
    }

    #define UNDWARF_RELEASE(NAME, TYPE) \\
        static void NAME(struct TYPE *one) { \\
            for (int64_t i = 0; one->children && i < one->n_children; i++) { \\
                if (one->children[i] && one->children[i]->release) one->children[i]->release(one->children[i]); \\
                free(one->children[i]); \\
            } \\
            free(one->children); \\
            if (one->dictionary && one->dictionary->release) one->dictionary->release(one->dictionary); \\
            free(one->dictionary); \\
            undwarf_drop(one->private_data); \\
            one->release = NULL; \\
        }
    UNDWARF_RELEASE(undwarf_release_schema, ArrowSchema)
    UNDWARF_RELEASE(undwarf_release_children, ArrowArray)
    static void undwarf_release_array(struct ArrowArray *one) {
        free(one->buffers);
        undwarf_release_children(one);
    }

    static void undwarf_own_schema(struct ArrowSchema *one, PyObject *owner) {
        memset(one, 0, sizeof *one);
        Py_INCREF(owner);
        one->private_data = owner;
        one->release = undwarf_release_schema;
    }
    static void undwarf_clear_array(struct ArrowArray *one) {
        memset(one, 0, sizeof *one);
    }
    static void undwarf_drop_array(struct ArrowArray *one) {
        if (one->release) one->release(one);
    }
    static void undwarf_own_array(struct ArrowArray *one, PyObject *owner) {
        memset(one, 0, sizeof *one);
        Py_INCREF(owner);
        one->private_data = owner;
        one->release = undwarf_release_array;
    }

    /* The address of a buffer's first byte; valid as long as the object exports it. NULL with an exception set. That of
       an empty one may be any, and Arrow wants addresses to be aligned. */
    static const int64_t undwarf_empty[8];
    static const void *undwarf_address(PyObject *exporter) {
        Py_buffer buffer;
        const void *address;
        if (PyObject_GetBuffer(exporter, &buffer, PyBUF_SIMPLE) < 0) return NULL;
        address = buffer.buf && buffer.len ? buffer.buf : undwarf_empty;
        PyBuffer_Release(&buffer);
        return address;
    }

    /* The stream's Python object has two methods that take the address of a struct to fill, and return an errno. */
    static int undwarf_ask(struct ArrowArrayStream *stream, const char *method, void *into) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *code = PyObject_CallMethod((PyObject *)stream->private_data, method, "K", (unsigned long long)into);
        int error = code ? (int)PyLong_AsLong(code) : EIO;
        Py_XDECREF(code);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            error = EIO;
        }
        PyGILState_Release(state);
        return error;
    }
    static int undwarf_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *into) {
        return undwarf_ask(stream, "fill_schema", into);
    }
    static int undwarf_get_next(struct ArrowArrayStream *stream, struct ArrowArray *into) {
        return undwarf_ask(stream, "fill_next", into);
    }
    static const char *undwarf_last_error(struct ArrowArrayStream *stream) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *message = PyObject_GetAttrString((PyObject *)stream->private_data, "error");
        const char *text = message && PyBytes_Check(message) ? PyBytes_AsString(message) : NULL;
        Py_XDECREF(message);  /* the stream's object still has it */
        PyErr_Clear();
        PyGILState_Release(state);
        return text;
    }
    static void undwarf_release_stream(struct ArrowArrayStream *stream) {
        undwarf_drop(stream->private_data);
        stream->release = NULL;
    }

    static void undwarf_delete_stream(PyObject *capsule) {
        struct ArrowArrayStream *one = PyCapsule_GetPointer(capsule, "arrow_array_stream");
        if (one && one->release) one->release(one);
        free(one);
    }
    static void undwarf_delete_schema(PyObject *capsule) {
        struct ArrowSchema *one = PyCapsule_GetPointer(capsule, "arrow_schema");
        if (one && one->release) one->release(one);
        free(one);
    }
    /* The other side: a consumer of a stream. It waits without the GIL, which the producer may need. */
    static struct ArrowArrayStream *undwarf_stream_of(PyObject *capsule) {
        return PyCapsule_GetPointer(capsule, "arrow_array_stream");
    }
    static int undwarf_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *into) {
        int code;
        Py_BEGIN_ALLOW_THREADS
        code = stream->get_schema(stream, into);
        Py_END_ALLOW_THREADS
        return code;
    }
    static int undwarf_next_array(struct ArrowArrayStream *stream, struct ArrowArray *into) {
        int code;
        Py_BEGIN_ALLOW_THREADS
        code = stream->get_next(stream, into);
        Py_END_ALLOW_THREADS
        return code;
    }
    static PyObject *undwarf_stream_error(struct ArrowArrayStream *stream, int code) {
        const char *text = stream->get_last_error(stream);
        if (!text) text = strerror(code);
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    }
    static int undwarf_is_end(struct ArrowArray *one) {
        return one->release == NULL;
    }
    static void undwarf_free_array(struct ArrowArray *one) {
        if (one->release) one->release(one);
        free(one);
    }
    static void undwarf_free_schema(struct ArrowSchema *one) {
        if (one->release) one->release(one);
        free(one);
    }

    static PyObject *undwarf_stream_capsule(PyObject *owner) {
        PyObject *capsule;
        struct ArrowArrayStream *one = calloc(1, sizeof *one);
        if (!one) return PyErr_NoMemory();
        capsule = PyCapsule_New(one, "arrow_array_stream", undwarf_delete_stream);
        if (!capsule) {
            free(one);
            return NULL;
        }
        Py_INCREF(owner);
        one->private_data = owner;
        one->get_schema = undwarf_get_schema;
        one->get_next = undwarf_get_next;
        one->get_last_error = undwarf_last_error;
        one->release = undwarf_release_stream;
        return capsule;
    }
    static PyObject *undwarf_schema_capsule(PyObject *owner) {
        PyObject *capsule, *code;
        struct ArrowSchema *one = calloc(1, sizeof *one);
        if (!one) return PyErr_NoMemory();
        capsule = PyCapsule_New(one, "arrow_schema", undwarf_delete_schema);
        if (!capsule) {
            free(one);
            return NULL;
        }
        code = PyObject_CallMethod(owner, "fill_schema", "K", (unsigned long long)one);
        if (!code) Py_CLEAR(capsule);
        Py_XDECREF(code);
        return capsule;
    }
    """
    struct ArrowSchema:
        const char *format
        const char *name
        long long flags
        long long n_children
        ArrowSchema **children
        ArrowSchema *dictionary

    struct ArrowArray:
        long long length
        long long null_count
        long long offset
        long long n_buffers
        long long n_children
        const void **buffers
        ArrowArray **children
        ArrowArray *dictionary

    struct ArrowArrayStream:
        pass

    int ARROW_FLAG_NULLABLE
    void own_schema "undwarf_own_schema"(ArrowSchema *one, object owner)
    void own_array "undwarf_own_array"(ArrowArray *one, object owner)
    void clear_array "undwarf_clear_array"(ArrowArray *one)
    void release_array "undwarf_drop_array"(ArrowArray *one)
    const void *address_of "undwarf_address"(object exporter) except NULL
    object stream_capsule "undwarf_stream_capsule"(object owner)
    object schema_capsule "undwarf_schema_capsule"(object owner)
    ArrowArrayStream *stream_of "undwarf_stream_of"(object capsule) except NULL
    int stream_schema "undwarf_stream_schema"(ArrowArrayStream *stream, ArrowSchema *into)
    int next_array "undwarf_next_array"(ArrowArrayStream *stream, ArrowArray *into)
    object last_error "undwarf_stream_error"(ArrowArrayStream *stream, int code)
    bint is_end "undwarf_is_end"(ArrowArray *one)
    void free_array "undwarf_free_array"(ArrowArray *one)
    void free_schema "undwarf_free_schema"(ArrowSchema *one)
