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
"""Value of ``told``: the tracked value is that of a variable in its scope, the other one is out of its scope."""


class Reconciler:
    """The decision for one function. ``variable_of`` returns the global variable at an address. ``unfollowed``: all
    variables have one register in all of their scope (unoptimized code), and are not tracked.
    """

    def __init__(
        self,
        graph: TypeGraph,
        kin: ClassHierarchy,
        embedders: Containers,
        variable_of: Callable[[Value], tuple[int, int] | None],
        *,
        unfollowed: bool,
    ) -> None:
        self._graph = graph
        self._kin = kin
        self._embedders = embedders
        self._variable_of = variable_of
        self._unfollowed = unfollowed
        self._own = False
        """Whether the result depends on the function's types."""

    def of(self, known: Value, said: Value, told: int) -> tuple[Value, bool]:
        """(the value of a register, whether that depends on the function), from the tracked and the declared value.

        ``told``: 1 if the tracked value is what another variable declares here, 2 if that one is in its scope and this
        one is not.
        """
        self._own = False
        value = self._decided(known, said, told)
        return value, self._own

    def _decided(self, known: Value, said: Value, told: int) -> Value:
        base = known[0]
        if base == FRAME or known == NULL:
            return known
        if base == ADDRESS:
            found = self._variable_of(known)
            if found is None:
                return said
            # Of several arrays with one stride the variable selects. Byte arrays may hold any object.
            of_array = known[2] and holds_array(self._graph, found[0], known[2], found[1] - said[4], said[1])
            placed = self._graph.is_aggregate(said[1]) and self._of_bytes(found[0])
            return said if of_array or placed else known
        if base == NUMBER and known[2] != 1 and known[3] >= 0:
            # An index: optimizers leave locations on values that replace the variable.
            return known
        if base != OBJECT:
            return said
        graph = self._graph
        if graph.choices(known[1]):
            return self._before_bytes(known, said) or self._chosen(known, said) or said
        header = self._before_bytes(known, said)
        if header is not None:
            return header
        if self._unfollowed:
            return known
        if graph.same(known[1], said[1]):
            whole = graph.size(known[1])
            if said[4] == known[4]:
                return said if known[2] and whole and known[2] % whole else known
            if whole and not (known[4] - said[4]) % whole and (0 <= known[4] < whole or not known[2] % whole):
                # Another element of the same array.
                return known
            further = whole and not told and graph.is_aggregate(known[1]) and not 0 <= known[4] < whole
            if further and not known[2] % whole:
                # A member of another element: a derived value.
                return known
            return said
        whole = graph.size(known[1])
        if not known[2] and known[4] == said[4]:
            # The declared type selects the union member.
            if told != _IN_SCOPE and self._is_choice(known[1], said[1]):
                return said
            if told and self._is_choice(said[1], known[1]):
                return known
        if not known[2] and known[4] >= said[4] and graph.object_at(known[1], known[4] - said[4], said[1]):
            return known
        place = known[4] - said[4]
        # Steps of whole elements, or an iterator past the first one.
        outside = not 0 <= place < whole or not 0 <= known[4] < whole
        in_array = whole > 0 and not known[2] % whole and (known[2] or outside)
        if in_array and not known[2] and self._embedders.whole and self._numbers_behind(known[1], place, said[1]):
            return said
        if in_array and graph.object_at(known[1], (known[4] - said[4]) % whole, said[1]):
            # An array element, and a part of it.
            return known
        if not said[4] - known[4] < 0 and graph.object_at(said[1], said[4] - known[4], known[1]):
            return said
        if known[2] and self._inside_array(known, place, said[1]):
            return known
        if known[2] and not said[4] and self._biased(known, said[1]):
            return known
        if not known[2] and self._further(known, said):
            return known
        apart = known[4] - said[4]
        inside = not known[2] and 0 <= known[4] < whole and 0 < apart < whole and graph.is_aggregate(known[1])
        if inside and (graph.is_scalar(said[1]) or (told and not self._is_room(known[1], apart))):
            # Reinterpreted as another type.
            return known
        if graph.is_aggregate(known[1]) and self._of_bytes(said[1]):
            # Generic swaps access objects by bytes.
            return known
        if known[4] == said[4] and not known[2] and self._is_in_room(known[1], said[1]):
            return known
        beside = not known[2] and 0 <= known[4] < whole and graph.is_aggregate(known[1]) and graph.is_scalar(said[1])
        if beside and not 0 <= said[4] < graph.size(said[1]):
            # A scalar of the containing object.
            return known
        if not known[2] and 0 <= known[4] < whole <= known[4] - said[4] and graph.is_aggregate(known[1]):
            # Past the object, relative to it.
            return known
        if said[4]:
            return said
        if known[4] < 0 and not known[2] and graph.is_aggregate(known[1]) and graph.size(said[1]) == 1:
            # Bytes with a known header.
            return known
        if told == _IN_SCOPE and not known[4] and not self._is_all_room(known[1]):
            return known
        if known[4] or known[2] or not graph.size(known[1]) > graph.size(said[1]):
            return said
        # Unrelated types: a cast. Of two variables take the larger, else the later one.
        return known if told or not graph.is_aggregate(said[1]) else said

    def _is_choice(self, t: int, member: int) -> bool:
        """Whether an aggregate is a member of a union."""
        graph = self._graph
        union = graph.kind(graph.strip(t)) == _UNION
        return union and graph.is_aggregate(member) and graph.object_at(t, 0, member) and not graph.same(t, member)

    def _numbers_behind(self, t: int, offset: int, said: int) -> bool:
        """Whether a pointer declared to point to scalars points past one or several objects: trailing scalars, not the
        next object's first member.
        """
        whole = self._graph.size(t)
        return offset >= whole > 0 and not offset % whole and self._graph.is_scalar(said)

    def _before_bytes(self, known: Value, said: Value) -> Value | None:
        """The object, or the only alternative, after which a variable declares bytes (text after a
        header); else None.
        """
        graph = self._graph
        bytes_behind = graph.is_scalar(said[1]) and graph.size(said[1]) == 1 and not said[2] and said[4] < 0
        if not bytes_behind or known[2] or known[4]:
            return None
        found = [t for t in graph.choices(known[1]) or (known[1],) if graph.size(t) == -said[4]]
        return (OBJECT, found[0], 0, 0, 0) if len(found) == 1 else None

    def _chosen(self, known: Value, said: Value) -> Value | None:
        """The alternatives that have the declared pointer at this offset; None if there are none."""
        graph = self._graph
        at = known[4] - said[4]
        if not graph.is_pointer(said[1]) or known[2] or said[2] or at:
            return None
        canonical = graph.canonical(said[1])
        having = [
            t
            for t in graph.choices(known[1])
            if at < graph.size(t) and graph.canonical(graph.value_at(t, at, graph.pointer_size)) == canonical
        ]
        one = graph.one_of(having)
        return (OBJECT, one, 0, 0, known[4]) if one else None

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
        std::function.
        """
        graph = self._graph
        fits = graph.is_aggregate(t) and 0 < graph.size(t) <= graph.size(room)
        return fits and self._is_all_room(room) and not self._is_all_room(t)

    def _is_room(self, t: int, offset: int) -> bool:
        """Whether an aggregate has bytes, which may store anything, at an offset."""
        found = self._graph.member_at(t, offset, 0)
        return found is None or (self._graph.size(found.type) == 1 and self._graph.is_scalar(found.type))

    def _further(self, known: Value, said: Value) -> bool:
        """Whether the declared object ends where the known object (or an array in it) does, or is in a class derived
        from it.
        """
        graph = self._graph
        apart, whole, size = known[4] - said[4], graph.size(known[1]), graph.size(said[1])
        ends = apart == whole or (said[4] and apart < whole)
        if ends and 0 < size <= apart and graph.object_at(known[1], apart - size, said[1]):
            # The end of an array.
            return True
        if not whole or apart < whole:
            return False
        self._own = True
        return self._kin.is_part(known[1], apart, said[1])

    def _biased(self, known: Value, element: int) -> bool:
        """Whether a pointer iterates over an array of this type at offsets that are never an element's start: the
        array's offset is in the accesses' displacements.
        """
        graph, whole = self._graph, self._graph.size(element)
        if not whole or known[2] % whole or not graph.is_aggregate(known[1]) or not graph.is_aggregate(element):
            return False
        if holds_array(graph, known[1], known[2], known[4], element):
            return False
        return any(holds_array(graph, known[1], known[2], at, element) for at in range(8, min(whole, 65), 8))

    def _inside_array(self, known: Value, offset: int, element: int) -> bool:
        """Whether a pointer that iterates over an inner array always points to an element of this type."""
        located = locate(self._graph, known[1], known[2], offset, 0, None)
        if isinstance(located, str):
            return False
        return any(not left and self._graph.same(container, element) for container, left in located.field.containers)
