"""Code addresses that say what they are: of an instruction, or of the one that a call returns to."""

from typing import NamedTuple


class CodeAddress(NamedTuple):
    """An address of code, and whether it is a return address.

    ``value`` is the address as a debugger shows it: of the instruction that a thread is at, or of the one after a call.
    ``lookup`` is the one to look names, lines and rules up by: of a return address one less, since a call may be the
    last instruction of its function. It works as an integer where one is expected, as in ``hex(address)``.

    >>> address = CodeAddress(0x401290, is_return=True)
    >>> hex(address), hex(address.lookup)
    ('0x401290', '0x40128f')
    """

    value: int
    is_return: bool = False

    @property
    def lookup(self) -> int:
        """The address by which names, lines and rules are found."""
        return self.value - self.is_return

    @classmethod
    def of_lookup(cls, lookup: int, is_return: bool) -> "CodeAddress":
        """The address that is looked up by ``lookup``."""
        return cls(lookup + is_return, is_return)

    def __index__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __repr__(self) -> str:
        return f"CodeAddress({self.value:#x}{', is_return=True' if self.is_return else ''})"
