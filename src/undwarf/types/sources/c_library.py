"""Argument and return types of C library functions, as evidence for the types of a program's own values.

BTF has only the program's own functions, and clang's DWARF has no prototypes of functions that are only called. Only
text parameters and returned values are listed: integer arguments are converted at the call, so they are no evidence.

Source: C11 7.21 to 7.24; POSIX.1-2017 for strdup, strnlen and the like; glibc's errno.h and ctype.h.
"""

from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.named_types import number_types
from undwarf.types.sources.parameter_registers import INTEGER_REGISTERS

__all__ = [
    "CALLED_BACK", "ELEMENT_ARRAYS", "ELEMENT_SIZES", "GIVEN_BACK", "ONE_ELEMENT", "SIZED", "TAKEN",
    "library_function", "returned_number",
]  # fmt: skip  # a table

CALLED_BACK = {
    "qsort": (3, (0, 0)),
    "qsort_r": (3, (0, 0, 4)),
    "bsearch": (4, (0, 1)),
    "lfind": (4, (0, 1)),
    "lsearch": (4, (0, 1)),
    "pthread_create": (2, (3,)),
    "thrd_create": (1, (2,)),
}
"""{function: (callback parameter, parameters that are passed on to the callback)}, numbered from 0 (C11 7.22.5, 7.26.5;
POSIX)."""
ONE_ELEMENT = frozenset(("bsearch", "lfind", "lsearch"))
"""Functions whose callback gets the key first, then an element."""

ELEMENT_SIZES = {"qsort": 2, "qsort_r": 2, "bsearch": 3, "lfind": 3, "lsearch": 3}
"""{function: parameter with the size of an array element in bytes} (C11 7.22.5)."""
ELEMENT_ARRAYS = {"qsort": 0, "qsort_r": 0}
"""{function: parameter that is the array}; for functions that are not listed it is the second one."""

_FIRST, _BOTH = ((0, 2),), ((0, 2), (1, 2))
SIZED = {
    "memset": _FIRST, "memcpy": _BOTH, "memmove": _BOTH, "memcmp": _BOTH, "read": ((1, 2),), "write": ((1, 2),),
    "recv": ((1, 2),), "send": ((1, 2),), "fread": ((0, 1),), "fwrite": ((0, 1),),
}  # fmt: skip  # a table
"""{function: ((void pointer parameter, parameter with its size in bytes), ...)} (C11 7.21.8, 7.24; POSIX)."""

_TEXT = "text"
_SIZE = ("long unsigned int", "unsigned long")
_INT = ("int",)
_LONG = ("long int", "long")
_FUNCTIONS: "dict[str, tuple[str | tuple[str, ...], tuple[int, ...]]]" = {
    "strlen": (_SIZE, (0,)), "strnlen": (_SIZE, (0,)), "strspn": (_SIZE, (0, 1)), "strcspn": (_SIZE, (0, 1)),
    "strcmp": (_INT, (0, 1)), "strncmp": (_INT, (0, 1)), "strcasecmp": (_INT, (0, 1)), "strcoll": (_INT, (0, 1)),
    "strncasecmp": (_INT, (0, 1)), "memcmp": (_INT, ()), "atoi": (_INT, (0,)), "atol": (_LONG, (0,)),
    "strtol": (_LONG, (0,)), "strtoul": (_SIZE, (0,)), "strtod": ("", (0,)), "atof": ("", (0,)),
    "strcpy": (_TEXT, (0, 1)), "strncpy": (_TEXT, (0, 1)), "strcat": (_TEXT, (0, 1)), "strncat": (_TEXT, (0, 1)),
    "strchr": (_TEXT, (0,)), "strrchr": (_TEXT, (0,)), "strstr": (_TEXT, (0, 1)), "strpbrk": (_TEXT, (0, 1)),
    "strtok": (_TEXT, (0, 1)), "strdup": (_TEXT, (0,)), "strndup": (_TEXT, (0,)), "getenv": (_TEXT, (0,)),
    "strerror": (_TEXT, ()), "fgets": (_TEXT, (0,)), "fputs": (_INT, (0,)), "puts": (_INT, (0,)),
    "printf": (_INT, (0,)), "fprintf": (_INT, (1,)), "sprintf": (_INT, (0, 1)), "snprintf": (_INT, (0, 2)),
    "sscanf": (_INT, (0, 1)), "fopen": ("", (0, 1)), "remove": (_INT, (0,)), "system": (_INT, (0,)),
}  # fmt: skip  # a table
"""{function: (returned, text parameters)}; returned is text or the possible names of an integer type."""
_NUMBERS: dict[str, tuple[str, int, int]] = {
    "__errno_location": ("int", 4, 1), "__h_errno_location": ("int", 4, 1), "__ctype_b_loc": ("unsigned short", 2, 2),
    "__ctype_tolower_loc": ("int", 4, 2), "__ctype_toupper_loc": ("int", 4, 2),
}  # fmt: skip  # a table
"""{function: (integer type, bytes, levels of pointers)} of functions that macros of the C library call."""
TAKEN = {
    "malloc": ".", "calloc": "..", "realloc": "?.", "free": "?", "aligned_alloc": "..", "exit": ".", "srand": ".",
    "memcpy": "nr.", "memmove": "nr.", "memset": "n..", "memcmp": "rr.", "bcmp": "rr.", "memchr": "?..",
    "strlen": "r", "strnlen": "r.", "strcmp": "rr", "strncmp": "rr.", "strcasecmp": "rr", "strncasecmp": "rr.",
    "strcoll": "rr", "strspn": "rr", "strcspn": "rr", "strcpy": "?r", "strncpy": "nr.", "strcat": "?r",
    "strncat": "?r.", "strdup": "r", "strndup": "r.", "strchr": "?.", "strrchr": "?.", "strstr": "?r", "strtok": "?r",
    "strtol": "??.", "strtoul": "??.", "strtod": "??", "atoi": "r", "atol": "r", "atof": "r", "getenv": "r",
    "puts": "r", "putchar": ".", "fputs": "r?", "fputc": ".?", "fgets": "?.?", "fopen": "rr", "fclose": "?",
    "fread": "?..?", "fwrite": "r..?", "fflush": "?", "perror": "r", "printf": "rrrrrr", "fprintf": "?rrrrr",
    "sprintf": "?rrrrr", "snprintf": "?rrrrr", "__printf_chk": "rrrrrr", "__fprintf_chk": "?rrrrr", "qsort": "?..?",
    "read": ".?.", "write": ".r.", "open": "r..", "close": ".", "time": "?",
}  # fmt: skip  # a table
"""{function: a character for each parameter}, for functions that take no others (C11 7.21 to 7.24, 7.27; POSIX).

``.`` is no pointer; memory at ``r`` is only read, and the address is not kept; ``n``: as many bytes are written as the
third parameter has; ``?``: any number of bytes may be written.
"""
GIVEN_BACK = frozenset(
    prefix + name + suffix
    for name in ("memcpy", "memmove", "memset", "strcpy", "strncpy", "strcat", "strncat")
    for prefix, suffix in (("", ""), ("__", "_chk"))
)
"""Functions that return their first parameter (C11 7.24)."""


def returned_number(graph: TypeGraph, name: str) -> int:
    """The pointer to an integer that a function called by C library macros returns (errno, ctype); void for other
    functions."""
    found = _NUMBERS.get(name)
    if found is None:
        return VOID
    number, size, pointers = found
    t = graph.number(Kind.INT, number, size)
    for _pointer in range(pointers):
        t = graph.pointer_to(t)
    return t


def library_function(graph: TypeGraph, name: str) -> "tuple[int, tuple[tuple[int, int], ...]] | None":
    """(return type, ((register, type) of text parameters)) of a C library function; None for unknown functions.

    The return type is void if it is no evidence for a type.
    """
    found = _FUNCTIONS.get(name)
    if found is None:
        return None
    known = number_types(graph)
    plain = next((known["char", kind] for kind in (Kind.CHAR, Kind.INT) if ("char", kind) in known), VOID)
    text = graph.pointer_to(plain) if plain else VOID
    returned, texts = found
    returns = text
    if returned != _TEXT:
        names = returned if isinstance(returned, tuple) else ()
        returns = next((known[one, Kind.INT] for one in names if (one, Kind.INT) in known), VOID)
    return returns, tuple((INTEGER_REGISTERS[n], text) for n in texts) if text else ()
