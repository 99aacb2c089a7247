# cython: language_level=3, annotation_typing=False
"""Matches accesses through a pointer against the program's structures: the only one that fits them, by size or by
layout.

Evidence: the allocated size, element sizes and strides, and offsets, sizes and classes of all accesses. A match counts
if it is unique and the accesses are of different sizes or classes, since equal ones may be an array of scalars.
"""

from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_operands import RAX, RDI
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.pointees import common_whole
from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.inference.value_node import Decided, Node
from undwarf.types.inference.value_uses import ValueUses
from undwarf.types.layouts.access_pattern_fit import PointerAccesses, fits, no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.named_types import floating_number, structures, structures_by_size
from undwarf.types.sources.parameter_registers import is_clone

__all__ = ["StructureMatching", "of_size", "only_one", "several_kinds"]

_SIMILAR = 16
"""Limit of structures with the same members."""
_NEAR = 256
"""Limit of nodes that have one value."""
_TOLD = 2
"""Number of accessed members that identify a cast byte pointer."""
_WORD = 8
"""Largest size of integers and pointers."""


def several_kinds(done: PointerAccesses) -> bool:
    """Whether accesses differ in size or class (integer, floating-point, pointer)."""
    kinds = {(size, (offset, size) in done.floating, offset in done.pointers) for offset, size in done.touched}
    return len(kinds | {(size, False, False) for _step, _offset, size in done.rows}) > 1


def only_one(graph: TypeGraph, done: PointerAccesses, *, merged: bool = True, wide: bool = False) -> int:
    """The only structure, or the common first part of several, that fits all accesses; void if they are of one kind or
    ambiguous.

    ``merged``: several members may be accessed at once; ``wide``: also by more than a word, as only copies do.
    """
    if not several_kinds(done) or (not wide and any(size > _WORD for _offset, size in done.touched)):
        return VOID
    fitting = [t for t in structures(graph) if fits(graph, t, done, merged=merged)]
    if not fitting or len(fitting) > _SIMILAR:
        return VOID
    first = min(fitting, key=graph.size)
    alike = all(graph.canonical(t) == graph.canonical(first) or graph.object_at(t, 0, first) for t in fitting)
    return first if alike else VOID


def of_size(graph: TypeGraph, size: int, done: PointerAccesses) -> int:
    """The only structure of ``size`` bytes that fits all accesses; void if undecided, or if a scalar may have that
    size."""
    if size <= graph.pointer_size or not done.touched:
        return VOID
    fitting = {
        graph.canonical(t): t for t in structures_by_size(graph).get(size, ()) if fits(graph, t, done, merged=True)
    }
    return next(iter(fitting.values())) if len(fitting) == 1 else VOID


class StructureMatching:
    """Matches one function's accesses against the structures of its program."""

    def __init__(self, program: ProgramContext, webs: ValueGraph, flow: ValueUses) -> None:
        self._program = program
        self._graph: TypeGraph = program.graph
        self._webs = webs
        self._flow = flow

    def by_size_of_allocations(self, decided: Decided) -> None:
        """Type allocations by their size, if only one structure of that size fits all accesses.

        Accesses must differ in size or class, unless the type at the allocation's start is known.
        """
        graph = self._graph
        for node in list(self._webs.nodes.values()):
            if node.element:
                for source in self._same(node):
                    source.element = source.element or node.element
        for node in [node for node in self._webs.nodes.values() if node.allocated or node.rowed or node.element]:
            begin = decided.leads.get(node, VOID)
            if node in decided.conflicting or (begin and not graph.size(begin)):
                continue
            if begin and not graph.is_aggregate(begin) and graph.size(begin) > 1:
                continue
            done = self._flow.done(node)
            done.touched.difference_update([one for one in done.touched if one[1] > 8])
            told = self._by_size(node, begin, done) if node.allocated else VOID
            if not told and (not begin or graph.size(begin) == 1):
                told = self._by_rows(node, begin, done)
            if told:
                decided.leads[node] = told

    def _same(self, node: Node) -> set[Node]:
        """All nodes that have a node's value."""
        queue, seen = [node], {node}
        while queue and len(seen) < _NEAR:
            for source, more in queue.pop().sources:
                if not more and source not in seen:
                    seen.add(source)
                    queue.append(source)
        return seen

    def _by_size(self, node: Node, begin: int, done: PointerAccesses) -> int:
        """The type of a single allocated object; void if undecided or known."""
        graph = self._graph
        aggregate = bool(begin) and graph.is_aggregate(begin)
        several = aggregate and not graph.is_link(begin) and self._are_several(node, begin, done)
        if aggregate and (graph.size(begin) == node.allocated or several):
            # That type, or an array of it.
            return VOID
        fitting = {
            graph.canonical(t): t
            for t in structures_by_size(graph).get(node.allocated, ())
            if fits(graph, t, done, merged=True) and self._may_begin(t, begin)
        }
        enough = aggregate or several_kinds(done) or node.single
        return next(iter(fitting.values())) if len(fitting) == 1 and enough else VOID

    def _may_begin(self, t: int, begin: int) -> bool:
        """Whether a type starts with another one; bytes may also be a part of a scalar."""
        graph = self._graph
        if not begin or graph.object_at(t, 0, begin):
            return True
        found = graph.value_at(t, 0, 1) if graph.size(begin) == 1 else VOID
        return bool(found) and graph.is_scalar(found)

    def _by_rows(self, node: Node, begin: int, done: PointerAccesses) -> int:
        """The element type of an allocated array, by its stride."""
        graph = self._graph
        found: dict[int, int] = {}
        indexed = self._flow.in_rows(node)
        for size in {node.element, node.rowed, *indexed}:
            whole = node.element in (0, size) and not node.rowed % max(size, 1) and not node.allocated % max(size, 1)
            if size <= _WORD or not whole or not (node.element or node.rowed or node.allocated > size):
                continue
            rows = indexed.get(size, no_accesses())
            apart = {offset % size for offset, _width in rows.touched}
            rows.add(done)
            rows = rows.wrapped(size)
            rows.touched.difference_update([one for one in rows.touched if one[1] > 8])
            # Unrolled loops over scalars have larger strides, too.
            plain = node.element == size > 8 or (self._webs.unoptimised and len(apart) > 1)
            if not rows.touched or not (plain or several_kinds(rows)):
                continue
            for t in structures_by_size(graph).get(size, ()):
                if fits(graph, t, rows, merged=True) and self._may_begin(t, begin):
                    found[graph.canonical(t)] = t
        return next(iter(found.values())) if len(found) == 1 else VOID

    def may_be(self, t: int, done: PointerAccesses, *, merged: bool = True) -> bool:
        """Whether all accesses fit a type, or an array of a scalar type; ``merged``: several members may be accessed at
        once."""
        graph = self._graph
        if graph.is_aggregate(t):
            return fits(graph, t, done, merged=merged)
        whole = graph.size(t)
        return all(size == whole and not offset % whole for offset, size in done.touched)

    def _are_several(self, node: Node, t: int, done: PointerAccesses) -> bool:
        """Whether an allocation may be an array of a type."""
        whole = self._graph.size(t)
        if node.single or node.allocated % whole:
            return False
        return fits(self._graph, t, done.wrapped(whole), merged=True)

    def by_all_accesses(self, decided: Decided) -> None:
        """Type void pointers (parameters and results) by their accesses, if these differ in size or class and only one
        structure fits."""
        graph = self._graph
        prototype = self._webs.prototype
        anything = {*MACHINE.parameters}
        if prototype is not None and prototype.trusted:
            anything = {
                register for register, t, piece in prototype.arguments if not piece and graph.is_void_pointer(t)
            }
        calls = {k for k, target, _values, _sources in self._webs.calls if self._gives_anything(target)}
        for node in list(self._webs.nodes.values()):
            kind, at, more = node.key
            called = kind == "made" and at in calls and more == RAX
            kept = kind == "made" and bool(node.copied) and all(graph.is_void_pointer(t) for t in node.copied)
            if not (kind == "entry" and at in anything) and not called and not kept:
                continue
            if (
                node in decided.leads
                or node in decided.conflicting
                or not (node.followed or node.flows or node.elements)
            ):
                continue
            done = self._flow.done(node)
            t = only_one(graph, done, wide=node.key[:2] == ("entry", RDI) and self._webs.returns_in_memory())
            if not t and kept and not done.touched:
                t = self._by_strides(node)
            elif t and node.allocated and graph.size(t) != node.allocated:
                t = VOID
            if t:
                decided.leads[node] = t

    def casts_of_bytes(self, decided: Decided) -> None:
        """Type variables that are assigned byte pointers, or unknown values, but not used as such: the only structure
        that fits all accesses and the parameters they are passed to."""
        graph = self._graph
        for node in [one for one in self._webs.nodes.values() if one.key[0] == "slot" and one.followed]:
            if node.declared or node.floats or not all(self._is_byte(t) for each in node.known for t in each):
                continue
            lead = decided.leads.get(node)
            if lead and not self._is_byte(lead):
                continue
            if node in decided.conflicting and not node.known:
                continue
            # Only accesses through the variable itself.
            done = self._flow.done_here(node)
            if len(done.touched) < _TOLD or all(size == 1 for _offset, size in done.touched):
                continue
            t = only_one(graph, done, merged=False)
            if t and self._begins_with_others(t, done):
                continue
            if t and all(graph.object_at(t, 0, one) for each in node.leads.values() for one in each):
                decided.leads[node] = t
                decided.conflicting.discard(node)

    def _begins_with_others(self, t: int, done: PointerAccesses) -> bool:
        """Whether accesses are both in a structure's first part and past it: the pointer may be declared as that part
        and be cast."""
        graph = self._graph
        for member in graph.members(t):
            if not member.offset and graph.is_aggregate(member.type):
                end = graph.size(member.type)
                inside = sum(offset < end for offset, _size in done.touched)
                return 0 < inside < len(done.touched)
        return False

    def _is_byte(self, t: int) -> bool:
        return self._graph.is_scalar(t) and self._graph.size(t) == 1

    def arrays_of_pointers(self, decided: Decided) -> None:
        """Type allocated arrays of pointers by the pointers that are stored with an index."""
        graph = self._graph
        word = graph.pointer_size
        for node in [one for one in self._webs.nodes.values() if one.room]:
            if node in decided.leads or node in decided.conflicting:
                continue
            behind = self._flow.reached(node)
            steps = {size for one, _apart in behind for size in one.elements}
            behind += [
                found for one, _apart in behind for row in one.elements.values() for found in self._flow.reached(row)
            ]
            touched = {(apart + offset, size) for one, apart in behind for offset, size in one.touched}
            put = [types for one, apart in behind for offset, types in one.put if not (apart + offset) % word]
            # Indices may be doubled or halved, as in a heap.
            words = word in (*steps, node.number_size) and not any(step % word for step in steps)
            if steps and words and put and all(size == word and not offset % word for offset, size in touched):
                t = common_whole(graph, put)
                if t and graph.is_aggregate(t):
                    decided.leads[node] = graph.pointer_to(t)

    def arrays_of_numbers(self, decided: Decided) -> None:
        """Type allocated arrays of floating-point values, if all accesses are such arithmetic or plain moves."""
        graph = self._graph
        for node in [one for one in self._webs.nodes.values() if one.room and one.number_size]:
            if node in decided.leads or node in decided.conflicting:
                continue
            size = node.number_size
            queue = [found[0] for found in self._flow.reached(node)]
            seen = {*queue}
            for one in queue:
                # The list grows during the iteration.
                for row in one.elements.values():
                    more = [found[0] for found in self._flow.reached(row) if found[0] not in seen]
                    seen.update(more)
                    queue += more
            done = [self._flow.done_here(one) for one in queue]
            whole = all(not width % size for each in done for _offset, width in each.touched)
            numbers = any(each.pointers or each.put or each.numbers - each.floating for each in done)
            told = {width for one in queue for _offset, width in one.calculated}
            if whole and not numbers and told == {size}:
                t = floating_number(graph, size)
                if t:
                    decided.leads[node] = t

    def _by_strides(self, node: Node) -> int:
        """The element type behind a void pointer, by stride and members."""
        graph = self._graph
        found: dict[int, int] = {}
        for size, rows in self._flow.in_rows(node).items():
            if several_kinds(rows) and all(width <= _WORD for _offset, width in rows.touched):
                fitting = (t for t in structures_by_size(graph).get(size, ()) if fits(graph, t, rows, merged=True))
                found.update((graph.canonical(t), t) for t in fitting)
        return next(iter(found.values())) if len(found) == 1 else VOID

    def _gives_anything(self, target: int) -> bool:
        """Whether a function returns a void pointer."""
        prototype = self._program.callee(target)
        if prototype is not None and not prototype.returns and not prototype.parameters:
            # Clones have no prototype.
            return is_clone(prototype.name) and self._program.source.function_range(target) is not None
        returns = prototype.returns if prototype is not None else VOID
        return self._graph.is_void_pointer(returns)
