"""Where x86-64 code may name the addresses of functions: calls and jumps, ``lea``, constants.

Bytes are looked at wherever they are, not instruction by instruction: who asks looks at the code there. Encodings are
those of the Intel SDM, volume 2.
"""

from typing import Any

from undwarf.column import zeros
from undwarf.disasm.references_scan import find_references

__all__ = ["ADDRESS", "CALL", "NONE", "References"]

CALL = 0
"""``call`` or ``jmp`` to a function."""
ADDRESS = 1
"""``lea`` of its address, or a constant of its value."""
NONE = 0xFFFFFFFF


class References:
    """All that the code of a section may say of some functions. ``code`` are its bytes, ``start`` its address,
    ``targets`` (Q) the functions in rising order; ``constants``: addresses are also numbers of 32 bits, as in programs
    that are not relocated.

    `first` (I) gives for each function its last reference, `before` (I) for each reference the one before it, NONE for
    none; `sites` (Q) are addresses, `kinds` (B) CALL or ADDRESS.
    """

    def __init__(self, code: Any, start: int, targets: Any, *, constants: bool) -> None:
        self.first = zeros("I", len(targets))
        self.before, self.sites, self.kinds = find_references(code, start, targets, self.first, constants)

    def of(self, number: int) -> "list[tuple[int, int]]":
        """(CALL or ADDRESS, where) of one function, calls first, by address."""
        found = []
        at = self.first[number]
        while at != NONE:
            found.append((self.kinds[at], self.sites[at]))
            at = self.before[at]
        return sorted(found)
