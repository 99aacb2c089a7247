# cython: language_level=3, annotation_typing=False
"""Resolves the memory operands of one binary's instructions to types and members.

A function is decoded and its data flow solved once, at the first query for one of its addresses; results are cached.
Every answer has the kind of its evidence, or the reason why there is none.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import cython

from undwarf.disasm import Flow, Machine, machine_of
from undwarf.disasm.instruction import Instruction
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_properties import fused
from undwarf.elf import ElfFile
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.types.access import Access, nothing
from undwarf.types.dataflow.abstract_values import ADDRESS
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.allocation_types import with_allocation_types
from undwarf.types.layouts.containers import Containers
from undwarf.types.operand_resolver import NOTHING_KNOWN, OperandResolver, on_stack
from undwarf.types.program_image import ProgramImage
from undwarf.types.rust_merged_functions import SHORT, depends, is_merged, is_of_rust, of_any
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.types.sources.relocatable_objects import APART, ELSEWHERE, ObjectFile
from undwarf.types.sources.type_source import PlaceKind, TypeSource

if TYPE_CHECKING:
    from undwarf.types.dataflow.kernel_control_flow import KernelControlFlow
    from undwarf.types.inference.caller_argument_types import CallerArgumentTypes
    from undwarf.types.inference.interprocedural import Interprocedural

__all__ = ["Access", "Resolver"]

_BRANCH = Flow.BRANCH

_EM_X86_64 = 62
_KEPT_FUNCTIONS = 256
_KEPT_DONE = 4
"""Limit of cached functions without expected queries: each takes some hundred kilobytes."""
_VECTOR = 16
"""Size of a vector register."""


@cython.final
@cython.cclass
class _Function:
    """One function's instructions and answers.

    `flow` and `tracker` are computed at the first query on a memory operand: many functions are only sampled elsewhere.
    `trackers` are the plain data flow and that with allocations: `inferred` is derived from these if an answer needs
    inference. `left` are the addresses that will still be queried; None if unknown.
    """

    def __init__(self, low: int, high: int, instructions: Listing) -> None:
        self.low = low
        self.high = high
        self.instructions = instructions
        self.flow: FunctionFlow | None = None
        self.tracker: Tracker | None = None
        self.trackers: tuple[Tracker, Tracker | None] | None = None
        self.inferred: _Function | None = None
        self.type_parameters: list[int] = []
        """Type parameters of a generic function that may be merged with another instance."""
        self.answers: dict[int, list[Access]] = {}
        self.left: set[int] | None = None


def _touches(made: Instruction) -> bool:
    """Whether an instruction has an explicit memory operand."""
    return any(operand.access and not operand.implicit for operand in made.memory)


def _is_final(one: Access) -> bool:
    """Whether inference cannot change an answer."""
    if one.typed:
        return one.how not in ("container", "frame") and not one.candidates and one.size < _VECTOR
    return not one.countable and one.how != "spill"


def _cannot_improve(one: Access) -> bool:
    """The same for functions with variables: only unknown values are inferred."""
    return one.typed or one.reason != NOTHING_KNOWN


def _kernel_control_flow(elf: ElfFile, symbols: SymbolTable | None) -> "KernelControlFlow | None":
    """Additional control-flow edges of an x86-64 kernel; None for other machines."""
    if elf.machine != _EM_X86_64:
        return None
    from undwarf.types.dataflow.kernel_control_flow import KernelControlFlow

    return KernelControlFlow(elf, symbols)


@cython.cclass
class Resolver:
    """Answers for one binary. `source` is its type information; `debug` is the file with symbols, if another; `symbols`
    are set if no file has them."""

    def __init__(
        self,
        elf: ElfFile,
        source: TypeSource,
        *,
        debug: ElfFile | None = None,
        complete: bool = False,
        containers_at: Callable[[int], Containers] | None = None,
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
        self._last: _Function | None = None
        self._why = ""
        self._expected: list[int] = []
        self._late = False
        self.binary = ProgramImage(elf, source, machine, debug, symbols)
        linked = not isinstance(elf, ObjectFile)
        self._operands = OperandResolver(self.binary, source, kernel=kernel, linked=linked)
        self._kernel = kernel
        self._by_dwarf = not complete
        self._ways = _kernel_control_flow(elf, self.binary.symbols) if kernel else None
        self._callers: Interprocedural | None = None
        self._given_by_callers: CallerArgumentTypes | None = None
        if machine is not None:
            symbols = getattr(source, "symbols", None)
            self.program = ProgramContext(
                source,
                machine,
                frame_rules=self.binary.frame_rules,
                callee=self.binary.callee,
                changed_by=self.binary.changed_by,
                returned_argument=self.binary.returned_argument,
                is_data=self._is_data if elf.kind == 2 or not linked else None,
                elsewhere=self.binary.elsewhere,
                constant_at=self.binary.constant_at if elf.kind == 3 and linked and not kernel else None,
                indirections=self.binary.slots,
                complete=complete,
                containers_at=containers_at,
                kernel=kernel,
                thread_block=self.binary.thread_block(),
                symbol_at=symbols.variable_at if isinstance(symbols, DataSymbols) and not kernel else None,
            )

    # The binary ------------------------------------------------------------------------------------------------

    @property
    def described(self) -> int:
        """Bytes of debugging information of the binary and its debug file."""
        return self.binary.described

    def _is_data(self, address: int) -> bool:
        """Whether an integer in position-dependent code is the address of a variable."""
        if isinstance(self._elf, ObjectFile):
            # Small integers are ambiguous there.
            return address >= ELSEWHERE and address & -APART in self._elf.undefined
        if address < 0x1000 or not self.binary.section_at(address):
            return False
        if self.source.global_at(address) is not None:
            return True
        return self._kernel and self.program.is_per_cpu_base((ADDRESS, 0, 0, 0, address))

    # Functions ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.returns(_Function)
    def _function(self, address: int) -> _Function | None:
        """The function that contains an address; None with the reason in `_why`."""
        if self._last is None or not self._last.low <= address < self._last.high:
            self._last = self._followed_at(address)
        return self._last

    @cython.cfunc
    @cython.returns(_Function)
    @cython.locals(known=_Function, made=_Function)
    def _followed_at(self, address: int) -> _Function | None:
        at = bisect_right(self._ranges, (address, 1 << 65)) - 1
        if at >= 0 and self._ranges[at][0] <= address < self._ranges[at][1]:
            low = self._ranges[at][0]
            known = self._functions.get(low)
            if known is not None:
                self._functions.move_to_end(low)
                return known
        found = self._decoded(address)
        if isinstance(found, str):
            self._why = found
            return None
        instructions, low, high = found
        made = _Function(low, high, instructions)
        made.left = set(self._expected_in(low, high)) or None
        self._drop_functions()
        self._functions[low] = made
        self._ranges.insert(bisect_right(self._ranges, (low, high)), (low, high))
        return made

    @cython.locals(function=_Function)
    def _merged(self, function: _Function) -> list[int]:
        """Type parameters of a function, if it is, or may be, merged with instances for other types."""
        names = self.binary.names_of(function.low)
        if not is_of_rust(names):
            return []
        type_parameters = self.source.type_parameters(function.low)
        if not type_parameters or is_merged(names):
            return type_parameters
        count = len(function.instructions)
        # Unoptimised functions (parameters in the frame) are not merged.
        kept = {place.kind for scope in self.source.places(function.low) for place in scope}
        if count > SHORT or PlaceKind.REGISTER not in kept:
            return []
        answers = chain.from_iterable(map(partial(self._answer, function), range(count)))
        return [] if depends(self.graph, answers, type_parameters) else type_parameters

    def _drop_functions(self) -> None:
        """Drop functions without further expected queries, except the last ones; if there are too many, the least
        recently used."""
        done = [low for low, one in self._functions.items() if one.left is not None and not one.left]
        del done[-_KEPT_DONE:]
        if not done and len(self._functions) >= _KEPT_FUNCTIONS:
            done = [next(iter(self._functions))]
        for low in done:
            self._ranges.remove((low, self._functions.pop(low).high))

    @cython.locals(function=_Function)
    def _solve(self, function: _Function) -> Tracker:
        """Solve the data flow of a function."""
        low, high = function.low, function.high
        flow = self._flow_of(function)
        tracker = Tracker(self.program, flow, low, high, None, self._wanted(function.instructions, low, high))
        if self._elf.machine != _EM_X86_64:
            # Argument registers are known for x86-64 only.
            pass
        elif tracker.has_variables:
            # Variables type most values.
            first, tracker = tracker, with_allocation_types(tracker, low, high)
            function.trackers = first, tracker
        elif self.source.by_assembler(low):
            # Assembly copies or searches anything; only all its callers could tell.
            pass
        elif self._kernel or (self._by_dwarf and self.source.describes(low)):
            # Prototypes, globals and callees' results type most values; inferring the rest is slow, so only on demand.
            function.trackers = tracker, None
        else:
            tracker = self._infer(function, tracker)
        function.tracker = tracker
        if tracker.has_variables:
            function.type_parameters = self._merged(function)
        return tracker

    @cython.locals(function=_Function)
    def _infer(self, function: _Function, tracker: Tracker) -> Tracker:
        """The data flow of a function without variables, with inferred types."""
        # Lazy: most functions have variables.
        from undwarf.types.inference.interprocedural import with_inferred_types

        return with_inferred_types(self._all_callers(), self._flow_of(function), function.low, function.high, tracker)

    @cython.locals(function=_Function, further=_Function)
    def _inferred(self, function: _Function) -> _Function:
        """The function with all inferred types."""
        if function.inferred is None:
            assert function.trackers is not None
            first, named = function.trackers
            further = _Function(function.low, function.high, function.instructions)
            further.flow = self._flow_of(function)
            if named is not None:
                given = self._arguments_of_callers(function, first)
                further.tracker = with_allocation_types(first, function.low, function.high, named, given)
            else:
                further.tracker = self._infer(function, first)
            function.inferred = further
        return function.inferred

    @cython.cfunc
    @cython.locals(function=_Function)
    def _flow_of(self, function: _Function) -> FunctionFlow:
        """The control flow of a function."""
        if function.flow is None:
            function.flow = self._flow(function.instructions, function.low, function.high)
        return function.flow

    def expect(self, addresses: Iterable[int], *, late: bool = False) -> None:
        """Announce all addresses that will be queried; in functions without any, all may be. ``late``: also accesses
        before them, since samples without a memory operand are attributed to the load they wait for."""
        self._expected = sorted(addresses)
        self._late = late

    def _expected_in(self, low: int, high: int) -> list[int]:
        """The announced addresses in a function."""
        expected = self._expected
        return expected[bisect_left(expected, low) : bisect_left(expected, high)]

    @cython.locals(instructions=Listing)
    def _wanted(self, instructions: Listing, low: int, high: int) -> list[int] | None:
        """The announced instructions of a function whose memory operands are needed; None if unknown."""
        asked = self._expected_in(low, high)
        found = []
        for address in asked:
            k = instructions.index_of(address)
            if k is None:
                continue
            if not self._late and not _touches(instructions[k]):
                if not k or instructions.flows[k] & 15 != _BRANCH or not _touches(instructions[k - 1]):
                    continue
                # May be fused with the comparison before it.
                k -= 1
            found.append(k)
        return found if asked else None

    def _decoded(self, address: int) -> tuple[Listing, int, int] | str:
        """(instructions, low, high) of the function that contains an address, or the reason why there are none."""
        if self.machine is None:
            return "machine not supported"
        found = self.binary.range_of(address)
        if found is None:
            return "no function at this address"
        low, high = found
        size = high - low
        if size <= 0 or size > self._elf.limits.function_bytes:
            return "function too large"
        # A kernel's init code is in a writable segment.
        code = self._elf.read(low, size, writable=self._kernel)
        if code is None or not self.binary.executable(low):
            return "no code at this address"
        instructions = self.machine.listing(bytes(code[:size]), low)
        self.binary.redirect_got_calls(instructions)
        if self._ways is not None:
            self.binary.redirect_paravirtual_calls(instructions)
        return instructions, low, high

    def _flow(self, instructions: Listing, low: int, high: int) -> FunctionFlow:
        """The control flow of a decoded function."""
        assert self.machine is not None
        further: list[tuple[int, int]] = []
        if self._ways is not None:
            further = self._ways.between(low, high) + self._ways.through_questions(instructions)
        return FunctionFlow(
            instructions,
            self.machine,
            self.binary.read_loaded,
            self.binary.never_returns,
            may_not_return=self.binary.may_not_return,
            further=further,
            warns=self._kernel,
        )

    def _arguments_of_callers(self, function: _Function, tracker: Tracker) -> dict[int, int]:
        """{register: pointee} of a function's parameters that all callers agree on, if not known otherwise."""
        symbols = getattr(self.source, "symbols", None)
        if self._kernel or not isinstance(symbols, DataSymbols):
            return {}
        if self._given_by_callers is None:
            from undwarf.types.inference.address_references import AddressReferences
            from undwarf.types.inference.caller_argument_types import CallerArgumentTypes

            mentions = AddressReferences(self._elf, self.program, symbols.functions, {})
            self._given_by_callers = CallerArgumentTypes(self.program, mentions, self._flow_at)
        return self._given_by_callers.of(function.low, tracker)

    def _flow_at(self, address: int) -> tuple[FunctionFlow, int, int] | None:
        """(control flow, low, high) of the function that contains an address; not cached. None if there is none."""
        found = self._decoded(address)
        return None if isinstance(found, str) else (self._flow(*found), *found[1:])

    def _all_callers(self) -> "Interprocedural":
        """The interprocedural inference, created on demand."""
        if self._callers is not None:
            return self._callers
        from undwarf.types.inference.interprocedural import Interprocedural

        symbols = getattr(self.source, "symbols", None)
        functions = symbols.functions if isinstance(symbols, DataSymbols) and not self._kernel else {}
        moved = self.binary.slots.all_moved
        self._callers = Interprocedural(self._elf, self.program, functions, moved, self._flow_at)
        return self._callers

    # Answers -----------------------------------------------------------------------------------------------------

    @cython.locals(function=_Function)
    def at(self, address: int) -> list[Access]:
        """The accesses of the instruction at an ELF virtual address: one for each operand, at least one."""
        function = self._function(address)
        if function is None:
            return [nothing(address, "", self._why)]
        if function.left is not None:
            function.left.discard(address)
        index = function.instructions.index_of(address)
        if index is None:
            return [nothing(address, "", "not the start of an instruction")]
        found = function.answers.get(index)
        if found is None:
            found = self._answer(function, index)
            if function.type_parameters:
                found = [of_any(self.graph, one, function.type_parameters) for one in found]
            function.answers[index] = found
        return found

    def sampled(self, address: int) -> Access:
        """The access that a sample at an address is attributed to: the first operand with a type, else the first one.

        A conditional jump counts as the comparison that it is fused with.
        """
        found = self.at(address)
        if found[0].how == "none":
            before = self._fused_with(address)
            if before is not None:
                found = self.at(before)
        for one in found:
            if one.type is not None:
                return one
        return found[0]

    @cython.locals(function=_Function)
    def _fused_with(self, address: int) -> int | None:
        function = self._function(address)
        if function is None or self._elf.machine != _EM_X86_64:
            return None
        instructions = function.instructions
        k = instructions.index_of(address)
        if not k or instructions.flows[k] & 15 != _BRANCH or not fused(instructions[k - 1], instructions[k]):
            return None
        return instructions[k - 1].address

    def producer(self, address: int, *, trap_after: bool = False) -> "tuple[Access, bool, bool] | None":
        """(load that an instruction most likely waited for, whether it uses the loaded value, whether the load's
        address registers are unchanged); None if there is none.

        For events with skid. ``trap_after``: breakpoints, which stop after the access.
        """
        place = self.instruction(address)
        if place is None:
            return None
        flow = self.flow_at(address)
        instructions, k = place
        if flow is None:
            return None
        from undwarf.types.skid_attribution import late

        found = late(flow, k, trap_after=trap_after)
        if found is None:
            return None
        access = self.sampled(instructions[found[0]].address)
        if access.how == "none":
            return None
        operand = access.operand
        intact = operand is not None and not {operand.base, operand.index} & found[2]
        return access, found[1], intact

    @cython.locals(function=_Function)
    def instruction(self, address: int) -> tuple[Listing, int] | None:
        """(instructions of the function that contains an address, index of the one there); None if there is none."""
        function = self._function(address)
        if function is None:
            return None
        index = function.instructions.index_of(address)
        return None if index is None else (function.instructions, index)

    @cython.locals(function=_Function)
    def flow_at(self, address: int) -> FunctionFlow | None:
        """The control flow of the function that contains an address; None if there is none."""
        function = self._function(address)
        return None if function is None else self._flow_of(function)

    @cython.locals(function=_Function, made=Instruction)
    def _answer(self, function: _Function, k: int) -> list[Access]:
        made = function.instructions[k]
        operands = [(number, operand) for number, operand in enumerate(made.memory) if operand.access]
        if not operands:
            return [nothing(made.address, made.text, "no memory access")]
        explicit = [one for one in operands if not one[1].implicit]
        if not explicit:
            return [on_stack(made, operands[0][1])]
        tracker = function.tracker if function.tracker is not None else self._solve(function)
        tracker.before(k)
        found = [self._operands.resolve(tracker, k, made, *one) for one in explicit]
        if function.trackers is not None:
            stays = _is_final if self._kernel and not tracker.has_variables else _cannot_improve
            if not all(map(stays, found)):
                return self._answer(self._inferred(function), k)
        return found
