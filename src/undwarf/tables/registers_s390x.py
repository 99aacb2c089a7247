"""Names of the s390x DWARF registers that rules speak of (ELF ABI s390x supplement, 1.6).

The stack pointer is r15, the frame pointer r11.
"""

_FLOATING = (0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15)

NAMES = (*(f"r{number}" for number in range(16)), *(f"f{number}" for number in _FLOATING))
RETURN_ADDRESS = 14
FRAME_POINTER = 11
KEPT = tuple(range(6, 14))
"""General registers that a function gives back; the stack pointer aside."""
