# cython: language_level=3, annotation_typing=False
"""What lies at a place within a type: the members there, down to the innermost."""

from typing import TYPE_CHECKING

from undwarf.types.records import AGGREGATES, DISCRIMINANT, VOID, Field, Kind, Member

if TYPE_CHECKING:
    from undwarf.types.model import TypeGraph

# Fields by the ten thousand: past the named tuple's own way to be made.
_as_it_is = tuple.__new__

_FEW_MEMBERS = 12
"""Members of an aggregate up to which all are looked at to find those at an offset."""


class Search:
    """One look at the ``width`` bytes (0: unknown) at ``offset`` of type ``t``.

    ``found`` are the leaves there, each with a score: 4 for a value of just this size, less for what only begins
    there, for a part of a value, for what reaches past it, 0 for padding.
    """

    __slots__ = ("_graph", "_steps", "found", "width")

    def __init__(self, graph: "TypeGraph", t: int, offset: int, width: int) -> None:
        self._graph = graph
        self._steps = graph.limits.type_steps
        self.width = width
        self.found: list[tuple[int, Field]] = []
        self._descend(t, offset, 0, "", (), 0)

    def _descend(
        self,
        t: int,
        offset: int,
        begin: int,
        path: str,
        containers: tuple[tuple[int, int], ...],
        depth: int,
    ) -> bool:
        """Add the leaves at an offset of a type; whether there was one."""
        graph = self._graph
        self._steps -= 1
        if self._steps < 0 or depth > graph.limits.type_depth:
            graph.defects.add("type too deep", graph.subject)
            return False
        t = graph.strip(t)
        record = graph.record(t)
        whole = graph.size(t)
        here = (*containers, (t, offset))
        if record.kind == Kind.ARRAY:
            stride = graph.stride(t)
            count = graph.element_count(t)
            if stride <= 0:
                return False
            # An array without bounds, or with none at the end of a structure, goes on; an inner one has its bounds.
            if count > 0 and offset >= count * stride:
                return False
            index = offset // stride
            return self._descend(
                record.target, offset - index * stride, begin + index * stride, path + "[]", here, depth + 1
            )
        if record.kind in AGGREGATES:
            found = False
            known = len(self.found)
            members = graph.members(t)
            last = len(members) - 1
            for k in range(last + 1) if last < _FEW_MEMBERS else graph.members_near(t, members, offset):
                member = members[k]
                if member.bit_size:
                    first = 8 * offset
                    width = 8 * max(self.width, 1)
                    if member.bit_offset + member.bit_size <= first or member.bit_offset >= first + width:
                        continue
                    if first < member.bit_offset // 8 * 8 and not _same_unit(members, first, member):
                        continue
                    leaf = Field(
                        _join(path, member), member.type, 0, begin + member.bit_offset // 8, member.size,
                        containers=here,
                    )  # fmt: skip
                    self.found.append((2, leaf))
                    found = True
                    continue
                within = offset - member.offset
                flexible = k == last and member.size == 0 and graph.is_array(member.type)
                if within < 0 or (within >= member.size and not flexible):
                    continue
                inner = self._descend(member.type, within, begin + member.offset, _join(path, member), here, depth + 1)
                found = found or inner
            if record.kind == Kind.VARIANT:
                self._prefer_values(known, _join(path, Member(DISCRIMINANT, 0, 0, 0, 0, VOID)))
            if found:
                return True
            # Padding, or an aggregate whose members are not known.
            if whole and offset >= whole:
                return False
            self.found.append((0, _as_it_is(Field, (path, t, offset, begin, whole, (), here))))
            return True
        if whole <= offset:
            return False
        score = 4 if self.width and whole == self.width and not offset else 2 if not offset else 1
        if self.width and offset + self.width > whole:
            score -= 1
        self.found.append((score, _as_it_is(Field, (path, t, offset, begin, whole, (), here))))
        return True

    def _prefer_values(self, known: int, path: str) -> None:
        """A discriminant that a variant's own value stands in for is that value."""
        new = self.found[known:]
        best = max((score for score, one in new if one.path != path), default=0)
        if best >= 4:
            self.found[known:] = [pair for pair in new if pair[1].path != path]


def _same_unit(members: tuple[Member, ...], first: int, member: Member) -> bool:
    """Whether a bit field that begins behind the first byte touched shares it with no plain member."""
    return not any(
        not other.bit_size and 8 * other.offset <= first < 8 * (other.offset + max(other.size, 1)) for other in members
    )


def _join(path: str, member: Member) -> str:
    # What is inherited, or has no name, is a part of what it is in.
    if not member.name or member.base:
        return path
    return f"{path}.{member.name}" if path else member.name
