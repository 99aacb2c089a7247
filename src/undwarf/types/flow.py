# cython: language_level=3, annotation_typing=False
"""The control-flow graph of one function: stretches of instructions, and which may follow which.

Jump tables are read where the instructions before the jump say where the table is; a jump that stays unresolved makes
the graph `open`: then any stretch may be entered from it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from undwarf.disasm import Action, Flow, Machine
from undwarf.disasm.listing import TARGETED, Listing

__all__ = ["Block", "FunctionFlow"]

_JUMP, _BRANCH, _INDIRECT_JUMP, _CALL, _INDIRECT_CALL, _STOP = (
    int(flow) for flow in (Flow.JUMP, Flow.BRANCH, Flow.INDIRECT_JUMP, Flow.CALL, Flow.INDIRECT_CALL, Flow.STOP)
)
_LOOK_BACK = 12
"""Instructions before an indirect jump among which its table is looked for."""
_TABLE_ENTRIES = 1024
_TABLES = 64
"""Addresses that are tried as tables for one jump."""


class Block:
    """Instructions [first, end) of the function, and the numbers of the blocks that may follow."""

    __slots__ = ("end", "first", "padding", "predecessors", "successors")

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end
        self.successors: list[int] = []
        self.predecessors: list[int] = []
        self.padding = False
        """Fills space between functions' parts and is never run."""


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
        self._index = {at: k for k, at in enumerate(instructions.offsets.tolist())}
        self._read = read
        self._never_returns = never_returns
        self._further = further
        self._warns = warns
        self.open = False
        self._addresses: dict[int, list[int]] | None = None
        self.tables: set[int] = set()
        """Addresses of jump tables that were read."""
        self.blocks: list[Block] = []
        self._starts: list[int] = []
        self._build()
        self.order = self._reverse_post_order()

    def index_of(self, address: int) -> int | None:
        """The number of the instruction that begins at an address."""
        return self._index.get(address - self.instructions.address)

    def block_of(self, index: int) -> int:
        """The number of the block of an instruction."""
        return bisect_right(self._starts, index) - 1

    def _build(self) -> None:
        instructions = self.instructions
        leaders = {0}
        ways: dict[int, list[int]] = {}
        count = len(instructions)
        for k, flow in enumerate(instructions.flows.tolist()):
            if not flow or flow == _INDIRECT_CALL:
                continue
            target = self.index_of(instructions.targets[k] & 0xFFFFFFFFFFFFFFFF) if flow & TARGETED else None
            targets: list[int] = []
            flow &= 15
            if flow == _CALL:
                if not self._ends(k):
                    continue
            elif flow in (_BRANCH, _JUMP):
                if target is not None:
                    targets.append(target)
                if flow == _BRANCH and k + 1 < count and k + 1 != target:
                    targets.append(k + 1)
            elif flow == _INDIRECT_JUMP:
                targets = self._jump_table(k)
                if not targets and not self._leaves(k):
                    self.open = True
            elif flow == _INDIRECT_CALL:
                continue
            ways[k] = targets
            leaders.update(targets)
            leaders.add(k + 1)
        for source, target in self._further:
            at, following = self.index_of(source), self.index_of(target)
            if at is None or following is None or instructions.flows[at] & 15 not in (0, _JUMP):
                continue
            targets = ways.setdefault(at, [])
            targets += [one for one in dict.fromkeys((following, at + 1)) if one not in targets and one < count]
            leaders.update((following, at + 1))
        starts = sorted(leader for leader in leaders if leader < len(instructions))
        number = {start: n for n, start in enumerate(starts)}
        self._starts = starts
        ends = [*starts[1:], len(instructions)]
        self.blocks = [Block(start, end) for start, end in zip(starts, ends, strict=True)]
        for n, block in enumerate(self.blocks):
            last = block.end - 1
            k = block.first
            while k < block.end and instructions.is_padding(k):
                k += 1
            block.padding = k == block.end
            targets = ways.get(last, [block.end] if block.end < len(instructions) else [])
            for target in targets:
                block.successors.append(number[target])
                self.blocks[number[target]].predecessors.append(n)
        if self._warns:
            self._go_on_after_warnings()

    def _go_on_after_warnings(self) -> None:
        """Who handles the exception of a warning's undefined instruction goes on behind it (asm-generic/bug.h)."""
        for n, block in enumerate(self.blocks[:-1]):
            last = block.end - 1
            following = self.blocks[n + 1]
            run = block.predecessors or not block.padding
            if not run or following.predecessors or self.instructions.flows[last] & 15 != _STOP:
                continue
            if self.instructions[last].text == "ud2":
                block.padding = False
                block.successors.append(n + 1)
                following.predecessors.append(n)

    def _ends(self, call: int) -> bool:
        """A call that does not return."""
        if self._never_returns is None or not self.instructions.flows[call] & TARGETED:
            return False
        return self._never_returns(self.instructions.targets[call] & 0xFFFFFFFFFFFFFFFF)

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
            for k in self.instructions.putting_addresses():
                made = self.instructions[k]
                at = self._addresses.setdefault(made.destination, [])
                if len(at) < _TABLES:
                    at.append(made.memory[0].displacement & 0xFFFFFFFFFFFFFFFF)
        return self._addresses.get(register, [])

    def _entries(self, table: int, size: int) -> list[int]:
        found: list[int] = []
        assert self._read is not None
        for k in range(_TABLE_ENTRIES):
            raw = self._read(table + size * k, size)
            if raw is None or len(raw) < size:
                break
            value = int.from_bytes(raw, "little", signed=size == 4)
            target = self.index_of((table + value) & 0xFFFFFFFFFFFFFFFF if size == 4 else value)
            if target is None:
                break
            found.append(target)
        return list(dict.fromkeys(found))

    def _reverse_post_order(self) -> list[int]:
        """Blocks from the entry on, then those nothing leads to with what follows them."""
        seen = [False] * len(self.blocks)
        whole: list[int] = []
        for root in range(len(self.blocks)):
            if seen[root] or (root and (self.blocks[root].padding or self.blocks[root].predecessors)):
                continue
            whole.extend(self._from(root, seen))
        for root in range(len(self.blocks)):
            # Loops that nothing enters.
            if not seen[root] and not self.blocks[root].padding:
                whole.extend(self._from(root, seen))
        return whole

    def _from(self, root: int, seen: list[bool]) -> list[int]:
        post: list[int] = []
        seen[root] = True
        stack = [(root, 0)]
        while stack:
            number, at = stack.pop()
            successors = self.blocks[number].successors
            if at < len(successors):
                stack.append((number, at + 1))
                following = successors[at]
                if not seen[following]:
                    seen[following] = True
                    stack.append((following, 0))
            else:
                post.append(number)
        post.reverse()
        return post
