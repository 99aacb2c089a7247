"""Control-flow edges of a kernel that its instructions do not show: static branches, exception fixups, CPU feature
tests.

A static branch is a jump, or a NOP in its place, which the kernel patches at run time; its jump table has both
addresses (linux/jump_label.h, `struct jump_entry`, self-relative). A faulting access continues at its fixup
(asm/extable.h of x86, `struct exception_table_entry`). CPU features are tested by code outside of all functions that
returns to one of two addresses, until the kernel patches in a jump (asm/cpufeature.h of x86, `_static_cpu_has`).
"""

from bisect import bisect_left
from functools import cached_property

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.symbols.symbol_table import SymbolTable

__all__ = ["KernelControlFlow"]

_JUMP_TABLE, _FAULTS = "__jump_table", "__ex_table"
_JUMP_SIZE, _FAULT_SIZE = 16, 12
_MOST = 1 << 18
"""Limit of entries of a table."""
_TARGETED = 16
"""Flag of a flow: the target is known."""
_QUESTION = 32
"""Size of a feature test in bytes."""


class KernelControlFlow:
    """The additional edges of one x86-64 kernel or module; none if the tables are not found."""

    def __init__(self, elf: ElfFile, symbols: SymbolTable | None) -> None:
        self._elf = elf
        self._symbols = symbols
        self._questions: dict[int, tuple[int, ...]] = {}

    def between(self, low: int, high: int) -> list[tuple[int, int]]:
        """(address of an instruction, additional successor) in a range of code."""
        ways = self._ways
        return ways[bisect_left(ways, (low, -1)) : bisect_left(ways, (high, -1))]

    def through_questions(self, instructions: Listing) -> list[tuple[int, int]]:
        """(address of a jump out of a function, address where control returns) for jumps to feature tests."""
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
        """Targets of code that only tests and branches; empty if it does more."""
        found = self._questions.get(address)
        if found is None:
            found = self._questions[address] = self._asked(address)
        return found

    def _asked(self, address: int) -> tuple[int, ...]:
        # It is in init text, in a writable segment.
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
        """(address, size): a section in modules, a range between linker script symbols in the kernel."""
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
        """The two self-relative 32-bit addresses at the start of each entry."""
        size = min(size, _MOST * each)
        data = self._elf.read(start, size) if size > 0 else None
        if data is None:
            return []
        words = memoryview(bytes(data[: len(data) - len(data) % each])).cast("i")
        step = each // 4
        return [(start + 4 * at + words[at], start + 4 * at + 4 + words[at + 1]) for at in range(0, len(words), step)]
