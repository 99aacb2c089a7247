"""Ways through a kernel's code that its instructions do not show: static branches, what follows a fault, and questions
that are asked outside of the function.

A static branch is a jump, or an instruction that does nothing in the place of one, which the kernel rewrites while it
runs; its jump table says where both are (linux/jump_label.h, `struct jump_entry`, whose places are relative to
themselves). An access that may fault goes on at its fixup (asm/extable.h of x86, `struct exception_table_entry`). What
a processor can do is asked by code apart from all functions, which goes back to one of two places, until the kernel
knows which and writes a jump to that (asm/cpufeature.h of x86, `_static_cpu_has`).
"""

from bisect import bisect_left
from functools import cached_property

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.symbols.symbol_table import SymbolTable

__all__ = ["KernelWays"]

_JUMP_TABLE, _FAULTS = "__jump_table", "__ex_table"
_JUMP_SIZE, _FAULT_SIZE = 16, 12
_MOST = 1 << 18
"""Entries of a table that are read."""
_TARGETED = 16
"""Of a flow: the target is known."""
_QUESTION = 32
"""Bytes of code that asks something."""


class KernelWays:
    """The ways of one kernel or module for x86-64; none where the tables are not found."""

    def __init__(self, elf: ElfFile, symbols: SymbolTable | None) -> None:
        self._elf = elf
        self._symbols = symbols
        self._questions: dict[int, tuple[int, ...]] = {}

    def between(self, low: int, high: int) -> list[tuple[int, int]]:
        """(address of an instruction, where execution may go on beside what it says) in a range of code."""
        ways = self._ways
        return ways[bisect_left(ways, (low, -1)) : bisect_left(ways, (high, -1))]

    def through_questions(self, instructions: Listing) -> list[tuple[int, int]]:
        """(address of a jump out of a function, where execution comes back in) for code that only asks something."""
        found = []
        low, high = instructions.address, instructions.address_of(len(instructions))
        targets = instructions.targets
        for k, flow in enumerate(instructions.flows.tolist()):
            if flow != Flow.JUMP | _TARGETED or low <= targets[k] & 0xFFFFFFFFFFFFFFFF < high:
                continue
            back = self._behind(targets[k] & 0xFFFFFFFFFFFFFFFF)
            if all(low <= one < high for one in back):
                found += [(instructions.address_of(k), one) for one in back]
        return found

    def _behind(self, address: int) -> tuple[int, ...]:
        """Where code goes on that branches at once, and changes nothing; empty where it does more."""
        found = self._questions.get(address)
        if found is None:
            found = self._questions[address] = self._asked(address)
        return found

    def _asked(self, address: int) -> tuple[int, ...]:
        # It lies with code that runs once, in a segment that is then written to.
        code = self._elf.read(address, _QUESTION, writable=True)
        listing = MACHINE.listing(bytes(code[:_QUESTION]), address) if code is not None else ()
        found = []
        for made in listing:
            if made.writes or any("w" in operand.access for operand in made.memory):
                break
            if made.flow in (Flow.BRANCH, Flow.JUMP) and made.target is not None:
                found.append(made.target & 0xFFFFFFFFFFFFFFFF)
                if made.flow == Flow.JUMP:
                    return tuple(found) if len(found) > 1 else ()
            elif made.flow != Flow.NEXT:
                break
        return ()

    @cached_property
    def _ways(self) -> list[tuple[int, int]]:
        start, size = self._jump_table()
        found = self._entries(start, size, _JUMP_SIZE)
        faults = self._elf.section(_FAULTS)
        if faults is not None:
            found += self._entries(faults.address, faults.size, _FAULT_SIZE)
        found.sort()
        return found

    def _jump_table(self) -> tuple[int, int]:
        """A section of a module; a part of a kernel's data that its linker script names."""
        section = self._elf.section(_JUMP_TABLE)
        if section is not None:
            return section.address, section.size
        if self._symbols is None:
            return 0, 0
        start, stop = (
            self._symbols.address_of_name(name) for name in (b"__start___jump_table", b"__stop___jump_table")
        )
        return (start, stop - start) if start is not None and stop is not None else (0, 0)

    def _entries(self, start: int, size: int, each: int) -> list[tuple[int, int]]:
        """The two places at the begin of each entry, 32 bits from themselves."""
        size = min(size, _MOST * each)
        data = self._elf.read(start, size) if size > 0 else None
        if data is None:
            return []
        words = memoryview(bytes(data[: len(data) - len(data) % each])).cast("i")
        step = each // 4
        return [(start + 4 * at + words[at], start + 4 * at + 4 + words[at + 1]) for at in range(0, len(words), step)]
