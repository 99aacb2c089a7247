# cython: language_level=3, annotation_typing=False
"""The value graph of one function: nodes for values, edges for flows between them, and the evidence on each node.

A node stands for the values of one origin: a register at entry or at a block's start (phi), an instruction's result, a
slot of an unoptimised function's frame. Evidence on a node: pointees, because it is used where such a pointer is
expected (argument, member, result, comparison); scalar types that it is copied from or to; signedness.
`pointer_types.py` decides from all of it.

The classes extend each other: values of registers (`node_state.py`), arithmetic (`scalar_evidence.py`), loads and
stores (`memory_evidence.py`), single instructions (`instruction_evidence.py`), calls (`call_evidence.py`), all blocks
(here).
"""

from collections.abc import Callable
from functools import partial

import cython
from cython.cimports.undwarf.types.inference.value_node import Node

from undwarf.disasm import Flow, Instruction
from undwarf.disasm.x86_operands import RDI
from undwarf.disasm.x86_properties import compares, preserves_flags
from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.inference.call_evidence import CallEvidence
from undwarf.types.inference.node_state import GENERAL, REACH
from undwarf.types.inference.value_copies import ValueCopies
from undwarf.types.inference.value_node import Held, added
from undwarf.types.sources.type_source import Prototype

__all__ = ["ValueGraph"]

_CALL, _INDIRECT_CALL, _RETURN, _JUMP = Flow.CALL, Flow.INDIRECT_CALL, Flow.RETURN, Flow.JUMP

_PUT_ASIDE = 4
"""How far after a comparison its conditional instruction may be."""
_ELEMENTS = 64
"""Limit of separately stored elements of an array in the frame."""
_MOST_NODES = 200_000
"""With more nodes, flows into blocks are not computed."""


def _others(bases: "dict[tuple[int, int], tuple[Node, int]]", k: int, number: int) -> tuple[tuple[int, int], ...]:
    found = bases.get((k, number))
    return tuple((offset - found[1], size) for offset, size in found[0].touched) if found is not None else ()


class ValueGraph(CallEvidence):
    """The value graph of one x86-64 function, built from its data flow."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        super().__init__(tracker, prototype)
        self._outs: dict[int, dict[int, Held | None]] = {}
        self._known: dict[int, dict[int, Value | None]] = {}
        flow = tracker.flow
        if flow.blocks:
            for number in flow.order:
                self._gather(number)
            self._join()
            self._returned_numbers()
            # Block states are most of the memory.
            self._outs, self._known, self._ins, self._known_leads = {}, {}, [], {}

    @property
    def others(self) -> Callable[[int, int], tuple[tuple[int, int], ...]]:
        """Function that gives (offset, size) of all accesses through the base pointer of an operand. Holds no other
        reference to the graph."""
        return partial(_others, self._bases)

    def release(self) -> None:
        """Drop references between nodes, so that no cycles need to be collected."""
        for node in self.nodes.values():
            node.release()

    def is_open(self, target: int) -> bool:
        """Whether a function's result type is unknown."""
        prototype = self.tracker.program.callee(target)
        if prototype is None or not prototype.returns:
            return prototype is None or not prototype.parameters
        return self.graph.is_void_pointer(prototype.returns)

    def filled(self, offset: int, stride: int) -> list[Node]:
        """Nodes of array elements that are stored one by one and read with an index only."""
        found: list[Node] = []
        first = self.nodes.get(("slot", offset, stride))
        if first is None or first.read or not self.unoptimised:
            return found
        while (node := self.nodes.get(("slot", offset + stride * (len(found) + 1), stride))) is not None:
            if node.read or len(found) >= _ELEMENTS:
                break
            found.append(node)
        return found

    # One block ---------------------------------------------------------------------------------------------

    def _gather(self, number: int) -> None:
        tracker = self.tracker
        instructions = tracker.flow.instructions
        held: dict[int, Held | None] = {}
        self._outs[number] = held
        self._block = number
        self.frame.lose_all()
        self._made_of = {}
        self._moved_from = {}
        if not number:
            self._parameters(held)
        for k in tracker.states(number):
            made = instructions[k]
            self.frame.at = k
            after = instructions[k + 1] if k + 1 < len(instructions) else None
            if made.flow in (_CALL, _INDIRECT_CALL):
                self._call(k, made, held)
                continue
            if made.flow == _RETURN:
                self._return(k, held)
                continue
            if made.flow == _JUMP and made.target is not None and tracker.flow.index_of(made.target) is None:
                self._call(k, made, held)
                self._returned_on(made.target)
                continue
            if after is not None and self.unoptimised and preserves_flags(after) and compares(made):
                after = self._depends(k)
            self._step(k, made, after, held)
        register_of = tracker.register
        known = ((register, register_of(register)) for register in GENERAL)
        self._known[number] = {register: value for register, value in known if value is not None}

    def _depends(self, k: int) -> Instruction | None:
        """The instruction that depends on a comparison, past reloads and spills."""
        instructions = self.tracker.flow.instructions
        end = min(k + 1 + _PUT_ASIDE, len(instructions))
        return next((instructions[at] for at in range(k + 1, end) if not preserves_flags(instructions[at])), None)

    def copies(self, k: int, number: int, further: dict[Node, list[tuple[Node, int]]]) -> tuple[ValueCopies, int]:
        """(copies of the value of an operand's base, offset of the operand)."""
        node, apart = self._bases[k, number]
        return ValueCopies(node, further, somewhere=node in self.somewhere), apart

    def with_members(self) -> list[tuple[int, dict[int, int]]]:
        """Calls through members: (function type, {register: distance from that member to the one passed})."""
        found = []
        for t, through, given in self._through_members:
            member = self._member(through) if isinstance(through, Node) else through
            root = self._root(member[0]) if member is not None else None
            apart: dict[int, int] = {}
            for register, node in given.items():
                other = self._member(node)
                if member is not None and other is not None and root is not None and self._root(other[0]) is root:
                    apart[register] = other[1] - member[1]
            if apart:
                found.append((t, apart))
        return found

    def _member(self, node: Node) -> tuple[Node, int] | None:
        """(node, offset) that a function or void pointer was loaded through."""
        root = self._root(node)
        return self.members.get(root) if root is not None else None

    def _root(self, node: Node) -> Node | None:
        """The only value of a node on all paths; None if there are several."""
        queue, seen, found = [node], {node}, set()
        while queue:
            one = queue.pop()
            if one.key[0] != "in":
                found.add(one)
                continue
            for source in one.origins or (None,):
                if source is None:
                    return None
                if source not in seen:
                    seen.add(source)
                    queue.append(source)
        return found.pop() if len(found) == 1 else None

    def returns_in_memory(self) -> bool:
        """Whether a function without a prototype returns its first argument: mostly the address of a result in memory
        (System V ABI for x86-64, 3.2.3)."""
        back = {self.entry_of(source[0]) if source and not source[1] else -1 for source, _value in self.returned}
        return self.prototype is None and back == {RDI}

    def entry_of(self, node: Node) -> int:
        """The argument register that a node is a copy of; -1 if it may have other values."""
        seen = {node}
        queue = [node]
        found: set[int] = set()
        while queue:
            one = queue.pop()
            if one.key[0] == "entry":
                found.add(one.key[1])
            elif not one.origins:
                return -1
            for source in one.origins:
                if source is None:
                    return -1
                if source not in seen:
                    seen.add(source)
                    queue.append(source)
        return found.pop() if len(found) == 1 else -1

    # Between blocks ----------------------------------------------------------------------------------------

    @cython.locals(node=Node, entry=Node)
    def _join(self) -> None:
        """Add the flows into registers at the starts of blocks."""
        blocks = self.tracker.flow.blocks
        reached = self._outs
        open_flow = self.tracker.flow.open
        predecessors: dict[int, list[int]] = {}
        for number, register, node in self._ins:
            if len(self.nodes) > _MOST_NODES:
                node.begun = False
                continue
            if not number:
                entry = self.node("entry", register, 0)
                entry.flows = True
                node.sources = added(node.sources, (entry, 0))
                node.origins = added(node.origins, entry)
            elif open_flow or not blocks.entered(number):
                node.begun = False
            several = predecessors.get(number)
            if several is None:
                several = predecessors[number] = blocks.predecessors(number)
            for before in several:
                held = reached.get(before)
                if held is None:
                    continue
                if register not in held:
                    # Passes through; the list grows during the iteration.
                    self._passes(before, held, register)
                if register in GENERAL:
                    self._flows(node, held[register], self._known[before].get(register))
                elif register > REACH:
                    self._flows(node, held[register], None)
