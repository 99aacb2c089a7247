# cython: language_level=3, annotation_typing=False
"""Evidence from calls and returns: parameter and return types of prototypes, and known functions of the C library.

An argument has its parameter's type, a result its function's return type. Allocators give sizes, printf formats
signedness, qsort and the like element sizes.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from undwarf.disasm import NONE, Flow, Instruction
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_operands import RDI, RSI, XMM0
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import known_pointees, scalar_at
from undwarf.types.inference.instruction_evidence import InstructionEvidence
from undwarf.types.inference.stack_slot_uses import GONE, Claim, Piece
from undwarf.types.inference.value_node import Held, Node, added
from undwarf.types.layouts.type_graph import VOID, Kind
from undwarf.types.sources.c_library import ELEMENT_ARRAYS, ELEMENT_SIZES, GIVEN_BACK, SIZED, library_function
from undwarf.types.sources.named_types import integer
from undwarf.types.sources.parameter_registers import (
    argument_registers,
    returned_in_memory,
    returned_parts,
    stack_arguments,
    vector_registers,
)
from undwarf.types.sources.printf_formats import FORMATS, general_arguments, unsigned_size
from undwarf.types.sources.type_source import Prototype

__all__ = ["CallEvidence"]

_INDIRECT_CALL = Flow.INDIRECT_CALL
_INT, _FUNCTION, _FLOAT, _VOID = Kind.INT, Kind.FUNCTION, Kind.FLOAT, Kind.VOID

_RETURNED = {"integer": (0, 1), "sse": (XMM0, XMM0 + 1)}
"""Result registers by class (x86-64 psABI)."""
_GIVEN_BACK = {**dict.fromkeys(GIVEN_BACK, RDI), "realloc": RDI, "reallocarray": RDI, "bsearch": RSI}
"""C library functions that return a pointer into one argument's object (C11 7.22, 7.24)."""
_WITHIN_TEXT = frozenset(("memchr", "memrchr"))
"""C library functions that return a pointer to a byte of their first argument."""
_ONLY_BYTES = frozenset(("memset", "memcpy", "memmove", "memcmp", "bzero", "free", "realloc", "__memset_chk"))
_ALLOCATORS = {"malloc": 1, "calloc": 2}
"""{name: number of size parameters}."""
_LONGEST_TEXT = 1024
"""Longest format that is read."""
_NUMBERS = (4, 8)
"""Sizes of floating-point types."""
_SMALL = _WORD = 8
"""Largest size of integers and pointers."""
_SMALLEST = 2
"""Structures with members of different sizes are larger than this."""
_LONGEST = 64
"""Limit of pointers of an array in the frame."""


class CallEvidence(InstructionEvidence):
    """The part of :class:`undwarf.types.inference.value_graph.ValueGraph` on calls and returns."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        super().__init__(tracker, prototype)
        self.calls: list[tuple[int, int, dict[int, Value | None], dict[int, Held]]] = []
        """Direct calls: instruction, callee, values and nodes of the argument registers."""
        self.through: list[tuple[Node, dict[int, Value | None], dict[int, Held]]] = []
        """Calls through a node: the node, values and nodes of the argument registers."""
        self.called: list[tuple[int, dict[int, Value | None], dict[int, Held]]] = []
        """Calls through members and variables: the function's type, values and nodes of the argument registers."""
        self._through_members: list[tuple[int, tuple[Node, int] | Node, dict[int, Node]]] = []
        """Calls through a member: the function's type, the member (base node and offset, or the loaded node),
        {register: node passed}."""
        self.returned: list[tuple[Held | None, Value | None]] = []
        self.ends_in: list[int] = []
        """Functions that it tail calls, without a prototype that gives the returned pointee."""

    def _parameters(self, held: dict[int, Held | None]) -> None:
        """Set the nodes of parameter registers at entry from the prototype."""
        prototype = self.prototype
        if prototype is None or not prototype.trusted:
            return
        graph = self.graph
        for n, t, piece in vector_registers(graph, prototype.parameters):
            node = self.node("entry", XMM0 + n, 0)
            held[XMM0 + n] = (node, 0, graph.size(t) if graph.is_scalar(t) else 8)
            if graph.is_scalar(t):
                node.declared = added(node.declared, t)
            else:
                self.frame.pieces[XMM0 + n] = Piece(t, piece)
        for register, t, piece in prototype.arguments:
            node = self.node("entry", register, 0)
            held[register] = (node, 0, graph.size(t) if graph.is_scalar(t) else 8)
            if graph.is_aggregate(t):
                self.frame.pieces[register] = Piece(t, piece)
            elif not piece and graph.is_scalar(t):
                node.declared = added(node.declared, t)
        self.frame.places.update(stack_arguments(graph, prototype.parameters, prototype.returns))

    def _call(self, k: int, made: Instruction, held: dict[int, Held | None]) -> None:
        tracker, graph = self.tracker, self.graph
        prototype = tracker.program.callee(made.target) if made.target is not None else None
        name, at, _version = prototype.name.partition("@") if prototype is not None else ("", "@", "")
        arguments, returns = self._signature(k, made, prototype)
        text = VOID
        if prototype is not None and not prototype.arguments and not returns:
            text, returns = self._library_call(name, held)
        self._printed(name, held)
        # Functions that use the address only are no evidence.
        if name not in _ONLY_BYTES and (at or self.unoptimised):
            told = {register for register, _t, _piece in arguments}
            self.frame.given.update(self._offsets_in(one for one in MACHINE.parameters if one not in told))
        self._sized(name, arguments)
        for register, t, piece in arguments:
            if graph.is_scalar(t) and not piece:
                self._passed(register, t, tracker.register(register), held)
            elif graph.is_aggregate(t):
                leads = graph.value_at(t, piece, 8)
                if leads:
                    self._used_as(register, self.read(held, register), leads)
        if prototype is not None and prototype.trusted:
            self._by_value(k, prototype, arguments, returns)
        if returns and returned_in_memory(graph, returns):
            value = tracker.register(RDI)
            if value is not None and value[0] == FRAME and not value[2]:
                self.frame.note(value[4], returns, fills=True)
        for offset in self._offsets_in(MACHINE.parameters):
            self.frame.loose.add((k, offset))
            self.frame.taken.add(offset)
        self._note_call(k, made, held)
        node = self._call_result(k, held, name)
        if text:
            node.use_confirmed = True
            node.add_pointee(0, text)
        self._allocated(k, name)
        given = held.get(RDI) if name == "free" else None
        if given is not None and not given[1]:
            given[0].freed = True
        changed = tracker.oracle.calls.changed(made.target) if made.target is not None else MACHINE.caller_saved
        self._lose(changed, held)
        # A void callee known to preserve the result register (-fipa-ra) keeps its value.
        if prototype is None or not prototype.trusted or returns or MACHINE.result in changed:
            held[MACHINE.result] = (node, 0, graph.size(returns) if returns and graph.is_scalar(returns) else 8)
        if returns:
            self._returned_by(node, held, returns)

    def _signature(
        self, k: int, made: Instruction, prototype: Prototype | None
    ) -> tuple[tuple[tuple[int, int, int], ...], int]:
        """(trusted arguments, return type) of a callee."""
        if prototype is not None:
            return prototype.arguments if prototype.trusted else (), prototype.returns
        t = self._function_called(k, made) if made.flow == _INDIRECT_CALL else VOID
        if not t:
            return (), VOID
        returns = self.graph.returns(t)
        return argument_registers(self.graph, self.graph.parameters(t), returns), returns

    def _library_call(self, name: str, held: dict[int, Held | None]) -> tuple[int, int]:
        """Apply a C library function's text parameters; returns (pointee of the result, type of a scalar result)."""
        library = library_function(self.graph, name)
        if library is None:
            return VOID, VOID
        for register, t in library[1]:
            value = self.tracker.register(register)
            if value is None or value[0] != FRAME:
                self._used_as(register, self.read(held, register), t)
        pointer = self.graph.is_pointer(library[0])
        return (self.graph.target(library[0]), VOID) if pointer else (VOID, library[0])

    def _printed(self, name: str, held: dict[int, Held | None]) -> None:
        """Integers printed with an unsigned conversion are unsigned."""
        at = FORMATS.get(name, -1)
        text = self._text(self.tracker.register(MACHINE.parameters[at])) if at >= 0 else b""
        registers = MACHINE.parameters[at + 1 :]
        for register, printed in zip(registers, general_arguments(text) if text else (), strict=False):
            size = unsigned_size(*printed)
            t = integer(self.graph, size, signed=False) if size else VOID
            if t:
                self._used_as(register, self.read(held, register), t)

    def _text(self, value: Value | None) -> bytes:
        """The text at a read-only address; empty if unknown."""
        if value is None or value[0] != ADDRESS or value[2]:
            return b""
        found = b""
        while b"\0" not in found and len(found) < _LONGEST_TEXT:
            word = self.tracker.program.constant_at(value[4] + len(found))
            if word is None:
                return b""
            found += (word & 0xFFFFFFFFFFFFFFFF).to_bytes(_WORD, "little")
        return found.partition(b"\0")[0]

    def _offsets_in(self, registers: Iterable[int]) -> list[int]:
        """Frame offsets that some registers point to."""
        values = map(self.tracker.register, registers)
        return [value[4] for value in values if value is not None and value[0] == FRAME]

    def _by_value(
        self, k: int, prototype: Prototype, arguments: tuple[tuple[int, int, int], ...], returns: int
    ) -> None:
        """Note the aggregates in the frame that are passed by value."""
        graph, top = self.graph, self.tracker.register(MACHINE.stack_pointer)
        if top is not None and top[0] == FRAME and not top[2]:
            for offset, t in stack_arguments(graph, prototype.parameters, returns):
                if graph.is_aggregate(t):
                    self.frame.note(top[4] + offset, t)
                    self.frame.arguments.append(Claim(k, top[4] + offset, t, fills=False))
        if self.unoptimised:
            vectors = [(XMM0 + n, t, at) for n, t, at in vector_registers(graph, prototype.parameters)]
            # Aggregates passed by value are loaded from their location, several of one type in sequence.
            parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
            seen: Counter[tuple[int, int]] = Counter()
            for register, t, piece in (*arguments, *vectors):
                if graph.is_aggregate(t):
                    parts.setdefault((t, seen[t, piece]), []).append((register, piece))
                    seen[t, piece] += 1
            for (t, _number), several in parts.items():
                self._note_loaded(t, several)

    def _note_loaded(self, t: int, parts: list[tuple[int, int]]) -> None:
        """Note an aggregate whose parts were loaded into registers from one location; a single word may be its only
        member."""
        graph = self.graph
        whole = graph.size(t)
        found = [(self.frame.came.get(register), piece) for register, piece in parts]
        loaded = [(came[0] - piece, came[1], piece) for came, piece in found if came is not None]
        if len({place for place, _size, _piece in loaded}) != 1:
            return
        if not any(size in (_WORD, whole - piece) for _place, size, piece in loaded):
            return
        slots = [self.nodes.get(("slot", place + piece, size)) for place, size, piece in loaded]
        if any(slot is not None and slot.declared for slot in slots):
            # Parameters.
            return
        alone = whole == _WORD and graph.scalars_at(t, 0, whole)
        (self.frame.note_alone if alone else self.frame.note)(loaded[0][0], t)

    def _note_call(self, k: int, made: Instruction, held: dict[int, Held | None]) -> None:
        """Record a call's target and the values of argument registers."""
        tracker = self.tracker
        if made.target is not None:
            known = {register: tracker.register(register) for register in (*MACHINE.parameters, 0)}
            self.calls.append((k, made.target, known, self._arguments_held(held)))
        elif made.flow == _INDIRECT_CALL:
            t = self._function_called(k, made)
            self._given_members(t, made, held)
            if t:
                known = {register: tracker.register(register) for register in MACHINE.parameters}
                self.called.append((self._pointed_function(t), known, self._arguments_held(held)))
            callee = self._callee_node(k, made, held)
            if callee is not None:
                known = {register: tracker.register(register) for register in MACHINE.parameters}
                self.through.append((callee, known, self._arguments_held(held)))

    def _arguments_held(self, held: dict[int, Held | None]) -> dict[int, Held]:
        return {register: each for register in MACHINE.parameters if (each := self.read(held, register))}

    def _call_result(self, k: int, held: dict[int, Held | None], name: str) -> Node:
        """The node of a call's result; C library functions may return (part of) an argument."""
        tracker, graph = self.tracker, self.graph
        element = self._element(name)
        if element:
            array = self.read(held, MACHINE.parameters[ELEMENT_ARRAYS.get(name, 1)])
            if array is not None and not array[1]:
                array[0].element = element
            self._is_row(name, element)
        back = _GIVEN_BACK.get(name)
        returning = self.read(held, back) if back is not None else None
        given = tracker.register(back) if back is not None else None
        bytes_of = known_pointees(tracker, tracker.register(RDI)) if name in _WITHIN_TEXT else ()
        node = self.node("made", k, MACHINE.result)
        if back is not None:
            if element:
                sized = tuple(t for t in known_pointees(tracker, given) if graph.size(t) == element)
                node.known = added(node.known, sized)
            else:
                self._flows(node, returning, given)
        if bytes_of and graph.size(bytes_of[0]) == 1:
            # Whether it is text is decided by where it is stored.
            node.known = added(node.known, bytes_of)
            node.reckoned = True
        return node

    def _lose(self, changed: Iterable[int], held: dict[int, Held | None]) -> None:
        """Drop clobbered registers after a call, and frame slots that may have changed."""
        for register in changed:
            held[register] = None
        if self.tracker.has_escaped:
            self._overwritten((FRAME, 0, 1, 0, 0), 0, held)
        self._made_of.clear()
        self._moved_from.clear()
        self.frame.lose_all()

    def _returned_by(self, node: Node, held: dict[int, Held | None], returns: int) -> None:
        """A call's result has a type, in its result registers."""
        graph = self.graph
        if graph.is_scalar(returns) and not graph.is_pointer(returns):
            node.copied = added(node.copied, returns)
        counts = {"integer": 0, "sse": 0}
        for kind, at in returned_parts(graph, returns):
            register = _RETURNED[kind][counts[kind]]
            counts[kind] += 1
            self.frame.pieces[register] = Piece(returns, at)
            held.setdefault(register, None)

    def _sized(self, name: str, arguments: tuple[tuple[int, int, int], ...]) -> None:
        """Note sizes of frame objects passed as void pointers with a constant size: the next parameter, or known C
        library functions."""
        graph, known = self.graph, self.tracker.register
        pairs = [(MACHINE.parameters[one], MACHINE.parameters[size]) for one, size in SIZED.get(name, ())]
        for (register, t, piece), (behind, number, _piece) in pairwise(arguments):
            if not piece and graph.is_void_pointer(t) and graph.kind(graph.strip(number)) == _INT:
                pairs.append((register, behind))
        for register, behind in pairs:
            where, size = known(register), known(behind)
            if where is None or where[0] != FRAME or where[2] or size is None or size[0] != NUMBER or size[2]:
                continue
            if size[4] > _SMALLEST:
                self.frame.note_sized(where[4], size[4])

    def _element(self, name: str) -> int:
        """The element size that a call passes in bytes; 0 for others."""
        value = self.tracker.register(MACHINE.parameters[ELEMENT_SIZES[name]]) if name in ELEMENT_SIZES else None
        return value[4] if value is not None and value[0] == NUMBER and not value[2] else 0

    def _is_row(self, name: str, element: int) -> None:
        """Note an array of pointers in the frame that is sorted or searched."""
        first = ELEMENT_ARRAYS.get(name, 1)
        array = self.tracker.register(MACHINE.parameters[first])
        count = self.tracker.register(MACHINE.parameters[first + 1])
        if array is None or array[0] != FRAME or array[2] or element != 8 or self.unoptimised:
            return
        if count is not None and count[0] == NUMBER and not count[2] and 0 < count[4] <= _LONGEST:
            self.frame.rows.append((array[4], count[4]))

    def _allocated(self, k: int, name: str) -> None:
        """Note the constant size passed to an allocator of the C library (C11 7.22.3)."""
        sizes: list[int] = []
        rowed = number = 0
        if name in _ALLOCATORS:
            self.node("made", k, MACHINE.result).room = True
        for register in (RDI, RSI)[: _ALLOCATORS.get(name, 0)]:
            value = self.tracker.register(register)
            exact = value is not None and value[0] == NUMBER and not value[2]
            sizes.append(value[4] if exact and value is not None else 0)
            if value is not None and value[0] == NUMBER and value[2] > _SMALL and not value[4] % value[2]:
                rowed = value[2]
            elif value is not None and value[0] == NUMBER and value[2] in _NUMBERS and not value[4] % value[2]:
                number = value[2]
        # calloc's element size is the second argument; for one element some pass it as the first.
        size = sizes[1] if len(sizes) > 1 and sizes[1] > 1 else sizes[0] if sizes else 0
        if len(sizes) > 1:
            number = sizes[1] if sizes[1] in _NUMBERS and sizes[0] != 1 else 0
        if size > 1 or rowed or number:
            node = self.node("made", k, MACHINE.result)
            node.allocated, node.single, node.rowed = max(size, 0), 1 in sizes, rowed
            node.several = len(sizes) > 1 and size == sizes[1] and sizes[0] != 1
            if len(sizes) > 1 and sizes[1] > _SMALL and sizes[0] != 1:
                node.element = sizes[1]
            node.number_size = number

    def _callee_node(self, k: int, made: Instruction, held: dict[int, Held | None]) -> Node | None:
        """The node of an indirect call's target."""
        for number, operand in enumerate(made.memory):
            if not operand.implicit:
                where = self.frame.place(k, number, operand)
                return self._slot(where, operand) if where is not None else None
        for register in made.reads:
            if register != MACHINE.stack_pointer:
                found = self.read(held, register)
                return found[0] if found is not None and not found[1] else None
        return None

    def _pointed_function(self, t: int) -> int:
        return self.graph.target(t) if self.graph.is_pointer(t) else t

    def _given_members(self, t: int, made: Instruction, held: dict[int, Held | None]) -> None:
        """Note the members that are passed to a function called through a member."""
        member: tuple[Node, int] | Node | None = None
        for operand in made.memory:
            base = self.read(held, operand.base) if not operand.implicit and operand.base != NONE else None
            if base is not None and operand.index == NONE:
                member = base[0], base[1] + operand.displacement
        for register in made.reads if member is None else ():
            each = self.read(held, register) if register != MACHINE.stack_pointer else None
            if each is not None and not each[1]:
                member = each[0]
        if t and member is not None:
            several = ((register, held.get(register)) for register in MACHINE.parameters)
            given = {register: each[0] for register, each in several if each is not None and not each[1]}
            self._through_members.append((self._pointed_function(t), member, given))

    def _function_called(self, k: int, made: Instruction) -> int:
        """The function type of an indirect call's target, from a member or variable; void if unknown."""
        for number, operand in enumerate(made.memory):
            if not operand.implicit:
                return scalar_at(self.tracker, k, number, 8)
        for register in made.reads:
            value = self.tracker.register(register)
            exact = value is not None and value[0] == OBJECT and not value[2] and not value[4]
            if exact and value is not None and self.graph.kind(self.graph.strip(value[1])) == _FUNCTION:
                return value[1]
        return VOID

    def _passed(self, register: int, t: int, value: Value | None, held: dict[int, Held | None]) -> None:
        graph = self.graph
        if value is not None and value[0] == FRAME:
            target = graph.target(t) if graph.is_pointer(t) else VOID
            if not value[2] and target and graph.size(target) > 0:
                if graph.is_aggregate(target):
                    self.frame.note(value[4], target)
                    return
                if graph.is_scalar(target) and graph.size(target) > 1 and self.unoptimised:
                    slot = self.node("slot", value[4], graph.size(target))
                    slot.declared = added(slot.declared, target)
                    return
            self.frame.given.add(value[4])
            if not value[2]:
                return
        self._used_as(register, self.read(held, register), t)

    def _return(self, k: int, held: dict[int, Held | None]) -> None:
        result = self.read(held, MACHINE.result)
        self.returned.append((result, self.tracker.register(MACHINE.result)))
        returns = self.prototype.returns if self.prototype is not None else VOID
        counts = {"integer": 0, "sse": 0}
        parts: list[tuple[int, int]] = []
        for kind, at in returned_parts(self.graph, returns) if returns else ():
            parts.append((_RETURNED[kind][counts[kind]], at))
            counts[kind] += 1
        found = [(self.frame.came.get(register), at) for register, at in parts]
        if parts and self.unoptimised and all(came is not None for came, _at in found):
            # Otherwise it is assembled in registers from unrelated variables.
            self._note_loaded(returns, parts)
        places = {came[0] - at if came is not None and came[1] == _WORD else None for came, at in found}
        place = places.pop() if len(parts) > 1 and len(places) == 1 and self.graph.is_aggregate(returns) else None
        if place is not None and not self.unoptimised:
            # Both parts are loaded from its location, in the frame being torn down.
            self.frame.note(place, returns, GONE)
            self.frame.copied.update((place + at, _WORD) for _register, at in parts)
        if not returns:
            return
        made_of = self._parts(MACHINE.result, held, self.graph.size(returns))
        for each in made_of:
            if isinstance(each, Node):
                each.summed = added(each.summed, returns)
                each.met = added(each.met, *(one for one in made_of if one is not each))
        if result is not None and self.graph.is_scalar(returns) and not self._is_floating(returns):
            self._used_as(MACHINE.result, result, returns)

    def _returned_on(self, target: int) -> None:
        """The result of a tail call is the function's own."""
        graph = self.graph
        prototype = self.tracker.program.callee(target)
        returns = prototype.returns if prototype is not None else VOID
        leads = graph.target(returns) if returns and graph.is_pointer(returns) else VOID
        if leads and graph.kind(graph.strip(leads)) not in (_VOID, _FUNCTION):
            self.returned.append((None, (OBJECT, leads, 0, 0, 0)))
        else:
            self.ends_in.append(target)

    def _is_floating(self, t: int) -> bool:
        return self.graph.kind(self.graph.strip(t)) == _FLOAT

    def _returned_numbers(self) -> None:
        """Variables that are returned on some path have the return type."""
        t = self.prototype.returns if self.prototype is not None else VOID
        if not t or not self.graph.is_scalar(t) or self.graph.is_pointer(t) or self._is_floating(t):
            return
        queue = [result[0] for result, _value in self.returned if result is not None and not result[1]]
        seen = set(queue)
        for node in queue:
            # The list grows during the iteration.
            if node.key[0] == "slot" and node.key[2] == self.graph.size(t):
                node.copied = added(node.copied, t)
            for source, more in node.sources if node.key[0] == "in" else ():
                if not more and source not in seen:
                    seen.add(source)
                    queue.append(source)
