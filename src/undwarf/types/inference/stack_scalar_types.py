# cython: language_level=3, annotation_typing=False
"""Types of unnamed scalars in the frame of unoptimised code: signed, unsigned or floating-point by their uses, pointers
by `pointer_types.py`."""

from collections.abc import Collection

from undwarf.types.evidence.pointees import begins_with
from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.inference.value_node import Decided, Node
from undwarf.types.inference.value_uses import ValueUses
from undwarf.types.layouts.access_pattern_fit import fits
from undwarf.types.layouts.resolved_member import is_exact
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.named_types import floating_number, integer, structures

__all__ = ["StackScalarTypes"]

_PASSES = 8
"""Limit of propagation passes."""
_MEMBERS = 3
"""Accesses of this many members of a first part suggest that the variable points to the part only."""
_SEVERAL = 2
"""Accesses of this many members past a list link suggest that the variable points to the element."""
_NEAR = 256
"""Assumed extent of an object of which only the address is known."""


class StackScalarTypes:
    """The scalars in one function's frame, and elements of arrays there.

    ``spans``: ranges of typed objects; ``flow`` gives the accesses through a value; ``wholes``: larger pointees of
    parameters that start with the declared ones.
    """

    def __init__(
        self,
        webs: ValueGraph,
        decided: Decided,
        spans: list[tuple[int, int]],
        flow: ValueUses,
        wholes: Collection[int],
    ) -> None:
        self._webs = webs
        self._decided = decided
        self._flow = flow
        self._wholes = wholes
        self._graph: TypeGraph = webs.graph
        frame = webs.frame
        known = [*((at, at + 1) for at in frame.objects), *spans]
        begins = sorted(low for low, _high in known)
        self._unknown = [
            (at, min(at + max(frame.sizes.get(at, (_NEAR,))), next((low for low in begins if low > at), 0)))
            for at in frame.given | frame.stored
            if not any(low <= at < high for low, high in known)
        ]
        """Ranges of possible objects of which only the address is known."""

    def types(self) -> dict[Node, int]:
        """{node: type} of scalars in the frame, and of array elements."""
        graph, decided = self._graph, self._decided
        found: dict[Node, int] = {}
        kept = [node for node in self._webs.nodes.values() if node.key[0] in ("slot", "cells")]
        for node in kept:
            leads = node.key[2] == graph.pointer_size and decided.leads.get(node)
            if node.signed_part and not leads and not self._meets_unsigned(node):
                node.sign(1)
        for node in kept:
            t = self._type_by_evidence(node)
            if t:
                found[node] = t
        for _pass in range(_PASSES):
            more: dict[Node, int] = {}
            for node in kept:
                if node in found or node.signs or node.copied or node.followed or node.floats:
                    continue
                if node in decided.conflicting or node in decided.leads:
                    continue
                if self._may_be_filled(node) or self._is_written_in_parts(node):
                    continue
                t = self._type_of_operands(node, found)
                if t:
                    more[node] = t
            if not more:
                break
            found.update(more)
        return {node: t for node, t in found.items() if graph.size(t) == node.key[2] and not self._is_part(node, found)}

    def _is_part(self, node: Node, found: dict[Node, int]) -> bool:
        """Whether a load is of a part of a wider scalar: nothing as narrow is ever stored there."""
        kind, at, size = node.key
        if kind != "slot" or self._webs.frame.written.get(at, 0) <= size:
            return False
        return any(other.key[:2] == (kind, at) and other.key[2] > size and other.declared for other in found)

    def _is_written_in_parts(self, node: Node) -> bool:
        """Whether a slot is written in parts, which excludes one scalar."""
        kind, at, size = node.key
        written = self._webs.frame.written
        parts = kind == "slot" and written.get(at, size) < size
        return parts or (kind == "slot" and any(at + n in written for n in range(1, size)))

    def _type_by_evidence(self, node: Node) -> int:
        graph, decided = self._graph, self._decided
        size = node.key[2]
        if self._is_written_in_parts(node):
            return VOID
        declared = {graph.canonical(t): t for t in node.declared if graph.is_scalar(t) and graph.size(t) == size}
        if declared:
            return next(iter(declared.values())) if len(declared) == 1 else VOID
        if node in decided.conflicting:
            return VOID
        lead = decided.leads.get(node)
        if lead and (node.numeric or 1 in node.signs or node.strayed):
            # Byte arithmetic on it: a byte pointer.
            return VOID
        if lead and (node.followed or node.flows or node.goes):
            lead = self._pointee_by_accesses(node, lead)
            if not lead:
                return VOID
        elif (
            lead
            and graph.is_aggregate(lead)
            and not node.compared
            and any(one is not None and one.key[0] == "slot" for one in node.origins)
        ):
            # An unused copy: the base of byte arithmetic.
            return VOID
        if lead and graph.is_aggregate(lead) and graph.canonical_name(lead).endswith("(anonymous)"):
            # No variable points to an anonymous type, except a union's member, which accesses decide.
            lead = self._variant(node, lead)
            if not lead:
                return VOID
        if lead and (self._goes_over_parts(node, lead) or self._is_any_byte(node, lead)):
            return VOID
        if lead:
            return graph.pointer_to(lead) if size == 8 else VOID
        if node.floats:
            return floating_number(graph, size)
        if node.followed:
            return VOID
        if not node.signs and self._may_be_filled(node):
            return VOID
        copied = {graph.canonical(t): t for t in node.copied if graph.size(t) == size and not graph.is_pointer(t)}
        only = next(iter(copied.values())) if len(copied) == 1 else VOID
        if len(node.signs) == 1:
            signed = 1 in node.signs
            if size == 8 and not signed and not copied and not self._is_number(node):
                # Addresses are compared as unsigned, too.
                return VOID
            if only and self._is_signed(only) in (signed, None):
                # Signed comparisons: only converted when stored to an unsigned enum.
                return integer(graph, size, signed=True) if signed and self._is_without_sign(only) else only
            if only and not signed and not node.unsigned:
                # It may have been zero-extended only.
                return VOID
            told = node.unsigned or node.numeric or node.reckoned or node.beside
            if size == 1 and not signed:
                # May be a bool.
                return VOID
            if size == 4 and not signed and not told:
                # May be an enumerator, which is zero-extended.
                return VOID
            return integer(graph, size, signed=signed)
        if node.signs or copied:
            # Which operand of the sum is unsigned is unknown.
            unsure = bool(node.signs) or (node.unsigned_sum and self._is_signed(only))
            return only if not unsure and not self._goes_otherwise(node, only) else VOID
        summed = {self._is_signed(t) for t in node.summed if graph.size(t) == size}
        if len(summed) != 1 or None in summed or self._meets_unsigned(node):
            return VOID
        return integer(graph, size, signed=True in summed)

    def _goes_over_parts(self, node: Node, lead: int) -> bool:
        """Whether a pointer to an object is advanced within it, or indexed by parts of it: may be a pointer to its
        first part."""
        graph = self._graph
        size = graph.size(lead)
        if not graph.is_aggregate(lead) or not size:
            return False
        counted = not node.touched and any(each % size for each in node.elements)
        return counted or any(step % size for step in node.steps)

    def _is_any_byte(self, node: Node, lead: int) -> bool:
        """Whether a byte pointer comes from void pointer arguments and is not passed on: its signedness is unknown."""
        graph = self._graph
        if not graph.is_scalar(lead) or graph.size(lead) != 1 or node.leads or node.use_confirmed or not node.origins:
            return False
        seen, queue = {node}, [node]
        for one in queue:
            # The list grows during the iteration.
            for origin in one.origins:
                if origin is not None and origin not in seen:
                    seen.add(origin)
                    queue.append(origin)
        given = [one for one in seen if one.key[0] == "entry"]
        return bool(given) and all(one.declared and graph.is_void_pointer(one.declared[0]) for one in given)

    def _is_without_sign(self, t: int) -> bool:
        """Whether a type is an enumeration without negative values."""
        record = self._graph.record(self._graph.strip(t))
        return record.kind == Kind.ENUM and not record.signed

    def _pointee_by_accesses(self, node: Node, lead: int) -> int:
        """The pointee of a variable by all accesses: it may be larger than what is assigned to it (a cast); void if
        undecided."""
        graph = self._graph
        whole = graph.size(lead)
        if node.low < 0 and whole != 1:
            return VOID
        if graph.is_aggregate(lead):
            reached = self._flow.reached(node)
            behind = any(more >= whole and (one.followed or one.elements) for one, more in reached)
            parts = node.goes
            behind = behind or any(at and at + graph.size(t) > whole for at, t in parts)
            begins_more = any(graph.size(t) > whole and graph.object_at(t, 0, lead) for t in structures(graph))
            if node.high <= whole and not (behind and begins_more):
                if not node.touched and any(graph.size(t) > whole for at, t in parts if not at):
                    # No variable is declared only to be cast.
                    return self._only(lead, [t for at, t in parts if not at])
                return VOID if self._may_be_first(node, lead) else self._as_copied(node, lead)
            done = self._flow.done(node)
            if not behind and fits(graph, lead, done, merged=True):
                # It has a flexible array.
                return lead
            wholes = {graph.canonical(t): t for one, more in reached if not more for t in self._taken_for(one, lead)}
            if len(wholes) == 1:
                t = next(iter(wholes.values()))
                if graph.object_at(t, 0, lead) and fits(graph, t, done, merged=True):
                    return t
            larger = {
                graph.canonical(t): t
                for t in self._wholes or structures(graph)
                if graph.size(t) > whole and graph.object_at(t, 0, lead) and fits(graph, t, done, merged=True)
                if all(graph.object_at(t, at, part) for at, part in parts)
            }
            if len(larger) > 1 and self._webs.unoptimised:
                # Unoptimised code reads whole members.
                exact = {
                    canonical: t
                    for canonical, t in larger.items()
                    if all(is_exact(graph, t, *one) for one in done.touched)
                }
                larger = exact or larger
            if not behind and not graph.is_link(lead) and fits(graph, lead, done.wrapped(whole), merged=True):
                # An array, or cast where more is accessed; a variable with accesses past it only was declared as the
                # larger type.
                return lead if not larger or any(at < whole for at, _size in node.touched) else VOID
            several = len(node.copied) > 1 and all(self._leads_to(t, lead) for t in node.copied)
            if several and graph.is_link(lead):
                # A loop over a list assigns each element from its link.
                several = len({at for at, _size in done.touched if at >= whole}) < _SEVERAL
            # With several assignments the cast may be at the uses.
            return next(iter(larger.values())) if len(larger) == 1 and not several else VOID
        told = {graph.canonical(t): t for at, t in node.goes if not at and begins_with(graph, t, lead)}
        if told:
            # The cast is at the assignment or at the use.
            return next(iter(told.values())) if not node.touched and len(told) == 1 else VOID
        if node.high <= max(whole, 1):
            return lead
        return lead if whole and all(size == whole and not at % whole for at, size in node.touched) else VOID

    def _variant(self, node: Node, t: int) -> int:
        """The member of a union that a variable points to, by all accesses; void if undecided."""
        graph = self._graph
        sizes = {(offset, width) for offset, width in node.touched}
        value = graph.value_at(t, *next(iter(sizes))) if len(sizes) == 1 and not node.low else VOID
        if value or graph.kind(graph.strip(t)) != Kind.UNION or not sizes:
            return value
        done = self._flow.done(node)
        fitting = [
            one.type
            for one in graph.members(graph.strip(t))
            if graph.is_aggregate(one.type) and fits(graph, one.type, done, merged=True)
        ]
        only = fitting[0] if len(fitting) == 1 else VOID
        return VOID if only and graph.canonical_name(only).endswith("(anonymous)") else only

    def _only(self, lead: int, goes: list[int]) -> int:
        """The larger type as which a variable is used everywhere; void if the uses differ."""
        graph = self._graph
        told = {graph.canonical(t): t for t in goes}
        t = next(iter(told.values()))
        return t if len(told) == 1 and graph.object_at(t, 0, lead) else VOID

    def _as_copied(self, node: Node, lead: int) -> int:
        """The pointee of an unchanged copy of another unchanged variable: nobody declares two equal variables, so it
        points to the first part, if accesses stay within it; void if undecided."""
        graph = self._graph
        origin = node.origins[0] if len(node.origins) == 1 and node.begun else None
        if origin is None or origin.key[0] != "slot" or len(origin.origins) != 1 or not origin.begun:
            return lead
        if not any(self._leads_to(t, lead) for t in origin.declared):
            return lead
        found = graph.member_at(lead, 0)
        done = self._flow.done(node)
        ends = [offset + size for offset, size in done.touched] + [offset + size for _by, offset, size in done.rows]
        inside = [
            t
            for t, left in (found.containers[1:] if found is not None else ())
            if graph.is_aggregate(t) and not left and graph.size(t) < graph.size(lead)
        ]
        first = next((t for t in inside if graph.size(t) >= max(ends, default=0)), VOID)
        told = {graph.canonical(t): t for t in node.firsts}
        if not first or not (ends or told):
            return lead
        members = {offset for offset, _size in done.touched}
        if (
            not told
            and len(members) >= _MEMBERS
            and max(ends) > graph.size(first) // 2
            and self._is_little(first, lead)
        ):
            return first
        return next(iter(told.values())) if {*told} == {graph.canonical(first)} else VOID

    def _is_little(self, first: int, whole: int) -> bool:
        """Whether a first part is so small that using it alone suggests a pointer to it."""
        graph = self._graph
        return 2 * graph.size(first) <= graph.size(whole) and not self._has_no_name(first)

    def _leads_to(self, t: int, target: int) -> bool:
        """Whether a type is a pointer to another one."""
        graph = self._graph
        return graph.is_pointer(t) and graph.canonical(graph.target(t)) == graph.canonical(target)

    def _taken_for(self, node: Node, t: int) -> list[int]:
        """Larger types, starting with ``t``, as which a value is passed."""
        graph = self._graph
        known = [one[0] for one in node.known] if node.use_confirmed else []
        return [*node.wholes, *(one for one in known if graph.size(one) > graph.size(t) and graph.object_at(one, 0, t))]

    def _may_be_first(self, node: Node, t: int) -> bool:
        """Whether a pointer to an array element may be declared as pointer to its first part."""
        graph = self._graph
        if not node.indexed or node.wholes or not node.touched:
            return False
        if any(one.use_confirmed for one, more in self._flow.reached(node) if not more):
            return False
        found = graph.member_at(t, 0)
        inside = found.containers[1:] if found is not None else ()
        named = [one for one, left in inside if not left and not self._has_no_name(one)]
        return any(graph.is_aggregate(one) and graph.size(one) >= node.high for one in named)

    def _has_no_name(self, t: int) -> bool:
        """Whether an aggregate is anonymous, so that no variable points to it."""
        return self._graph.canonical_name(t).endswith("(anonymous)")

    def _may_be_filled(self, node: Node) -> bool:
        """Whether a slot may be a member of an object of which only the address is known."""
        return node.key[0] == "slot" and any(low <= node.key[1] < high for low, high in self._unknown)

    def _is_number(self, node: Node) -> bool:
        """Whether a value is no address, by its uses or comparisons."""
        if node.numeric:
            return True
        for other in node.compared:
            types = [other] if isinstance(other, int) else [*other.declared, *other.copied]
            if any(t and not self._graph.is_pointer(t) for t in types):
                return True
            if isinstance(other, Node) and other.numeric:
                return True
        return False

    def _type_of_operands(self, node: Node, found: dict[Node, int]) -> int:
        """The type of an integer used in arithmetic with others: mostly the same."""
        graph = self._graph
        size = node.key[2]
        told: set[bool | None] = set()
        for other in node.beside:
            if isinstance(other, Node):
                if other is node:
                    continue
                types = [found[other]] if other in found else other.copied
                types = [t for t in types if graph.size(t) == size]
                told.update(self._is_signed(t) if not graph.is_pointer(t) else None for t in types)
            else:
                told.add(self._is_signed(other))
        if told != {True} or self._meets_unsigned(node):
            return VOID
        return integer(graph, size, signed=True)

    def _goes_otherwise(self, node: Node, t: int) -> bool:
        """Whether an integer is assigned to or from a variable of the other signedness: a conversion somewhere."""
        graph = self._graph
        signed = self._is_signed(t) if t else None
        others = [one for one, more in node.sources if not more and one.key[0] == "slot"] if signed is not None else []
        if any(one.signs == {-1 if signed else 1} for one in others):
            return True
        for to, more in self._flow.further().get(node, ()) if signed is not None else ():
            if more or to.key[0] != "slot" or to.key[2] != node.key[2]:
                continue
            types = {self._is_signed(one) for one in (*to.declared, *to.copied) if graph.size(one) == node.key[2]}
            if types == {not signed}:
                return True
        return False

    def _meets_unsigned(self, node: Node) -> bool:
        """Whether an integer is used in arithmetic or comparisons with an unsigned one of its size."""
        graph = self._graph
        for other in (*node.beside, *node.met):
            types = [*other.declared, *other.copied] if isinstance(other, Node) else [other]
            if any(graph.size(t) == node.key[2] and self._is_signed(t) is False for t in types if t):
                return True
        return False

    def _is_signed(self, t: int) -> bool | None:
        """Whether an integer type is signed; None for others."""
        graph = self._graph
        record = graph.record(graph.strip(t))
        if record.kind not in (Kind.INT, Kind.CHAR):
            return None
        return "unsigned" not in record.name and record.name not in ("_Bool", "bool")
