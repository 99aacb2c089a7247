# cython: language_level=3, annotation_typing=False
"""Evidence on stack slots, by location rather than by value: objects passed by address or copied as a whole,
floating-point slots, zeroed bytes, spills."""

from typing import NamedTuple

from undwarf.disasm import Memory
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, OBJECT, Value
from undwarf.types.dataflow.constants import ALIGNED
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import scalar_at
from undwarf.types.inference.stack_slot_liveranges import FrameAccess
from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = ["GONE", "Claim", "Home", "Piece", "StackSlotUses"]

_COPIED = (8, 16, 32)
"""Sizes of wide copies."""
_SMALL = (2, 4)
"""Sizes of copies of small structures."""
_UNION = Kind.UNION
_RETURN_ADDRESS = -8
"""End of a function's own frame."""
_MOST_WORDS = 512
"""Limit of recorded copies to and from the frame."""
_LARGE = 4096
"""Largest aggregate that is examined by bytes."""
_RED_ZONE = 128
"""Bytes below the stack pointer that leaf functions may use (System V ABI for x86-64, 3.2.2)."""
GONE = 1 << 20
"""Extent below the stack pointer of a frame that was just torn down."""
_WORD = 8
"""Largest size of integers and pointers."""


class Piece(NamedTuple):
    """A part of an aggregate, in bytes, that is returned or passed in registers, or loaded from the aggregate."""

    type: int
    offset: int
    size: int = 8
    whole: "Value | None" = None


class Claim(NamedTuple):
    """The type that an instruction implies for an offset of the frame; ``fills``: it writes all of it."""

    k: int
    offset: int
    type: int
    fills: bool


class Home(NamedTuple):
    """A value that optimised code stores to the frame: instruction, node, and exact pointee."""

    k: int
    node: "Node | None"
    leads: int


class _Copied(NamedTuple):
    """An aggregate that is copied, and its bytes not copied so far."""

    type: int
    missing: set[int]


class StackSlotUses:
    """The evidence on one function's frame. ``at`` is the current instruction."""

    def __init__(self, tracker: Tracker, *, unoptimised: bool) -> None:
        self.tracker = tracker
        self.graph: TypeGraph = tracker.graph
        self.unoptimised = unoptimised
        self.at = -1
        self.claims: list[Claim] = []
        """Aggregates in the frame of optimised code, at the instructions that imply them."""
        self.arguments: list[Claim] = []
        """Aggregates passed on the stack, at the calls."""
        self.accesses: list[FrameAccess] = []
        """Direct accesses without an index."""
        self.loose: set[tuple[int, int]] = set()
        """(instruction, offset) of indexed accesses, and of addresses passed to calls."""
        self.kept: set[int] = set()
        """Offsets whose addresses are stored outside of the frame."""
        self.objects: dict[int, list[int]] = {}
        """{offset from the call frame address: aggregates}."""
        self.alone: dict[int, int] = {}
        """{offset: one-word aggregate}, if its only member is as likely."""
        self.stored: set[int] = set()
        """Offsets whose addresses are stored anywhere."""
        self.given: set[int] = set()
        """Offsets whose addresses are passed to unknown parameter types."""
        self.exact: set[int] = set()
        """Offsets of direct accesses."""
        self.taken: set[int] = set()
        """Offsets whose address is computed without an index."""
        self.floating: dict[int, int] = {}
        """{offset: size} of floating-point slots of optimised code."""
        self._otherwise: set[int] = set()
        self.places: dict[int, int] = {}
        """{offset: type} of parameters on the stack."""
        self.pieces: dict[int, Piece] = {}
        """{register: part of an aggregate it holds}."""
        self.elsewhere: dict[int, tuple[Value, int]] = {}
        """{register: (address outside of the frame it was loaded from, bytes)}."""
        self._stored_word: tuple[int, Value, Value] | None = None
        """The last stored word: (instruction, source, destination)."""
        self.came: dict[int, tuple[int, int, int]] = {}
        """{register: (frame offset, size, instruction) it was loaded from}."""
        self.stands: set[tuple[int, int]] = set()
        """(offset, size) of direct accesses."""
        self.zeroed: set[tuple[int, int]] = set()
        """(offset, size) of zeroed bytes."""
        self.pointed: set[tuple[int, int]] = set()
        """(offset, size) of floating-point accesses."""
        self.loaded: set[tuple[int, int]] = set()
        """(offset, size) of loads of a single scalar."""
        self.written: dict[int, int] = {}
        """{offset: smallest store}."""
        self.copied: set[tuple[int, int]] = set()
        """(offset, size) of loads that are only copied."""
        self.addressed: set[int] = set()
        """Offsets of slots that hold addresses."""
        self.rows: list[tuple[int, int]] = []
        """(offset, count) of pointers that a call uses as an array."""
        self.sizes: dict[int, set[int]] = {}
        """{offset: sizes passed along with the address}."""
        self.copies: list[tuple[int, int, int, int, int]] = []
        """(offset, destination offset, size, loading instruction, storing instruction) of copies within the frame."""
        self._put_aside: dict[int, Piece] = {}
        """{offset: part of an aggregate spilled there}."""
        self._parts: dict[tuple[int, int, Value | None], _Copied] = {}
        """{(offset, type, other address): aggregate of which parts are copied to or from the offset}."""
        self._words: list[tuple[int, Value, int]] = []
        """(offset, other address, size) of all copies."""
        self._loaded: dict[int, tuple[Value, int]] = {}
        """{register: (address outside of the frame, bytes)} in unoptimised code."""
        self.homes: dict[tuple[int, int], list[Home]] = {}
        """{(offset, size): values stored} in the frame of optimised code."""

    @property
    def is_used(self) -> bool:
        """Whether there is any evidence on the frame."""
        return bool(self.objects or self.places or self.floating or self.rows or self.sizes or self.homes)

    @property
    def holds_parts(self) -> bool:
        """Whether any register holds bytes of the frame or a part of an aggregate."""
        return bool(self.pieces or self.came)

    def lose(self, register: int) -> None:
        """A register is overwritten."""
        self.pieces.pop(register, None)
        self.came.pop(register, None)
        self.elsewhere.pop(register, None)
        self._loaded.pop(register, None)

    def lose_all(self) -> None:
        """All registers' origins become unknown."""
        self.pieces.clear()
        self.came.clear()
        self.elsewhere.clear()
        self._loaded.clear()
        self._put_aside.clear()

    def place(self, k: int, number: int, operand: Memory) -> Value | None:
        """The frame address of an operand; None for other memory."""
        if operand.implicit or not operand.size:
            return None
        where = self.tracker.address_of(k, number)
        return where if where is not None and where[0] == FRAME else None

    def note(self, offset: int, t: int, zone: int = 0, *, fills: bool = False) -> None:
        """An aggregate is at an offset, if that is in the frame. ``zone``: bytes below the stack pointer that may be in
        use; ``fills``: all of it is written."""
        top = self.tracker.register(MACHINE.stack_pointer)
        if not self.unoptimised and top is not None and top[0] == FRAME and not top[2]:
            # An object that would start below the stack pointer is a part of another one.
            end = -ALIGNED if top[4] < -ALIGNED else _RETURN_ADDRESS
            if not top[4] - zone <= offset <= end - self.graph.size(t):
                return
        self.objects.setdefault(offset, []).append(t)
        if not self.unoptimised:
            self.claims.append(Claim(self.at, offset, t, fills))

    def note_alone(self, offset: int, t: int) -> None:
        """An aggregate of one word, or its only member, is at an offset."""
        self.alone[offset] = t

    def note_access(self, k: int, where: Value, operand: Memory) -> None:
        """Record an access to the frame of optimised code."""
        if where[2]:
            self.loose.add((k, where[4]))
        else:
            floating = bool(operand.floating)
            self.accesses.append(FrameAccess(k, where[4], where[4] + operand.size, operand.access, floating))

    def note_variadic(self, where: Value, stored: Value | None, tag: int) -> None:
        """Recognise the va_list of a variadic function: a stored word points to the arguments on the stack, its second
        word (System V ABI for x86-64, 3.5.7). ``tag``: the list's type."""
        if stored is not None and stored[0] == FRAME and not stored[2] and stored[4] >= 0 and not where[2]:
            self.note(where[4] - _WORD, tag)

    def note_sized(self, offset: int, size: int) -> None:
        """``size`` bytes at an offset are accessed by a callee."""
        self.sizes.setdefault(offset, set()).add(size)

    def note_floating(self, where: Value, operand: Memory) -> None:
        """Record whether a slot is used for floating-point values only."""
        if where[2] or where[4] >= 0 or operand.size > 64:
            return
        size = operand.size
        if operand.floating and self.floating.get(where[4], size) == size and where[4] not in self._otherwise:
            self.floating[where[4]] = size
            return
        for offset in range(where[4] - 7, where[4] + size):
            self._otherwise.add(offset)
            if offset in self.floating and offset + self.floating[offset] > where[4]:
                del self.floating[offset]

    def _bytes_of_members(self, t: int) -> set[int]:
        """Offsets of an aggregate's bytes without padding, which need not be copied."""
        graph = self.graph
        members = ((at, graph.member_at(t, at, 1)) for at in range(min(graph.size(t), _LARGE)))
        return {at for at, member in members if member is not None and not graph.is_aggregate(member.type)}

    def carries(self, k: int, register: int, size: int, frame: Value | None) -> None:
        """A register holds loaded bytes, which may be copied."""
        if frame is None:
            part = self._several(k, size)
            if part is not None:
                self.pieces[register] = part
            where = self.tracker.address_of(k, 0) if size in _COPIED or self.unoptimised else None
            if where is not None and size in _COPIED:
                self.elsewhere[register] = where, size
            if where is not None:
                self._loaded[register] = where, size
        elif not frame[2]:
            self.came[register] = frame[4], size, k
            part = self._put_aside.get(frame[4])
            if part is not None and self.unoptimised:
                self.pieces[register] = part

    def copy(self, k: int, register: int, size: int, frame: Value | None) -> bool:
        """Loaded bytes are stored; True if they are a part of an aggregate that is in the frame."""
        piece = self.pieces.get(register)
        came = self.came.get(register)
        if frame is not None and not frame[2]:
            self._put_aside.pop(frame[4], None)
            word = self._loaded.get(register)
            if word is not None and word[1] == size and self.unoptimised:
                self._note_copied(frame[4], word[0], size)
            if piece is not None:
                self._put_aside[frame[4]] = piece
                return self._note_part(frame[4], piece, size)
            if came is not None and came[1] == size:
                self.copied.add(came[:2])
                self.copies.append((came[0], frame[4], size, came[2], k))
        elif frame is None and came is not None and came[1] == size:
            where = self.tracker.address_of(k, 0) if self.unoptimised else None
            if where is not None:
                self._note_copied(came[0], where, size)
            part = self._several(k, size)
            if part is not None:
                self.copied.add(came[:2])
                self._note_part(came[0], part, size)
        return False

    def _note_part(self, offset: int, part: Piece, size: int) -> bool:
        """Bytes at an offset are a part of an aggregate; True if that is in the frame. Unoptimised code copies
        aggregates whole; otherwise all members must be copied, since another one may share some."""
        begin = offset - part.offset
        if not self.unoptimised:
            self.note(begin, part.type, _RED_ZONE)
            return True
        key = begin, self.graph.canonical(part.type), part.whole
        copied = self._parts.get(key)
        if copied is None:
            copied = self._parts[key] = _Copied(part.type, self._bytes_of_members(part.type))
            for at, where, width in self._words:
                self._cover(key, copied, at, where, width)
        copied.missing.difference_update(range(part.offset, part.offset + min(size, part.size)))
        return self._is_whole(begin, copied)

    def _note_copied(self, offset: int, where: Value, size: int) -> None:
        """Bytes at an offset are copied to or from elsewhere."""
        if len(self._words) < _MOST_WORDS:
            self._words.append((offset, where, size))
        for key, copied in self._parts.items():
            if copied.missing and self._cover(key, copied, offset, where, size):
                self._is_whole(key[0], copied)

    def _cover(
        self, key: "tuple[int, int, Value | None]", copied: "_Copied", offset: int, where: Value, size: int
    ) -> bool:
        """Whether copied bytes are parts of the same aggregate."""
        begin, _type, whole = key
        if whole is None or where[:4] != whole[:4] or where[4] - whole[4] != offset - begin:
            return False
        copied.missing.difference_update(range(offset - begin, offset - begin + size))
        return True

    def _is_whole(self, begin: int, copied: "_Copied") -> bool:
        """Whether all of an aggregate was copied; it is in the frame then."""
        if not copied.missing:
            self.note(begin, copied.type, _RED_ZONE)
        return not copied.missing

    def pair(self, k: int, register: int, frame: Value | None) -> None:
        """A word is stored: two adjacent words copied in sequence are one object."""
        came = self.came.get(register)
        word = self.elsewhere.get(register)
        there = word[0] if word is not None and word[1] == _WORD else None
        where = frame or self.tracker.address_of(k, 0)
        if there is None and came is not None and came[1] == _WORD:
            there = (FRAME, 0, 0, 0, came[0])
        before, self._stored_word = self._stored_word, None
        if there is None or where is None or (there[0] == FRAME) == (where[0] == FRAME):
            return
        self._stored_word = k, there, where
        if before is None or before[0] != k - 1:
            return
        first, to = before[1], before[2]
        if there != (*first[:4], first[4] + _WORD) or where != (*to[:4], to[4] + _WORD):
            return
        inside, outside = (first, to) if first[0] == FRAME else (to, first)
        part = self._whole_of(outside, 2 * _WORD)
        if part is not None and not inside[2]:
            self._note_part(inside[4], part, 2 * _WORD)

    def _several(self, k: int, size: int) -> Piece | None:
        """The part of an aggregate that a wide access covers: only copies access several members."""
        where = self.tracker.address_of(k, 0) if size in _COPIED or size in _SMALL else None
        if where is None or where[0] not in (OBJECT, ADDRESS) or scalar_at(self.tracker, k, 0, size):
            return None
        located = self.tracker.oracle.locate(where, size)
        leaf = VOID if isinstance(located, str) else located.field.type
        if self.graph.is_scalar(leaf) and self.graph.size(leaf) == size:
            # A union member; none is more likely than another.
            return None
        part = self._whole_of(where, size)
        if part is not None and size in _SMALL and self.graph.size(part.type) != size:
            # May be bit fields.
            return None
        return part

    def _whole_of(self, where: Value, size: int) -> Piece | None:
        """The innermost aggregate with several whole members in the accessed bytes, and their offset in it."""
        graph = self.graph
        if where[0] not in (OBJECT, ADDRESS) or (where[0] == OBJECT and graph.choices(where[1])):
            # Of alternative pointees one may have such small members.
            return None
        first, last, end = self.tracker.oracle.locate(where, 1), None, size - 1
        while not isinstance(first, str) and size - _WORD <= end:
            last = graph.member_at(first.type, first.offset + end, 1)
            if last is not None and not graph.is_aggregate(last.type):
                break
            # Padding is copied with the member before.
            end -= 1
        if isinstance(first, str) or last is None or first.field.offset or graph.size(first.field.type) >= size:
            return None
        if last.offset != graph.size(last.type) - 1:
            return None
        inner = {graph.canonical(t): left for t, left in last.containers}
        for t, left in reversed(first.field.containers):
            # The innermost that contains both ends.
            if graph.is_aggregate(t) and inner.get(graph.canonical(t)) == left + end:
                if graph.canonical(t) == graph.canonical(first.type):
                    # Keep the typedef of an anonymous type.
                    t = first.type
                if graph.kind(graph.strip(t)) == _UNION and graph.size(t) != size:
                    # A member of the union with that size.
                    only = graph.only_object_of(t, left, size)
                    if only:
                        return Piece(only, 0, size, where)
                begin: Value = (*where[:4], where[4] - left)
                return Piece(t, left, size, begin)
        return None
