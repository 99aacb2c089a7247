"""Verification of call stacks by code alone: can the call before each return address enter the callee?

Each distinct pair of caller and callee is checked once. A direct call of the callee's start proves the pair, and so
does an import of its name. Other pairs are possible: an indirect call, an import that another image may define, jumps
from what is called (tail calls, parts of a function that the compiler moved away). Where the call enters another
function, or no call precedes the return address, the pair is contradicted: a frame is false or missing, or the process
changed the code.
"""

from bisect import bisect_right
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.disasm import Flow, machine_of
from undwarf.disasm.listing_search import with_flows
from undwarf.elf.headers import EM_X86_64, PF_X
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.profile.code_references import CodeReferences, EnteringCalls, sorted_calls
from undwarf.profile.direct_calls import DirectCalls
from undwarf.profile.grouping import Pairs, look_up, subtree_sums, sums, widen
from undwarf.profile.model import NONE, Profile
from undwarf.symbols.resolver import Resolver
from undwarf.tables.haskell_stacks import calls_stg_run
from undwarf.tables.model import UnwindTable
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.unwind.exact_positions import CallLevel
from undwarf.unwind.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from undwarf.unwind.arch import Calls

MAX_FUNCTIONS = 64
"""Functions that tail calls are followed through from one target."""
MAX_CODE = 1 << 20
"""Bytes of a function that are decoded; a larger one may go anywhere."""
MAX_STUB = 128
"""Bytes of code that are decoded where no function is known: a switch of stacks in Boost is 106 bytes long."""
LONGEST_ROOT = 16
"""Bytes of code by which the root of a fiber, or a return from a signal handler, is known."""
_ROOT_PADDING = (b"", b"\x90", b"\x1f\x20\x03\xd5")
"""What precedes the return address in the outermost function of a stack, such as Go's `runtime.goexit`: nothing, or a
no-operation so that debuggers find the function by the address less one."""
_DYNAMIC_LINKER = ("ld-", "ld.so")
_DIRECT_JUMPS = 1 << Flow.JUMP | 1 << Flow.BRANCH
_DESCRIBED = ("eh-frame", "debug-frame", "sframe")
"""Sources of rules that state them for each instruction."""
_CHECKED = (ImageKind.FILE, ImageKind.VDSO)
"""Kinds of images whose code is that of a file, which the process does not change."""


DIRECT = "direct call"
IMPORT = "import"
CHOSEN = "function chosen at run time"
INDIRECT = "indirect call"
NO_CALL = "no call before the return address"
SWITCH = "where Go's runtime changes stacks"
_GO_SWITCH = b"runtime.systemstack_switch"
"""Go's runtime puts this function's address on the stack for the frames of the stack that it has changed to, as if it
had called there (`gosave_systemstack_switch` and `cgocallback` in src/runtime/asm_amd64.s)."""


class Verdict(IntEnum):
    """What the code says of one pair of caller and callee."""

    PROVEN = 0
    """The call before the return address is a direct one of this function."""
    CONSISTENT = 1
    """An indirect call, an import, or tail calls may have led there."""
    CONTRADICTED = 2
    """The call goes elsewhere, or there is none."""
    UNCHECKED = 3
    """The code is not at hand, was made at run time, or the callee was interrupted by a signal."""


_LEVELS = {
    Verdict.PROVEN: CallLevel.PROVEN,
    Verdict.CONSISTENT: CallLevel.POSSIBLE,
    Verdict.UNCHECKED: CallLevel.UNKNOWN,
    Verdict.CONTRADICTED: CallLevel.IMPOSSIBLE,
}
_BY_POINTER = {True: CallLevel.POSSIBLE, None: CallLevel.UNKNOWN, False: CallLevel.IMPOSSIBLE}
"""Of an indirect call, by whether there is a pointer to the function."""


class CallPair(NamedTuple):
    """A caller and a callee (frame numbers of the profile), the number of calls in sampled stacks, and the verdict."""

    caller: int
    callee: int
    calls: int
    verdict: Verdict
    reason: str


class _Exits(NamedTuple):
    """Where a function's code goes without a call: ``targets`` outside of it, and whether it may go ``anywhere``: by an
    indirect jump that is no switch's."""

    targets: tuple[int, ...]
    anywhere: bool


class _Code:
    """The functions of one image, and where control goes from them."""

    def __init__(self, image: Image, resolver: Resolver) -> None:
        self.image = image
        self.elf = image.elf
        self.machine = machine_of(self.elf.machine) if self.elf is not None else None
        table = resolver.table(image)
        empty = zeros("Q", 0)
        self.ranges = [table.ranges() if table is not None else (empty, empty)]
        self._rules: UnwindTable | None = None
        if self.elf is not None:
            self.ranges.append(resolver.described(image, self.elf))
            self._rules = UnwindTable.from_elf(self.elf, _DESCRIBED, limits=resolver.options.limits)
        self._stubs = resolver.stubs(image)
        self._imports: dict[int, str | None] = {}
        self._symbols = DataSymbols(self.elf) if self.elf is not None else None
        self._exits: dict[int, _Exits] = {}

    def function(self, address: int) -> tuple[int, int, bool]:
        """The start and end of the function or stub at an address, functions as the symbols and the unwind information
        together have them; where neither has one, the gap between its neighbours, and False."""
        stub = self._stubs.around(address) if self._stubs is not None else None
        if stub is not None:
            return *stub, True
        start, end, known = 0, 1 << 64, False
        for starts, ends in self.ranges:
            at = bisect_right(starts, address)
            if at < len(starts):
                end = min(end, starts[at])
            if at and ends[at - 1] > address:
                start, end, known = max(start, starts[at - 1]), min(end, ends[at - 1]), True
            elif at:
                start = max(start, ends[at - 1])
        return start, end, known

    def imported_at(self, address: int) -> str | None:
        """The symbol that the stub at an address jumps to; empty where that is not known, None where no stub is."""
        if address not in self._imports:
            name: str | None = None
            if self._stubs is not None and self._stubs.around(address) is not None:
                stub = self._stubs.find(address)
                # Without its version, as of symbols of `.symtab`.
                name = stub[1].partition("@")[0] if stub is not None else ""
            self._imports[address] = name
        return self._imports[address]

    def function_named(self, name: str) -> int | None:
        """The address of the function that the image defines under a name; None without one, for several, and where it
        is chosen at run time (ifunc)."""
        return self._exported.function_named(name) if self._exported is not None else None

    @property
    def _exported(self) -> DataSymbols | None:
        """The symbols that others are linked against. The vDSO has none: the C library calls it by pointers."""
        return self._symbols if self.image.kind is not ImageKind.VDSO else None

    def may_define(self, name: str) -> bool:
        """Whether the image may define an imported symbol itself, be it several times or chosen at run time."""
        return name.startswith("*ABS*") or (self._exported is not None and self._exported.defines(name))

    @cached_property
    def references(self) -> CodeReferences | None:
        """What refers to the image's functions."""
        if self.elf is None or self._symbols is None:
            return None
        exports = self._exported is not None
        return CodeReferences(self.elf, self.ranges[-1][0], self._stubs, self._symbols, exports=exports)

    def exits(self, start: int, end: int) -> _Exits:
        """Where code from ``start`` to ``end`` goes without a call."""
        found = self._exits.get(start)
        if found is None:
            found = self._exits[start] = self._find_exits(start, end)
        return found

    def _find_exits(self, start: int, end: int) -> _Exits:
        if end - start > MAX_CODE:
            return _Exits((), True)
        code = self.elf.read(start, end - start) if self.elf is not None and end > start else None
        if code is None or self.machine is None:
            return _Exits((), False)
        listing = self.machine.listing(bytes(code), start)
        flows, targets, offsets = listing.flows, listing.targets, listing.offsets
        outside = {target for k in with_flows(flows, _DIRECT_JUMPS) if not start <= (target := targets[k]) < end}
        if len(listing) and flows[len(listing) - 1] & 15 in (Flow.NEXT, Flow.BRANCH):
            outside.add(end)
        indirect = with_flows(flows, 1 << Flow.INDIRECT_JUMP)
        anywhere = any(not self._has_frame(start + offsets[k]) for k in indirect)
        return _Exits(tuple(sorted(outside)), anywhere)

    def _has_frame(self, address: int) -> bool:
        """Whether the stack pointer is not where the function was entered with it: a tail call gives the frame up
        before it jumps, a switch does not."""
        rule = self._rules.rule_at(address) if self._rules is not None else None
        machine = self.machine
        return (
            rule is not None
            and machine is not None
            and rule.cfa != f"{machine.names[machine.stack_pointer]}{-machine.entry_offset:+d}"
        )

    def may_reach(self, address: int, start: int, end: int) -> bool:
        """Whether jumps may lead from ``address`` to code from ``start`` to ``end``; to another image with an empty
        range. Follows at most MAX_FUNCTIONS functions, and says yes where there are more."""
        waiting, seen = [address], set[int]()
        while waiting:
            address = waiting.pop()
            if start <= address < end:
                return True
            name = self.imported_at(address)
            if name == "":
                return True
            if name is not None:
                own = self.function_named(name)
                if own is not None:
                    waiting.append(own)
                elif (end == 0) != self.may_define(name):
                    # It leaves the image, or is one of its functions that are chosen at run time.
                    return True
                continue
            first, last, known = self.function(address)
            if not known:
                first, last = address, min(last, address + MAX_STUB)
            if first in seen:
                continue
            if len(seen) == MAX_FUNCTIONS:
                return True
            seen.add(first)
            exits = self.exits(first, last)
            if exits.anywhere:
                return True
            waiting += exits.targets
        return False


class _Return(NamedTuple):
    """The call that ends at a return address: what it calls, if it is a direct one; whether it may be another one; the
    symbol whose slot of the global offset table it goes through, if it does."""

    target: int | None
    indirect: bool
    name: str | None


class CodeProof:
    """Checks pairs of caller and callee against the code of a recording's images; ``calls`` are the machine's call
    instructions. Results are cached by address, because most addresses are in several pairs."""

    def __init__(self, images: ImageStore, calls: "Calls", resolver: Resolver) -> None:
        self._images = images
        self._calls = calls
        self._resolver = resolver
        self._code: dict[int, _Code] = {}
        self._returns: dict[tuple[int, int], _Return | None] = {}
        self._functions: dict[tuple[int, int], tuple[int, int]] = {}
        self._callees: dict[tuple[int, int], str] = {}
        self._calls_to: dict[tuple[int, int, tuple[Image, ...]], dict[Image, EnteringCalls]] = {}
        self._has_pointer: dict[tuple[int, int], bool] = {}
        self._importing: dict[tuple[int, tuple[Image, ...]], list[tuple[Image, CodeReferences]]] = {}

    def verdict(self, caller: tuple[int, int], callee: tuple[int, int]) -> tuple[Verdict, str]:
        """The verdict on two frames, (number of the image, address), and its reason in words. A caller's address is its
        return address less one."""
        found = self._return(caller)
        if found is None:
            return Verdict.UNCHECKED, "code that is not at hand, or was made at run time"
        target, indirect, name = found
        if target is not None and caller[0] == callee[0] and target == self._function_of(callee)[0]:
            # Most pairs are of this kind; none of them needs what follows.
            return Verdict.PROVEN, DIRECT
        if callee not in self._callees:
            self._callees[callee] = self._problem_of(*callee)
        problem = self._callees[callee]
        if problem:
            return Verdict.UNCHECKED, problem
        if target is None and name is None:
            return (Verdict.CONSISTENT, INDIRECT) if indirect else self._without_call(caller, callee)
        image, inner = caller[0], callee[0]
        code = self._code_of(image)
        start, end = self._function_of(callee)
        if target is not None:
            name = code.imported_at(target)
        if name is not None and not (image == inner and target is not None and start <= target < end):
            own = self._code_of(inner).function_named(name)
            if own is None and self._code_of(inner).may_define(name):
                return Verdict.CONSISTENT, CHOSEN
            if own is None or (own != start and _is_dynamic_linker(self._images[inner])):
                # The dynamic linker's resolver stands in for what is called for the first time.
                return Verdict.CONSISTENT, IMPORT
            image, code, target = inner, self._code_of(inner), own
        assert target is not None
        if image != inner:
            start = end = 0
        if target == start:
            return Verdict.PROVEN, DIRECT if name is None else "import by name"
        if start < target < end:
            return Verdict.CONSISTENT, "call into the function"
        if indirect or code.may_reach(target, start, end) or self._runs_haskell(*caller):
            return Verdict.CONSISTENT, "jump from what is called"
        if self._is_go_switch(callee):
            return Verdict.CONSISTENT, SWITCH
        return Verdict.CONTRADICTED, "the call is of another function"

    def direct_calls(self, image: memoryview, address: memoryview) -> DirectCalls:
        """The direct calls between frames: (I) and (Q) as for :class:`DirectCalls`."""
        found = DirectCalls(image, address)
        found.find(len(self._images), lambda number: self._code_of(number).ranges, self._code_in)
        return found

    def _code_in(self, number: int) -> "Iterator[tuple[int, memoryview]]":
        """The address and bytes of an image's x86-64 code, if the process does not change it."""
        image = self._images[number]
        if image.kind in _CHECKED and image.elf is not None and image.elf.machine == EM_X86_64:
            for segment in image.elf.loads:
                code = image.elf.read(segment.address, segment.file_size) if segment.flags & PF_X else None
                if code is not None:
                    yield segment.address, code

    def level(self, image: Image, address: int, callee_image: Image, callee_address: int) -> CallLevel:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.level`."""
        verdict, reason = self.verdict((image.number, address), (callee_image.number, callee_address))
        if reason == CHOSEN:
            return self._level_of_chosen(image, address, callee_image, callee_address)
        if reason == IMPORT and image is callee_image:
            # Another image would have to call back without leaving a frame.
            return CallLevel.UNKNOWN
        if reason == INDIRECT:
            return _BY_POINTER[self._is_pointed_to(callee_image, callee_address)]
        return _LEVELS[verdict]

    def _level_of_chosen(self, image: Image, address: int, callee_image: Image, callee_address: int) -> CallLevel:
        """The level of a call of what is chosen at run time."""
        found = self._return((image.number, address))
        references = self._code_of(callee_image.number).references
        if found is None or references is None:
            return CallLevel.UNKNOWN
        name = found.name if found.target is None else self._code_of(image.number).imported_at(found.target)
        return CallLevel.POSSIBLE if references.may_choose(name or "", callee_address) else CallLevel.UNKNOWN

    def entry_level(self, image: Image, address: int, callee_image: Image, callee_address: int) -> CallLevel:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.entry_level`."""
        verdict, reason = self.verdict((image.number, address), (callee_image.number, callee_address))
        return CallLevel.UNKNOWN if reason == INDIRECT else _LEVELS[verdict]

    def function_of(self, image: Image, address: int) -> tuple[int, int]:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.function_of`."""
        return self._function_of((image.number, address))

    def _is_pointed_to(self, image: Image, address: int) -> bool | None:
        references = self._code_of(image.number).references
        return references.pointed_to(address) if references is not None else None

    def calls_to(
        self, callee_image: Image, callee_address: int, others: tuple[Image, ...]
    ) -> dict[Image, EnteringCalls]:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.calls_to`."""
        callees = self._code_of(callee_image.number).references
        start = callees.start_of(callee_address) if callees is not None else None
        if callees is None or start is None:
            return {}
        key = callee_image.number, start, others
        if key not in self._calls_to:
            self._calls_to[key] = self._find_calls_to(callees, callee_image, start, others)
        return self._calls_to[key]

    def _find_calls_to(
        self, callees: CodeReferences, callee_image: Image, start: int, others: tuple[Image, ...]
    ) -> dict[Image, EnteringCalls]:
        own = callees.calls_of(start)
        # By image, whether the call before each return address is a direct one.
        found = {callee_image: dict(zip(own.return_addresses, own.direct, strict=True))}
        for image, references in self._importers(callee_image, others):
            calls, jumpers = references.imports_of(callees, start)
            found.setdefault(image, {}).update(zip(calls.return_addresses, calls.direct, strict=True))
            for jumper in jumpers:
                self._add(found, image, references.calls_of(jumper))
            # Others may call what jumps to the callee, as C++'s `operator delete` does to `free`.
            entries = {entry for jumper in jumpers for entry in (jumper, *references.jumping_to(jumper))}
            for other, calling in self._importers(image, others) if entries else ():
                for entry in entries:
                    self._add(found, other, calling.imports_of(references, entry)[0])
        return {image: sorted_calls(calls) for image, calls in found.items()}

    @staticmethod
    def _add(found: dict[Image, dict[int, bool]], image: Image, calls: EnteringCalls) -> None:
        """Add calls of what jumps to the callee."""
        for back in calls.return_addresses:
            found.setdefault(image, {}).setdefault(back, False)

    def _importers(self, image: Image, others: tuple[Image, ...]) -> list[tuple[Image, CodeReferences]]:
        """Those of some images that import functions of an image."""
        key = image.number, others
        if key not in self._importing:
            found = []
            references = self._code_of(image.number).references
            for other in others:
                importing = self._code_of(other.number).references if other is not image else None
                if importing is not None and references is not None and importing.imports_any_of(references):
                    found.append((other, importing))
            self._importing[key] = found
        return self._importing[key]

    def called_function(self, image: Image, address: int, others: "Iterable[Image]") -> tuple[Image, int, int] | None:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.called_function`."""
        found = self._return((image.number, address))
        if found is None or (found.target is None and found.name is None):
            return None
        name = found.name if found.target is None else self._code_of(image.number).imported_at(found.target)
        if name is None and found.target is not None:
            return image, *self.function_of(image, found.target)
        for other in others:
            if name and not _is_dynamic_linker(other):
                own = self._code_of(other.number).function_named(name)
                if own is not None:
                    return other, *self.function_of(other, own)
        return None

    def entries(self, image: Image, address: int, callee_image: Image, start: int) -> list[int] | None:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.entries`."""
        found = self._return((image.number, address))
        references = self._code_of(callee_image.number).references
        if found is None or references is None:
            return None
        entries = [start, *sorted(references.jumping_to(start) - {start})]
        if found.target is None and found.name is None:
            return entries
        named = self.called_function(image, address, (callee_image,))
        if named is None or named[0] is not callee_image or named[1] not in entries:
            return None
        return [named[1]]

    def leads_to(self, image: Image, target: int, start: int) -> bool:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.leads_to`."""
        if target == start:
            return True
        code = self._code_of(image.number)
        name = code.imported_at(target)
        return bool(name) and code.function_named(name or "") == start

    def has_pointer(self, image: Image, start: int, others: "Iterable[Image]") -> bool:
        """As :meth:`undwarf.unwind.call_sites.CallProof.has_pointer`."""
        key = image.number, start
        if key not in self._has_pointer:
            self._has_pointer[key] = self._find_pointer(image, start, others)
        return self._has_pointer[key]

    def _find_pointer(self, image: Image, start: int, others: "Iterable[Image]") -> bool:
        references = self._code_of(image.number).references
        if references is None:
            return True
        names = []
        for entry in (start, *references.jumping_to(start)):
            if references.has_pointer(entry):
                return True
            names += references.exported_names(entry)
        using = (found for one in others if names and (found := self._code_of(one.number).references) is not None)
        return any(one.takes(name) for one in using for name in names)

    def is_pointed_to(self, image: Image, address: int) -> bool:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.is_pointed_to`."""
        return bool(self._is_pointed_to(image, address))

    def function_start(self, image: Image, address: int) -> int:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.function_start`."""
        return self._function_of((image.number, address))[0]

    def function_in(self, image: Image, slot: int) -> int | None:
        """As :meth:`undwarf.unwind.exact_paths.CodeProof.function_in`."""
        references = self._code_of(image.number).references
        return references.function_in(slot) if references is not None else None

    def imported_at(self, image: Image, address: int) -> str | None:
        """As :meth:`undwarf.unwind.call_sites.CallProof.imported_at`."""
        return self._code_of(image.number).imported_at(address)

    def function_named(self, image: Image, name: str) -> int | None:
        """As :meth:`undwarf.unwind.call_sites.CallProof.function_named`."""
        return self._code_of(image.number).function_named(name) if image.kind in _CHECKED else None

    def is_root(self, image: int, address: int) -> bool:
        """Whether a return address, less one, that no call precedes is where a new thread or fiber starts, as if it had
        been called. Roots of fibers are looked up at their own address."""
        calls = self._calls
        found = self._images[image]
        for back in (address + 1, address):
            start, _end, known = self._code_of(image).function(back)
            is_near = back - start <= 4 and (known or back > address)
            padding = found.read(start, back - start) if is_near else None
            if padding is not None and bytes(padding) in _ROOT_PADDING:
                return True
            code = found.read(back, LONGEST_ROOT)
            if code is not None and calls.is_fiber_root(bytes(code)):
                return True
            before = found.read(back - calls.SYSTEM_CALL_REACH, calls.SYSTEM_CALL_REACH)
            if before is not None and calls.system_call_number(bytes(before)) >= 0:
                return True
        return False

    def _code_of(self, image: int) -> _Code:
        found = self._code.get(image)
        if found is None:
            found = self._code[image] = _Code(self._images[image], self._resolver)
        return found

    def _function_of(self, callee: tuple[int, int]) -> tuple[int, int]:
        """The start and end of a callee's function."""
        found = self._functions.get(callee)
        if found is None:
            found = self._functions[callee] = self._code_of(callee[0]).function(callee[1])[:2]
        return found

    def _return(self, caller: tuple[int, int]) -> _Return | None:
        if caller not in self._returns:
            self._returns[caller] = self._return_of(*caller)
        return self._returns[caller]

    def _return_of(self, number: int, address: int) -> _Return | None:
        """The call before a return address, less one; None where the code there is not that of a file."""
        if number == NONE or self._images[number].kind not in _CHECKED:
            return None
        back = address + 1
        code = self._images[number].read(back - self._calls.LONGEST, self._calls.LONGEST)
        if code is None:
            return None
        before = bytes(code)
        slot = self._calls.slot_called(before, back)
        references = self._code_of(number).references if slot is not None else None
        target, name = self._calls.call_target(before, back), None
        if references is not None and slot is not None:
            target, name = references.function_in(slot), references.imported_in(slot)
        return _Return(target, self._calls.ends_with_indirect_call(before), name)

    def _problem_of(self, number: int, address: int) -> str:
        """Why no call need be before the return address of a callee's caller; empty where one must be."""
        if number == NONE:
            return "code in no known image"
        image = self._images[number]
        if image.kind in (ImageKind.KERNEL, ImageKind.MODULE):
            return "entered the kernel"
        if image.kind not in _CHECKED or image.elf is None:
            return ""
        if self._returns_from_signal(image, address):
            return "interrupted by a signal"
        return ""

    def _returns_from_signal(self, image: Image, address: int) -> bool:
        """Whether an address, or the one after it, is in what a signal handler returns to."""
        longest = max(map(len, self._calls.SIGNAL_RETURNS))
        code = image.read(address - longest, 2 * longest + 1)
        return code is not None and any(one in bytes(code) for one in self._calls.SIGNAL_RETURNS)

    def _runs_haskell(self, image: int, address: int) -> bool:
        """Whether a caller calls GHC's `StgRun`, which jumps to Haskell code with a frame of its own."""
        elf = self._images[image].elf
        return elf is not None and calls_stg_run(elf, address + 1)

    def _is_go_switch(self, frame: tuple[int, int]) -> bool:
        """Whether a frame stands for a change of stacks by Go's runtime."""
        table = self._resolver.table(self._images[frame[0]])
        number = table.find(frame[1]) if table is not None else None
        return table is not None and number is not None and table.names_at(number)[0].startswith(_GO_SWITCH)

    def _without_call(self, caller: tuple[int, int], callee: tuple[int, int]) -> tuple[Verdict, str]:
        """The verdict where no call ends at a return address, less one."""
        image, address = caller
        if self._returns_from_signal(self._images[image], address):
            return Verdict.CONSISTENT, "return from a signal handler"
        if self._is_go_switch(caller) or self._is_go_switch(callee):
            return Verdict.CONSISTENT, SWITCH
        return Verdict.CONTRADICTED, NO_CALL


def _is_dynamic_linker(image: Image) -> bool:
    return image.path.rpartition("/")[2].startswith(_DYNAMIC_LINKER)


def check_calls(profile: Profile, proof: CodeProof) -> list[CallPair]:
    """All distinct pairs of caller and callee in a profile without inlined functions, with what their code says."""
    parent, frame = profile.stacks.parent, profile.stacks.frame
    passing = subtree_sums(parent, sums(widen(profile.samples.columns.stack), None, len(frame)))
    pairs = Pairs(len(frame))
    number = pairs.column(look_up(parent, frame), frame)
    weights = sums(number, passing, len(pairs))
    outermost = {one for one, above in zip(frame, parent, strict=True) if above == NONE}
    sites = list(zip(profile.frames.image, profile.frames.address, strict=True))
    callers, callees = pairs.high(), pairs.low()
    direct = proof.direct_calls(profile.frames.image, profile.frames.address).are_calls(callers, callees)
    found = []
    for caller, callee, count, is_direct in zip(callers, callees, weights, direct, strict=True):
        if caller == NONE:
            continue
        if is_direct:
            found.append(CallPair(caller, callee, count, Verdict.PROVEN, DIRECT))
            continue
        verdict, reason = proof.verdict(sites[caller], sites[callee])
        if reason == NO_CALL:
            image, address = sites[caller]
            if caller in outermost and proof.is_root(image, address):
                verdict, reason = Verdict.CONSISTENT, "root of a stack"
            else:
                # A frame that a signal's rule gave (Go's callbacks from C) is looked up at its own address.
                verdict, reason = proof.verdict((image, address - 1), sites[callee])
        if verdict == Verdict.CONTRADICTED and profile.frames.provenance[callee] == Provenance.ENTRY:
            # The direct call before it is of a function that jumps to code compiled at run time.
            verdict, reason = Verdict.CONSISTENT, "entry of code compiled at run time"
        found.append(CallPair(caller, callee, count, verdict, reason))
    return found
