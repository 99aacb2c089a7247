# constants of kernels: the build writes the .pxd beside this file
"""Names of the AArch64 DWARF registers that rules speak of (DWARF for the Arm 64-bit Architecture, 4.1)."""

NAMES = (*(f"x{number}" for number in range(31)), "sp")
RETURN_ADDRESS = 30
FRAME_POINTER = 29
KEPT = tuple(range(19, 30))
"""General registers that a function gives back; the stack pointer aside."""
