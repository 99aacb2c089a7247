# cython: language_level=3, annotation_typing=False
"""What a function uses its frame for, as far as that is told of places, not of values: objects that are passed or
copied as a whole, numbers with a point, what is set to nothing."""

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

__all__ = ["GONE", "Claim", "FrameUses", "Home", "Piece"]

_COPIED = (8, 16, 32)
"""Bytes that are copied at a time."""
_SMALL = (2, 4)
"""Bytes that are copied at a time where they are all of a structure."""
_UNION = Kind.UNION
_RETURN_ADDRESS = -8
"""Where a function's own frame ends."""
_MOST_WORDS = 512
"""Copies from and to the frame of one function that are remembered."""
_LARGE = 4096
"""Bytes of an aggregate that are looked at one by one."""
_RED_ZONE = 128
"""Bytes below the stack pointer that functions which call nothing may use (System V ABI for x86-64, 3.2.2)."""
GONE = 1 << 20
"""Bytes below the stack pointer in which the frame is that a function just let go of."""
_WORD = 8
"""Bytes that numbers and pointers take at most."""


class Piece(NamedTuple):
    """A part of an aggregate, of so many bytes, that is returned or passed in registers, or loaded from where that
    is."""

    type: int
    offset: int
    size: int = 8
    whole: "Value | None" = None


class Claim(NamedTuple):
    """What is at an offset of the frame, as an instruction takes it; ``fills``: it puts all of that there."""

    k: int
    offset: int
    type: int
    fills: bool


class Home(NamedTuple):
    """What an instruction stores in the frame of optimised code: whose value, and what that leads to exactly."""

    k: int
    node: "Node | None"
    leads: int


class _Copied(NamedTuple):
    """An aggregate that is copied, and which of its bytes are not."""

    type: int
    missing: set[int]


class FrameUses:
    """The frame of one function. ``at`` is the instruction that is looked at."""

    def __init__(self, tracker: Tracker, *, unoptimised: bool) -> None:
        self.tracker = tracker
        self.graph: TypeGraph = tracker.graph
        self.unoptimised = unoptimised
        self.at = -1
        self.claims: list[Claim] = []
        """Aggregates in the frame of optimised code, each where it is told."""
        self.arguments: list[Claim] = []
        """Aggregates that calls are given on the stack, each where it is called."""
        self.accesses: list[FrameAccess] = []
        """All that instructions access there, without an index."""
        self.loose: set[tuple[int, int]] = set()
        """(instruction, offset) of what is accessed with an index, or by who is given an address."""
        self.kept: set[int] = set()
        """Offsets whose addresses are stored elsewhere."""
        self.objects: dict[int, list[int]] = {}
        """Aggregates in the frame by their offset from the call frame address, as far as they are told of."""
        self.alone: dict[int, int] = {}
        """Aggregates of one word by their offset, where their only member may be as well."""
        self.stored: set[int] = set()
        """Offsets of the frame whose addresses are kept somewhere."""
        self.given: set[int] = set()
        """Offsets of the frame whose addresses are passed where nothing says what is expected."""
        self.exact: set[int] = set()
        """Offsets of what is accessed in the frame without an index."""
        self.taken: set[int] = set()
        """Offsets of what the address is taken of without an index."""
        self.floating: dict[int, int] = {}
        """Sizes of numbers with a point that are kept in the frame of optimised code, by offset."""
        self._otherwise: set[int] = set()
        self.places: dict[int, int] = {}
        """Types of parameters on the stack by their offset."""
        self.pieces: dict[int, Piece] = {}
        """By register, what aggregate it holds a part of."""
        self.elsewhere: dict[int, tuple[Value, int]] = {}
        """By register, where it was loaded that is not in the frame, and how many bytes."""
        self._stored_word: tuple[int, Value, Value] | None = None
        """The last word that was stored: by which instruction, where it comes from, and where it goes."""
        self.came: dict[int, tuple[int, int, int]] = {}
        """By register, the (offset, size) of the place in the frame it was loaded from, and by which instruction."""
        self.stands: set[tuple[int, int]] = set()
        """(offset, size) of what is accessed in the frame without an index."""
        self.zeroed: set[tuple[int, int]] = set()
        """(offset, size) of what is set to nothing there."""
        self.pointed: set[tuple[int, int]] = set()
        """(offset, size) of numbers with a point there."""
        self.loaded: set[tuple[int, int]] = set()
        """(offset, size) of what is read there by instructions that read one number."""
        self.written: dict[int, int] = {}
        """By offset, how few bytes are written at once there."""
        self.copied: set[tuple[int, int]] = set()
        """(offset, size) of what is read there only to be stored elsewhere."""
        self.addressed: set[int] = set()
        """Offsets of the frame where addresses of something are stored."""
        self.rows: list[tuple[int, int]] = []
        """(offset, number) of pointers in the frame that a call takes for an array."""
        self.sizes: dict[int, set[int]] = {}
        """By offset, of how many bytes what is called is told together with the address."""
        self.copies: list[tuple[int, int, int, int, int]] = []
        """(offset, other offset, size) of what is copied from one place in the frame to another, and the instructions
        that load and store it."""
        self._put_aside: dict[int, Piece] = {}
        """By offset, the part of an aggregate that is there."""
        self._parts: dict[tuple[int, int, Value | None], _Copied] = {}
        """By offset, type, and where else it is, aggregates of which parts are copied to or from there."""
        self._words: list[tuple[int, Value, int]] = []
        """(offset, where else, size) of all that is copied there or from there."""
        self._loaded: dict[int, tuple[Value, int]] = {}
        """By register of unoptimised code, where it was loaded that is not in the frame, and how many bytes."""
        self.homes: dict[tuple[int, int], list[Home]] = {}
        """By (offset, size), what is stored in the frame of optimised code."""

    @property
    def is_used(self) -> bool:
        """Whether anything is told of what lies there."""
        return bool(self.objects or self.places or self.floating or self.rows or self.sizes or self.homes)

    @property
    def holds_parts(self) -> bool:
        """Whether any register holds what was loaded from the frame, or a part of an aggregate."""
        return bool(self.pieces or self.came)

    def lose(self, register: int) -> None:
        """A register is written: what it held is no part of anything any more."""
        self.pieces.pop(register, None)
        self.came.pop(register, None)
        self.elsewhere.pop(register, None)
        self._loaded.pop(register, None)

    def lose_all(self) -> None:
        """Of no register is known where it was loaded."""
        self.pieces.clear()
        self.came.clear()
        self.elsewhere.clear()
        self._loaded.clear()
        self._put_aside.clear()

    def place(self, k: int, number: int, operand: Memory) -> Value | None:
        """Where in the frame an operand is; None for elsewhere."""
        if operand.implicit or not operand.size:
            return None
        where = self.tracker.address_of(k, number)
        return where if where is not None and where[0] == FRAME else None

    def note(self, offset: int, t: int, zone: int = 0, *, fills: bool = False) -> None:
        """An aggregate is at an offset of the frame, if it lies in there; `zone`: so much below it may be in use;
        `fills`: all of it is put there."""
        top = self.tracker.register(MACHINE.stack_pointer)
        if not self.unoptimised and top is not None and top[0] == FRAME and not top[2]:
            # What would begin below the stack pointer is less than a whole: somewhere in its middle is what is there.
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
        """An instruction accesses the frame of optimised code."""
        if where[2]:
            self.loose.add((k, where[4]))
        else:
            floating = bool(operand.floating)
            self.accesses.append(FrameAccess(k, where[4], where[4] + operand.size, operand.access, floating))

    def note_variadic(self, where: Value, stored: Value | None, tag: int) -> None:
        """A word is stored in a function that takes any number of parameters, of which those on the stack are kept as
        the second word of a list of them (System V ABI for x86-64, 3.5.7); `tag`: the list's type."""
        if stored is not None and stored[0] == FRAME and not stored[2] and stored[4] >= 0 and not where[2]:
            self.note(where[4] - _WORD, tag)

    def note_sized(self, offset: int, size: int) -> None:
        """Of what is at an offset so many bytes are read or written by somebody else."""
        self.sizes.setdefault(offset, set()).add(size)

    def note_floating(self, where: Value, operand: Memory) -> None:
        """Note whether a place in the frame has a number with a point and nothing else."""
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
        """The bytes of an aggregate that are copied with it: nobody need copy what lies between members."""
        graph = self.graph
        members = ((at, graph.member_at(t, at, 1)) for at in range(min(graph.size(t), _LARGE)))
        return {at for at, member in members if member is not None and not graph.is_aggregate(member.type)}

    def carries(self, k: int, register: int, size: int, frame: Value | None) -> None:
        """A register holds bytes that were loaded, which may be copied as they are."""
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
        """Bytes that were loaded are stored; whether they are a part of an aggregate that goes into the frame."""
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
        """So many bytes at an offset of the frame are a part of an aggregate; whether that is there. Unoptimised code
        copies it all, or what is copied is another one: a member of it, or one that has a member in common."""
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
        """So many bytes at an offset of the frame are copied from elsewhere, or to there."""
        if len(self._words) < _MOST_WORDS:
            self._words.append((offset, where, size))
        for key, copied in self._parts.items():
            if copied.missing and self._cover(key, copied, offset, where, size):
                self._is_whole(key[0], copied)

    def _cover(
        self, key: "tuple[int, int, Value | None]", copied: "_Copied", offset: int, where: Value, size: int
    ) -> bool:
        """Whether bytes at an offset of the frame are copied as parts of the same aggregate."""
        begin, _type, whole = key
        if whole is None or where[:4] != whole[:4] or where[4] - whole[4] != offset - begin:
            return False
        copied.missing.difference_update(range(offset - begin, offset - begin + size))
        return True

    def _is_whole(self, begin: int, copied: "_Copied") -> bool:
        """Whether all of an aggregate is copied; it is in the frame then."""
        if not copied.missing:
            self.note(begin, copied.type, _RED_ZONE)
        return not copied.missing

    def pair(self, k: int, register: int, frame: Value | None) -> None:
        """A word is stored: who stores two words that lie next to each other so that they do again copies what is
        there."""
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
        """The part of an aggregate that is loaded or stored, where it is several members: only who copies it all does
        that."""
        where = self.tracker.address_of(k, 0) if size in _COPIED or size in _SMALL else None
        if where is None or where[0] not in (OBJECT, ADDRESS) or scalar_at(self.tracker, k, 0, size):
            return None
        located = self.tracker.questions.locate(where, size)
        leaf = VOID if isinstance(located, str) else located.field.type
        if self.graph.is_scalar(leaf) and self.graph.size(leaf) == size:
            # One of several members of a union, of which none is more likely than another.
            return None
        part = self._whole_of(where, size)
        if part is not None and size in _SMALL and self.graph.size(part.type) != size:
            # So few bytes may be taken out of bit fields.
            return None
        return part

    def _whole_of(self, where: Value, size: int) -> Piece | None:
        """The innermost aggregate that has several whole members in so many bytes at a place, and how far these are
        in it."""
        graph = self.graph
        if where[0] not in (OBJECT, ADDRESS) or (where[0] == OBJECT and graph.choices(where[1])):
            # Of several types that a pointer may lead to, one alone may have members so small there.
            return None
        first, last, end = self.tracker.questions.locate(where, 1), None, size - 1
        while not isinstance(first, str) and size - _WORD <= end:
            last = graph.member_at(first.type, first.offset + end, 1)
            if last is not None and not graph.is_aggregate(last.type):
                break
            # Between members lies what is copied with the one before.
            end -= 1
        if isinstance(first, str) or last is None or first.field.offset or graph.size(first.field.type) >= size:
            return None
        if last.offset != graph.size(last.type) - 1:
            return None
        inner = {graph.canonical(t): left for t, left in last.containers}
        for t, left in reversed(first.field.containers):
            # The innermost that holds both ends.
            if graph.is_aggregate(t) and inner.get(graph.canonical(t)) == left + end:
                if graph.canonical(t) == graph.canonical(first.type):
                    # Which may have its name from a typedef.
                    t = first.type
                if graph.kind(graph.strip(t)) == _UNION and graph.size(t) != size:
                    # One of its members, if there is one so large.
                    only = graph.only_object_of(t, left, size)
                    if only:
                        return Piece(only, 0, size, where)
                begin: Value = (*where[:4], where[4] - left)
                return Piece(t, left, size, begin)
        return None
