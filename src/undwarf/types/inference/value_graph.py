# cython: language_level=3, annotation_typing=False
"""Where the values of a function come from and what they are used as, where nothing names its variables.

A node stands for the values of one origin: what a register holds when the function or a stretch of code begins, what an
instruction makes, what is in a place of an unoptimised function's frame. Nodes that flow into others are their
sources. What is told of a node: objects it leads to, because it goes where such a pointer is expected (an argument, a
member, what is returned, the other side of a comparison); types of the numbers it was copied from or to; whether it is
used as a number with sign. What follows from all that together is decided in `pointer_types.py`.

Modules go on from one another: what registers hold (`node_state.py`), what is calculated (`scalar_evidence.py`), loaded
and stored (`memory_evidence.py`), done by one instruction (`instruction_evidence.py`), passed and returned
(`call_evidence.py`), all blocks of a function (here).
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
from undwarf.types.inference.call_evidence import CallUses
from undwarf.types.inference.node_state import GENERAL, REACH
from undwarf.types.inference.value_copies import Copies
from undwarf.types.inference.value_node import Held, added
from undwarf.types.sources.type_source import Prototype

__all__ = ["Webs"]

_CALL, _INDIRECT_CALL, _RETURN, _JUMP = Flow.CALL, Flow.INDIRECT_CALL, Flow.RETURN, Flow.JUMP

_PUT_ASIDE = 4
"""Instructions behind a comparison among which the one is that depends on it."""
_ELEMENTS = 64
"""Elements of an array in the frame that are looked for one by one."""
_MOST_NODES = 200_000
"""Nodes of a function beyond which what flows into blocks is not looked for."""


def _others(bases: "dict[tuple[int, int], tuple[Node, int]]", k: int, number: int) -> tuple[tuple[int, int], ...]:
    found = bases.get((k, number))
    return tuple((offset - found[1], size) for offset, size in found[0].touched) if found is not None else ()


class Webs(CallUses):
    """The nodes of one function of x86-64, gathered from where its data flow stands."""

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
            # What blocks hold is most of it all.
            self._outs, self._known, self._ins, self._known_leads = {}, {}, [], {}

    @property
    def others(self) -> Callable[[int, int], tuple[tuple[int, int], ...]]:
        """Tells (distance, size) of all accesses through the pointer that an operand has as its base. It holds on to
        nothing else of this."""
        return partial(_others, self._bases)

    def release(self) -> None:
        """Let go of what nodes say of each other, so that they need not be searched for cycles; they are done with."""
        for node in self.nodes.values():
            node.release()

    def is_open(self, target: int) -> bool:
        """Whether a function's prototype does not say what it returns."""
        prototype = self.tracker.program.callee(target)
        if prototype is None or not prototype.returns:
            return prototype is None or not prototype.parameters
        return self.graph.is_void_pointer(prototype.returns)

    def filled(self, offset: int, stride: int) -> list[Node]:
        """Elements behind the first of an array in the frame, stored one by one and only read with an index."""
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
        """The instruction that depends on a comparison, where values are put aside before it."""
        instructions = self.tracker.flow.instructions
        end = min(k + 1 + _PUT_ASIDE, len(instructions))
        return next((instructions[at] for at in range(k + 1, end) if not preserves_flags(instructions[at])), None)

    def copies(self, k: int, number: int, further: dict[Node, list[tuple[Node, int]]]) -> tuple[Copies, int]:
        """Who has the value of an operand's base, and how far behind that the operand is."""
        node, apart = self._bases[k, number]
        return Copies(node, further, somewhere=node in self.somewhere), apart

    def with_members(self) -> list[tuple[int, dict[int, int]]]:
        """Calls of what a member leads to, by the type of the function: by register, how far behind that member lies
        what is given, as a member of the same object."""
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
        """Behind which node a pointer to a function or to anything was loaded, and how far."""
        root = self._root(node)
        return self.members.get(root) if root is not None else None

    def _root(self, node: Node) -> Node | None:
        """The only value that one is on all ways; None where there are several."""
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
        """Whether a function without a prototype gives back the address that it is given first: of what it returns, as
        a rule (System V ABI for x86-64, 3.2.3)."""
        back = {self.entry_of(source[0]) if source and not source[1] else -1 for source, _value in self.returned}
        return self.prototype is None and back == {RDI}

    def entry_of(self, node: Node) -> int:
        """The register of the parameter that a node is; -1 where it is something else too."""
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
        """What flows into the registers at the begins of blocks."""
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
                    # Goes through; the list grows while it is walked.
                    self._passes(before, held, register)
                if register in GENERAL:
                    self._flows(node, held[register], self._known[before].get(register))
                elif register > REACH:
                    self._flows(node, held[register], None)
