"""Code without type information: whether an instruction accesses data is known even so."""

from undwarf.disasm import machine_of
from undwarf.elf import ElfFile
from undwarf.types.access import Access, access, nothing

__all__ = ["CodeWithoutTypes", "unread"]

_LONGEST = 16
"""Upper bound of an instruction's length in bytes, on any machine."""


def unread(address: int, reason: str) -> Access:
    """The result for an instruction whose bytes are not available."""
    return Access(address, "", "", None, None, "", 0, "unread", (), reason)


class CodeWithoutTypes:
    """The code of a file without types; ``reason`` says why there are none."""

    def __init__(self, elf: ElfFile, reason: str) -> None:
        self._elf = elf
        self._machine = machine_of(elf.machine)
        self.reason = reason

    def at(self, address: int, *, late: bool = False) -> Access:
        """The memory access of the instruction at an ELF virtual address, without its type.

        ``late``: samples may be after the access they are about (skid), so an instruction without one is no evidence
        for none.
        """
        # The segment may end earlier.
        codes = (self._elf.read(address, size) for size in range(_LONGEST, 0, -1))
        code = next((one for one in codes if one), None)
        if code is None or self._machine is None:
            return unread(address, self.reason)
        made = self._machine.decode(bytes(code), address, 1)[0]
        operands = [operand for operand in made.memory if operand.access]
        explicit = [operand for operand in operands if not operand.implicit]
        if explicit:
            return access(made, explicit[0], explicit[0].size or explicit[0].element, how="", reason=self.reason)
        if late:
            return Access(address, made.text, "", None, None, "", 0, "", (), self.reason)
        if operands:
            return access(made, operands[0], operands[0].size, how="stack", reason="stack operation")
        return nothing(address, made.text, "no memory access")
