# cython: language_level=3, annotation_typing=False
"""Evidence for scalars: signedness from instructions, operands that sums are computed from, sides of comparisons."""

from undwarf.disasm import NONE, Instruction
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_properties import arithmetic_kind, shifts_by
from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import exact_pointee, known_pointees, scalar_at
from undwarf.types.inference.node_state import GENERAL, NodeState
from undwarf.types.inference.value_node import Held, Node, added
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.type_source import Prototype

__all__ = ["OPERANDS", "ScalarEvidence"]

OPERANDS = 4
"""Limit of operands that are recorded of an integer."""


class ScalarEvidence(NodeState):
    """The part of :class:`undwarf.types.inference.value_graph.ValueGraph` on scalars."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        super().__init__(tracker, prototype)
        self._made_of: dict[int, tuple[Node | int, ...]] = {}
        """{register: nodes and types of the operands its value was computed from}."""

    def _whole(self, held: Held | None) -> None:
        """A narrow value is used with its zero extension: it is unsigned."""
        if held is not None and not held[1] and (held[2] == 4 or (held[2] < 4 and held[0].key[0] == "slot")):
            held[0].sign(-1)

    def _parts(self, register: int, held: dict[int, Held | None], size: int) -> list["Node | int"]:
        """The operands of an integer of one size."""
        found: list[Node | int] = list(self._made_of.get(register, ()))
        source = self.read(held, register)
        if source is not None and not source[1] and source[2] == size and source[0] not in found:
            found.append(source[0])
        return found

    def _calculated(
        self, made: Instruction, held: dict[int, Held | None], slot: Node | None, width: int
    ) -> tuple[Node | int, ...]:
        found: list[Node | int] = []
        for register in made.reads:
            if register in GENERAL and all(operand.base != register for operand in made.memory):
                found += [one for one in self._parts(register, held, width) if one not in found]
        operand = made.memory[0] if made.memory else None
        if operand is not None and operand.access and operand.size == width and slot is not None:
            others = [one for one in found if one is not slot]
            if operand.access != "r":
                slot.beside = added(slot.beside, *others)
            else:
                slot.met = added(slot.met, *others)
            found.append(slot)
        for one in found:
            if isinstance(one, Node):
                one.met = added(one.met, *(other for other in found if other is not one))
                one.reckoned = True
                one.numeric = one.numeric or arithmetic_kind(made) == 2
        return tuple(found)

    def _signs(self, made: Instruction, sign: int, width: int, held: dict[int, Held | None], slot: Node | None) -> None:
        if slot is not None and made.memory[0].size == width:
            slot.take(sign)
        count = shifts_by(made)
        for register in made.reads:
            if register in (MACHINE.stack_pointer, MACHINE.frame_pointer, count):
                continue
            if any(register in (operand.base, operand.index) for operand in made.memory):
                continue
            each = held.get(register)
            if each is not None and not each[1] and each[2] == width:
                each[0].take(sign)
            for part in self._made_of.get(register, ()):
                if isinstance(part, Node) and part.key[0] == "slot" and part.key[2] == width:
                    # A sum is signed if all its operands are; pointer differences are signed, too.
                    part.signed_part = part.signed_part or sign > 0
                    part.unsigned_sum = part.unsigned_sum or sign < 0

    def _pointed(self, value: Value | None) -> tuple[int, ...]:
        """The pointee of a side of a comparison; of text also from any offset in it."""
        known = exact_pointee(self.tracker, value) or known_pointees(self.tracker, value)
        return (
            known if known and (self.graph.size(known[0]) == 1 or known == exact_pointee(self.tracker, value)) else ()
        )

    def _compared(self, k: int, made: Instruction, held: dict[int, Held | None], slot: Node | None, width: int) -> None:
        if width != 8:
            for register in made.reads if slot is not None else ():
                if all(register not in (operand.base, operand.index) for operand in made.memory) and slot is not None:
                    slot.met = added(slot.met, *self._parts(register, held, width))
            return
        sides: list[tuple[Held | None, tuple[int, ...], int]] = []
        t = VOID
        tracker = self.tracker
        for register in made.reads:
            if any(register in (operand.base, operand.index) for operand in made.memory):
                continue
            source = self.read(held, register)
            either = source is not None and source[0].either
            sides.append((source, () if either else self._pointed(tracker.register(register)), register))
        if made.memory:
            if slot is None:
                t = scalar_at(self.tracker, k, 0, 8)
            leads = self.graph.target(t) if t and self.graph.is_pointer(t) else VOID
            sides.append(((slot, 0, 8) if slot is not None else None, (leads,) if leads else (), NONE))
        if len(sides) != 2:
            return
        for (source, _known, _), (other, _said, _register) in (sides, sides[::-1]):
            if source is not None and not source[1] and other is not None and not other[1]:
                source[0].compared = added(source[0].compared, other[0])
        if made.memory and slot is None and t and sides[0][0] is not None:
            one = sides[0][0][0]
            one.compared = added(one.compared, t)
        for (source, known, _), (_other, said, _register) in (sides, sides[::-1]):
            if source is not None and not known and said:
                source[0].add_pointee(source[1], said[0])
