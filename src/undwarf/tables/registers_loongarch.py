"""Names of the LoongArch DWARF registers that rules speak of (LoongArch ELF psABI, "DWARF register numbers").

The stack pointer is r3, the frame pointer r22. The program counter of an interrupted frame, which is not its return
address, gets a number of ours; beside it the return address register is called r1.
"""

NAMES = (
    "zero", "r1", "tp", "sp", *(f"a{number}" for number in range(8)), *(f"t{number}" for number in range(9)), "r21",
    "fp", *(f"s{number}" for number in range(9)), "pc",
)  # fmt: skip  # a table
RETURN_ADDRESS = 1
FRAME_POINTER = 22
PC = 32
KEPT = tuple(range(22, 32))
"""General registers that a function gives back; the stack pointer aside."""
