# cython: language_level=3, annotation_typing=False
"""Resolves one memory operand to a member: combines the data flow's address with declared variables and the rules of
`evidence/`.

The address is in an object that a pointer points to, in the frame, in a global, per-CPU or thread-local variable, or
relative to a variable's register; otherwise the result has the reason why it is unknown. The rules are tried in a fixed
order; the first that applies decides.
"""

from collections.abc import Iterable

from undwarf.disasm import NONE, Instruction, Memory
from undwarf.disasm.x86_properties import immediate_of, leaves_memory_unchanged, tested_bits
from undwarf.types.access import Access, access
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, OBJECT, PERCPU, THREAD, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.array_headers import header_member
from undwarf.types.evidence.byte_accesses import (
    byte_of_declared_text,
    byte_run_access,
    byte_type_by_sign,
    bytes_unless_member,
    declared_as_bytes,
    flows_into_pointer_use,
)
from undwarf.types.evidence.container_by_members import container_by_variables
from undwarf.types.evidence.later_variable_locations import member_of_later_variable
from undwarf.types.evidence.member_access import (
    SEVERAL,
    accessed_member,
    common_pointee_of_base_and_index,
    is_accessed_in_parts,
    same_offset_from_other_pointer,
    stores_pointer,
    word_of_copied_object,
)
from undwarf.types.evidence.phi_pointees import member_of_phi_pointee
from undwarf.types.evidence.same_base_access import computed_from_same_base
from undwarf.types.evidence.select_targets import select_members, select_offsets
from undwarf.types.evidence.spill_types import spilled_type
from undwarf.types.evidence.stack_slot_variables import (
    array_after,
    array_at_zero_index,
    array_ending_at,
    is_extended,
    same_size_variable,
    split_aggregate,
)
from undwarf.types.evidence.union_pointee_by_use import (
    accesses_through_base,
    byte_pointer_stored_as,
    union_member_by_all_uses,
    union_member_by_use,
    union_member_of_holder,
)
from undwarf.types.evidence.variable_address_matches import member_by_variable_address
from undwarf.types.evidence.variables_at_register import (
    element_of_variable_array,
    member_of_frame_pointee,
    member_of_opaque_buffer,
    member_of_variable,
)
from undwarf.types.evidence.void_pointer_loads import type_of_void_pointer_load
from undwarf.types.evidence.vtable_loads import vtable_pointer
from undwarf.types.layouts.array_offsets import is_before_similar_array, is_of_smaller
from undwarf.types.layouts.container_of import candidates, container_of_accesses
from undwarf.types.layouts.resolve_offset import locate, members_selected_by_condition
from undwarf.types.layouts.resolved_member import (
    INCOMPLETE,
    WIDER,
    ResolvedMember,
    begins,
    is_inside_pointer_member,
    is_member,
)
from undwarf.types.layouts.type_graph import VOID, Field, Kind
from undwarf.types.layouts.virtual_bases import is_method_table
from undwarf.types.program_image import ProgramImage
from undwarf.types.sources.type_source import Place, TypeSource

__all__ = ["NOTHING_KNOWN", "OperandResolver", "on_stack"]

NOTHING_KNOWN = "no type known for the address"
_NO_TYPES = "no types for this function"
_SEVERAL_MEMBERS = "ambiguous member"
_OWN = "compiler's own stack slot"
_HALF = 2
"""Accesses up to this size never copy pointers."""
_VECTOR = 16
"""Size of a vector register."""


def on_stack(made: Instruction, operand: Memory) -> Access:
    """The result for an implicit stack access (push, pop, call, return)."""
    return access(made, operand, operand.size or operand.element, how="stack", reason="stack operation")


class OperandResolver:
    """Resolves operands of one binary's instructions. ``kernel``: it is a kernel or a module; ``linked``: variables
    have the file's addresses."""

    def __init__(self, binary: ProgramImage, source: TypeSource, *, kernel: bool, linked: bool) -> None:
        """``linked``: variables have the file's addresses."""
        self._binary = binary
        self._source = source
        self._graph = source.graph
        self._kernel = kernel
        self._linked = linked

    def resolve(self, tracker: Tracker, k: int, made: Instruction, number: int, operand: Memory) -> Access:
        """The access of an operand of instruction ``k``; the cursor of ``tracker`` must be there."""
        size = operand.size or operand.element
        if (
            operand.access == "rw"
            and operand.base == tracker.program.machine.stack_pointer
            and leaves_memory_unchanged(made)
        ):
            # A stack probe, or a memory barrier.
            return access(made, operand, size, how="spill", reason=_OWN)
        where = tracker.address_of(k, number)
        if operand.segment and self._is_canary(operand):
            return self._canary(made, operand, where, size)
        if where is None:
            return self._by_register(tracker, k, made, number, operand, size)
        base = where[0]
        if base == FRAME:
            return self._on_frame(tracker, k, made, operand, where, size)
        if base == ADDRESS:
            return self._global(tracker, k, made, operand, where, size)
        if base in (PERCPU, THREAD):
            found = tracker.oracle.in_block(where)
            if found is None:
                return access(made, operand, size, how="", reason="no variable")
            located = locate(self._graph, found[0], where[2], found[1], size)
            return self._typed(made, operand, size, located, "percpu" if base == PERCPU else "thread")
        if base == OBJECT:
            return self._in_object(tracker, k, made, number, operand, where, size)
        return self._by_register(tracker, k, made, number, operand, size)

    def _in_object(
        self, tracker: Tracker, k: int, made: Instruction, number: int, operand: Memory, where: Value, size: int
    ) -> Access:
        """An access through a pointer: the member of its pointee type, unless other uses contradict."""
        located = accessed_member(tracker, k, operand, where, size)
        if isinstance(located, str) and self._is_declared_there(tracker, k, number, where, size):
            return self._by_register(tracker, k, made, number, operand, size)
        if isinstance(located, str) and (located == INCOMPLETE or self._graph.choices(where[1])):
            t = union_member_by_use(tracker, k, operand, where, size) or union_member_by_all_uses(tracker, k, where)
            t = t or union_member_of_holder(tracker, k, where) or byte_type_by_sign(tracker, k, number, where)
            located = locate(self._graph, t, where[2], where[4], size) if t else located
        if isinstance(located, str):
            located = vtable_pointer(tracker, k, where, size) or located
        if operand.floating and not isinstance(located, str) and located.how == "container":
            located = self._floating_member(tracker, where, located, size)
        base = tracker.facts.bases.get(where[1], VOID)
        if base and not where[2] and where[4] + size <= self._graph.size(base):
            located = locate(self._graph, base, 0, where[4], size)
        if where[2] == 1 and (isinstance(located, str) or self._is_byte(located)):
            located = self._by_argument_type(tracker, k, number, size) or located
        if not isinstance(located, str) and located.how == "array" and where[1] in tracker.facts.begun:
            located = "offset outside the type"
        row = byte_run_access(tracker, k, number, where, size)
        if row is not None:
            located = row
        elif not isinstance(located, str) and self._has_conflicting_uses(tracker, k, number, where, located, size):
            if self._is_declared_there(tracker, k, number, where, size):
                return self._by_register(tracker, k, made, number, operand, size)
            located = byte_of_declared_text(tracker, k, operand, size) or "conflicting uses of the pointer"
        if isinstance(located, str) or located.how or self._is_byte(located):
            located = computed_from_same_base(tracker, k, operand, size) or located
            if not isinstance(located, str) and located.how == "array" and not where[2]:
                located = member_of_opaque_buffer(tracker, k, number, where, size) or located
        if size > 1 and not isinstance(located, str) and self._is_opaque_byte(located):
            # Copied bytes: another variable may declare the object there.
            other = member_of_variable(tracker, k, operand, size)
            located = other if other is not None and not self._is_byte(other) else located
        if tracker.has_variables and (isinstance(located, str) or self._is_opaque_byte(located)):
            located = member_by_variable_address(tracker, k, operand, where, size) or located
        if 1 < size < _VECTOR and self._graph.size(where[1]) == 1 and tracker.has_variables:
            located = self._member_in_bytes(tracker, k, operand, size) or located
            if located == WIDER and not is_accessed_in_parts(tracker, k, number, size):
                located = bytes_unless_member(tracker, k, number, where, size) or located
        if where[4] < 0:
            located = header_member(tracker, k, number, where, size) or located
        clears = size >= _HALF * 2 and immediate_of(made) == 0
        if (
            not isinstance(located, str)
            and operand.access == "w"
            and not clears
            and self._is_inside_pointer(located, size)
        ):
            located = "conflicting uses of the pointer"
        if isinstance(located, str) and tracker.has_variables:
            located = container_by_variables(tracker, k, operand, where, size) or located
        if isinstance(located, str):
            together = self._container_by_accesses(tracker, k, operand, number, where, size)
            if together is None or self._is_number(together.type, together.offset, size):
                together = self._containing_pointer_member(tracker, k, number, where, size, together)
            if together is None:
                chosen = self._chosen(tracker, k, made, operand, size, where) if located != SEVERAL else None
                return chosen or self._outside_of_type(tracker, made, operand, size, where, located)
            located = together
        if self._is_table(where):
            return access(made, operand, size, how="table", reason="vtable")
        how = located.how if located.how == "container" else self._provenance(tracker, k, operand, where)
        return self._typed(made, operand, size, located, how)

    def _floating_member(
        self, tracker: Tracker, where: Value, located: ResolvedMember, size: int
    ) -> ResolvedMember | str:
        """A floating-point access outside of an object: in its container if that has such a member, else in a
        neighbouring array element, else in the only container with one."""
        graph = self._graph
        if graph.kind(graph.strip(located.field.type)) == Kind.FLOAT:
            return located
        place = where[4] % max(graph.size(where[1]), 1)
        found = graph.member_at(where[1], place, size)
        whole = found is not None and not found.offset and graph.size(found.type) == size
        if found is not None and whole and self._has_float(where[1], place, size):
            return ResolvedMember(where[1], place, found, "array")
        around = {
            graph.canonical(t): (t, at + where[4])
            for t, at in tracker.oracle.containers.around(where[1])
            if self._has_float(t, at + where[4], size)
        }
        if len(around) != 1:
            return "conflicting uses of the pointer"
        t, offset = next(iter(around.values()))
        field = graph.member_at(t, offset, size)
        return ResolvedMember(t, offset, field, "container") if field is not None else "conflicting uses of the pointer"

    def _has_float(self, t: int, offset: int, size: int) -> bool:
        """Whether a floating-point member is there, in any member of a union."""
        graph = self._graph
        return any(graph.kind(graph.strip(one)) == Kind.FLOAT for one in graph.scalars_at(t, offset, size))

    def _container_by_accesses(
        self, tracker: Tracker, k: int, operand: Memory, number: int, where: Value, size: int
    ) -> ResolvedMember | None:
        """The container for an access outside of a type, by what the pointer is passed as, or by all accesses through
        it; None if undecided."""
        graph = self._graph
        passed = () if where[2] else tracker.passed_as(k, number)
        wholes = [(t, place) for t, place in passed if graph.object_at(t, place - where[4], where[1])]
        if len(wholes) == 1:
            t, place = wholes[0]
            member = graph.member_at(t, place, size)
            if member is not None:
                return ResolvedMember(t, place, member, "container")
        others = () if where[2] else tracker.others(k, number)
        accesses = [(where[4] + apart, each) for apart, each in others]
        rows: list[tuple[int, int]] = []
        if not others and tracker.has_variables and where[4] != 0 and self._graph.is_aggregate(where[1]):
            accesses, rows = accesses_through_base(tracker, k, operand, where, size)
        if not accesses or (others and self._may_be_next(tracker, where, others)):
            return None
        found = container_of_accesses(self._graph, where[1], accesses, tracker.oracle.containers, rows)
        inner = self._graph.member_at(found[0], where[4] + found[1], size) if found is not None else None
        if found is None or inner is None:
            return None
        return ResolvedMember(found[0], where[4] + found[1], inner, "container")

    def _containing_pointer_member(
        self, tracker: Tracker, k: int, number: int, where: Value, size: int, told: ResolvedMember | None
    ) -> ResolvedMember | None:
        """The container whose member is a pointer, if the loaded value is used as one: a list header with a count looks
        like a node. ``told`` if that does not decide."""
        graph = self._graph
        if where[2] or size != graph.pointer_size:
            return told
        found = self._around(tracker, where, size)
        left = [(t, at) for t, at in found if not self._is_number(t, at, size)]
        if (
            len(left) == len(found)
            or (told is None and len(left) != 1)
            or not flows_into_pointer_use(tracker, k, number)
        ):
            return told
        member = graph.member_at(*left[0], size) if len(left) == 1 else None
        return ResolvedMember(*left[0], member, "container") if member is not None else None

    def _is_number(self, t: int, offset: int, size: int) -> bool:
        """Whether a scalar that is no pointer is at an offset of a type."""
        value = self._graph.value_at(t, offset, size)
        return bool(value) and self._graph.is_scalar(value) and not self._graph.is_pointer(value)

    def _around(self, tracker: Tracker, where: Value, size: int) -> list[tuple[int, int]]:
        """(container, offset in it) of all candidates for an access outside of a type."""
        return candidates(self._graph, where[1], where[4], size, tracker.oracle.containers)

    def _by_argument_type(self, tracker: Tracker, k: int, number: int, size: int) -> ResolvedMember | str | None:
        """The member in opaque bytes, by the type that the pointer is passed as; the reason if it cannot be bytes; None
        if undecided."""
        told = tracker.passed_as(k, number)
        if told and not told[0][0]:
            return "conflicting uses of the pointer"
        members = [(t, place, self._graph.member_at(t, place, size)) for t, place in told]
        found = [ResolvedMember(t, place, member) for t, place, member in members if member is not None]
        return found[0] if len(found) == 1 else None

    def _has_conflicting_uses(
        self, tracker: Tracker, k: int, number: int, where: Value, located: ResolvedMember, size: int
    ) -> bool:
        """Whether other accesses through the same pointer contradict a member.

        Checked for several bytes at once, for containers, and for accesses past the object as in an array: none may
        straddle two elements.
        """
        graph = self._graph
        among = bool(where[2]) or located.how == "array"
        if size <= _HALF and among and graph.is_pointer(located.field.type):
            # Pointers are not accessed in part, so it is no such array element.
            return True
        characters = graph.is_scalar(located.type) and graph.size(located.type) == 1
        if characters and 1 < size < _VECTOR and not declared_as_bytes(tracker, k, number, bool(where[2])):
            return True
        if characters and 1 < size < _VECTOR and is_accessed_in_parts(tracker, k, number, size):
            return True
        no_address = characters or (located.how == "container" and self._is_number(located.type, located.offset, size))
        if no_address and flows_into_pointer_use(tracker, k, number):
            return True
        # Without variables, indexed bytes are storage for unknown objects.
        room = size > 1 and where[2] == 1 and not tracker.has_variables and self._is_opaque_byte(located)
        if room and (stores_pointer(tracker, k) or is_accessed_in_parts(tracker, k, number, size)):
            return True
        if not where[2] and not tracker.has_variables and graph.is_aggregate(located.type):
            others = tracker.others(k, number)
            if any(is_inside_pointer_member(graph, located.type, located.offset + apart) for apart, _each in others):
                return True
        many = size >= _VECTOR and characters
        if where[2] or not (many or located.how in ("array", "container")):
            return False
        if located.how == "array":
            crosses = graph.is_aggregate(located.type) and tracker.crosses_ends(located.type)
            tracker.before(k)
            return crosses or self._is_beside_members(tracker, k, number, located, size)
        others = tracker.others(k, number)
        if many:
            return any(1 < each <= graph.pointer_size for _apart, each in others)
        if self._may_be_next(tracker, where, others or ((0, size),)):
            return True
        return any(
            each <= graph.pointer_size and not is_member(graph, located.type, located.offset + apart, each)
            for apart, each in others
        )

    def _is_beside_members(self, tracker: Tracker, k: int, number: int, located: ResolvedMember, size: int) -> bool:
        """Whether an access past an object would be of a part of a scalar, or of a pointer as floating-point, in the
        next array element."""
        graph, field = self._graph, located.field
        floating = tracker.flow.instructions[k].memory[number].floating
        if not graph.is_aggregate(located.type) or not graph.is_scalar(field.type) or size > graph.pointer_size:
            return False
        return bool(field.offset) or (floating and graph.is_pointer(field.type))

    def _may_be_next(self, tracker: Tracker, where: Value, others: tuple[tuple[int, int], ...]) -> bool:
        """Whether accesses past an object may be of the next array element: all fit, and no variable types them. Not
        for list links."""
        graph = self._graph
        whole = graph.size(where[1])
        if tracker.has_variables or not 0 < whole <= where[4] or graph.is_link(where[1]):
            return False
        row = [(where[4] + apart, size) for apart, size in others]
        return all(at >= 0 and is_member(graph, where[1], at % whole, size) for at, size in row)

    def _is_canary(self, operand: Memory) -> bool:
        return operand.absolute and operand.displacement == 0x28 and operand.segment == ("gs" if self._kernel else "fs")

    def _canary(self, made: Instruction, operand: Memory, where: Value | None, size: int) -> Access:
        """The stack canary: in a kernel a member of a per-CPU variable (asm/processor.h of x86). Addresses of a
        module's own variables differ from the file's."""
        if where is not None and where[0] == PERCPU and self._linked:
            found = self._source.per_cpu_at(where[4])
            located = locate(self._graph, found[0].type, 0, found[1], size) if found is not None else ""
            if not isinstance(located, str):
                return self._typed(made, operand, size, located, "canary")
        return access(made, operand, size, how="canary", reason="stack canary")

    def _is_byte(self, located: ResolvedMember) -> bool:
        """Whether the member is a byte, which may be anything."""
        return self._graph.size(located.field.type) == 1 and self._graph.is_scalar(located.field.type)

    def _is_opaque_byte(self, located: ResolvedMember) -> bool:
        """Whether the member is a byte of an array, which may store anything."""
        return self._is_byte(located) and (self._graph.size(located.type) == 1 or located.field.path.endswith("[]"))

    def _member_in_bytes(self, tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
        """The member of an object stored in bytes, of which several are accessed at once; None if undecided."""
        t = byte_pointer_stored_as(tracker, k, operand)
        located = locate(self._graph, t, 0, operand.displacement, size) if t else ""
        return None if isinstance(located, str) else located

    def _is_inside_pointer(self, located: ResolvedMember, size: int) -> bool:
        """Whether an access is of inner bytes of a pointer, which are never stored alone, except when all
        is cleared."""
        graph, field = self._graph, located.field
        return 0 < field.offset < graph.pointer_size - size + 1 <= graph.pointer_size and graph.is_pointer(field.type)

    def _is_table(self, where: Value) -> bool:
        """Whether the object is a vtable, which is no data of the program."""
        return is_method_table(self._graph, where[1])

    def _by_register(
        self, tracker: Tracker, k: int, made: Instruction, number: int, operand: Memory, size: int
    ) -> Access:
        found = tracker.memory_variable(k, number)
        if found is None or self._is_replaced(tracker, made, operand, found[0]):
            located = member_of_variable(tracker, k, operand, size) or element_of_variable_array(
                tracker, k, operand, size
            )
            t = VOID
            if located is None and tracker.has_variables:
                t = common_pointee_of_base_and_index(tracker, operand, size) or type_of_void_pointer_load(
                    tracker, k, operand, size
                )
            if t:
                return self._typed(made, operand, size, locate(self._graph, t, 0, 0, size), "variable")
            located = located or computed_from_same_base(tracker, k, operand, size)
            if located is None and tracker.has_variables:
                located = same_offset_from_other_pointer(tracker, operand, size) or member_of_later_variable(
                    tracker, k, operand, size
                )
                located = located or member_of_phi_pointee(tracker, k, operand, size)
            described = tracker.has_variables or self._source.describes(tracker.flow.instructions.address)
            return self._typed(made, operand, size, located or (NOTHING_KNOWN if described else _NO_TYPES), "variable")
        place, offset = found
        return self._typed(made, operand, size, locate(self._graph, place.type, 0, offset, size), "variable")

    def _is_replaced(self, tracker: Tracker, made: Instruction, operand: Memory, place: Place) -> bool:
        """Whether a store ends a variable's location at its slot. If the slot was not the variable's home, only a copy
        of its value, the stored value is something else's."""
        at_home = place.register == tracker.program.machine.stack_pointer or not self._graph.is_scalar(place.type)
        if operand.access != "w" or at_home:
            return False
        return place.high == made.next_address

    def _is_declared_there(self, tracker: Tracker, k: int, number: int, where: Value, size: int) -> bool:
        """Whether a variable is located at an operand whose pointee is ambiguous, or is bytes while the variable has
        the access's size."""
        found = tracker.memory_variable(k, number)
        if found is None or self._graph.choices(where[1]):
            return found is not None
        place, offset = found
        graph = self._graph
        return graph.size(where[1]) == 1 < size == graph.size(place.type) and not offset and graph.is_scalar(place.type)

    def _provenance(self, tracker: Tracker, k: int, operand: Memory, where: Value) -> str:
        graph = self._graph
        for t in tracker.oracle.types_in(operand.base, tracker.flow.instructions.address_of(k)):
            target = graph.target(t) if graph.is_pointer(t) else VOID
            if target and graph.canonical(target) == graph.canonical(where[1]):
                return "variable"
        return "tracking"

    def _on_frame(
        self, tracker: Tracker, k: int, made: Instruction, operand: Memory, where: Value, size: int
    ) -> Access:
        found = tracker.stack_variable(k, where[4])
        named = tracker.has_variables
        if named and where[2] and (found is None or self._graph.is_scalar(found[0].type)):
            found = array_after(tracker, k, where) or found or array_ending_at(tracker, k, where)
        if named and where[2] and (found is None or not self._graph.is_array(found[0].type)):
            found = array_at_zero_index(tracker, k, operand, where, size) or found
        if not where[2]:
            found = same_size_variable(tracker, k, operand, where[4], size, found)
        if found is None:
            nameless = member_of_frame_pointee(tracker, k, where[4], size) if not where[2] else None
            if where[2]:
                # An undeclared array that a variable points into.
                nameless = member_of_variable(tracker, k, operand, size)
            if nameless is not None:
                return self._typed(made, operand, size, nameless, "variable")
            return self._spilled(tracker, k, made, operand, size, _OWN)
        place, offset = found
        whole = self._graph.size(place.type)
        if size == _VECTOR and not offset and self._graph.kind(self._graph.strip(place.type)) == Kind.FLOAT:
            # The vector register is stored whole.
            size = whole
        wider = not where[2] and self._graph.is_scalar(place.type) and offset + size > whole
        if wider and (offset or operand.access != "r" or not is_extended(tracker, k, where[4], place)):
            reason = "wider than the variable in this stack slot"
            return self._spilled(tracker, k, made, operand, size, reason)
        if operand.access == "w" and 0 < size < whole and not where[2] and self._graph.is_pointer(place.type):
            # Pointers are not stored in part.
            reason = "narrower than the variable in this stack slot"
            return self._spilled(tracker, k, made, operand, size, reason)
        if self._graph.is_scalar(place.type):
            place, offset = split_aggregate(tracker, made.address, place, offset)
        located: ResolvedMember | str = "unresolved array index"
        if operand.index == NONE or operand.scale < size or not is_of_smaller(self._graph, place.type, size):
            located = locate(self._graph, place.type, where[2], offset, whole if wider else size)
        if isinstance(located, str) and where[2]:
            other = word_of_copied_object(tracker, k, operand, place.type, offset, where[2], size)
            # Or another variable iterates over this one's bytes.
            other = other or member_of_variable(tracker, k, operand, size)
            if not other:
                one = self._frame_select(tracker, k, operand, where, size)
                if isinstance(one, ResolvedMember):
                    other = one
                elif one:
                    return access(made, operand, size, how="", reason=_SEVERAL_MEMBERS, candidates=one)
            located = other or located
        how = "variable" if tracker.has_variables else "frame"
        return self._typed(made, operand, size, located, how)

    def _frame_select(
        self, tracker: Tracker, k: int, operand: Memory, where: Value, size: int
    ) -> "ResolvedMember | tuple[str, ...]":
        """The common member of several variables of one type at a selected address; the names of several members of
        one; () if undecided."""
        graph = self._graph
        found = [tracker.stack_variable(k, at) for at in select_offsets(tracker, k, operand, where)]
        there = [one for one in found if one is not None and begins(graph, one[0].type, one[1], size)]
        if not there or len(there) < len(found) or len({graph.canonical(place.type) for place, _at in there}) > 1:
            return ()
        t, at = there[0][0].type, there[0][1]
        fields = [graph.member_at(t, place, size) for place in dict.fromkeys(place for _variable, place in there)]
        if len(fields) == 1 and fields[0] is not None:
            return ResolvedMember(t, at, fields[0])
        return self._named(t, [one.path for one in fields if one is not None])

    def _named(self, t: int, paths: Iterable[str]) -> tuple[str, ...]:
        """Qualified names of members of a type."""
        name = self._graph.canonical_name(t)
        return tuple(f"{name}.{path}" if path else name for path in dict.fromkeys(paths))

    def _spilled(self, tracker: Tracker, k: int, made: Instruction, operand: Memory, size: int, reason: str) -> Access:
        kept = spilled_type(tracker, k, made, operand, size)
        return access(made, operand, size, how="spill", reason=reason, candidates=(kept,) if kept else ())

    def _global(self, tracker: Tracker, k: int, made: Instruction, operand: Memory, where: Value, size: int) -> Access:
        oracle = tracker.oracle
        if oracle.variable_of(where) is not None:
            located = accessed_member(tracker, k, operand, where, size)
            bytes_only = not isinstance(located, str) and self._is_byte(located)
            if bytes_only and 1 < size < _VECTOR and tracker.has_variables:
                located = self._member_in_bytes(tracker, k, operand, size) or located
            return self._typed(made, operand, size, located, "global")
        address = where[4] & 0xFFFFFFFFFFFFFFFF
        if address in tracker.flow.tables:
            return access(made, operand, size, how="constant", reason="jump table")
        section = self._binary.section_at(address)
        if section.startswith((".got", ".plt")):
            return access(made, operand, size, how="table", reason="global offset table")
        if section and self._binary.is_constant(section):
            return access(made, operand, size, how="constant", reason="unnamed constant")
        return access(made, operand, size, how="", reason="no variable at this address")

    def _chosen(
        self, tracker: Tracker, k: int, made: Instruction, operand: Memory, size: int, where: Value
    ) -> Access | None:
        """The result for one of several members selected by a condition, with all as candidates; None if it is none."""
        graph = self._graph
        if not where[2] or graph.choices(where[1]):
            return None
        paths = select_members(tracker, k, operand, where, size)
        if not paths and not is_before_similar_array(graph, where[1], where[2], where[4]):
            both = members_selected_by_condition(graph, where[1], where[2], where[4], size)
            fields = [graph.member_at(t, offset, size) for t, offset in both]
            paths = tuple(one.path for one in fields if one is not None)
        names = self._named(where[1], paths)
        return access(made, operand, size, how="", reason=_SEVERAL_MEMBERS, candidates=names) if names else None

    def _outside_of_type(
        self, tracker: Tracker, made: Instruction, operand: Memory, size: int, where: Value, reason: str
    ) -> Access:
        graph = self._graph
        found = []
        if not where[2]:
            found = self._around(tracker, where, size)
        names = tuple(dict.fromkeys(f"{graph.canonical_name(t)}+{offset:#x}" for t, offset in found))
        return access(made, operand, size, how="", reason=reason, candidates=names)

    def _typed(self, made: Instruction, operand: Memory, size: int, located: ResolvedMember | str, how: str) -> Access:
        if isinstance(located, str):
            return access(made, operand, size, how="", reason=located)
        graph = self._graph
        t, offset, field = located.type, located.offset, located.field
        # The instruction's mask selects between bit fields.
        bits = tested_bits(made) if field.candidates and field == graph.member_at(t, offset, size) else 0
        field = (graph.bits_at(t, offset, size, bits) if bits else None) or field
        path = field.path
        t = graph.unwrapped(t)
        if t != located.type:
            inner = self._member(t, offset, size, bits)
            path = inner.path if inner is not None else ""
        # Report the element of an array of aggregates.
        for _depth in range(8):
            if not graph.is_array(t):
                break
            element = graph.target(t)
            stride = graph.stride(t)
            if not stride or not (graph.is_aggregate(element) or graph.is_array(element)):
                break
            t, offset = graph.unwrapped(element), offset % stride
            inner = self._member(t, offset, size, bits)
            path = inner.path if inner is not None else ""
        if graph.is_array(t):
            path = ""
        return Access(
            made.address,
            made.text,
            operand.access,
            graph.canonical_name(t),
            offset,
            path,
            size,
            how,
            field.candidates,
            "",
            t,
            graph.size(t),
            graph.layout(t) if graph.is_aggregate(t) else 0,
            operand,
        )

    def _member(self, t: int, offset: int, size: int, bits: int) -> Field | None:
        return (self._graph.bits_at(t, offset, size, bits) if bits else None) or self._graph.member_at(t, offset, size)
