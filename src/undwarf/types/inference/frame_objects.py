# cython: language_level=3, annotation_typing=False
"""What lies where in the frame of a function that nothing names variables of: objects whose addresses are passed, what
is copied to and from them, arrays, numbers and pointers."""

from collections.abc import Collection, Mapping

from undwarf.types.dataflow.program import Program
from undwarf.types.inference.nodes import Decided
from undwarf.types.inference.variables import Uses, Variables
from undwarf.types.inference.webs import Webs
from undwarf.types.layouts.fitting import fits, nothing_done
from undwarf.types.layouts.model import VOID, Kind, TypeGraph, TypeRecord
from undwarf.types.sources.places import Place, PlaceKind
from undwarf.types.sources.program_types import floating_number, structures_by_size
from undwarf.types.uses.pointed import common_whole, merged

__all__ = ["FrameObjects"]

_MOST_OBJECTS = 256
"""Objects in a frame beyond which copies of them are not looked for."""
_WORD = 8
"""Bytes that numbers and pointers take at most."""
_SAVED = -16
"""Where the frame of a function with a frame pointer ends: the caller's frame pointer and the return address follow."""


class FrameObjects:
    """What is in the frame of one function. ``lent``: by offset, what functions that are called with the address of it
    take it for; ``uses`` and ``wholes`` as in :class:`undwarf.types.inference.variables.Variables`."""

    def __init__(
        self,
        program: Program,
        low: int,
        high: int,
        webs: Webs,
        decided: Decided,
        lent: Mapping[int, set[int]],
        uses: Uses,
        wholes: Collection[int],
    ) -> None:
        self._program = program
        self._graph: TypeGraph = program.graph
        self._low, self._high = low, high
        self._webs = webs
        self._frame = webs.frame
        self._decided = decided
        self._lent = lent
        self._uses = uses
        self._wholes = wholes

    def places(self) -> list[Place]:
        """Where which types are, counted from the call frame address."""
        graph, webs, frame = self._graph, self._webs, self._frame
        cells = {offset: (stride, node) for offset, (stride, node) in webs.cells.items()}
        for offset, (stride, node) in cells.items():
            first = webs.nodes.get(("slot", offset, stride))
            if first is not None:
                node.signs = {*node.signs, *first.signs}
                node.floats = node.floats or first.floats
                node.copied += first.copied
        filled = {offset: webs.filled(offset, stride) for offset, (stride, _node) in cells.items()}
        inner = {each.key[1] for several in filled.values() for each in several}
        found: list[tuple[int, int]] = []
        objects = self._objects()
        spans = [(offset, offset + graph.size(t)) for offset, t in objects]
        types = Variables(webs, self._decided, spans, self._uses, self._wholes).types()
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
                above = [at for at in frame.exact if at >= offset + stride and at not in own]
                above += [low for low, _high in spans if low > offset]
                for at, (_stride, other) in cells.items():
                    if at > offset and self._differs(t, types.get(other)):
                        above.append(at)
                above.append(_SAVED if webs.unoptimised else 0)
                end = min(above)
                if end - offset >= stride:
                    found.append((offset, self._array(t, (end - offset) // stride)))
        found += [(offset, t) for offset, t in frame.places.items()]
        for offset, count in frame.rows:
            t = self._of_row(offset, count)
            if t and not any(low < offset + 8 * count and offset < high for low, high in spans):
                found.append((offset, self._array(graph.pointer_to(t), count)))
        for offset, size in frame.floating.items() if not webs.unoptimised else ():
            t = floating_number(graph, size)
            if t and not any(low < offset + size and offset < high for low, high in spans):
                found.append((offset, t))
        found += objects
        return [Place("", t, PlaceKind.CFA, -1, offset, self._low, self._high) for offset, t in found]

    def _objects(self) -> list[tuple[int, int]]:
        """Where aggregates begin, and which these are."""
        graph, webs, frame = self._graph, self._webs, self._frame
        objects: list[tuple[int, int]] = []
        for offset, told in frame.objects.items():
            t = merged(graph, told)
            # Optimizers let objects share a place.
            if t and (webs.unoptimised or self._is_all_of(t, offset)):
                objects.append((offset, t))
        for offset, lent in self._lent.items():
            t = merged(graph, lent)
            if t and offset not in frame.objects and self._is_all_of(t, offset):
                objects.append((offset, t))
        for offset, sizes in frame.sizes.items():
            t = self._of_size(offset, sizes) if all(offset != begin for begin, _t in objects) else VOID
            if t:
                objects.append((offset, t))
        if not webs.unoptimised:
            objects = [one for one in objects if not any(self._share(one, other) for other in objects)]
        objects = [one for one in objects if not any(self._is_part(one, other) for other in objects)]
        self._add_copies(objects)
        return objects

    def _of_size(self, offset: int, sizes: set[int]) -> int:
        """The only structure of some bytes that has all that is accessed at an offset, as members of several sizes."""
        graph = self._graph
        size = max(sizes)
        inside = {(at, width) for at, width in self._frame.stands if offset <= at < offset + size and width <= _WORD}
        if len({(width, (at, width) in self._frame.pointed) for at, width in inside}) < 2:
            return VOID
        fitting = {graph.canonical(t): t for t in structures_by_size(graph).get(size, ()) if self._is_all_of(t, offset)}
        return next(iter(fitting.values())) if len(fitting) == 1 else VOID

    def _share(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether two objects in the frame have bytes in common without one being a part of the other."""
        graph = self._graph
        (low, t), (begin, of) = one, other
        if one is other or low + graph.size(t) <= begin or begin + graph.size(of) <= low:
            return False
        return not (graph.object_at(t, begin - low, of) or graph.object_at(of, low - begin, t))

    def _is_part(self, one: tuple[int, int], whole: tuple[int, int]) -> bool:
        """Whether an object in the frame is a part of another one there."""
        apart = one[0] - whole[0]
        graph = self._graph
        return 0 <= apart < graph.size(whole[1]) > graph.size(one[1]) and graph.object_at(whole[1], apart, one[1])

    def _add_copies(self, objects: list[tuple[int, int]]) -> None:
        """Add what is copied, several members at once, to one of some objects in the frame, or from one."""
        graph = self._graph
        both = [*self._frame.copies, *((other, one, size) for one, other, size in self._frame.copies)]
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
                if enough and free and len(objects) < _MOST_OBJECTS and self._is_all_of(t, at):
                    # The list grows while it is walked.
                    objects.append((at, t))

    def _is_all_of(self, t: int, begin: int) -> bool:
        """Whether all that is accessed where an object is to be in the frame is of whole members, or reads one's begin,
        as a part of a number."""
        graph = self._graph
        size = graph.size(t)
        inside = {(at - begin, width) for at, width in self._frame.stands if begin < at + width and at < begin + size}
        single = {(at - begin, width) for at, width in self._frame.loaded - self._frame.copied} & inside
        for at, width in single:
            found = graph.member_at(t, at, width) if at >= 0 else None
            if found is None or found.offset or 1 < graph.size(found.type) < width == graph.pointer_size:
                return False
        for at in self._frame.addressed:
            if begin <= at < begin + size and not graph.is_pointer(graph.value_at(t, at - begin, graph.pointer_size)):
                return False
        rest = nothing_done()
        for at, width in inside - single:
            if width > _WORD and at >= 0 and at + width <= size:
                # Several members are copied, or set to nothing.
                continue
            if (begin + at, width) not in self._frame.zeroed:
                rest.touched.add((at, width))
        rest.floating.update((at - begin, width) for at, width in self._frame.pointed if begin <= at < begin + size)
        rest.touched.update(rest.floating)
        return fits(graph, t, rest, merged=True)

    def _of_row(self, offset: int, count: int) -> int:
        """What all pointers lead to that are stored in an array in the frame; void where that is not known of all."""
        each: list[tuple[int, ...]] = []
        for k in range(count):
            if offset + 8 * k not in self._webs.placed:
                return VOID
            for known, node in self._webs.placed[offset + 8 * k]:
                t = self._decided.leads.get(node, VOID) if node is not None and not known else VOID
                each.append(known or ((t,) if t else ()))
        return common_whole(self._graph, each) if each and all(each) else VOID

    def _differs(self, t: int, other: int | None) -> bool:
        """Whether elements that are accessed behind those of an array may be of another one."""
        return not other or self._graph.canonical(other) != self._graph.canonical(t)

    def _array(self, element: int, count: int) -> int:
        arrays = self._program.arrays
        made = arrays.get((element, count))
        if made is None:
            made = arrays[element, count] = self._graph.add(TypeRecord(Kind.ARRAY, target=element, count=count))
        return made
