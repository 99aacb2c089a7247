# cython: language_level=3, annotation_typing=False
"""One binary as the resolver needs it: sections, symbols, callees, function bounds, frame rules, bytes.

Also what is derived from small functions' code: registers they clobber, arguments they return, whether they return at
all.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from undwarf.disasm import NONE, Action, Flow, Machine, listing_search
from undwarf.disasm.listing import Listing
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHF_EXECINSTR, SHF_WRITE
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.plt import Stubs
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.tables.code.noreturn_names import is_noreturn, is_panic
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.noreturn import ends_in_noreturn_call
from undwarf.types.dataflow.preserved_registers import preserved_registers
from undwarf.types.dataflow.returned_arguments import returned_argument
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.got import OffsetTable
from undwarf.types.sources.relocatable_objects import ObjectFile
from undwarf.types.sources.type_source import Prototype, TypeSource

if TYPE_CHECKING:
    from undwarf.tables.model import UnwindTable

_CALL, _INDIRECT_CALL, _INDIRECT_JUMP = Flow.CALL, Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP
_POP, _COPY, _LOAD, _PUSH = Action.POP, Action.COPY, Action.LOAD, Action.PUSH

_CFA_REGISTER = 1
_PT_TLS = 7
_SMALL = 1024
"""Largest function in bytes whose code is examined for clobbered registers, and for whether it returns."""
_CALL_SIZE = 5
"""Longest direct call in bytes."""
_ACCESSOR = 160
"""Largest function in bytes that is examined for returned arguments."""
_LISTINGS = 512
"""Limit of cached small functions."""
_CALLS_DEEP = 16
"""Limit of nested calls examined for these."""
_POINTER = 8
_COPIES = 8
"""Limit of register copies of a call's target."""
_PARAVIRTUAL = "pv_ops"


def _is_call(end: bytes, words: bool) -> bool:
    """Whether a function's last bytes may be a direct call; ``words``: of AArch64, else of x86."""
    return end[-1] >> 2 == 0x25 if words else end[0] == 0xE8


class ProgramImage:
    """A file, apart from its types. ``debug`` is the file with symbols, if another; ``symbols`` are set if no file has
    them."""

    def __init__(
        self,
        elf: ElfFile,
        source: TypeSource,
        machine: Machine | None,
        debug: ElfFile | None = None,
        symbols: SymbolTable | None = None,
    ) -> None:
        self.elf = elf
        self.source = source
        self._machine = machine
        self._debug = debug
        if symbols is None and debug is not None:
            symbols = symbols_of_elf(debug)
        self.symbols = symbols_of_elf(elf) if symbols is None else symbols
        self.stubs = Stubs(elf, self.symbols)
        self.slots = OffsetTable(elf)
        self._table: UnwindTable | None = None
        self._last_rows: tuple[int, int, list[int], memoryview] = (0, 0, [], memoryview(b""))
        self._last_row: tuple[int, int, tuple[int, int] | None] = (0, 0, None)
        self._cfas: dict[int, tuple[int, int] | None] = {}
        self._changed: dict[int, frozenset[int] | None] = {}
        self._returned_argument: dict[int, tuple[int, int] | None] = {}
        self._listings: dict[int, Listing] = {}
        self._within = 0
        self._lost = sum(1 << one for one in machine.caller_saved if one < 64) if machine is not None else 0
        """Bit set of the caller-saved registers."""
        self._paravirtual: range | None = None
        self._callees: dict[int, Prototype | None] = {}
        self._endless: dict[int, bool] = {}
        self._last_called: set[int] | None = None
        self._sections: list[tuple[int, int, str]] = sorted(
            (one.address, one.address + one.size, one.name)
            for one in elf.sections
            if one.address and one.size and one.flags & 2
        )

    @property
    def described(self) -> int:
        """Bytes of debugging information, here and in the debug file."""
        files = (self.elf, self._debug) if self._debug is not None else (self.elf,)
        return sum(one.size for file in files for one in file.sections if one.name == ".debug_info")

    def section_at(self, address: int) -> str:
        """The name of the section that contains an address; empty if there is none."""
        at = bisect_right(self._sections, (address, 1 << 65, "")) - 1
        if at >= 0 and self._sections[at][0] <= address < self._sections[at][1]:
            return self._sections[at][2]
        return ""

    def thread_block(self) -> int:
        """Distance from the start of the TLS block to the thread pointer on x86-64 (ELF TLS, variant II)."""
        for segment in self.elf.segments:
            if segment.type == _PT_TLS:
                align = max(segment.align, 1)
                return (segment.memory_size + align - 1) // align * align
        return 0

    def elsewhere(self, slot: int) -> int:
        """The type of another file's variable whose address is in a GOT slot; void if none."""
        name = self.slots.name(slot)
        return self.source.variable_named(name) if name else VOID

    def redirect_got_calls(self, instructions: Listing) -> None:
        """Redirect calls through the GOT to their targets."""
        for k in instructions.calls_through_memory():
            target = self.slots.function(instructions.displacements[k])
            if target is not None:
                instructions.redirect(k, _CALL, target)
        calls = listing_search.with_flow(instructions.flows, _INDIRECT_CALL)
        # Any block may be entered.
        anywhere = bool(calls) and bool(listing_search.with_flow(instructions.flows, _INDIRECT_JUMP))
        for k in calls:
            target = self._through_register(instructions, k, anywhere)
            if target is not None:
                instructions.redirect(k, _CALL, target)

    def _through_register(self, instructions: Listing, k: int, anywhere: bool) -> int | None:
        """The target of an indirect call through a register loaded from the GOT; None for others. ``anywhere``: the
        function has unresolved jumps."""
        made, flows = instructions[k], instructions.flows
        register = made.left if made.left != NONE else made.reads[0] if made.reads else NONE
        if self._machine is None or register == NONE or any(not one.implicit for one in made.memory):
            return None
        queue, seen, slots = [(k, register)], {register}, set()
        while queue:
            at, register = queue.pop()
            lost = register in self._machine.caller_saved
            if anywhere and not lost:
                # A restored value is the caller's.
                written = [one for one in instructions.writing(register) if instructions[one].action != _POP]
            else:
                written = instructions.writers(at, register)
            for one in written:
                source = instructions[one]
                if lost and (one > at or any(flows[one + 1 : at])):
                    return None
                if source.action == _COPY and source.width == _POINTER and len(seen) < _COPIES:
                    if source.left not in seen:
                        seen.add(source.left)
                        queue.append((one, source.left))
                elif source.action == _LOAD and source.memory[0].absolute and not source.memory[0].segment:
                    slots.add(source.memory[0].displacement)
                else:
                    return None
        return self.slots.function(slots.pop()) if len(slots) == 1 else None

    def redirect_paravirtual_calls(self, instructions: Listing) -> None:
        """Redirect calls through a kernel's paravirtual operations to their initial targets.

        Later targets preserve caller-saved registers as well (asm/paravirt_types.h, `PV_CALLEE_SAVE`).
        """
        if self._paravirtual is None:
            low, size = self.source.symbol_named(_PARAVIRTUAL)
            self._paravirtual = range(low, low + size)
        for k in instructions.calls_through_memory():
            slot = instructions.displacements[k] & 0xFFFFFFFFFFFFFFFF
            raw = self.elf.read(slot, 8, writable=True) if slot in self._paravirtual else None
            target = int.from_bytes(raw, "little") if raw is not None else 0
            if target and self.executable(target):
                instructions.redirect(k, _CALL, target)

    def frame_rules(self, pcs: Iterable[int]) -> list[tuple[int, int] | None]:
        """(register, offset) whose sum is the call frame address, at each of some addresses, from the unwind table;
        None for other rules."""
        found: list[tuple[int, int] | None] = []
        low, high, rule = self._last_row
        for pc in pcs:
            # Most blocks of a function are in one row.
            if not low <= pc < high:
                rule = self._frame_rule(pc)
                low, high, _rule = self._last_row
            found.append(rule)
        return found

    def _unwind_table(self) -> "UnwindTable":
        if self._table is None:
            # Lazy: importing it takes thirty modules, and many programs do not need it.
            from undwarf.tables.model import NO_RULE, RuleSet, UnwindTable

            rules = RuleSet(self.elf.limits)
            self._table = UnwindTable.from_elf(self.elf, rules=rules, debug_elf=lambda: self._debug)
            self._cfas[NO_RULE] = None
        return self._table

    def _frame_rule(self, pc: int) -> tuple[int, int] | None:
        functions = self._unwind_table().functions
        start, end, addresses, rules = self._last_rows
        if not start <= pc < end:
            # Queries come function by function.
            number = functions.at(pc)
            if number is None:
                self._last_row = pc, pc + 1, None
                return None
            start, end = functions.starts[number], functions.ends[number]
            rows, rules = functions.rows(number)
            addresses = rows.tolist()
            self._last_rows = start, end, addresses, rules
        row = bisect_right(addresses, pc)
        found = self._cfa(rules[row - 1]) if row else None
        begin = max(start, addresses[row - 1]) if row else start
        behind = min(end, addresses[row]) if row < len(addresses) else end
        self._last_row = begin, behind, found
        return found

    def _cfa(self, rule: int) -> tuple[int, int] | None:
        """(register, offset) of a rule whose call frame address is their sum; None for others."""
        if rule not in self._cfas:
            kind, register, offset = self._unwind_table().rules.words(rule)[:3]
            self._cfas[rule] = (register, offset) if kind == _CFA_REGISTER else None
        return self._cfas[rule]

    def callee(self, address: int) -> Prototype | None:
        """The prototype of the function at an address; with only its name if no more is known."""
        found = self._callees.get(address)
        if found is None and address not in self._callees:
            found = self.source.prototype_at(address)
            if found is None:
                name = self.name_at(address)
                if name:
                    found = self.source.prototype_named(name.removesuffix("@plt")) or Prototype(name, VOID, ())
            self._callees[address] = found
        return found

    def changed_by(self, address: int) -> frozenset[int] | None:
        """The caller-saved registers that a small function, and its callees, clobber; None if unknown."""
        found = self._changed.get(address)
        if found is None and address not in self._changed:
            # Ends recursion.
            self._changed[address] = None
            if self._within < _CALLS_DEEP:
                self._within += 1
                found = self._changed[address] = self._changes(address)
                self._within -= 1
        return found

    def returned_argument(self, address: int) -> tuple[int, int] | None:
        """(register, offset) if a small function returns that argument plus an offset; else None."""
        found = self._returned_argument.get(address)
        if found is None and address not in self._returned_argument:
            # Ends recursion.
            self._returned_argument[address] = None
            place = self._small(address, _ACCESSOR)
            if self._machine is not None and place is not None and self._within < _CALLS_DEEP:
                self._within += 1
                found = self._returned_argument[address] = returned_argument(
                    self._listing(*place), self._machine, self.returned_argument
                )
                self._within -= 1
        return found

    def _small(self, address: int, most: int) -> tuple[int, int] | None:
        """(start, end) of a function of at most ``most`` bytes that is no PLT stub; None for others."""
        place = self.range_of(address)
        if place is None or place[0] != address or not 0 < place[1] - address <= most:
            return None
        return place if self.stubs.find(address) is None else None

    def _listing(self, low: int, high: int) -> Listing:
        """The decoded instructions of a small function, cached; empty if it has no code."""
        found = self._listings.get(low)
        if found is None:
            assert self._machine is not None
            found = self._machine.listing(self._read(low, high - low) or b"", low)
            if len(self._listings) >= _LISTINGS:
                self._listings.clear()
            self._listings[low] = found
        return found

    def _changes(self, address: int) -> frozenset[int] | None:
        machine, place = self._machine, self._small(address, _SMALL)
        listing = self._listing(*place) if machine is not None and place is not None else None
        if machine is None or place is None or not listing:
            return None
        kept: frozenset[int] = frozenset()
        # Skip an ENDBR at the start.
        begin = listing[1] if len(listing) > 1 and not listing[0].reads and not listing[0].writes else listing[0]
        if begin.action == _PUSH and listing.may_push(self._lost):
            kept = preserved_registers(machine, self._read, address) & machine.caller_saved
        changed = self._written(listing, place)
        if changed is None:
            return machine.caller_saved - kept if kept else None
        return (machine.caller_saved & changed) - kept

    def _written(self, listing: Listing, place: tuple[int, int]) -> set[int] | None:
        """The registers that a function and its callees write; None if a callee is unknown."""
        leaving = listing.control_transfers()
        if any(flow == _INDIRECT_CALL or (flow == _CALL and target is None) for flow, target in leaving):
            return None
        changed = set(listing.written())
        for flow, target in leaving:
            if target is not None and not place[0] <= target < place[1]:
                inner = self.changed_by(target)
                if inner is None:
                    return None
                changed |= inner
            elif flow == _CALL and target != place[0]:
                return None
        if any(flow == _INDIRECT_JUMP for flow, _target in leaving) and not self._switches_only(listing):
            return None
        return changed

    def _switches_only(self, listing: Listing) -> bool:
        """Whether all indirect jumps are resolved switches."""
        machine = self._machine
        if machine is None:
            return False
        flow = FunctionFlow(listing, machine, self.read_loaded, self.never_returns)
        jumps = [k for k, one in enumerate(listing.flows.tolist()) if one & 15 == _INDIRECT_JUMP]
        return not flow.open and all(flow.blocks.successors(flow.block_of(k)) for k in jumps)

    def name_at(self, address: int) -> str:
        """The symbol or stub at an address; empty if there is none."""
        stub = self.stubs.find(address)
        if stub is not None:
            return stub[1]
        if isinstance(self.elf, ObjectFile) and address in self.elf.undefined:
            return self.elf.undefined[address]
        named = self.slots.name(address)
        if named:
            return named
        if self.symbols is None:
            return ""
        number = self.symbols.find(address)
        if number is None or self.symbols.ranges()[0][number] != address:
            return ""
        return self.symbols.names_at(number)[0].decode("utf-8", "backslashreplace")

    def names_of(self, address: int) -> list[bytes]:
        """All symbols of a function."""
        number = self.symbols.find(address) if self.symbols is not None else None
        return self.symbols.names_at(number) if self.symbols is not None and number is not None else []

    def never_returns(self, address: int) -> bool:
        """Whether the function at an address never returns."""
        found = self._endless.get(address)
        if found is None:
            callee = self.callee(address)
            name = callee.name.removesuffix("@plt").partition("@")[0] if callee is not None else ""
            known = is_noreturn(name) or is_panic(name)
            # Ends recursion.
            self._endless[address] = found = callee is not None and (callee.noreturn or known)
            if not found and self._within < _CALLS_DEEP:
                self._within += 1
                found = self._endless[address] = self._is_endless(address)
                self._within -= 1
        return found

    def _is_endless(self, address: int) -> bool:
        """Whether a small function's code never returns."""
        machine, place = self._machine, self._small(address, _SMALL)
        if machine is None or place is None or place[1] - address <= _CALL_SIZE or isinstance(self.elf, ObjectFile):
            return False
        end = self._read(place[1] - _CALL_SIZE, _CALL_SIZE)
        if end is None or not _is_call(end, machine.name != "x86_64"):
            return False
        return ends_in_noreturn_call(self._listing(*place), self.never_returns)

    def may_not_return(self, address: int) -> bool:
        """Whether some function ends in a call of this address, so that it cannot return there (an assertion whose
        failure is marked unreachable)."""
        if self._last_called is None:
            self._last_called = set()
            machine = self._machine
            if self.symbols is not None and machine is not None and not isinstance(self.elf, ObjectFile):
                starts, ends = self.symbols.ranges()
                for one in self.elf.sections:
                    code = self.elf.read(one.address, one.size) if one.flags & SHF_EXECINSTR and one.size else None
                    if code is not None:
                        self._last_called |= listing_search.last_calls(
                            code, one.address, starts, ends, machine.name != "x86_64"
                        )
        return address in self._last_called

    def range_of(self, address: int) -> tuple[int, int] | None:
        """The bounds [low, high) of the function that contains an address; None if there is none."""
        found = self.source.function_range(address)
        if found is not None:
            return found
        if self.symbols is not None:
            number = self.symbols.find(address)
            if number is not None:
                starts, ends = self.symbols.ranges()
                return starts[number], ends[number]
        return None

    def executable(self, address: int) -> bool:
        """Whether an address may be code."""
        return (
            any(
                one.flags & SHF_EXECINSTR and one.address <= address < one.address + one.size
                for one in self.elf.sections
            )
            or not self.elf.sections
        )

    def _read(self, address: int, size: int) -> bytes | None:
        data = self.elf.read(address & 0xFFFFFFFFFFFFFFFF, size)
        return None if data is None or len(data) < size else bytes(data[:size])

    def read_loaded(self, address: int, size: int) -> bytes | None:
        """``size`` bytes of the file; a relocated address as the dynamic linker writes it. None if not in the file."""
        if size == 8:
            moved = self.slots.moved(address)
            if moved is not None:
                return moved.to_bytes(8, "little")
        return self._read(address, size)

    def constant_at(self, address: int) -> int | None:
        """The signed word at a read-only address that is not relocated; None for others."""
        section = self.section_at(address)
        data = self._read(address, 8) if section and self.is_constant(section) else None
        return int.from_bytes(data, "little", signed=True) if data is not None else None

    def is_constant(self, section: str) -> bool:
        """Whether a section is read-only."""
        flags = next((one.flags for one in self.elf.sections if one.name == section), 0)
        return not flags & SHF_WRITE
