# cython: language_level=3, annotation_typing=False
"""The control-flow graph of one function: stretches of instructions, and which may follow which.

Jump tables are read where the instructions before the jump say where the table is; a jump that stays unresolved makes
the graph `open`: then any stretch may be entered from it.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

from undwarf.disasm import Action, Flow, Instruction, Machine
from undwarf.disasm.listing import Listing
from undwarf.disasm.listing_search import table_entries
from undwarf.types.dataflow.block_table import Blocks

__all__ = ["FunctionFlow"]

_NEXT = Flow.NEXT
_POP, _LEAVE, _COPY, _LOAD, _STORE = Action.POP, Action.LEAVE, Action.COPY, Action.LOAD, Action.STORE

_ENDS = (Flow.JUMP, Flow.INDIRECT_JUMP, Flow.RETURN)
"""What is behind these is not come to from them."""
_LOOK_BACK = 12
"""Instructions before an indirect jump among which its table is looked for."""
_TABLE_ENTRIES = 1024
_AT_ONCE = 16
"""Entries of a table that are read together."""
_TABLES = 64
"""Addresses that are tried as tables for one jump."""
_COPIES = 8
"""Copies of the address of a table that are followed back."""


class FunctionFlow:
    """Blocks of a function's code in order of address; `order` visits a block after those that lead to it, loops aside.

    `read(address, size)` gives bytes of the file (jump tables), `never_returns(address)` says which functions are left
    out as callers' ways on, `may_not_return(address)` which are where something else leads behind the call. `further`
    are (instruction, what may follow it beside what it says), by address; `warns`: what is behind an undefined
    instruction, and nothing else leads to, follows it, as in a kernel's warnings.
    """

    def __init__(
        self,
        instructions: Listing,
        machine: Machine,
        read: Callable[[int, int], bytes | None] | None = None,
        never_returns: Callable[[int], bool] | None = None,
        *,
        may_not_return: Callable[[int], bool] | None = None,
        further: Iterable[tuple[int, int]] = (),
        warns: bool = False,
    ) -> None:
        self.instructions = instructions
        self._machine = machine
        self._read = read
        self.tables: set[int] = set()
        """Addresses of jump tables that were read."""
        self._read_tables: dict[tuple[int, int], list[int]] = {}
        places = [(self.index_of(source), self.index_of(target)) for source, target in further]
        self.blocks = Blocks(
            instructions,
            never_returns or (lambda _target: False),
            may_not_return,
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

    @cached_property
    def accessed_before(self) -> dict[int, set[tuple[int, int]]]:
        """By register, (displacement, size) of all that is accessed before what it leads to, without an index."""
        found: dict[int, set[tuple[int, int]]] = {}
        for made in self.instructions:
            for one in made.memory:
                if one.access and one.index < 0 and one.displacement < 0:
                    found.setdefault(one.base, set()).add((one.displacement, one.size))
        return found

    def _switch(self, jump: int) -> list[int] | None:
        """What an indirect jump may go on at; None for anything."""
        found = self._jump_table(jump)
        return found if found or self._leaves(jump) else None

    def _leaves(self, jump: int) -> bool:
        """An indirect jump that is a tail call: through a field or a table of functions, not computed here.

        A jump through a register that was loaded by an index is taken for a switch, unless the caller's registers are
        restored before it.
        """
        made = self.instructions[jump]
        if made.memory:
            return all(operand.index < 0 for operand in made.memory if not operand.implicit)
        register = made.left if made.left >= 0 else (made.reads[0] if made.reads else -1)
        for k in range(jump - 1, max(-1, jump - _LOOK_BACK), -1):
            before = self.instructions[k]
            if before.flow != _NEXT:
                break
            if before.action in (_POP, _LEAVE):
                # The frame is let go of before the jump.
                return True
            if register in before.writes:
                if before.action == _COPY:
                    register = before.left
                    continue
                if before.action != _LOAD or before.memory[0].index < 0:
                    return before.action == _LOAD
                register = -1
        return register >= 0 and self._is_loaded(jump, register)

    def _is_loaded(self, jump: int, register: int) -> bool:
        """Whether what is in a register was loaded without an index on all ways to a jump, or is what the function is
        given: that leads to another one."""
        queue, seen = [(jump, register)], {(jump, register)}
        while queue:
            at, register = queue.pop()
            writers = self.instructions.writers(at, register)
            if not writers and register not in self._machine.parameters:
                return False
            for k in writers:
                made = self.instructions[k]
                copy = (k, made.left)
                if made.action == _COPY and made.width == 8 and len(seen) < _COPIES:
                    if copy not in seen:
                        seen.add(copy)
                        queue.append(copy)
                elif made.action != _LOAD or made.memory[0].index >= 0 or made.memory[0].base in self._frame:
                    return False
        return True

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
                tables += [(address, 8) for address in self._addresses_of(jump, operand.base)]
        for k in range(jump - 1, max(-1, jump - _LOOK_BACK), -1):
            before = self.instructions[k]
            if tables or before.flow in _ENDS:
                break
            for operand in before.memory:
                if operand.access == "r" and operand.index >= 0 and operand.scale == 1 and operand.size == 4:
                    # Both are added: either may be the table.
                    found = self._addresses_of(k, operand.base, operand.index)
                    tables += [(address, 4) for address in found]
                elif operand.access == "r" and operand.index >= 0 and operand.scale in (4, 8):
                    if operand.base < 0:
                        tables.append((operand.displacement & 0xFFFFFFFFFFFFFFFF, 8))
                    else:
                        tables += [(address, operand.scale) for address in self._addresses_of(k, operand.base)]
        whole: dict[int, None] = {}
        for address, size in tables:
            found = self._entries(address, size)
            if found:
                self.tables.add(address)
                whole.update(dict.fromkeys(found))
        return list(whole)

    def _addresses_of(self, k: int, *registers: int) -> list[int]:
        """The fixed addresses of which one is in one of some registers before an instruction: those that come to it,
        else all that are put into these registers anywhere in the function."""
        exact = [address for register in registers for address in self._reaching(k, register)]
        if exact:
            return list(dict.fromkeys(exact))
        anywhere = [address for register, address in self._fixed.values() if register in registers]
        return anywhere[:_TABLES]

    def _reaching(self, k: int, register: int) -> list[int]:
        """The fixed addresses that come to an instruction in a register; none where other values may come as well."""
        queue, seen, found = [(k, register)], {(k, register)}, []
        while queue:
            for one in self.instructions.writers(*queue.pop()):
                fixed = self._fixed.get(one)
                if fixed is not None:
                    found.append(fixed[1])
                    continue
                copies = self._copied_from(one)
                if not copies:
                    return []
                for copy in copies:
                    if copy not in seen and len(seen) < _COPIES:
                        seen.add(copy)
                        queue.append(copy)
        return found

    def _copied_from(self, k: int) -> list[tuple[int, int]]:
        """(instruction, register before it) of all that a copy of a register, or a load of what was put aside on the
        stack, may give; none for other instructions."""
        made = self.instructions[k]
        if made.width != 8:
            return []
        if made.action == _COPY:
            return [(k, made.left)]
        return self._put_aside.get(_place(made), []) if made.action == _LOAD else []

    @cached_property
    def _elsewhere(self) -> frozenset[int]:
        """Where jumps lead that leave the function, as for its part that is hardly ever come to: what is in none of a
        switch's ranges is so, too."""
        low = self.instructions.address
        high = self.instructions.address_of(len(self.instructions) - 1)
        return frozenset(
            target
            for flow, target in self.instructions.control_transfers()
            if target is not None and not low <= target <= high and flow in (Flow.JUMP, Flow.BRANCH)
        )

    @cached_property
    def _put_aside(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """By base register and displacement of a place on the stack, (instruction, register) of all stores there; not
        of places where anything else is written."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        others = set()
        for k, made in enumerate(self.instructions):
            if made.memory and "w" in made.memory[0].access and made.memory[0].base in self._frame:
                if made.action == _STORE and made.left >= 0 and made.memory[0].size == 8:
                    found.setdefault(_place(made), []).append((k, made.left))
                else:
                    others.add(_place(made))
        return {place: stores for place, stores in found.items() if place not in others}

    @cached_property
    def _fixed(self) -> dict[int, tuple[int, int]]:
        """Fixed addresses that are put into registers, by instruction."""
        return self.instructions.fixed_addresses()

    @property
    def _frame(self) -> tuple[int, int]:
        return self._machine.stack_pointer, self._machine.frame_pointer

    def _entries(self, table: int, size: int) -> list[int]:
        """The instructions that a table leads to; an interpreter has many jumps by one."""
        found = self._read_tables.get((table, size))
        if found is None:
            found = self._read_tables[table, size] = self._read_entries(table, size)
        return found

    def _read_entries(self, table: int, size: int) -> list[int]:
        found: list[int] = []
        assert self._read is not None
        # Where something else begins the table ends.
        behind = [address for _register, address in self._fixed.values() if address > table]
        most = min(_TABLE_ENTRIES, (min(behind) - table) // size) if behind else _TABLE_ENTRIES
        # What the dynamic linker writes is read word by word.
        at_once = _AT_ONCE if size == 4 else 1
        while len(found) < most:
            raw = self._read(table + size * len(found), size * at_once)
            if raw is None or len(raw) < size * at_once:
                if at_once == 1:
                    break
                at_once = 1
                continue
            offsets, address = self.instructions.offsets, self.instructions.address
            more = table_entries(raw, size, table, offsets, address, self._elsewhere)
            found += more
            if len(more) < at_once:
                break
        return [at for at in dict.fromkeys(found[:most]) if at >= 0]


def _place(made: Instruction) -> tuple[int, int]:
    """The base register and the displacement of an instruction's first operand in memory."""
    return made.memory[0].base, made.memory[0].displacement
