# constants of kernels: the build writes the .pxd beside this file
"""Words of the rows in which kernels pass on locations and scopes of variables."""

PLACE_LOW = 0
PLACE_HIGH = 1
PLACE_KIND = 2
PLACE_REGISTER = 3
PLACE_OFFSET = 4
PLACE_PIECE = 5
PLACE_PIECE_SIZE = 6
PLACE_TYPE = 7
PLACE_SIZE = 8
PLACE_WORDS = 9
"""Of a location: from where to where it is valid, counted from the function's start; its kind (:class:`PlaceKind`),
register and offset; offset and bytes of the piece, 0 for all; the type, and its size, -1 until it is asked for."""

SCOPE_WORDS = 5
"""Of a scope: its depth (0 the function), its first range and the one after its last, how many locations; of an inlined
function the offset of its entry, else 0."""
