# cython: language_level=3, annotation_typing=False
"""The control-flow graph of one function: basic blocks and edges, with jump tables resolved.

A jump table is read if its address is found in the definitions that reach the indirect jump. An unresolved jump makes
the graph `open`: any block may be entered from it.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

from undwarf.disasm import Action, Flow, Instruction, Machine
from undwarf.disasm.listing import Listing
from undwarf.disasm.listing_search import table_entries
from undwarf.types.dataflow.block_table import BlockTable

__all__ = ["FunctionFlow"]

_NEXT = Flow.NEXT
_POP, _LEAVE, _COPY, _LOAD, _STORE = Action.POP, Action.LEAVE, Action.COPY, Action.LOAD, Action.STORE

_ENDS = (Flow.JUMP, Flow.INDIRECT_JUMP, Flow.RETURN)
"""No fall-through after these."""
_LOOK_BACK = 12
"""How many instructions before an indirect jump its table is searched in."""
_TABLE_ENTRIES = 1024
_AT_ONCE = 16
"""Number of table entries read at once."""
_TABLES = 64
"""Limit of candidate table addresses of a jump."""
_COPIES = 8
"""Limit of register copies followed back to a table's address."""


class FunctionFlow:
    """The blocks of a function in order of address; `order` is a reverse postorder.

    `read(address, size)` returns bytes of the file (jump tables); `never_returns(address)` whether calls have no
    successor; `may_not_return(address)`, `further` and `warns` as in
    :class:`~undwarf.types.dataflow.block_table.BlockTable`, by address.
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
        """Addresses of the jump tables."""
        self._read_tables: dict[tuple[int, int], list[int]] = {}
        places = [(self.index_of(source), self.index_of(target)) for source, target in further]
        self.blocks = BlockTable(
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
        """The blocks in reverse postorder."""
        found: memoryview[int] = self.blocks.order
        return found

    def index_of(self, address: int) -> int | None:
        """The instruction at an address; None if there is none."""
        return self.instructions.index_of(address)

    def block_of(self, index: int) -> int:
        """The block of an instruction."""
        found: int = self.blocks.of(index)
        return found

    @cached_property
    def accessed_before(self) -> dict[int, set[tuple[int, int]]]:
        """{register: {(displacement, size)}} of accesses at negative displacements without an index."""
        found: dict[int, set[tuple[int, int]]] = {}
        for made in self.instructions:
            for one in made.memory:
                if one.access and one.index < 0 and one.displacement < 0:
                    found.setdefault(one.base, set()).add((one.displacement, one.size))
        return found

    def _switch(self, jump: int) -> list[int] | None:
        """Successors of an indirect jump; None if unknown."""
        found = self._jump_table(jump)
        return found if found or self._leaves(jump) else None

    def _leaves(self, jump: int) -> bool:
        """Whether an indirect jump is a tail call: through a member or a table of functions.

        A jump through a register loaded with an index counts as a switch, unless callee-saved registers are restored
        before it.
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
                # The frame is torn down before the jump.
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
        """Whether a register at a jump was loaded without an index on all paths, or is an argument: a tail call."""
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
        """Successors of a switch; empty if its table was not found."""
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
                    # Base plus index: either may be the table.
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
        """Constant addresses that may be in one of some registers: those that reach the instruction, else all that are
        loaded into these registers anywhere in the function."""
        exact = [address for register in registers for address in self._reaching(k, register)]
        if exact:
            return list(dict.fromkeys(exact))
        anywhere = [address for register, address in self._fixed.values() if register in registers]
        return anywhere[:_TABLES]

    def _reaching(self, k: int, register: int) -> list[int]:
        """Constant addresses that reach an instruction in a register; empty if other values may, too."""
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
        """(instruction, register before it) whose value a copy, or a reload of a spill, may give; empty for other
        instructions."""
        made = self.instructions[k]
        if made.width != 8:
            return []
        if made.action == _COPY:
            return [(k, made.left)]
        return self._put_aside.get(_place(made), []) if made.action == _LOAD else []

    @cached_property
    def _elsewhere(self) -> frozenset[int]:
        """Targets of jumps out of the function (its cold part): switches' default cases go there as well."""
        low = self.instructions.address
        high = self.instructions.address_of(len(self.instructions) - 1)
        return frozenset(
            target
            for flow, target in self.instructions.control_transfers()
            if target is not None and not low <= target <= high and flow in (Flow.JUMP, Flow.BRANCH)
        )

    @cached_property
    def _put_aside(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """{(base register, displacement): [(instruction, register)]} of the spills to a stack slot; without slots that
        are also written otherwise."""
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
        """{instruction: (register, address)} of constant addresses."""
        return self.instructions.fixed_addresses()

    @property
    def _frame(self) -> tuple[int, int]:
        return self._machine.stack_pointer, self._machine.frame_pointer

    def _entries(self, table: int, size: int) -> list[int]:
        """Instructions that a table points to, cached: an interpreter has many jumps through one table."""
        found = self._read_tables.get((table, size))
        if found is None:
            found = self._read_tables[table, size] = self._read_entries(table, size)
        return found

    def _read_entries(self, table: int, size: int) -> list[int]:
        found: list[int] = []
        assert self._read is not None
        # The table ends at the next known address.
        behind = [address for _register, address in self._fixed.values() if address > table]
        most = min(_TABLE_ENTRIES, (min(behind) - table) // size) if behind else _TABLE_ENTRIES
        # Relocated entries are read one at a time.
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
    """(base register, displacement) of an instruction's first memory operand."""
    return made.memory[0].base, made.memory[0].displacement
