# cython: language_level=3, annotation_typing=False
"""Decides the pointees of a function's values from sources, uses and accesses; contradictions leave them unknown.

Types propagate through the value graph in both directions until nothing changes, at most ``_PASSES`` times.
"""

from heapq import heappop, heappush

import cython
from cython.cimports.undwarf.types.inference.value_node import Node

from undwarf.disasm.x86_operands import RDI
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.pointees import begins_with, common_whole, merged
from undwarf.types.inference.structure_matching import StructureMatching
from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.inference.value_node import Decided, added
from undwarf.types.inference.value_uses import ValueUses
from undwarf.types.layouts.access_pattern_fit import is_row
from undwarf.types.layouts.resolved_member import is_member
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["PointerTypes"]

_PASSES = 8
"""Limit of propagation passes."""


class PointerTypes:
    """Decides the pointees of one function's nodes."""

    def __init__(self, program: ProgramContext, webs: ValueGraph, flow: ValueUses) -> None:
        self._graph: TypeGraph = program.graph
        self._webs = webs
        self._flow = flow
        self._matching = StructureMatching(program, webs, flow)

    def decided(self) -> Decided:
        """The pointees of all nodes."""
        webs, decided = self._webs, Decided()
        for offset, (stride, node) in webs.cells.items():
            first = webs.nodes.get(("slot", offset, stride))
            if first is not None and (first, 0) not in node.sources:
                # The first element may be accessed without an index.
                node.sources = added(node.sources, (first, 0))
                first.sources = added(first.sources, (node, 0))
            after = webs.filled(offset, stride)
            if first is not None and after and (after[0], 0) not in node.sources:
                # All elements have one type.
                known = [each for one in (node, first, *after) for each in one.known]
                for one in (node, first, *after):
                    one.known = known
                node.sources = added(node.sources, *((one, 0) for one in after))
                for one in after:
                    one.sources = added(one.sources, (node, 0))
        self._returned_in_memory()
        self._propagate(decided)
        self._matching.by_size_of_allocations(decided)
        self._matching.by_all_accesses(decided)
        self._matching.casts_of_bytes(decided)
        self._matching.arrays_of_pointers(decided)
        self._matching.arrays_of_numbers(decided)
        for node, several in webs.unions:
            # Other flows may only pass null.
            decided.leads.pop(node, None)
            done = self._flow.done(node)
            choices = self._graph.choices(several) if done.touched else ()
            fitting = [t for t in choices if self._matching.may_be(t, done)]
            if len(fitting) > 1:
                # Prefer types without accesses that cover several members.
                fitting = [t for t in fitting if self._matching.may_be(t, done, merged=False)]
            if len(fitting) == 1:
                decided.leads[node] = fitting[0]
        return decided

    def _returned_in_memory(self) -> None:
        """Type the hidden result argument of a function without a prototype by the whole object it copies there (System
        V ABI for x86-64, 3.2.3)."""
        webs = self._webs
        if not webs.returns_in_memory():
            return
        graph = self._graph
        entry = webs.node("entry", RDI, 0)
        for (node, source, apart), parts in webs.moved.items():
            end = 0
            for offset, size in sorted(parts):
                end = max(end, offset + size) if 0 <= offset <= end else end
            located = (
                self._webs.tracker.oracle.locate((*source, apart), 1) if end and webs.entry_of(node) == RDI else ""
            )
            inside = located.field.containers if not isinstance(located, str) else ()
            for t, left in inside:
                if not left and graph.is_aggregate(t) and graph.size(t) == end:
                    entry.add_pointee(0, t)
                    break

    @cython.locals(node=Node, source=Node, one=Node, n=cython.Py_ssize_t, at=cython.Py_ssize_t)
    def _propagate(self, decided: Decided) -> None:
        """Propagate pointees between nodes until nothing changes."""
        nodes = list(self._webs.nodes.values())
        into: dict[Node, list[Node]] = {}
        for node in nodes:
            for source, more in node.sources:
                if not more:
                    into.setdefault(source, []).append(node)
        places = {node: n for n, node in enumerate(nodes)}
        flowed: dict[Node, list[int]] = {}
        # Other nodes have no evidence until a neighbour has.
        later = {n for n, node in enumerate(nodes) if node.leads or node.known or node.apart}
        for _pass in range(_PASSES):
            if not later:
                break
            waiting = sorted(later)
            queued, later = later, set()
            while waiting:
                n = heappop(waiting)
                node = nodes[n]
                if node in decided.conflicting:
                    continue
                before = decided.leads.get(node)
                told = self._pointee_of(node, flowed.get(node, []), decided)
                changed: list[Node] = []
                if told is None:
                    decided.conflicting.add(node)
                    if decided.leads.pop(node, VOID):
                        changed += into.get(node, ())
                elif told:
                    if before != told:
                        decided.leads[node] = told
                        changed += into.get(node, ())
                    for source, more in node.sources:
                        if not more and told not in flowed.setdefault(source, []):
                            flowed[source].append(told)
                            changed.append(source)
                for one in changed:
                    # Later nodes are visited in this pass.
                    at = places[one]
                    if at <= n:
                        later.add(at)
                    elif at not in queued:
                        queued.add(at)
                        heappush(waiting, at)

    def _is_more(self, node: Node, decided: Decided) -> bool:
        """Whether a pointer passed as text has accesses to other members as well."""
        known = decided.more.get(node)
        if known is None:
            done = self._flow.done(node)
            known = bool(done.pointers or done.floating or any(size > 1 for _offset, size in done.numbers))
            decided.more[node] = known
        return known

    @cython.locals(node=Node, source=Node)
    def _pointee_of(self, node: Node, flowed: list[int], decided: Decided) -> int | None:
        """The pointee of a node; void if unknown, None if the evidence contradicts itself."""
        # If the objects at an address are known, uses of values it is joined with must agree.
        begun = {self._graph.canonical(t) for each in node.known for t in each}
        used = [*node.leads.get(0, ()), *(t for t in flowed if not begun or self._graph.canonical(t) in begun)]
        if not used and node.key[0] == "slot":
            # Any offset into text is text.
            used += [t for more, each in node.leads.items() if more for t in each if self._graph.size(t) == 1]
        if any(self._graph.size(t) == 1 for t in used) and self._is_more(node, decided):
            used = [t for t in used if self._graph.size(t) != 1]
        known = [self._stepped(node, each) for each in node.known]
        whole = node.begun
        use_confirmed = node.use_confirmed
        for source, more in node.sources:
            use_confirmed = use_confirmed or (source.use_confirmed and not more)
            t = decided.leads.get(source)
            if t is not None and not more:
                known.append((t,))
            elif source is not node:
                whole = False
        if node.floats:
            return VOID
        stored = common_whole(self._graph, known) if known else VOID
        if known and not stored:
            return None
        if node.apart and not known:
            stored = self._whole_of(node)
        leads = merged(self._graph, used) if used else VOID
        if used and not leads:
            return None
        graph = self._graph
        if leads and graph.is_scalar(leads) and graph.size(leads) > 1 and not self._in_rows(node, leads):
            # The first member of an aggregate.
            leads = VOID
        if stored and leads and known:
            if all(any(graph.canonical(leads) == graph.canonical(t) for t in each) for each in known):
                return leads
            if graph.object_at(stored, 0, leads):
                return stored
            if graph.is_scalar(stored) and begins_with(graph, leads, stored):
                return leads
            # A list ends at its head, which other types may start with.
            head = not node.passed and not flowed and graph.object_at(leads, 0, stored)
            return stored if head else None
        if stored and (whole or node.key[0] in ("slot", "cells")):
            if node.freed and graph.is_link(stored):
                # List links are not allocated alone: the object starts with one.
                return VOID
            stored = self._row_of(node, stored)
            is_text = node.followed or use_confirmed or (node.reckoned and not node.numeric)
            if graph.size(stored) == 1 and self._goes_as_more(node):
                return VOID
            if graph.size(stored) == 1 and not is_text and not self._goes_as_text(node):
                # May be an opaque pointer, which is never advanced.
                return VOID
            return stored
        return leads

    def _row_of(self, node: Node, t: int) -> int:
        """The array type that a value is passed as, if it is an array of its type; else the type."""
        graph = self._graph
        of_type = [row for row in node.wholes if graph.is_array(row) and graph.same(graph.target(row), t)]
        rows = {graph.canonical(row): row for row in of_type}
        return next(iter(rows.values())) if len(rows) == 1 else t

    def _goes_as_text(self, node: Node) -> bool:
        """Whether a variable flows into another one whose use confirms its pointee."""
        return any(to.use_confirmed and not more for to, more in self._flow.further().get(node, ()))

    def _goes_as_more(self, node: Node) -> bool:
        """Whether a byte pointer that is never advanced flows into a pointer with wider accesses."""
        counted = node.reckoned or node.steps or node.elements or node.indexed or not self._webs.unoptimised
        into = self._flow.further().get(node, ()) if not counted else ()
        return any(size > 1 for to, more in into if not more for _offset, size in self._flow.done(to).touched)

    def _in_rows(self, node: Node, t: int) -> bool:
        """Whether all accesses through a value are of array elements of a scalar type."""
        whole = self._graph.size(t)
        touched = self._flow.done(node).touched
        return all(not size % whole and not offset % whole for offset, size in touched)

    def _stepped(self, node: Node, known: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the types that fit the strides and indexed accesses, if any."""
        if not (node.elements or node.steps) or len(known) < 2:
            return known
        sizes = [(t, max(self._graph.size(t), 1)) for t in known] if node.steps else []
        exact = tuple(t for t, size in sizes if all(not step % size for step in node.steps))
        if exact:
            # To the next element.
            known = exact
        rows = {(step, at, size) for step, row in node.elements.items() for at, size in row.touched}
        return tuple(t for t in known if all(is_row(self._graph, t, *one) for one in rows)) or known

    def _whole_of(self, node: Node) -> int:
        """The container of members whose offset is subtracted from pointers to them (container_of); void
        if ambiguous."""
        told = {(self._graph.canonical(t), offset) for t, offset in node.apart}
        if len(told) > 1 or not node.touched:
            return VOID
        t, offset = node.apart[0]
        containers = self._webs.tracker.oracle.containers
        if not containers.complete:
            return VOID
        # A member's address less its offset is the container's start.
        found = {
            self._graph.canonical(whole): whole
            for whole, begin in containers.around(t)
            if begin == -offset and all(is_member(self._graph, whole, at, size) for at, size in node.touched)
        }
        return next(iter(found.values())) if len(found) == 1 else VOID
