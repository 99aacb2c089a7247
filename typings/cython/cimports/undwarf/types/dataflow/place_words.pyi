"""undwarf/types/dataflow/place_words.pxd"""

PLACE_WORDS: int
PLACE_LOW: int
PLACE_HIGH: int
PLACE_KIND: int
PLACE_REGISTER: int
PLACE_OFFSET: int
PLACE_PIECE: int
PLACE_PIECE_SIZE: int
PLACE_TYPE: int
PLACE_SIZE: int
PLACE_IN_REGISTER: int
PLACE_MEMORY: int
PLACE_CFA: int
