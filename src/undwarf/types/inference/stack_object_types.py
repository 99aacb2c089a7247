# cython: language_level=3, annotation_typing=False
"""Types of objects in a frame without declared variables: arrays, structures, scalars and pointers, with their offsets.

Input is the evidence of `stack_slot_uses.py` (objects whose addresses are passed, copies, accesses); output are
locations for the next run of the data flow. An object counts only if all accesses in its range fit its members. Objects
of optimised code that share bytes are separated by live ranges (`stack_slot_liveranges.py`).
"""

from collections.abc import Collection, Iterable
from itertools import product

from undwarf.disasm import Flow
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.pointees import common_whole, merged
from undwarf.types.inference.stack_scalar_types import StackScalarTypes
from undwarf.types.inference.stack_slot_liveranges import FrameAccess, live_ranges
from undwarf.types.inference.stack_slot_uses import Claim, Home
from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.inference.value_node import Decided, added
from undwarf.types.inference.value_uses import ValueUses
from undwarf.types.layouts.access_pattern_fit import fits, no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.named_types import floating_number, structures_by_size
from undwarf.types.sources.type_source import Place, PlaceKind

__all__ = ["StackObjectTypes"]

_MOST_OBJECTS = 256
"""With more objects, copies of them are not searched."""
_WORD = 8
"""Largest size of integers and pointers."""
_NEAR = 256
"""How far before an access an object may start of which only the address is known."""
_SAVED = -16
"""End of the frame of a function with a frame pointer: the saved frame pointer and the return address follow."""


class StackObjectTypes:
    """The objects in one function's frame. ``lent``: what callees take addresses of the frame for; ``flow`` and
    ``wholes`` as in :class:`undwarf.types.inference.stack_scalar_types.StackScalarTypes`."""

    def __init__(
        self,
        program: ProgramContext,
        low: int,
        high: int,
        webs: ValueGraph,
        decided: Decided,
        lent: Iterable[Claim],
        flow: ValueUses,
        wholes: Collection[int],
    ) -> None:
        self._program = program
        self._graph: TypeGraph = program.graph
        self._low, self._high = low, high
        self._webs = webs
        self._frame = webs.frame
        self._decided = decided
        self._lent = list(lent)
        self._copies: set[int] = set()
        """Offsets of objects known only from copies."""
        self._shared: list[Place] = []
        """Objects that are valid in a part of the function only."""
        self._flow = flow
        self._wholes = wholes

    def places(self) -> list[Place]:
        """The locations of all typed objects, relative to the call frame address."""
        graph, webs, frame = self._graph, self._webs, self._frame
        cells = {offset: (stride, node) for offset, (stride, node) in webs.cells.items()}
        for offset, (stride, node) in cells.items():
            first = webs.nodes.get(("slot", offset, stride))
            if first is not None:
                node.signs = {*node.signs, *first.signs}
                node.floats = node.floats or first.floats
                node.copied = added(node.copied, *first.copied)
        filled = {offset: webs.filled(offset, stride) for offset, (stride, _node) in cells.items()}
        inner = {each.key[1] for several in filled.values() for each in several}
        found: list[tuple[int, int]] = []
        objects = self._objects()
        spans = [(offset, offset + graph.size(t)) for offset, t in objects]
        spans += [(place.offset, place.offset + graph.size(place.type)) for place in self._shared]
        types = StackScalarTypes(webs, self._decided, spans, self._flow, self._wholes).types()
        slots = {
            node.key[1]: t
            for node, t in types.items()
            if node.key[0] == "slot"
            and node.key[1] not in inner
            and node.key[1:] not in {(offset, stride) for offset, (stride, _node) in cells.items()}
        }
        for offset, t in slots.items():
            if not any(low < offset + graph.size(t) and offset < high for low, high in spans):
                found.append((offset, t))
        for offset, (stride, node) in cells.items():
            t = types.get(node, VOID)
            if t and not any(low <= offset < high for low, high in spans):
                own = {each.key[1] for each in filled[offset]}
                above = [at for at in (*frame.exact, *frame.taken) if at >= offset + stride and at not in own]
                above += [low for low, _high in spans if low > offset]
                for at, (_stride, other) in cells.items():
                    if at > offset and self._differs(t, types.get(other)):
                        above.append(at)
                above.append(_SAVED if webs.unoptimised else 0)
                end = min(above)
                # A biased index starts before its array.
                before = not webs.unoptimised and offset not in frame.exact and offset not in frame.taken
                if end - offset >= stride and not (before and end == offset + stride and end in frame.taken):
                    found.append((offset, self._graph.array_of(t, (end - offset) // stride)))
        found += [(offset, t) for offset, t in frame.places.items()]
        for offset, count in frame.rows:
            t = self._of_row(offset, count)
            if t and not any(low < offset + 8 * count and offset < high for low, high in spans):
                found.append((offset, self._graph.array_of(graph.pointer_to(t), count)))
        for offset, size in frame.floating.items() if not webs.unoptimised else ():
            t = floating_number(graph, size)
            if t and not any(low < offset + size and offset < high for low, high in spans):
                found.append((offset, t))
        for (offset, size), stored in frame.homes.items():
            t = self._home(offset, size, stored)
            if t and not any(low < offset + size and offset < high for low, high in spans):
                found.append((offset, t))
        found += objects
        always = [Place("", t, PlaceKind.CFA, -1, offset, self._low, self._high) for offset, t in found]
        return [*always, *self._shared]

    def _home(self, offset: int, size: int, stored: list[Home]) -> int:
        """The type of a parameter, or pointer, that optimised code spills to a slot used for nothing else and reads
        again; void for others."""
        webs, frame = self._webs, self._frame
        by = {one.k for one in stored}
        there = [one for one in frame.accesses if one.begin < offset + size and offset < one.end]
        only = all(
            (one.begin, one.end) == (offset, offset + size)
            and (one.access == "r" or (one.access == "w" and one.k in by))
            for one in there
        )
        others = {*frame.taken, *frame.given, *frame.stored, *frame.kept, *(at for _k, at in frame.loose)}
        read = any(one.access == "r" for one in there)
        if not only or not read or any(offset - _NEAR < at < offset + size for at in others):
            return VOID
        registers = {webs.entry_of(one.node) if one.node is not None else -1 for one in stored}
        entry = webs.nodes.get(("entry", registers.pop(), 0)) if len(registers) == 1 else None
        if entry is not None and entry.declared:
            return self._only([t for t in entry.declared if self._graph.size(t) == size and self._graph.is_scalar(t)])
        leads = self._only([one.leads for one in stored])
        return self._graph.pointer_to(leads) if leads and self._graph.is_aggregate(leads) else VOID

    def _only(self, types: list[int]) -> int:
        """The type that all agree on; void if they differ."""
        different = {self._graph.canonical(t) for t in types}
        return types[0] if len(different) == 1 else VOID

    def _objects(self) -> list[tuple[int, int]]:
        """(offset, type) of the aggregates."""
        graph, webs, frame = self._graph, self._webs, self._frame
        objects: list[tuple[int, int]] = []
        apart = self._split() if not webs.unoptimised else []
        for offset, t in frame.alone.items():
            kept = webs.nodes.get(("slot", offset, graph.size(t)))
            if kept is None or not (kept.followed or kept.goes or kept.reckoned or kept.compared or kept.signs):
                # Its only member is never used by itself.
                frame.objects.setdefault(offset, []).append(t)
        for offset, told in frame.objects.items():
            t = merged(graph, told)
            # Optimizers reuse stack slots.
            shared = any(low <= offset < high for low, high in apart)
            if t and not shared and (webs.unoptimised or self._is_all_of(t, offset)):
                objects.append((offset, t))
        by = {(claim.k, claim.offset) for claim in (*frame.claims, *self._lent)}
        # Other callees that get the address may store another object.
        open_to = {offset for k, offset in frame.loose if (k, offset) not in by} | self._copies
        lent: dict[int, set[int]] = {}
        for claim in self._lent:
            lent.setdefault(claim.offset, set()).add(claim.type)
        for offset, types in lent.items():
            t = merged(graph, types)
            shared = any(low <= offset < high for low, high in apart)
            narrow = offset not in open_to
            if t and offset not in frame.objects and not shared and self._is_all_of(t, offset, narrow=narrow):
                objects.append((offset, t))
        for offset, sizes in frame.sizes.items():
            t = self._of_size(offset, sizes) if all(offset != begin for begin, _t in objects) else VOID
            if t:
                objects.append((offset, t))
        if not webs.unoptimised:
            objects = [one for one in objects if not any(self._share(one, other) for other in objects)]
        objects = [one for one in objects if not any(self._is_part(one, other) for other in objects)]
        self._add_copies(objects)
        return objects if not webs.unoptimised else self._without_arguments(objects)

    def _without_arguments(self, objects: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Objects without those passed on the stack by several calls in the same bytes: each of these is valid only up
        to its call, from the call before on."""
        graph = self._graph
        instructions = self._webs.tracker.flow.instructions
        kinds = {(claim.offset, graph.canonical(claim.type)): claim.type for claim in self._frame.arguments}
        places = [(offset, t) for (offset, _canonical), t in kinds.items()]
        apart = [
            (one[0], graph.canonical(one[1]))
            for one in places
            if any(one != other and self._share(one, other) for other in places)
        ]
        for claim in self._frame.arguments:
            if (claim.offset, graph.canonical(claim.type)) in apart:
                begun = claim.k - 1
                while begun >= 0 and instructions[begun].flow not in (Flow.CALL, Flow.INDIRECT_CALL):
                    begun -= 1
                low, end = instructions.address_of(begun + 1), instructions[claim.k].next_address
                self._shared.append(Place("", claim.type, PlaceKind.CFA, -1, claim.offset, low, end))
        return [(offset, t) for offset, t in objects if (offset, graph.canonical(t)) not in apart]

    def _split(self) -> list[tuple[int, int]]:
        """Separate objects that share bytes at different times; returns the ranges of those bytes."""
        graph, frame = self._graph, self._frame
        told = {*frame.claims, *self._lent}
        copied = self._copied(told)
        self._lent += copied
        self._copies = {claim.offset for claim in copied}
        claims = sorted({*told, *self._lent}, key=lambda claim: claim.offset)
        regions: list[tuple[int, int, list[Claim]]] = []
        for claim in claims:
            end = claim.offset + graph.size(claim.type)
            if regions and claim.offset < regions[-1][1]:
                low, high, several = regions[-1]
                regions[-1] = low, max(high, end), [*several, claim]
            else:
                regions.append((claim.offset, end, [claim]))
        found: list[tuple[int, int]] = []
        for low, high, several in regions:
            kinds = {(one.offset, graph.canonical(one.type)) for one in several}
            if len(kinds) == 1 and self._is_all_of(several[0].type, low):
                continue
            if not any(low <= at < high for at in frame.kept) and self._share_bytes(low, high, several):
                found.append((low, high))
        return found

    def _copied(self, claims: set[Claim]) -> list[Claim]:
        """Objects known only because they are copied as a whole to or from a known one."""
        copies = self._frame.copies
        both = [*copies, *((other, one, size, last, first) for one, other, size, first, last in copies)]
        known = {(claim.offset, claim.type) for claim in claims}
        found: list[Claim] = []
        for begin, t in known:
            end = begin + self._graph.size(t)
            covered: dict[int, set[int]] = {}
            at: dict[int, set[int]] = {}
            for one, other, size, k, _last in both:
                if begin <= other and other + size <= end and one != other:
                    covered.setdefault(other - one, set()).update(range(other, other + size))
                    at.setdefault(other - one, set()).add(k)
            whole = [apart for apart, those in covered.items() if len(those) == end - begin > _WORD]
            found += [
                Claim(k, begin - apart, t, fills=False)
                for apart in whole
                if (begin - apart, t) not in known
                for k in at[apart]
            ]
        return found

    def _share_bytes(self, low: int, high: int, claims: list[Claim]) -> bool:
        """Whether the claims on a range of bytes are at different times; each is then valid where it is accessed."""
        graph, frame = self._graph, self._frame
        told = {(claim.k, claim.offset) for claim in claims}
        exact = [one for one in frame.accesses if one.begin < high and low < one.end]
        where = {one.k for one in exact}
        by = [FrameAccess(one.k, max(one.begin, low), min(one.end, high), one.access) for one in exact]
        taken = [one for one in claims if one.k not in where]
        by += [
            FrameAccess(one.k, one.offset, one.offset + graph.size(one.type), "w" if one.fills else "rw")
            for one in taken
        ]
        # An address passed to a call covers its first byte at least; an index may reach further.
        flows = self._webs.tracker.flow.instructions
        given = {k for k, _at in frame.loose if flows[k].flow in (Flow.CALL, Flow.INDIRECT_CALL)}
        by += [
            FrameAccess(k, max(at, low), at + 1 if at >= low and k in given else high, "rw")
            for k, at in frame.loose
            if low - _NEAR < at < high and (k, at) not in told
        ]
        by = sorted(set(by))
        claimed: dict[int, list[tuple[int, int]]] = {}
        for claim in claims:
            claimed.setdefault(claim.k, []).append((claim.offset, claim.type))

        def agree(one: int, other: int) -> bool:
            pairs = product(claimed.get(by[one].k, ()), claimed.get(by[other].k, ()))
            return not any(self._share(*pair) for pair in pairs)

        webs = live_ranges(self._webs.tracker.flow.blocks, by, agree)
        at_web: dict[int, set[int]] = {}
        for one, web in zip(by, webs, strict=True):
            at_web.setdefault(one.k, set()).add(web)
        of: dict[int, list[Claim]] = {}
        for claim in claims:
            for web in at_web[claim.k]:
                of.setdefault(web, []).append(claim)
        if len(of) < 2 and len({(one.offset, graph.canonical(one.type)) for one in claims}) > 1:
            return False
        for web, those in of.items():
            own = [one for one in exact if web in at_web[one.k]]
            for offset, t in self._at_once(those, own):
                self._shared += self._while_accessed(offset, t, web, at_web)
        return True

    def _at_once(self, claims: list[Claim], own: list[FrameAccess]) -> list[tuple[int, int]]:
        """The objects of one live range. ``own``: its accesses."""
        graph = self._graph
        types: dict[int, list[int]] = {}
        for claim in claims:
            if claim not in self._lent:
                types.setdefault(claim.offset, []).append(claim.type)
        for claim in self._lent:
            if claim in claims and claim.offset not in types:
                types[claim.offset] = [one.type for one in claims if one.offset == claim.offset]
        found = [(offset, t) for offset, told in types.items() if (t := merged(graph, told))]
        found = [(offset, t) for offset, t in found if self._is_all_of(t, offset, own)]
        found = [one for one in found if not any(self._share(one, other) for other in found)]
        return [one for one in found if not any(self._is_part(one, other) for other in found)]

    def _while_accessed(self, offset: int, t: int, web: int, at_web: dict[int, set[int]]) -> list[Place]:
        """The locations of an object: from its first access to the last one before another object's."""
        instructions = self._webs.tracker.flow.instructions
        found: list[Place] = []
        begun = -1
        last = -1
        for k in [*sorted(at_web), -1]:
            own = k >= 0 and web in at_web[k]
            if begun >= 0 and not own:
                low, end = instructions.address_of(begun), instructions[last].next_address
                found.append(Place("", t, PlaceKind.CFA, -1, offset, low, end))
            begun, last = (k if begun < 0 else begun, k) if own else (-1, -1)
        return found

    def _of_size(self, offset: int, sizes: set[int]) -> int:
        """The only structure of the size passed along with an address that fits accesses of different sizes there; void
        if none."""
        graph = self._graph
        size = max(sizes)
        inside = {(at, width) for at, width in self._frame.stands if offset <= at < offset + size and width <= _WORD}
        if len({(width, (at, width) in self._frame.pointed) for at, width in inside}) < 2:
            return VOID
        fitting = {graph.canonical(t): t for t in structures_by_size(graph).get(size, ()) if self._is_all_of(t, offset)}
        return next(iter(fitting.values())) if len(fitting) == 1 else VOID

    def _share(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether two objects overlap without one being part of the other."""
        graph = self._graph
        (low, t), (begin, of) = one, other
        if one == other or low + graph.size(t) <= begin or begin + graph.size(of) <= low:
            return False
        return not (graph.object_at(t, begin - low, of) or graph.object_at(of, low - begin, t))

    def _is_part(self, one: tuple[int, int], whole: tuple[int, int]) -> bool:
        """Whether an object is a part of another one."""
        apart = one[0] - whole[0]
        graph = self._graph
        return 0 <= apart < graph.size(whole[1]) > graph.size(one[1]) and graph.object_at(whole[1], apart, one[1])

    def _add_copies(self, objects: list[tuple[int, int]]) -> None:
        """Add objects that are copied to or from known ones by wide moves."""
        graph = self._graph
        copies = [one[:3] for one in self._frame.copies]
        both = [*copies, *((other, one, size) for one, other, size in copies)]
        self._add_arguments(objects, copies)
        for begin, t in objects:
            end = begin + graph.size(t)
            covered: dict[int, set[int]] = {}
            for one, other, size in both:
                if begin <= other and other + size <= end and one != other:
                    covered.setdefault(other - one, set()).update(range(other, other + size))
            for apart, those in covered.items():
                at = begin - apart
                free = all(low + graph.size(each) <= at or at + end - begin <= low for low, each in objects)
                enough = len(those) >= (end - begin if self._webs.unoptimised else min(end - begin, 16)) > 8
                if enough and free and len(objects) < _MOST_OBJECTS and self._is_all_of(t, at, narrow=False):
                    # The list grows during the iteration.
                    objects.append((at, t))

    def _add_arguments(self, objects: list[tuple[int, int]], copies: list[tuple[int, int, int]]) -> None:
        """Add objects that are copied to stack arguments where several calls pass different aggregates: the one with
        the size of the copy."""
        graph = self._graph
        known = {begin for begin, _t in objects}
        for begin, told in self._frame.objects.items() if self._webs.unoptimised else ():
            if begin in known or len({graph.canonical(t) for t in told}) < 2:
                continue
            covered: dict[int, set[int]] = {}
            for one, other, size in copies:
                if other >= begin:
                    covered.setdefault(one - other, set()).update(range(other - begin, other - begin + size))
            for apart, those in covered.items():
                at, whole = begin + apart, next(n for n in range(len(those) + 1) if n not in those)
                fitting = {graph.canonical(t): t for t in told if graph.size(t) == whole > _WORD}
                free = all(low + graph.size(each) <= at or at + whole <= low for low, each in objects)
                t = next(iter(fitting.values())) if len(fitting) == 1 else VOID
                if t and apart and free and len(objects) < _MOST_OBJECTS and self._is_all_of(t, at, narrow=False):
                    objects.append((at, t))

    def _is_all_of(self, t: int, begin: int, own: list[FrameAccess] | None = None, *, narrow: bool = True) -> bool:
        """Whether all accesses in an object's range are of whole members, or, if ``narrow``, of a member's lower part.
        ``own``: the accesses of this object, if others share its bytes."""
        graph = self._graph
        size = graph.size(t)
        stands, loaded, pointed = self._frame.stands, self._frame.loaded, self._frame.pointed
        if own is not None:
            stands = {(one.begin, one.end - one.begin) for one in own}
            loaded = loaded & {(one.begin, one.end - one.begin) for one in own if one.access != "w"}
            pointed = {(one.begin, one.end - one.begin) for one in own if one.floating}
        inside = {(at - begin, width) for at, width in stands if begin < at + width and at < begin + size}
        single = {(at - begin, width) for at, width in loaded - self._frame.copied} & inside
        for at, width in single:
            found = graph.member_at(t, at, width) if at >= 0 else None
            if found is None or found.offset or 1 < graph.size(found.type) < width == graph.pointer_size:
                return False
            if graph.size(found.type) > width and (not narrow or graph.is_pointer(found.type)):
                # Compilers never read a part of a pointer.
                return False
        for at in self._frame.addressed if own is None else ():
            if begin <= at < begin + size and not graph.is_pointer(graph.value_at(t, at - begin, graph.pointer_size)):
                return False
        rest = no_accesses()
        for at, width in inside - single:
            if width > _WORD and at >= 0 and at + width <= size:
                # Several members are copied, or zeroed.
                continue
            if (begin + at, width) not in self._frame.zeroed:
                rest.touched.add((at, width))
        rest.floating.update((at - begin, width) for at, width in pointed if begin <= at < begin + size)
        rest.touched.update(rest.floating)
        return fits(graph, t, rest, merged=True)

    def _of_row(self, offset: int, count: int) -> int:
        """The common pointee of all pointers stored in an array in the frame; void if unknown."""
        each: list[tuple[int, ...]] = []
        for k in range(count):
            if offset + 8 * k not in self._webs.placed:
                return VOID
            for known, node in self._webs.placed[offset + 8 * k]:
                t = self._decided.leads.get(node, VOID) if node is not None and not known else VOID
                each.append(known or ((t,) if t else ()))
        return common_whole(self._graph, each) if each and all(each) else VOID

    def _differs(self, t: int, other: int | None) -> bool:
        """Whether accesses past an array's element may be of another array."""
        return not other or self._graph.canonical(other) != self._graph.canonical(t)
