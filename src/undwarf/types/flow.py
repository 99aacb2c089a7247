# cython: language_level=3, annotation_typing=False
"""The control-flow graph of one function: stretches of instructions, and which may follow which.

Jump tables are read where the instructions before the jump say where the table is; a jump that stays unresolved makes
the graph `open`: then any stretch may be entered from it.
"""

from collections.abc import Callable, Iterable

from undwarf.disasm import Action, Flow, Machine
from undwarf.disasm.listing import Listing
from undwarf.disasm.scan import table_entries
from undwarf.types.blocks import Blocks

__all__ = ["FunctionFlow"]

_LOOK_BACK = 12
"""Instructions before an indirect jump among which its table is looked for."""
_TABLE_ENTRIES = 1024
_AT_ONCE = 16
"""Entries of a table that are read together."""
_TABLES = 64
"""Addresses that are tried as tables for one jump."""


class FunctionFlow:
    """Blocks of a function's code in order of address; `order` visits a block after those that lead to it, loops aside.

    `read(address, size)` gives bytes of the file (jump tables), `never_returns(address)` says which functions are left
    out as callers' ways on. `further` are (instruction, what may follow it beside what it says), by address; `warns`:
    what is behind an undefined instruction, and nothing else leads to, follows it, as in a kernel's warnings.
    """

    def __init__(
        self,
        instructions: Listing,
        machine: Machine,
        read: Callable[[int, int], bytes | None] | None = None,
        never_returns: Callable[[int], bool] | None = None,
        *,
        further: Iterable[tuple[int, int]] = (),
        warns: bool = False,
    ) -> None:
        self.instructions = instructions
        self._machine = machine
        self._read = read
        self._addresses: dict[int, list[int]] | None = None
        self.tables: set[int] = set()
        """Addresses of jump tables that were read."""
        places = [(self.index_of(source), self.index_of(target)) for source, target in further]
        self.blocks = Blocks(
            instructions,
            never_returns or (lambda _target: False),
            self._switch,
            [place for place in places if None not in place],
            warns,
        )
        self.open: bool = self.blocks.open

    @property
    def order(self) -> "memoryview[int]":
        """The numbers of the blocks, each after those that lead to it, loops aside."""
        found: memoryview[int] = self.blocks.order
        return found

    def index_of(self, address: int) -> int | None:
        """The number of the instruction that begins at an address."""
        return self.instructions.index_of(address)

    def block_of(self, index: int) -> int:
        """The number of the block of an instruction."""
        found: int = self.blocks.of(index)
        return found

    def _switch(self, jump: int) -> list[int] | None:
        """What an indirect jump may go on at; None for anything."""
        found = self._jump_table(jump)
        return found if found or self._leaves(jump) else None

    def _leaves(self, jump: int) -> bool:
        """An indirect jump that is a tail call: through a field or a table of functions, not computed here.

        A jump through a register that was loaded by an index is taken for a switch.
        """
        made = self.instructions[jump]
        if made.memory:
            return all(operand.index < 0 for operand in made.memory if not operand.implicit)
        register = made.left if made.left >= 0 else (made.reads[0] if made.reads else -1)
        for k in range(jump - 1, max(-1, jump - _LOOK_BACK), -1):
            before = self.instructions[k]
            if before.flow != Flow.NEXT:
                break
            if register in before.writes:
                if before.action == Action.COPY:
                    register = before.left
                    continue
                return before.action == Action.LOAD and before.memory[0].index < 0
        return False

    def _jump_table(self, jump: int) -> list[int]:
        """The instructions a switch may go on at; empty where its table was not found."""
        if self._read is None:
            return []
        made = self.instructions[jump]
        # jmp *table(,%rax,8)
        tables = [
            (operand.displacement & 0xFFFFFFFFFFFFFFFF, 8)
            for operand in made.memory
            if operand.base < 0 <= operand.index and operand.scale == 8
        ]
        for operand in made.memory:
            # jmp *(%rdi,%rax,8)
            if operand.base >= 0 <= operand.index and operand.scale == 8:
                tables += [(address, 8) for address in self._addresses_of(operand.base)]
        for k in range(jump - 1, max(-1, jump - _LOOK_BACK), -1):
            if tables:
                break
            before = self.instructions[k]
            for operand in before.memory:
                if operand.access == "r" and operand.index >= 0 and operand.scale == 1 and operand.size == 4:
                    # Both are added: either may be the table.
                    found = self._addresses_of(operand.base) + self._addresses_of(operand.index)
                    tables += [(address, 4) for address in found]
                elif operand.access == "r" and operand.index >= 0 and operand.scale in (4, 8):
                    if operand.base < 0:
                        tables.append((operand.displacement & 0xFFFFFFFFFFFFFFFF, 8))
                    else:
                        tables += [(address, operand.scale) for address in self._addresses_of(operand.base)]
        whole: dict[int, None] = {}
        for address, size in tables:
            found = self._entries(address, size)
            if found:
                self.tables.add(address)
                whole.update(dict.fromkeys(found))
        return list(whole)

    def _addresses_of(self, register: int) -> list[int]:
        """The fixed addresses that are put into a register anywhere in the function."""
        if self._addresses is None:
            self._addresses = {}
            for destination, address in self.instructions.fixed_addresses():
                at = self._addresses.setdefault(destination, [])
                if len(at) < _TABLES:
                    at.append(address)
        return self._addresses.get(register, [])

    def _entries(self, table: int, size: int) -> list[int]:
        found: list[int] = []
        assert self._read is not None
        # What the dynamic linker writes is read word by word.
        at_once = _AT_ONCE if size == 4 else 1
        while len(found) < _TABLE_ENTRIES:
            raw = self._read(table + size * len(found), size * at_once)
            if raw is None or len(raw) < size * at_once:
                if at_once == 1:
                    break
                at_once = 1
                continue
            more = table_entries(raw, size, table, self.instructions.offsets, self.instructions.address)
            found += more
            if len(more) < at_once:
                break
        return list(dict.fromkeys(found[:_TABLE_ENTRIES]))
