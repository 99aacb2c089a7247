# cython: language_level=3, annotation_typing=False
"""Decides between the tracked value of a register and the declared type of a variable that DWARF places in it.

Either may be wrong or less precise: data flow loses types at joins and calls, and optimizers leave a variable's
location on a register that already holds a value derived from it. The decision compares both types and offsets:
containment, array elements, union members, storage of plain bytes.
"""

from collections.abc import Callable

from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NULL, NUMBER, OBJECT, Value
from undwarf.types.layouts.array_offsets import holds_array
from undwarf.types.layouts.class_hierarchy import ClassHierarchy
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.type_graph import Kind, TypeGraph

__all__ = ["Reconciler"]

_UNION = Kind.UNION

_IN_SCOPE = 2
"""Value of ``scope``: the tracked value is that of a variable in its scope, the other one is out of its scope."""


class Reconciler:
    """The decision for one function. ``variable_of`` returns the global variable at an address. ``unfollowed``: all
    variables have one register in all of their scope (unoptimized code), and are not tracked."""

    def __init__(
        self,
        graph: TypeGraph,
        kin: ClassHierarchy,
        containers: Containers,
        variable_of: Callable[[Value], tuple[int, int] | None],
        *,
        unfollowed: bool,
    ) -> None:
        self._graph = graph
        self._kin = kin
        self._embedders = containers
        self._variable_of = variable_of
        self._unfollowed = unfollowed
        self._own = False
        """Whether the result depends on the function's types."""

    def reconcile(self, tracked: Value, declared: Value, scope: int) -> tuple[Value, bool]:
        """(the value of a register, whether that depends on the function), from the tracked and the declared value.

        ``scope``: 1 if the tracked value is what another variable declares here, 2 if that one is in its scope and this
        one is not.
        """
        self._own = False
        value = self._decided(tracked, declared, scope)
        return value, self._own

    def _decided(self, tracked: Value, declared: Value, scope: int) -> Value:
        base = tracked[0]
        if base == FRAME or tracked == NULL:
            return tracked
        if base == ADDRESS:
            found = self._variable_of(tracked)
            if found is None:
                return declared
            # Of several arrays with one stride the variable selects. Byte arrays may hold any object.
            of_array = tracked[2] and holds_array(
                self._graph, found[0], tracked[2], found[1] - declared[4], declared[1]
            )
            placed = self._graph.is_aggregate(declared[1]) and self._of_bytes(found[0])
            return declared if of_array or placed else tracked
        if base == NUMBER and tracked[2] != 1 and tracked[3] >= 0:
            # An index: optimizers leave locations on values that replace the variable.
            return tracked
        if base != OBJECT:
            return declared
        graph = self._graph
        if graph.choices(tracked[1]):
            return self._before_bytes(tracked, declared) or self._chosen(tracked, declared) or declared
        header = self._before_bytes(tracked, declared)
        if header is not None:
            return header
        if self._unfollowed:
            return tracked
        if graph.same(tracked[1], declared[1]):
            whole = graph.size(tracked[1])
            if declared[4] == tracked[4]:
                return declared if tracked[2] and whole and tracked[2] % whole else tracked
            if whole and not (tracked[4] - declared[4]) % whole and (0 <= tracked[4] < whole or not tracked[2] % whole):
                # Another element of the same array.
                return tracked
            further = whole and not scope and graph.is_aggregate(tracked[1]) and not 0 <= tracked[4] < whole
            if further and not tracked[2] % whole:
                # A member of another element: a derived value.
                return tracked
            return declared
        whole = graph.size(tracked[1])
        if not tracked[2] and tracked[4] == declared[4]:
            # The declared type selects the union member.
            if scope != _IN_SCOPE and self._is_choice(tracked[1], declared[1]):
                return declared
            if scope and self._is_choice(declared[1], tracked[1]):
                return tracked
        if (
            not tracked[2]
            and tracked[4] >= declared[4]
            and graph.object_at(tracked[1], tracked[4] - declared[4], declared[1])
        ):
            return tracked
        place = tracked[4] - declared[4]
        # Steps of whole elements, or an iterator past the first one.
        outside = not 0 <= place < whole or not 0 <= tracked[4] < whole
        in_array = whole > 0 and not tracked[2] % whole and (tracked[2] or outside)
        if (
            in_array
            and not tracked[2]
            and self._embedders.whole
            and self._numbers_behind(tracked[1], place, declared[1])
        ):
            return declared
        if in_array and graph.object_at(tracked[1], (tracked[4] - declared[4]) % whole, declared[1]):
            # An array element, and a part of it.
            return tracked
        if not declared[4] - tracked[4] < 0 and graph.object_at(declared[1], declared[4] - tracked[4], tracked[1]):
            return declared
        if tracked[2] and self._inside_array(tracked, place, declared[1]):
            return tracked
        if tracked[2] and not declared[4] and self._biased(tracked, declared[1]):
            return tracked
        if not tracked[2] and self._further(tracked, declared):
            return tracked
        apart = tracked[4] - declared[4]
        inside = not tracked[2] and 0 <= tracked[4] < whole and 0 < apart < whole and graph.is_aggregate(tracked[1])
        if inside and (graph.is_scalar(declared[1]) or (scope and not self._is_room(tracked[1], apart))):
            # Reinterpreted as another type.
            return tracked
        if graph.is_aggregate(tracked[1]) and self._of_bytes(declared[1]):
            # Generic swaps access objects by bytes.
            return tracked
        if tracked[4] == declared[4] and not tracked[2] and self._is_in_room(tracked[1], declared[1]):
            return tracked
        beside = (
            not tracked[2]
            and 0 <= tracked[4] < whole
            and graph.is_aggregate(tracked[1])
            and graph.is_scalar(declared[1])
        )
        if beside and not 0 <= declared[4] < graph.size(declared[1]):
            # A scalar of the containing object.
            return tracked
        if not tracked[2] and 0 <= tracked[4] < whole <= tracked[4] - declared[4] and graph.is_aggregate(tracked[1]):
            # Past the object, relative to it.
            return tracked
        if declared[4]:
            return declared
        if tracked[4] < 0 and not tracked[2] and graph.is_aggregate(tracked[1]) and graph.size(declared[1]) == 1:
            # Bytes with a known header.
            return tracked
        if scope == _IN_SCOPE and not tracked[4] and not self._is_all_room(tracked[1]):
            return tracked
        if tracked[4] or tracked[2] or not graph.size(tracked[1]) > graph.size(declared[1]):
            return declared
        # Unrelated types: a cast. Of two variables take the larger, else the later one.
        return tracked if scope or not graph.is_aggregate(declared[1]) else declared

    def _is_choice(self, t: int, member: int) -> bool:
        """Whether an aggregate is a member of a union."""
        graph = self._graph
        union = graph.kind(graph.strip(t)) == _UNION
        return union and graph.is_aggregate(member) and graph.object_at(t, 0, member) and not graph.same(t, member)

    def _numbers_behind(self, t: int, offset: int, declared: int) -> bool:
        """Whether a pointer declared to point to scalars points past one or several objects: trailing scalars, not the
        next object's first member."""
        whole = self._graph.size(t)
        return offset >= whole > 0 and not offset % whole and self._graph.is_scalar(declared)

    def _before_bytes(self, tracked: Value, declared: Value) -> Value | None:
        """The object, or the only alternative, after which a variable declares bytes (text after a
        header); else None."""
        graph = self._graph
        bytes_behind = (
            graph.is_scalar(declared[1]) and graph.size(declared[1]) == 1 and not declared[2] and declared[4] < 0
        )
        if not bytes_behind or tracked[2] or tracked[4]:
            return None
        found = [t for t in graph.choices(tracked[1]) or (tracked[1],) if graph.size(t) == -declared[4]]
        return (OBJECT, found[0], 0, 0, 0) if len(found) == 1 else None

    def _chosen(self, tracked: Value, declared: Value) -> Value | None:
        """The alternatives that have the declared pointer at this offset; None if there are none."""
        graph = self._graph
        at = tracked[4] - declared[4]
        if not graph.is_pointer(declared[1]) or tracked[2] or declared[2] or at:
            return None
        canonical = graph.canonical(declared[1])
        having = [
            t
            for t in graph.choices(tracked[1])
            if at < graph.size(t) and graph.canonical(graph.value_at(t, at, graph.pointer_size)) == canonical
        ]
        one = graph.one_of(having)
        return (OBJECT, one, 0, 0, tracked[4]) if one else None

    def _of_bytes(self, t: int) -> bool:
        """Whether a type is a byte array."""
        t = self._graph.unwrapped(t)
        return self._graph.is_array(t) and self._graph.stride(t) == 1

    def _is_all_room(self, t: int) -> bool:
        """Whether an aggregate is, or may be, plain bytes only."""
        whole = self._graph.size(t)
        return self._graph.is_aggregate(t) and any(
            by == 1 and total == whole for _at, by, total in self._graph.arrays(t)
        )

    def _is_in_room(self, t: int, room: int) -> bool:
        """Whether an aggregate fits into another one that may be plain bytes only, such as the storage of
        std::function."""
        graph = self._graph
        fits = graph.is_aggregate(t) and 0 < graph.size(t) <= graph.size(room)
        return fits and self._is_all_room(room) and not self._is_all_room(t)

    def _is_room(self, t: int, offset: int) -> bool:
        """Whether an aggregate has bytes, which may store anything, at an offset."""
        found = self._graph.member_at(t, offset, 0)
        return found is None or (self._graph.size(found.type) == 1 and self._graph.is_scalar(found.type))

    def _further(self, tracked: Value, declared: Value) -> bool:
        """Whether the declared object ends where the known object (or an array in it) does, or is in a class derived
        from it."""
        graph = self._graph
        apart, whole, size = tracked[4] - declared[4], graph.size(tracked[1]), graph.size(declared[1])
        ends = apart == whole or (declared[4] and apart < whole)
        if ends and 0 < size <= apart and graph.object_at(tracked[1], apart - size, declared[1]):
            # The end of an array.
            return True
        if not whole or apart < whole:
            return False
        self._own = True
        return self._kin.is_part(tracked[1], apart, declared[1])

    def _biased(self, tracked: Value, element: int) -> bool:
        """Whether a pointer iterates over an array of this type at offsets that are never an element's start: the
        array's offset is in the accesses' displacements."""
        graph, whole = self._graph, self._graph.size(element)
        if not whole or tracked[2] % whole or not graph.is_aggregate(tracked[1]) or not graph.is_aggregate(element):
            return False
        if holds_array(graph, tracked[1], tracked[2], tracked[4], element):
            return False
        return any(holds_array(graph, tracked[1], tracked[2], at, element) for at in range(8, min(whole, 65), 8))

    def _inside_array(self, tracked: Value, offset: int, element: int) -> bool:
        """Whether a pointer that iterates over an inner array always points to an element of this type."""
        located = locate(self._graph, tracked[1], tracked[2], offset, 0, None)
        if isinstance(located, str):
            return False
        return any(not left and self._graph.same(container, element) for container, left in located.field.containers)
