# Columns of a location row as in sources/location_table.py (the last one -1 if not computed yet), and kinds of
# locations.
cdef enum:
    PLACE_WORDS = 9
    PLACE_LOW = 0
    PLACE_HIGH = 1
    PLACE_KIND = 2
    PLACE_REGISTER = 3
    PLACE_OFFSET = 4
    PLACE_PIECE = 5
    PLACE_PIECE_SIZE = 6
    PLACE_TYPE = 7
    PLACE_SIZE = 8
    PLACE_IN_REGISTER = 1
    PLACE_MEMORY = 2
    PLACE_CFA = 3
