# cython: language_level=3, annotation_typing=False
"""Which type and member the memory operands of one binary's instructions touch.

A function is decoded and followed once, when the first of its addresses is asked for; answers are kept. Every answer
says how it was found, or why it was not.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property

from undwarf.disasm import NONE, Flow, Instruction, Machine, Memory, machine_of
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_properties import fused
from undwarf.elf import ElfFile
from undwarf.symbols.table import SymbolTable
from undwarf.types.access import Access, access, nothing
from undwarf.types.binary import Binary
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.dataflow.values import ADDRESS, FRAME, OBJECT, PERCPU, THREAD, Value
from undwarf.types.dataflow.ways import KernelWays
from undwarf.types.inference.callers import Callers, follow
from undwarf.types.layouts.arrays import before_array
from undwarf.types.layouts.embedders import Embedders
from undwarf.types.layouts.locate import locate, one_of_two
from undwarf.types.layouts.located import INCOMPLETE, WIDER, Located, is_member
from undwarf.types.layouts.model import VOID, Kind
from undwarf.types.layouts.virtual import is_method_table
from undwarf.types.layouts.wholes import candidates, whole_around
from undwarf.types.skid import late
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.types.sources.objects import APART, ELSEWHERE, ObjectFile
from undwarf.types.sources.places import Place, PlaceKind, TypeSource
from undwarf.types.uses.aliases import made_of_same
from undwarf.types.uses.casts import read_as
from undwarf.types.uses.characters import by_sign, in_a_row, only_bytes
from undwarf.types.uses.homes import is_extended, just_as_large
from undwarf.types.uses.pointer_uses import accessed, everywhere, kept_as, meant
from undwarf.types.uses.spills import put_aside
from undwarf.types.uses.touched import (
    SEVERAL,
    copied,
    in_array,
    in_pointed,
    in_room,
    in_variable,
    led_to_by_both,
    touched,
    used_in_parts,
)

__all__ = ["Access", "Resolver"]

_EM_X86_64 = 62
_KEPT_FUNCTIONS = 256
_KEPT_DONE = 4
"""Functions that are kept though all that was expected to be asked of them has been: each is some hundred kilobytes."""
_NOTHING_KNOWN = "nothing known of the address"
_NO_TYPES = "no types for this function"
_HALF = 2
"""Bytes that nobody copies pointers by."""
_VECTOR = 16
"""Bytes of a vector register."""
_TURNS = 4
"""Turns of a loop that compilers make one of."""


class _Function:
    """One function's instructions, and the answers made so far. ``inferred`` is the function with all that can be
    inferred, where the data flow first has to do without. ``left`` are the addresses that will still be asked for; None
    where that is not known."""

    def __init__(
        self, low: int, high: int, flow: FunctionFlow, tracker: Tracker, inferred: "Callable[[], _Function] | None"
    ) -> None:
        self.low = low
        self.high = high
        self.flow = flow
        self.tracker = tracker
        self.inferred = inferred
        self.answers: dict[int, list[Access]] = {}
        self.left: set[int] | None = None


def _stays(one: Access) -> bool:
    """Whether an answer does not depend on what can be inferred from all that a function does."""
    if one.typed:
        return one.how not in ("container", "frame") and not one.candidates and one.size < _VECTOR
    return not one.countable and one.how != "spill"


def _is_told(one: Access) -> bool:
    """The same where variables have names: what else is inferred are only values of which nothing is known."""
    return one.typed or one.reason != _NOTHING_KNOWN


class Resolver:
    """Answers for one binary. `source` says what its debugging information knows; `debug` is the file with symbols, if
    that is another; `symbols` are given where no file has them."""

    def __init__(
        self,
        elf: ElfFile,
        source: TypeSource,
        *,
        debug: ElfFile | None = None,
        complete: bool = False,
        embedders_at: Callable[[int], Embedders] | None = None,
        kernel: bool = False,
        symbols: SymbolTable | None = None,
    ) -> None:
        self._elf = elf
        self.source = source
        self.graph = source.graph
        machine = machine_of(elf.machine)
        self.machine: Machine | None = machine
        self._functions: OrderedDict[int, _Function] = OrderedDict()
        self._ranges: list[tuple[int, int]] = []
        self._expected: list[int] = []
        self.binary = Binary(elf, source, machine, debug, symbols)
        fixed = elf.kind == 2 or isinstance(elf, ObjectFile)
        self._kernel = kernel
        self._ways = KernelWays(elf, self.binary.symbols) if kernel and elf.machine == _EM_X86_64 else None
        if machine is not None:
            self.program = Program(
                source,
                machine,
                frame_rules=self.binary.frame_rules,
                callee=self.binary.callee,
                changed_by=self.binary.changed_by,
                given_back=self.binary.given_back,
                is_data=self._is_data if fixed else None,
                elsewhere=self.binary.elsewhere,
                indirections=self.binary.slots,
                complete=complete,
                embedders_at=embedders_at,
                kernel=kernel,
                thread_block=self.binary.thread_block(),
            )

    # The binary ------------------------------------------------------------------------------------------------

    @property
    def described(self) -> int:
        """Bytes of the debugging information of the binary and its debug file."""
        return self.binary.described

    def _is_data(self, address: int) -> bool:
        """An address of position-dependent code that is a variable's: a number that says so is taken for it."""
        if isinstance(self._elf, ObjectFile):
            # Small numbers may be anything there.
            return address >= ELSEWHERE and address & -APART in self._elf.undefined
        if address < 0x1000 or not self.binary.section_at(address):
            return False
        if self.source.global_at(address) is not None:
            return True
        return self._kernel and self.program.is_per_cpu_base((ADDRESS, 0, 0, 0, address))

    # Functions ---------------------------------------------------------------------------------------------------

    def _function(self, address: int) -> _Function | str:
        at = bisect_right(self._ranges, (address, 1 << 65)) - 1
        if at >= 0 and self._ranges[at][0] <= address < self._ranges[at][1]:
            low = self._ranges[at][0]
            known = self._functions.get(low)
            if known is not None:
                self._functions.move_to_end(low)
                return known
        found = self._flow(address)
        if isinstance(found, str):
            return found
        flow, low, high = found
        made = self._followed(flow, low, high)
        made.left = set(self._asked(low, high)) or None
        self._let_go()
        self._functions[low] = made
        self._ranges.insert(bisect_right(self._ranges, (low, high)), (low, high))
        return made

    def _let_go(self) -> None:
        """Forget functions of which nothing more will be asked, but the last of them; and the one that was asked about
        least recently, where there are too many."""
        done = [low for low, one in self._functions.items() if one.left is not None and not one.left]
        del done[-_KEPT_DONE:]
        if not done and len(self._functions) >= _KEPT_FUNCTIONS:
            done = [next(iter(self._functions))]
        for low in done:
            self._ranges.remove((low, self._functions.pop(low).high))

    def _followed(self, flow: FunctionFlow, low: int, high: int) -> _Function:
        first = Tracker(self.program, flow, low, high, None, self._wanted(flow, low, high))

        named: Tracker | None = None
        if first.has_variables:
            # Most is told by these.
            named = follow(self._callers, self.program, flow, low, high, first)

        further: _Function | None = None

        def inferred() -> _Function:
            nonlocal further
            if further is None:
                tracker = follow(self._callers, self.program, flow, low, high, first, named)
                further = _Function(low, high, flow, tracker, None)
            return further

        if named is not None:
            return _Function(low, high, flow, named, inferred)
        # A kernel's functions have prototypes, and most is told by these; to infer the rest takes most of the time.
        return _Function(low, high, flow, first, inferred) if self._kernel else inferred()

    def expect(self, addresses: Iterable[int]) -> None:
        """All addresses that will be asked for: of functions of which none is, all may be."""
        self._expected = sorted(addresses)

    def _asked(self, low: int, high: int) -> list[int]:
        """The addresses in a function that will be asked for."""
        expected = self._expected
        return expected[bisect_left(expected, low) : bisect_left(expected, high)]

    def _wanted(self, flow: FunctionFlow, low: int, high: int) -> list[int] | None:
        """The numbers of a function's instructions that will be asked for; None where that is not known."""
        asked = self._asked(low, high)
        found = [flow.index_of(address) for address in asked]
        return [k for k in found if k is not None] if asked else None

    def _flow(self, address: int) -> tuple[FunctionFlow, int, int] | str:
        """The control flow of the function that holds an address, and its bounds; why there is none."""
        if self.machine is None:
            return "machine not supported"
        found = self.binary.range_of(address)
        if found is None:
            return "no function here"
        low, high = found
        size = high - low
        if size <= 0 or size > self._elf.limits.function_bytes:
            return "function too large"
        # What a kernel runs once lies in a segment that is written to.
        code = self._elf.read(low, size, writable=self._kernel)
        if code is None or not self.binary.executable(low):
            return "no code here"
        instructions = self.machine.listing(bytes(code[:size]), low)
        self.binary.through_slots(instructions)
        further: list[tuple[int, int]] = []
        if self._ways is not None:
            self.binary.through_native(instructions)
            further = self._ways.between(low, high) + self._ways.through_questions(instructions)
        flow = FunctionFlow(
            instructions,
            self.machine,
            self.binary.read_loaded,
            self.binary.never_returns,
            further=further,
            warns=self._kernel,
        )
        return flow, low, high

    @cached_property
    def _callers(self) -> Callers | None:
        """What tells values by their use, and by who calls; None where prototypes are not those of the machine."""
        if self._elf.machine != _EM_X86_64:
            return None
        symbols = getattr(self.source, "symbols", None)
        functions = symbols.functions if isinstance(symbols, DataSymbols) and not self._kernel else {}

        def flow_of(address: int) -> tuple[FunctionFlow, int, int] | None:
            found = self._flow(address)
            return None if isinstance(found, str) else found

        return Callers(self._elf, self.program, functions, self.binary.slots.all_moved, flow_of)

    # Answers -----------------------------------------------------------------------------------------------------

    def at(self, address: int) -> list[Access]:
        """What the instruction at an ELF virtual address touches: one answer an operand, at least one in all."""
        function = self._function(address)
        if isinstance(function, str):
            return [nothing(address, "", function)]
        if function.left is not None:
            function.left.discard(address)
        index = function.flow.index_of(address)
        if index is None:
            return [nothing(address, "", "not the begin of an instruction")]
        found = function.answers.get(index)
        if found is None:
            found = function.answers[index] = self._answer(function, index)
        return found

    def sampled(self, address: int) -> Access:
        """What a sample at an address is charged to: the first operand that has a type, else the first there is.

        A conditional jump that is carried out as one with the comparison before it stands for that.
        """
        found = self.at(address)
        if found[0].how == "none":
            before = self._fused_with(address)
            if before is not None:
                found = self.at(before)
        return next((one for one in found if one.typed), found[0])

    def _fused_with(self, address: int) -> int | None:
        place = self.instruction(address)
        if place is None or not place[1]:
            return None
        instructions, k = place
        if self._elf.machine != _EM_X86_64 or instructions.flows[k] & 15 != Flow.BRANCH:
            return None
        if not fused(instructions[k - 1], instructions[k]):
            return None
        return instructions[k - 1].address

    def producer(self, address: int, *, trap_after: bool = False) -> "tuple[Access, bool, bool] | None":
        """(the load that an instruction without one most likely waited for, whether it consumes what was loaded,
        whether the registers that say the load's address are still as they were).

        For events whose instruction pointer is late. ``trap_after``: of breakpoints, which stop behind the access.
        """
        place = self.instruction(address)
        if place is None:
            return None
        flow = self.flow_at(address)
        instructions, k = place
        if flow is None:
            return None
        found = late(flow, k, trap_after=trap_after)
        if found is None:
            return None
        access = self.sampled(instructions[found[0]].address)
        if access.how == "none":
            return None
        operand = access.operand
        intact = operand is not None and not {operand.base, operand.index} & found[2]
        return access, found[1], intact

    def instruction(self, address: int) -> tuple[Listing, int] | None:
        """(the instructions of the function that holds an address, the number of the one that begins there)."""
        function = self._function(address)
        if isinstance(function, str):
            return None
        index = function.flow.index_of(address)
        return None if index is None else (function.flow.instructions, index)

    def flow_at(self, address: int) -> FunctionFlow | None:
        """The control flow of the function that holds an address."""
        function = self._function(address)
        return None if isinstance(function, str) else function.flow

    def _answer(self, function: _Function, k: int) -> list[Access]:
        made = function.flow.instructions[k]
        operands = [(number, operand) for number, operand in enumerate(made.memory) if operand.access]
        if not operands:
            return [nothing(made.address, made.text, "no memory access")]
        function.tracker.before(k)
        explicit = [one for one in operands if not one[1].implicit]
        found = [self._resolve(function, k, made, *one) for one in explicit or operands[:1]]
        if function.inferred is not None:
            stays = _is_told if function.tracker.has_variables else _stays
            if not all(map(stays, found)):
                return self._answer(function.inferred(), k)
        return found

    def _resolve(self, function: _Function, k: int, made: Instruction, number: int, operand: Memory) -> Access:
        size = operand.size or operand.element
        if operand.implicit:
            return access(made, operand, size, how="stack", reason="stack operation")
        tracker = function.tracker
        where = tracker.address_of(k, number)
        if operand.segment and self._is_canary(operand):
            return self._canary(made, operand, where, size)
        if where is None:
            return self._by_register(function, k, made, number, operand, size)
        base = where[0]
        if base == FRAME:
            return self._on_frame(function, k, made, operand, where, size)
        if base == ADDRESS:
            return self._global(function, k, made, operand, where, size)
        if base in (PERCPU, THREAD):
            found = tracker.questions.in_block(where)
            if found is None:
                return access(made, operand, size, how="", reason="no variable")
            located = locate(self.graph, found[0], where[2], found[1], size)
            return self._typed(made, operand, size, located, "percpu" if base == PERCPU else "thread")
        if base == OBJECT:
            located = touched(tracker, k, operand, where, size)
            if isinstance(located, str) and self._told_there(tracker, k, number, where, size):
                return self._by_register(function, k, made, number, operand, size)
            if isinstance(located, str) and (located == INCOMPLETE or self.graph.choices(where[1])):
                t = meant(tracker, k, operand, where, size) or everywhere(tracker, k, where)
                t = t or by_sign(tracker, k, number, where)
                located = locate(self.graph, t, where[2], where[4], size) if t else located
            row = in_a_row(tracker, k, number, where, size)
            if row is not None:
                located = row
            elif not isinstance(located, str) and self._otherwise_used(function, k, number, where, located, size):
                located = "used as something else as well"
            if isinstance(located, str) or located.how or self._is_byte(located):
                located = made_of_same(tracker, k, operand, size) or located
                if not isinstance(located, str) and located.how == "array" and not where[2]:
                    located = in_room(tracker, k, operand, where, size) or located
            if 1 < size < _VECTOR and self.graph.size(where[1]) == 1 and tracker.has_variables:
                located = self._in_bytes(tracker, k, operand, size) or located
                if located == WIDER and not used_in_parts(tracker, k, number, size):
                    located = only_bytes(tracker, k, number, where, size) or located
            if not isinstance(located, str) and operand.access == "w" and self._is_inside_pointer(located, size):
                located = "used as something else as well"
            if isinstance(located, str):
                together = self._together(function, k, operand, number, where, size)
                if together is None:
                    chosen = self._chosen(made, operand, size, where) if located != SEVERAL else None
                    return chosen or self._outside(function, made, operand, size, where, located)
                located = together
            if self._is_table(where):
                return access(made, operand, size, how="table", reason="table of functions")
            how = located.how if located.how == "container" else self._provenance(function, k, operand, where)
            return self._typed(made, operand, size, located, how)
        return self._by_register(function, k, made, number, operand, size)

    def _together(
        self, function: _Function, k: int, operand: Memory, number: int, where: Value, size: int
    ) -> Located | None:
        """What an access outside of a type is in, told by all accesses through the same pointer."""
        others = () if where[2] else function.tracker.others(k, number)
        accesses = [(where[4] + apart, each) for apart, each in others]
        rows: list[tuple[int, int]] = []
        if not others and function.tracker.has_variables and where[4] != 0 and self.graph.is_aggregate(where[1]):
            accesses, rows = accessed(function.tracker, k, operand, where, size)
        if not accesses or (others and self._may_be_next(function, where, others)):
            return None
        found = whole_around(self.graph, where[1], accesses, function.tracker.questions.embedders, rows)
        inner = self.graph.member_at(found[0], where[4] + found[1], size) if found is not None else None
        if found is None or inner is None:
            return None
        return Located(found[0], where[4] + found[1], inner, "container")

    def _otherwise_used(
        self, function: _Function, k: int, number: int, where: Value, located: Located, size: int
    ) -> bool:
        """Whether other accesses through the same pointer do not fit what an access seems to touch.

        That is several characters at once, something around what the pointer is known to lead to, or what lies behind
        it as if it were an array: then no access is of the end of one element and the begin of the next.
        """
        graph = self.graph
        among = bool(where[2]) or located.how == "array"
        if size <= _HALF and among and graph.is_pointer(located.field.type) and not function.tracker.has_variables:
            # Nobody accesses a part of an address: it is something else than one of several that are alike.
            return True
        characters = graph.is_scalar(located.type) and graph.size(located.type) == 1
        if characters and 1 < size < _VECTOR and used_in_parts(function.tracker, k, number, size):
            return True
        many = size >= _VECTOR and characters
        if where[2] or not (many or located.how in ("array", "container")):
            return False
        if located.how == "array":
            crosses = graph.is_aggregate(located.type) and function.tracker.crosses_ends(located.type)
            function.tracker.before(k)
            return crosses
        others = function.tracker.others(k, number)
        if many:
            return any(1 < each <= graph.pointer_size for _apart, each in others)
        if self._may_be_next(function, where, others or ((0, size),)):
            return True
        return any(
            each <= graph.pointer_size and not is_member(graph, located.type, located.offset + apart, each)
            for apart, each in others
        )

    def _may_be_next(self, function: _Function, where: Value, others: tuple[tuple[int, int], ...]) -> bool:
        """Whether what lies behind an object may be the next of several: all accesses fit that, and nothing names what
        is there. Links are made to be parts of others."""
        graph = self.graph
        whole = graph.size(where[1])
        if function.tracker.has_variables or not 0 < whole <= where[4] or graph.is_link(where[1]):
            return False
        row = [(where[4] + apart, size) for apart, size in others]
        return all(at >= 0 and is_member(graph, where[1], at % whole, size) for at, size in row)

    def _is_canary(self, operand: Memory) -> bool:
        return operand.absolute and operand.displacement == 0x28 and operand.segment == ("gs" if self._kernel else "fs")

    def _canary(self, made: Instruction, operand: Memory, where: Value | None, size: int) -> Access:
        """What the compiler compares return addresses' neighbours with: of a kernel a member of a per-cpu variable
        (asm/processor.h of x86). A module's own variables are at other places than the file says."""
        if where is not None and where[0] == PERCPU and not isinstance(self._elf, ObjectFile):
            found = self.source.per_cpu_at(where[4])
            located = locate(self.graph, found[0].type, 0, found[1], size) if found is not None else ""
            if not isinstance(located, str):
                return self._typed(made, operand, size, located, "canary")
        return access(made, operand, size, how="canary", reason="stack canary")

    def _is_byte(self, located: Located) -> bool:
        """Whether no more is known than that bytes are touched, which stand for anything."""
        return self.graph.size(located.field.type) == 1 and self.graph.is_scalar(located.field.type)

    def _in_bytes(self, tracker: Tracker, k: int, operand: Memory, size: int) -> Located | None:
        """What is put into bytes, of which several are accessed at once."""
        t = kept_as(tracker, k, operand)
        located = locate(self.graph, t, 0, operand.displacement, size) if t else ""
        return None if isinstance(located, str) else located

    def _is_inside_pointer(self, located: Located, size: int) -> bool:
        """Whether an access is of the inner bytes of a pointer: nobody writes a part of an address."""
        graph, field = self.graph, located.field
        return 0 < field.offset < graph.pointer_size - size + 1 <= graph.pointer_size and graph.is_pointer(field.type)

    def _is_table(self, where: Value) -> bool:
        """A table of a C++ class's virtual functions: what its members are is no data of the program."""
        return is_method_table(self.graph, where[1])

    def _by_register(
        self, function: _Function, k: int, made: Instruction, number: int, operand: Memory, size: int
    ) -> Access:
        found = function.tracker.memory_variable(k, number)
        if found is None:
            tracker = function.tracker
            located = in_variable(tracker, k, operand, size) or in_array(tracker, k, operand, size)
            t = VOID
            if located is None and tracker.has_variables:
                t = led_to_by_both(tracker, operand, size) or read_as(tracker, k, operand, size)
            if t:
                return self._typed(made, operand, size, locate(self.graph, t, 0, 0, size), "variable")
            located = located or made_of_same(tracker, k, operand, size)
            described = tracker.has_variables or self.source.describes(function.low)
            return self._typed(made, operand, size, located or (_NOTHING_KNOWN if described else _NO_TYPES), "variable")
        place, offset = found
        return self._typed(made, operand, size, locate(self.graph, place.type, 0, offset, size), "variable")

    def _told_there(self, tracker: Tracker, k: int, number: int, where: Value, size: int) -> bool:
        """Whether a variable is said to be where an operand is that leads to one of several types, or, if it is just as
        large, to characters."""
        found = tracker.memory_variable(k, number)
        if found is None or self.graph.choices(where[1]):
            return found is not None
        place, offset = found
        graph = self.graph
        return graph.size(where[1]) == 1 < size == graph.size(place.type) and not offset and graph.is_scalar(place.type)

    def _provenance(self, function: _Function, k: int, operand: Memory, where: Value) -> str:
        for place in function.tracker.questions.places_at(function.flow.instructions.address_of(k)):
            if place.register == operand.base and place.kind in (PlaceKind.REGISTER, PlaceKind.VALUE):
                target = self.graph.target(place.type) if self.graph.is_pointer(place.type) else VOID
                if target and self.graph.canonical(target) == self.graph.canonical(where[1]):
                    return "variable"
        return "tracking"

    def _on_frame(
        self, function: _Function, k: int, made: Instruction, operand: Memory, where: Value, size: int
    ) -> Access:
        found = function.tracker.stack_variable(k, where[4])
        named = function.tracker.has_variables
        if named and where[2] and (found is None or self.graph.is_scalar(found[0].type)):
            found = self._array_behind(function.tracker, k, where) or found
        if not where[2]:
            found = just_as_large(function.tracker, k, operand, where[4], size, found)
        if found is None:
            nameless = in_pointed(function.tracker, k, where[4], size) if not where[2] else None
            if where[2]:
                # An array that nothing names there, and a variable that leads into it.
                nameless = in_variable(function.tracker, k, operand, size)
            if nameless is not None:
                return self._typed(made, operand, size, nameless, "variable")
            return self._spilled(function, k, made, operand, size, "the compiler's own place on the stack")
        place, offset = found
        whole = self.graph.size(place.type)
        if size == _VECTOR and not offset and self.graph.kind(self.graph.strip(place.type)) == Kind.FLOAT:
            # The register it is in is stored as a whole.
            size = whole
        wider = not where[2] and self.graph.is_scalar(place.type) and offset + size > whole
        if wider and (offset or operand.access != "r" or not is_extended(function.tracker, k, where[4], place)):
            reason = "wider than the variable that shares the place"
            return self._spilled(function, k, made, operand, size, reason)
        if operand.access == "w" and 0 < size < whole and not where[2] and self.graph.is_pointer(place.type):
            # Nobody writes a part of an address.
            reason = "narrower than the variable that shares the place"
            return self._spilled(function, k, made, operand, size, reason)
        if self.graph.is_scalar(place.type):
            place, offset = self._split(function.tracker, made.address, place, offset)
        located: Located | str = "index not understood"
        if operand.index == NONE or operand.scale < size or not self._in_small(place.type, size):
            located = locate(self.graph, place.type, where[2], offset, whole if wider else size)
        if isinstance(located, str) and where[2]:
            located = copied(function.tracker, k, operand, place.type, offset, size) or located
        how = "variable" if function.tracker.has_variables else "frame"
        return self._typed(made, operand, size, located, how)

    def _spilled(
        self, function: _Function, k: int, made: Instruction, operand: Memory, size: int, reason: str
    ) -> Access:
        kept = put_aside(function.tracker, k, made, operand, size)
        return access(made, operand, size, how="spill", reason=reason, candidates=(kept,) if kept else ())

    def _array_behind(self, tracker: Tracker, k: int, where: Value) -> tuple[Place, int] | None:
        """The array in the frame whose first element is a few steps further: the index counts from one, or more."""
        step = abs(where[2])
        for offset in range(where[4] + step, where[4] + _TURNS * step + 1, step):
            found = tracker.stack_variable(k, offset)
            if found is not None:
                first = self.graph.is_array(found[0].type) and self.graph.stride(found[0].type) == step > found[1]
                return found if first else None
        return None

    def _split(self, tracker: Tracker, pc: int, found: Place, offset: int) -> tuple[Place, int]:
        """The variable that a scalar one is a part of, where both are told to be in one place on the stack: structures
        are often taken apart, and their parts are variables of what is inlined."""
        graph = self.graph
        at = found.offset + offset - found.piece_offset
        for place in reversed(tracker.questions.frame_places):
            if place[2:4] != found[2:4] or not place.low <= pc < place.high or graph.is_scalar(place.type):
                continue
            inside = at - place.offset
            if 0 <= inside < (place.piece_size or graph.size(place.type)):
                part = graph.member_at(place.type, place.piece_offset + inside, graph.size(found.type))
                if part is not None and graph.canonical(part.type) == graph.canonical(found.type) and not part.offset:
                    return place, place.piece_offset + inside
        return found, offset

    def _in_small(self, t: int, size: int) -> bool:
        """Whether a type is an array of scalars of fewer bytes: an index of larger ones is not into that."""
        graph = self.graph
        t = graph.unwrapped(t)
        return graph.is_array(t) and graph.is_scalar(graph.target(t)) and 0 < graph.stride(t) < size

    def _global(
        self, function: _Function, k: int, made: Instruction, operand: Memory, where: Value, size: int
    ) -> Access:
        questions = function.tracker.questions
        if questions.variable_of(where) is not None:
            located = touched(function.tracker, k, operand, where, size)
            bytes_only = not isinstance(located, str) and self._is_byte(located)
            if bytes_only and 1 < size < _VECTOR and function.tracker.has_variables:
                located = self._in_bytes(function.tracker, k, operand, size) or located
            return self._typed(made, operand, size, located, "global")
        address = where[4] & 0xFFFFFFFFFFFFFFFF
        if address in function.flow.tables:
            return access(made, operand, size, how="constant", reason="jump table")
        section = self.binary.section_at(address)
        if section.startswith((".got", ".plt")):
            return access(made, operand, size, how="table", reason="global offset table")
        if section and self.binary.is_constant(section):
            return access(made, operand, size, how="constant", reason="constant without a name")
        return access(made, operand, size, how="", reason="no variable at this address")

    def _chosen(self, made: Instruction, operand: Memory, size: int, where: Value) -> Access | None:
        """One of two members of one type, chosen by a condition: the one on the first way, with both as candidates."""
        graph = self.graph
        if not where[2] or graph.choices(where[1]) or before_array(graph, where[1], where[2], where[4]):
            return None
        both = one_of_two(graph, where[1], where[2], where[4], size)
        fields = [graph.member_at(t, offset, size) for t, offset in both]
        member = graph.member_at(where[1], where[4], size) if both else None
        if member is None:
            return None
        paths = tuple(one.path for one in fields if one is not None)
        return self._typed(
            made, operand, size, Located(where[1], where[4], member._replace(candidates=paths)), "tracking"
        )

    def _outside(
        self, function: _Function, made: Instruction, operand: Memory, size: int, where: Value, reason: str
    ) -> Access:
        graph = self.graph
        found = []
        if not where[2]:
            found = candidates(graph, where[1], where[4], size, function.tracker.questions.embedders)
        names = tuple(dict.fromkeys(f"{graph.canonical_name(t)}+{offset:#x}" for t, offset in found))
        return access(made, operand, size, how="", reason=reason, candidates=names)

    def _typed(self, made: Instruction, operand: Memory, size: int, located: Located | str, how: str) -> Access:
        if isinstance(located, str):
            return access(made, operand, size, how="", reason=located)
        graph = self.graph
        t, offset, field = located.type, located.offset, located.field
        path = field.path
        t = graph.unwrapped(t)
        if t != located.type:
            inner = graph.member_at(t, offset, size)
            path = inner.path if inner is not None else ""
        # An array of aggregates is known by its element.
        for _depth in range(8):
            if not graph.is_array(t):
                break
            element = graph.target(t)
            stride = graph.stride(t)
            if not stride or not (graph.is_aggregate(element) or graph.is_array(element)):
                break
            t, offset = graph.unwrapped(element), offset % stride
            inner = graph.member_at(t, offset, size)
            path = inner.path if inner is not None else ""
        if graph.is_array(t):
            path = ""
        return Access(
            made.address,
            made.text,
            operand.access,
            graph.canonical_name(t),
            offset,
            path,
            size,
            how,
            field.candidates,
            "",
            t,
            graph.size(t),
            operand,
        )
