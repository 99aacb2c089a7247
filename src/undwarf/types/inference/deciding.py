# cython: language_level=3, annotation_typing=False
"""What the variables of a function are, where nothing names them: decided from what its values are used as.

Without DWARF the data flow knows parameters, globals, members and what callees return. A pointer that comes from
elsewhere - from an allocator, from a function without a prototype - is known where it goes: to a parameter, a member, a
caller. Objects in the frame (`frame_objects.py`) and numbers (`variables.py`) are told by how they are used. What is so
found goes back into the data flow, which then knows more, until nothing new is found. Values of which two things
are told stay unknown.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_operands import RAX, RDI
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Facts, Tracker
from undwarf.types.dataflow.values import FRAME, OBJECT, Value
from undwarf.types.inference.frame_objects import FrameObjects
from undwarf.types.inference.frame_uses import Claim
from undwarf.types.inference.nodes import Decided, Node, added
from undwarf.types.inference.webs import Webs
from undwarf.types.layouts.fitting import Done, fits, is_row, nothing_done
from undwarf.types.layouts.located import is_member
from undwarf.types.layouts.model import VOID, TypeGraph
from undwarf.types.sources.calling import is_clone
from undwarf.types.sources.places import GlobalVariable, Prototype
from undwarf.types.sources.program_types import structures, structures_by_size
from undwarf.types.uses.pointed import common_whole, merged

__all__ = ["Inference", "only_one"]

_ROUNDS = 8
"""Times a function is followed with what the last time told."""
_PASSES = 8
"""Steps by which what is told of a node goes on to others."""
_SIMILAR = 16
"""Structures with the same members that are looked at."""
_NEAR = 256
"""How far an object may reach of which only the address is known."""
_WORD = 8
"""Bytes that numbers and pointers take at most."""


def _several_kinds(done: Done) -> bool:
    """Whether numbers of several sizes are accessed, with and without a point, or numbers and pointers."""
    kinds = {(size, (offset, size) in done.floating, offset in done.pointers) for offset, size in done.touched}
    return len(kinds | {(size, False, False) for _step, _offset, size in done.rows}) > 1


def only_one(graph: TypeGraph, done: Done) -> int:
    """The one structure, or what several begin with, that has all that is done behind a pointer; void where that is not
    of several kinds, or fits others as well."""
    if not _several_kinds(done) or any(size > _WORD for _offset, size in done.touched):
        return VOID
    fitting = [t for t in structures(graph) if fits(graph, t, done, merged=True)]
    if not fitting or len(fitting) > _SIMILAR:
        return VOID
    first = min(fitting, key=graph.size)
    alike = all(graph.canonical(t) == graph.canonical(first) or graph.object_at(t, 0, first) for t in fitting)
    return first if alike else VOID


Taken = Callable[[int, int, Mapping[int, Value | None]], int]
"""Of a function, a register and what registers hold when it is called."""


class Inference:
    """Follows a function until nothing new is found; its ``tracker`` is the data flow that knows it all.

    ``arguments``: what its callers pass in registers, by what these lead to. ``returned``: what a function that is
    called returns a pointer to, where its prototype does not say so. ``wholes``: what begins with what its parameters
    lead to, by register, and is meant; ``bases`` as in `Facts`. ``tracker``: the data flow that knows no more than
    these, where there is one. ``taken``: what a function that is called uses one of its parameters for, where its
    prototype does not say so.
    """

    def __init__(
        self,
        program: Program,
        flow: FunctionFlow,
        low: int,
        high: int,
        prototype: Prototype | None,
        arguments: dict[int, int],
        returned: Callable[[int], int] | None = None,
        wholes: dict[int, int] | None = None,
        tracker: Tracker | None = None,
        taken: "Taken | None" = None,
        bases: dict[int, int] | None = None,
    ) -> None:
        self._program = program
        self._graph: TypeGraph = program.graph
        self._low, self._high = low, high
        self._returned = returned
        self._taken = taken
        self._lent: set[Claim] = set()
        self._flowing: tuple[Webs, dict[Node, list[tuple[Node, int]]]] | None = None
        self.given = arguments
        facts = self.facts = Facts(entry=dict(arguments), wholes=dict(wholes or {}), bases=bases or {})
        self.tracker = tracker if tracker is not None else Tracker(program, flow, low, high, facts)
        self.webs = Webs(self.tracker, prototype)
        self.entered = {
            register
            for register, _t, _piece in (prototype.arguments if prototype is not None and prototype.trusted else ())
            if self.tracker.known_at_entry(register)
        }
        """Registers of parameters of which the prototype says what they lead to."""
        settled = False
        for _round in range(_ROUNDS):
            decided = self._decide(self.webs)
            found = self._facts(self.webs, decided, facts)
            if not found.adds_to(facts):
                settled = not self.webs.cells
                break
            facts = found
            self.facts = facts
            self.release()
            self.tracker = Tracker(program, flow, low, high, facts)
            self.webs = Webs(self.tracker, prototype)
        # Of arrays in the frame more is known by now.
        self.decided = decided if settled else self._decide(self.webs)
        self.tracker.others, self.tracker.passed_as = self._around()

    def _around(
        self,
    ) -> tuple[Callable[[int, int], tuple[tuple[int, int], ...]], Callable[[int, int], list[tuple[int, int]]]]:
        """Tells of operands what else is accessed through the same pointer, and as what it is passed."""
        near = self.webs.others
        accessed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        passed: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for at in self.webs.beyond:
            kindred, apart = self.webs.kindred(*at, self._further(self.webs))
            accessed[at] = tuple((offset - apart, size) for offset, size in kindred.touched())
            passed[at] = [(t, place + apart) for t, place in kindred.passed_as(self._graph)]
        return (
            lambda k, number: accessed[k, number] if (k, number) in accessed else near(k, number),
            lambda k, number: passed.get((k, number), []),
        )

    def _undescribed(self) -> dict[int, GlobalVariable]:
        """By address, variables that nothing describes, by what their addresses are passed as first."""
        found: dict[int, GlobalVariable] = {}
        for address, t in self.webs.addresses:
            target = self._graph.target(t)
            known = self._program.undescribed(address, target) if self._graph.is_aggregate(target) else None
            if known is not None:
                found.setdefault(address, known)
        return found

    def release(self) -> None:
        """Let go of what is only needed to ask more; `tracker` stays as it is."""
        self._flowing = None
        self.webs.release()

    def entry_fits(self, register: int, t: int) -> bool:
        """Whether all that is accessed behind what a register holds at the function's begin is within a type."""
        for offset, width in self.done_at_entry(register).touched:
            located = self.tracker.questions.locate((OBJECT, t, 0, 0, offset), width)
            if isinstance(located, str) or located.how == "container" or (located.how and offset < 0):
                return False
        return True

    def beyond(self) -> "Iterator[tuple[int, int, Done]]":
        """(register, aggregate, all that is done) of parameters that are used beyond the aggregate they lead to."""
        graph = self._graph
        prototype = self.webs.prototype
        known = dict(self.given)
        for register, t, piece in prototype.arguments if prototype is not None and prototype.trusted else ():
            if not piece and graph.is_pointer(t) and register not in known:
                known[register] = graph.target(t)
        for register, t in known.items():
            if not graph.is_aggregate(t) or not graph.size(t):
                continue
            done = self.done_at_entry(register)
            if any(offset >= graph.size(t) for offset, _size in done.touched):
                yield register, t, done

    def done_at_entry(self, register: int) -> Done:
        """All that is done behind what a register holds at the function's begin."""
        node = self.webs.nodes.get(("entry", register, 0))
        return self.done(node) if node is not None else nothing_done()

    def done(self, first: Node, webs: Webs | None = None) -> Done:
        """All that is done behind a value, also where that has gone with a number added."""
        webs = webs or self.webs
        found = nothing_done()
        for node, apart in self.reached(first, webs):
            found.add(self._done_here(node), apart)
            for size, row in node.elements.items():
                for inner, more in self.reached(row, webs):
                    found.rows.update((size, apart + more + offset, width) for offset, width in inner.touched)
        return found

    def reached(self, first: Node, webs: Webs) -> list[tuple[Node, int]]:
        """Where a value goes, and what is added to it on the way."""
        further = self._further(webs)
        found = [(first, 0)]
        seen = {first}
        for node, apart in found:
            # The list grows while it is walked.
            for to, more in further.get(node, ()):
                if to not in seen:
                    seen.add(to)
                    found.append((to, apart + more))
        return found

    def _further(self, webs: Webs) -> dict[Node, list[tuple[Node, int]]]:
        """Into which nodes others go, and what is added."""
        if self._flowing is None or self._flowing[0] is not webs:
            flowing: dict[Node, list[tuple[Node, int]]] = {}
            for node in webs.nodes.values():
                for source, more in node.sources:
                    flowing.setdefault(source, []).append((node, more))
                for origin in node.origins:
                    if origin is not None and origin is not node and (origin, 0) not in node.sources:
                        flowing.setdefault(origin, []).append((node, 0))
            self._flowing = webs, flowing
        return self._flowing[1]

    def _done_here(self, node: Node) -> Done:
        """All that is done behind a value where it is."""
        numbers = {*node.numbers}
        pointers = set()
        for offset, size, loaded in node.loads:
            leads = loaded.followed or (loaded.elements and not loaded.numeric)
            if leads and size == self._graph.pointer_size:
                pointers.add(offset)
            elif loaded.numeric or loaded.signs or loaded.reckoned:
                numbers.add((offset, size))
        # Nobody adds to it.
        return Done(
            cast("set[tuple[int, int]]", node.touched),
            cast("set[tuple[int, int]]", node.floating),
            numbers,
            cast("set[tuple[int, tuple[int, ...]]]", node.put),
            pointers,
            set(),
            cast("set[tuple[int, int, int]]", node.grown),
        )

    def _in_rows(self, first: Node, webs: Webs) -> dict[int, Done]:
        """By how many bytes objects are apart, all that is done with one of several behind a value."""
        found: dict[int, Done] = {}
        for node, apart in self.reached(first, webs):
            for size, row in node.elements.items():
                if not apart % size:
                    found.setdefault(size, nothing_done()).add(self.done(row, webs))
        return found

    def place_at(self, offset: int) -> tuple[int, int]:
        """The type of what holds an offset of the frame all the time, and the offset in it; void for unknown."""
        for place in reversed(self.facts.places):
            if 0 <= offset - place.offset < self._graph.size(place.type):
                always = place.low == self._low and place.high == self._high
                return (place.type, offset - place.offset) if always else (VOID, 0)
        return VOID, 0

    # Pointers ----------------------------------------------------------------------------------------------

    def _decide(self, webs: Webs) -> Decided:
        decided = Decided()
        for offset, (stride, node) in webs.cells.items():
            first = webs.nodes.get(("slot", offset, stride))
            if first is not None and (first, 0) not in node.sources:
                # The first element is also accessed without an index.
                node.sources = added(node.sources, (first, 0))
                first.sources = added(first.sources, (node, 0))
            after = webs.filled(offset, stride)
            if first is not None and after and (after[0], 0) not in node.sources:
                # An element is of the type that all of them can be.
                known = [each for one in (node, first, *after) for each in one.known]
                for one in (node, first, *after):
                    one.known = known
                node.sources = added(node.sources, *((one, 0) for one in after))
                for one in after:
                    one.sources = added(one.sources, (node, 0))
        self._returned_in_memory(webs)
        self._spread(webs, decided)
        self._sized(webs, decided)
        self._shaped(webs, decided)
        self._of_pointers(webs, decided)
        for node, several in webs.unions:
            # Where it goes else, it may be null.
            decided.leads.pop(node, None)
            done = self.done(node, webs)
            fitting = [t for t in self._graph.choices(several) if self._may_be(t, done)] if done.touched else []
            if len(fitting) == 1:
                decided.leads[node] = fitting[0]
        return decided

    def _returned_in_memory(self, webs: Webs) -> None:
        """Tell what a function without a prototype returns in memory, of which it is given the address: what it copies
        to there as a whole (System V ABI for x86-64, 3.2.3)."""
        back = {webs.entry_of(source[0]) if source and not source[1] else -1 for source, _value in webs.returned}
        if webs.prototype is not None or back != {RDI}:
            return
        graph = self._graph
        entry = webs.node("entry", RDI, 0)
        for (node, source, apart), parts in webs.moved.items():
            end = 0
            for offset, size in sorted(parts):
                end = max(end, offset + size) if 0 <= offset <= end else end
            located = self.tracker.questions.locate((*source, apart), 1) if end and webs.entry_of(node) == RDI else ""
            inside = located.field.containers if not isinstance(located, str) else ()
            for t, left in inside:
                if not left and graph.is_aggregate(t) and graph.size(t) == end:
                    entry.lead(0, t)
                    break

    def _spread(self, webs: Webs, decided: Decided) -> None:
        """Tell of all nodes what they lead to; again of those that know more by it, as long as there are any."""
        nodes = list(webs.nodes.values())
        into: dict[Node, list[Node]] = {}
        for node in nodes:
            for source, more in node.sources:
                if not more:
                    into.setdefault(source, []).append(node)
        flowed: dict[Node, list[int]] = {}
        changed = set(nodes)
        for _pass in range(_PASSES):
            if not changed:
                break
            # Those found in a pass and still to come are looked at in that.
            waiting, changed = changed, set()
            for node in nodes:
                if node not in waiting and node not in changed:
                    continue
                changed.discard(node)
                if node in decided.conflicting:
                    continue
                before = decided.leads.get(node)
                told = self._told(node, flowed.get(node, []), decided, webs)
                if told is None:
                    decided.conflicting.add(node)
                    if decided.leads.pop(node, VOID):
                        changed.update(into.get(node, ()))
                    continue
                if not told:
                    continue
                if before != told:
                    decided.leads[node] = told
                    changed.update(into.get(node, ()))
                for source, more in node.sources:
                    if not more and told not in flowed.setdefault(source, []):
                        flowed[source].append(told)
                        changed.add(source)

    def _sized(self, webs: Webs, decided: Decided) -> None:
        """Tell what is allocated by its size, where all that is accessed there fits one structure only.

        Members of several sizes must be among it: numbers in a row are no structure. Where it is known what the
        allocated begins with, that is enough.
        """
        graph = self._graph
        for node in list(webs.nodes.values()):
            if node.element:
                for source in self._same(node):
                    source.element = source.element or node.element
        for node in [node for node in webs.nodes.values() if node.allocated or node.rowed or node.element]:
            begin = decided.leads.get(node, VOID)
            if node in decided.conflicting or (begin and not graph.size(begin)):
                continue
            if begin and not graph.is_aggregate(begin) and graph.size(begin) > 1:
                continue
            done = self.done(node, webs)
            done.touched.difference_update([one for one in done.touched if one[1] > 8])
            told = self._by_size(node, begin, done) if node.allocated else VOID
            if not told and (not begin or graph.size(begin) == 1):
                told = self._by_rows(node, begin, done, webs)
            if told:
                decided.leads[node] = told

    def _same(self, node: Node) -> set[Node]:
        """All of which a node has the value, if that is one."""
        queue, seen = [node], {node}
        while queue and len(seen) < _NEAR:
            for source, more in queue.pop().sources:
                if not more and source not in seen:
                    seen.add(source)
                    queue.append(source)
        return seen

    def _by_size(self, node: Node, begin: int, done: Done) -> int:
        """What one allocated object is; void where that is not told, or told already."""
        graph = self._graph
        aggregate = bool(begin) and graph.is_aggregate(begin)
        several = aggregate and not graph.is_link(begin) and self._are_several(node, begin, done)
        if aggregate and (graph.size(begin) == node.allocated or several):
            # That, or several of it.
            return VOID
        fitting = {
            graph.canonical(t): t
            for t in structures_by_size(graph).get(node.allocated, ())
            if fits(graph, t, done, merged=True) and self._may_begin(t, begin)
        }
        enough = aggregate or _several_kinds(done) or node.single
        return next(iter(fitting.values())) if len(fitting) == 1 and enough else VOID

    def _may_begin(self, t: int, begin: int) -> bool:
        """Whether a type begins with another one; with bytes also where these are a part of a number of them."""
        graph = self._graph
        if not begin or graph.object_at(t, 0, begin):
            return True
        found = graph.value_at(t, 0, 1) if graph.size(begin) == 1 else VOID
        return bool(found) and graph.is_scalar(found)

    def _by_rows(self, node: Node, begin: int, done: Done, webs: Webs) -> int:
        """What several allocated objects are, one behind the other: told by how far they are apart."""
        graph = self._graph
        found: dict[int, int] = {}
        indexed = self._in_rows(node, webs)
        for size in {node.element, node.rowed, *indexed}:
            whole = node.element in (0, size) and not node.rowed % max(size, 1) and not node.allocated % max(size, 1)
            if size <= _WORD or not whole or not (node.element or node.rowed or node.allocated > size):
                continue
            rows = indexed.get(size, nothing_done())
            apart = {offset % size for offset, _width in rows.touched}
            rows.add(done)
            rows = rows.wrapped(size)
            rows.touched.difference_update([one for one in rows.touched if one[1] > 8])
            # Of numbers in a row optimizers make steps of several as well.
            plain = node.element == size > 8 or (webs.unoptimised and len(apart) > 1)
            if not rows.touched or not (plain or _several_kinds(rows)):
                continue
            for t in structures_by_size(graph).get(size, ()):
                if fits(graph, t, rows, merged=True) and self._may_begin(t, begin):
                    found[graph.canonical(t)] = t
        return next(iter(found.values())) if len(found) == 1 else VOID

    def _may_be(self, t: int, done: Done) -> bool:
        """Whether all that is done behind a pointer may be done with one of a type, or with several numbers."""
        graph = self._graph
        if graph.is_aggregate(t):
            return fits(graph, t, done, merged=True)
        whole = graph.size(t)
        return all(size == whole and not offset % whole for offset, size in done.touched)

    def _are_several(self, node: Node, t: int, done: Done) -> bool:
        """Whether what is allocated may be several of a type, one behind the other."""
        whole = self._graph.size(t)
        if node.single or node.allocated % whole:
            return False
        return fits(self._graph, t, done.wrapped(whole), merged=True)

    def _shaped(self, webs: Webs, decided: Decided) -> None:
        """Tell what pointers to anything, as parameters and as what is returned, lead to, where that is used as members
        of several sizes, or as numbers with and without a point, and one structure only has all of them."""
        graph = self._graph
        prototype = webs.prototype
        anything = {*MACHINE.parameters}
        if prototype is not None and prototype.trusted:
            anything = {
                register for register, t, piece in prototype.arguments if not piece and graph.is_void_pointer(t)
            }
        calls = {k for k, target, _values, _sources in webs.calls if self._gives_anything(target)}
        for node in list(webs.nodes.values()):
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
            done = self.done(node, webs)
            t = only_one(graph, done)
            if not t and kept and not done.touched:
                t = self._by_strides(node, webs)
            elif t and node.allocated and graph.size(t) != node.allocated:
                t = VOID
            if t:
                decided.leads[node] = t

    def _of_pointers(self, webs: Webs, decided: Decided) -> None:
        """Tell what is allocated as an array of pointers, where all that is stored there by an index are such."""
        graph = self._graph
        word = graph.pointer_size
        for node in [one for one in webs.nodes.values() if one.room]:
            if node in decided.leads or node in decided.conflicting:
                continue
            behind = self.reached(node, webs)
            steps = {size for one, _apart in behind for size in one.elements}
            behind += [
                found for one, _apart in behind for row in one.elements.values() for found in self.reached(row, webs)
            ]
            touched = {(apart + offset, size) for one, apart in behind for offset, size in one.touched}
            put = [types for one, apart in behind for offset, types in one.put if not (apart + offset) % word]
            if steps == {word} and put and all(size == word and not offset % word for offset, size in touched):
                t = common_whole(graph, put)
                if t and graph.is_aggregate(t):
                    decided.leads[node] = graph.pointer_to(t)

    def _by_strides(self, node: Node, webs: Webs) -> int:
        """What objects are behind a pointer to anything, told by how far they are apart and by their members."""
        graph = self._graph
        found: dict[int, int] = {}
        for size, rows in self._in_rows(node, webs).items():
            if _several_kinds(rows) and all(width <= _WORD for _offset, width in rows.touched):
                fitting = (t for t in structures_by_size(graph).get(size, ()) if fits(graph, t, rows, merged=True))
                found.update((graph.canonical(t), t) for t in fitting)
        return next(iter(found.values())) if len(found) == 1 else VOID

    def _gives_anything(self, target: int) -> bool:
        """Whether a function of the program returns a pointer to anything."""
        prototype = self._program.callee(target)
        if prototype is not None and not prototype.returns and not prototype.parameters:
            # Of changed copies nothing is said.
            return is_clone(prototype.name) and self._program.source.function_range(target) is not None
        returns = prototype.returns if prototype is not None else VOID
        return self._graph.is_void_pointer(returns)

    def _is_more(self, node: Node, decided: Decided, webs: Webs) -> bool:
        """Whether what goes where text is expected only begins with some: other members are used as well."""
        known = decided.more.get(node)
        if known is None:
            done = self.done(node, webs)
            known = bool(done.pointers or done.floating or any(size > 1 for _offset, size in done.numbers))
            decided.more[node] = known
        return known

    def _told(self, node: Node, flowed: list[int], decided: Decided, webs: Webs) -> int | None:
        """What a node leads to; void for unknown, None if it cannot be told."""
        used = [*node.leads.get(0, ()), *flowed]
        if not used and node.key[0] == "slot":
            # Text goes on, wherever in it something leads.
            used += [t for more, each in node.leads.items() if more for t in each if self._graph.size(t) == 1]
        if any(self._graph.size(t) == 1 for t in used) and self._is_more(node, decided, webs):
            used = [t for t in used if self._graph.size(t) != 1]
        known = [self._stepped(node, each) for each in node.known]
        whole = node.begun
        confirmed = node.confirmed
        for source, more in node.sources:
            confirmed = confirmed or (source.confirmed and not more)
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
        if stored and leads and known:
            if all(any(graph.canonical(leads) == graph.canonical(t) for t in each) for each in known):
                return leads
            if graph.object_at(stored, 0, leads):
                return stored
            # Lists end where their head is, which something else may begin with.
            head = not node.passed and not flowed and graph.object_at(leads, 0, stored)
            return stored if head else None
        if stored and (whole or node.key[0] in ("slot", "cells")):
            if graph.size(stored) == 1 and not (node.followed or confirmed or (node.reckoned and not node.numeric)):
                # It may be kept as a pointer to anything, which nobody adds to.
                return VOID
            return stored
        return leads

    def _stepped(self, node: Node, known: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the types that begin somewhere of which an index leads to others, where one does."""
        if not node.elements or len(known) < 2:
            return known
        rows = {(step, at, size) for step, row in node.elements.items() for at, size in row.touched}
        return tuple(t for t in known if all(is_row(self._graph, t, *one) for one in rows)) or known

    def _whole_of(self, node: Node) -> int:
        """What pointers to members, less how far these lie within it, lead to."""
        told = {(self._graph.canonical(t), offset) for t, offset in node.apart}
        if len(told) > 1 or not node.touched:
            return VOID
        t, offset = node.apart[0]
        embedders = self.tracker.questions.embedders
        if not embedders.complete:
            return VOID
        # What a member's offset is taken from leads to the begin of what has it.
        found = {
            self._graph.canonical(whole): whole
            for whole, begin in embedders.around(t)
            if begin == -offset and all(is_member(self._graph, whole, at, size) for at, size in node.touched)
        }
        return next(iter(found.values())) if len(found) == 1 else VOID

    # Facts -------------------------------------------------------------------------------------------------

    def _facts(self, webs: Webs, decided: Decided, before: Facts) -> Facts:
        facts = Facts(
            dict(before.entry),
            dict(before.made),
            dict(before.begin),
            (),
            before.wholes,
            before.bases,
            set(before.rows),
            self._undescribed() | before.variables,
        )
        if self._returned is not None:
            for k, target, _values, _sources in webs.calls:
                node = webs.nodes.get(("made", k, RAX))
                if node is None or node.copied or k in facts.made or not webs.is_open(target):
                    continue
                if (node.followed or node.flows) and node not in decided.leads and node not in decided.conflicting:
                    t = self._returned(target)
                    if t:
                        facts.made[k] = (RAX, t, 0)
        for node, t in decided.leads.items():
            kind, at, more = node.key
            if not 0 <= (at if kind == "entry" else more) < 16:
                continue
            if kind == "entry":
                facts.entry.setdefault(at, t)
            elif kind == "made":
                facts.made.setdefault(at, (more, t, 0))
                size = self._graph.size(t)
                if node.several and node.allocated == size and self._goes_beyond(node, size, webs):
                    facts.rows.add(at)
            elif kind == "in" and node.leads.get(0):
                facts.begin.setdefault((at, more), t)
        self._lend(webs)
        if self._lent or webs.unoptimised or webs.cells or webs.frame.is_used:
            objects = FrameObjects(
                self._program,
                self._low,
                self._high,
                webs,
                decided,
                self._lent,
                _UsesIn(self, webs),
                before.wholes.values(),
            )
            facts.places = tuple(objects.places())
        return facts

    def _goes_beyond(self, node: Node, size: int, webs: Webs) -> bool:
        """Whether more than so many bytes behind a value are accessed, at fixed places."""
        return any(offset + width > size for offset, width in self.done(node, webs).touched)

    def _lend(self, webs: Webs) -> None:
        """Note what functions that are called take objects in the frame for, where no prototype says so."""
        if self._taken is None:
            return
        frame = webs.frame
        here = {(claim.k, claim.offset) for claim in frame.claims}
        for k, target, values, _sources in webs.calls:
            prototype = self._program.callee(target)
            known = prototype.arguments if prototype is not None and prototype.trusted else ()
            told = {register for register, t, _piece in known if self._graph.size(self._graph.target(t))}
            for register, value in values.items():
                if value is None or value[0] != FRAME or value[2] or register in told or (k, value[4]) in here:
                    continue
                if webs.unoptimised and value[4] in frame.objects:
                    continue
                t = self._taken(target, register, values)
                if t:
                    self._lent.add(Claim(k, value[4], t, fills=False))


class _UsesIn:
    """What is done with the values of one look at a function."""

    def __init__(self, inference: Inference, webs: Webs) -> None:
        self._inference, self._webs = inference, webs

    def reached(self, first: Node) -> list[tuple[Node, int]]:
        """Where a value goes, and what is added to it on the way."""
        return self._inference.reached(first, self._webs)

    def done(self, first: Node) -> Done:
        """All that is done behind a value, also where that has gone with a number added."""
        return self._inference.done(first, self._webs)
