"""Functions of Go's runtime that switch stacks on x86-64, and the rules that continue on the other stack.

Goroutines have stacks of their own; the scheduler, the collector and C run on that of the system's thread. The function
table does not describe these switches. The code that switches back loads the other stack pointer from where it was
saved; it is searched for the offsets of that in Go's structures, which differ between versions. Sources:
runtime/asm_amd64.s, runtime/sys_linux_amd64.s (``systemstack``, ``mcall``, ``morestack``, ``asmcgocall``, ``clone``) of
Go.
"""

import re
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from undwarf.dwarf.operations import BRA, BREG0, DEREF, DROP, DUP, LIT0, MINUS, PLUS_UCONST, SKIP
from undwarf.tables.cfi.pointers import leb

TO_C = frozenset({"runtime.asmcgocall", "runtime.asmcgocall_no_g", "runtime.callCgoMmap", "runtime.callCgoMunmap"})
"""Call C on the thread's stack."""
TO_SYSTEM = "runtime.systemstack"
"""Calls a function of Go on the thread's stack."""
MORE = "runtime.morestack"
"""Switches to the thread's stack to enlarge that of the goroutine, for the function that called it."""
NEW_STACK = "runtime.newstack"
"""Called by :data:`MORE`: enlarges the stack, or calls one of :data:`PREEMPTING`."""
PREEMPTING = ("runtime.gopreempt_m", "runtime.goschedImpl", "runtime.preemptPark")
"""Take the goroutine off the thread, which then looks for other work; they never return (runtime/stack.go)."""
WORKER, WORKER_STARTED = "runtime.gcBgMarkWorker", "runtime.gcBgMarkStartWorkers.gowrap1"
"""A goroutine of the collector that works on the thread's stack nearly always, and what it is called by, if anything
(Go 1.23 and later). Only functions in it call :data:`TO_SYSTEM` with functions named after it (runtime/mgc.go)."""
NEVER_BACK = {
    "runtime.mcall": rb"\x49\x8b\x66[\x00-\x7f]",
    "runtime.clone": rb"\x48\x89\xf4",
    "runtime.switchToCrashStack0": rb"\x48\x89\xdc",
}
"""Functions that switch to a stack without a frame of their callers, and the instruction that switches."""
RESUME = "gogo"
"""Called by the scheduler: switches to the stack of a goroutine and jumps to where that left off, which is an address
in the heap until the last instruction. Its own caller, the scheduler, stays on the thread's stack."""
_RESUMED = re.compile(rb"\x48\x8b(?:\x23|\x63[\x00-\x7f])")
"""mov (%rbx),%rsp, or mov sp(%rbx),%rsp"""

_TO_CALLER = re.compile(
    # mov g(%rsp),%rdi; mov high(%rdi),%rsi; sub depth(%rsp),%rsi; ...; mov %rsi,%rsp
    rb"\x48\x8b\x7c\x24(?P<g>[\x00-\x3f])\x48\x8b\x77(?P<high>[\x00-\x7f])"
    rb"\x48\x2b(?:\x74\x24(?P<depth>[\x00-\x3f])|\x34\x24).{0,16}?\x48\x89\xf4"
    # mov place(%rsp),%rsi; mov %rsi,%rsp, or the same with %rdx
    rb"|\x48\x8b(?:\x74\x24(?P<place>[\x00-\x7f])|\x34\x24)\x48\x89\xf4"
    rb"|\x48\x8b(?:\x54\x24(?P<other>[\x00-\x7f])|\x14\x24)\x48\x89\xd4"
    # mov (%rsp),%rsp
    rb"|\x48\x8b\x24\x24",
    re.DOTALL,
)
"""From C back to the caller's stack: by its distance from the end of the goroutine's stack, which may have moved
meanwhile; if C was called from the thread's stack, by its address."""
_MOVE = 3
"""Bytes of the last instruction of these."""
_KEEP = b"\x48\x89\xe2"
"""mov %rsp,%rdx"""
_BEFORE_C = re.compile(
    # mov sp(%rsi),%rsp, where C is not called on the same stack; sub size,%rsp; and $-16,%rsp
    rb"(?P<change>(?:\x48\x8b\x66[\x00-\x7f])?)\x48\x83\xec[\x00-\x7f]\x48\x83\xe4\xf0"
)
"""The switch before a call of C: until then the caller's stack pointer is in rdx."""
_KEPT = re.compile(
    # mov %rsp,%register; ...; and $-16,%rsp; ...; mov %register,%rsp, of rbx, r12 to r15
    rb"(?:\x48\x89\xe3|\x49\x89(?P<high>[\xe4-\xe7])).{0,160}?\x48\x83\xe4\xf0.{0,160}?"
    rb"(?:\x48\x89\xdc|\x4c\x89[\xe4\xec\xf4\xfc])",
    re.DOTALL,
)
"""A call of C during which the caller's stack pointer is in a callee-saved register (of the vDSO for the time and
random numbers, of sanitizers)."""
CALL_OF_FUNCTION = b"\xff\xd7"
"""call *%rdi, in :data:`TO_SYSTEM`"""
_ALIGN = b"\x48\x83\xe4\xf0"
"""and $-16,%rsp"""
_TO_KEPT = {None: (3, b"\x48\x89\xdc")} | {0xE4 + i: (12 + i, bytes((0x4C, 0x89, 0xE4 + 8 * i))) for i in range(4)}
"""By the last byte of the move there (None: to rbx): the register, and the instruction that moves it back."""
_SWITCH = re.compile(rb"\x48\x8b[\x60-\x63\x65-\x67][\x00-\x7f]|\x48\x89[\xc4\xcc\xd4\xdc\xec\xf4\xfc]")
"""mov place(%register),%rsp, or mov %register,%rsp"""
_CURRENT = re.compile(
    # mov m(%rax),%rbx; mov current(%rbx),%rax; mov %rax,%fs:...; mov sp(%rax),%rsp
    rb"\x48\x8b\x58(?P<m>[\x00-\x7f])\x48\x8b\x83(?P<current>[\x00-\xff]{2}\0\0)"
    # In position-independent code the place in thread-local storage is in a register.
    rb"(?:\x64\x48\x89(?:\x04\x25.{4}|[\x00-\x03\x06\x07]))?\x48\x8b\x60(?P<sp>[\x00-\x7f])",
    re.DOTALL,
)
"""From the thread's goroutine to the one it runs for, and to the saved stack pointer of that."""

_CALL = re.compile(rb"\xe8")
_RDX, _RSP, _R14, _RIP = 1, 7, 14, 16
"""Go keeps the running goroutine in r14."""


class SwitchedRange(NamedTuple):
    """Code from ``low`` to ``high`` (offsets in a function) that runs on another stack than its caller.

    The stack pointer that the table describes at ``high`` is: with ``word``, in the word so many bytes above the stack
    pointer; with ``goroutine``: (where on the stack the goroutine is, the end of its stack in it, where on the stack
    the distance from that end is); with ``current``: (the thread in the goroutine in r14, the one it runs for in that,
    the stack pointer in that); with ``register``, in the register of that number. ``hidden``: it cannot be found.
    Without any of them the code has no caller.
    """

    low: int
    high: int
    word: int | None = None
    goroutine: tuple[int, int, int] | None = None
    current: tuple[int, int, int] | None = None
    register: int | None = None
    hidden: bool = False
    mark: int = 0
    """If r14 has this value, the caller is not the one on the stack (:data:`PREEMPTED`, :data:`WORKING`)."""

    def expression(self, size: int) -> bytes:
        """The call frame address, ``size`` bytes above that stack pointer; empty where no expression is needed."""
        found = self._expression(size)
        return _if_marked(self.mark, _register_plus(_RSP, 0), found) if self.mark else found

    def _expression(self, size: int) -> bytes:
        if self.goroutine is not None:
            holder, high, depth = self.goroutine
            end = _register(_RSP, holder) + _word_at(high)
            return end + _register(_RSP, depth) + bytes((MINUS,)) + _plus(size)
        if self.register is not None:
            return _register_plus(self.register, size)
        if self.hidden:
            # No process has memory at 0: the stack pointer is unknown, on another stack.
            return bytes((LIT0, DEREF))
        if self.current is None:
            return b""
        thread, current, sp = self.current
        place = _register(_R14, thread) + _plus(current) + bytes((DUP, DEREF, DUP))
        found = _word_at(sp) + _plus(size)
        # A thread without a goroutine has 0 there, which is a return address that ends a stack.
        none = bytes((DROP,)) + _plus(8) + bytes((SKIP,)) + struct.pack("<h", len(found))
        return place + bytes((BRA,)) + struct.pack("<h", len(none)) + none + found


PREEMPTED, WORKING = 1, 2
"""Values of r14, no goroutine's addresses: in frames that have taken their goroutine off the thread, and in those that
:data:`WORKER` has called on the thread's stack. Both are known without the goroutine's stack."""


def mark(value: int) -> bytes:
    """An expression for a mark in r14."""
    return bytes((LIT0 + value,))


def caller_if_marked(value: int, ahead: int | None) -> bytes:
    """The return address, an expression over the call frame address: with that mark in r14 it is ``ahead`` of the
    frame's own address, or 0, which ends a stack, for None."""
    own = bytes((DROP, LIT0)) if ahead is None else _register_plus(_RIP, ahead)
    return _if_marked(value, own, bytes((LIT0 + 8, MINUS, DEREF)))


def returns(code: bytes, targets: Collection[int]) -> list[int]:
    """The return addresses of calls of ``targets`` (offsets, as those, from the start of the code)."""
    calls = (found.start() + 5 for found in _CALL.finditer(code) if found.start() + 5 <= len(code))
    return [back for back in calls if back + int.from_bytes(code[back - 4 : back], "little", signed=True) in targets]


def switched_ranges(name: str, code: bytes, system: bytes) -> list[SwitchedRange]:
    """The ranges of a function on another stack than in the table, ascending. ``system`` is the code of
    :data:`TO_SYSTEM`."""
    if name in TO_C:
        return list(_around_c(code))
    if name in NEVER_BACK:
        found = re.search(NEVER_BACK[name], code)
        return [SwitchedRange(found.end(), len(code))] if found is not None else []
    if name == RESUME:
        found = _RESUMED.search(code)
        return [SwitchedRange(found.end(), len(code), hidden=True)] if found is not None else []
    if name not in (TO_SYSTEM, MORE):
        return list(_kept(code))
    switch = _SWITCH.search(code)
    if switch is None:
        return []
    current = _CURRENT.search(system)
    mark_here = PREEMPTED if name == MORE else WORKING
    if current is None:
        return [SwitchedRange(switch.end(), len(code), hidden=True, mark=mark_here)]
    places = current["m"][0], int.from_bytes(current["current"], "little"), current["sp"][0]
    high = current.end() if name == TO_SYSTEM else len(code)
    return [SwitchedRange(switch.end(), high, current=places, mark=mark_here)] if switch.end() < high else []


def _around_c(code: bytes) -> Iterator[SwitchedRange]:
    """The ranges on the thread's stack in a function that calls C: before the call, and from its return on."""
    low = 0
    for found in _TO_CALLER.finditer(code):
        # A call is before it, and callers are looked up by the byte before the return address.
        back = max(found.start() - 1, low)
        before = _BEFORE_C.search(code, low, back)
        if before is not None and _KEEP in code[: before.start()]:
            yield SwitchedRange(before.end("change"), back, register=_RDX)
        low = found.end() - _MOVE + 1
        if found["g"] is None:
            yield SwitchedRange(back, low, word=(found["place"] or found["other"] or b"\0")[0])
        else:
            depth = found["depth"][0] if found["depth"] else 0
            yield SwitchedRange(back, low, goroutine=(found["g"][0], found["high"][0], depth))


def _kept(code: bytes) -> Iterator[SwitchedRange]:
    """The ranges in which a function keeps its stack pointer in a register while C has the thread's stack."""
    if _ALIGN not in code:
        return
    for found in _KEPT.finditer(code):
        register, back = _TO_KEPT[found["high"][0] if found["high"] else None]
        if found.group().endswith(back):
            yield SwitchedRange(found.start() + _MOVE, found.end() - _MOVE + 1, register=register)


def _if_marked(value: int, then: bytes, other: bytes) -> bytes:
    """The expression ``then`` with that mark in r14, else ``other``."""
    then += bytes((SKIP,)) + struct.pack("<h", len(other))
    return _register_plus(_R14, -value) + bytes((BRA,)) + struct.pack("<h", len(then)) + then + other


def _register_plus(number: int, offset: int) -> bytes:
    """A register plus an offset."""
    return bytes((BREG0 + number, *leb(offset, signed=True)))


def _register(number: int, offset: int) -> bytes:
    """The word at a register plus an offset."""
    return bytes((*_register_plus(number, offset), DEREF))


def _word_at(offset: int) -> bytes:
    """The word at an offset from the address on the stack of the expression."""
    return _plus(offset) + bytes((DEREF,))


def _plus(value: int) -> bytes:
    """An operation that adds."""
    return bytes((PLUS_UCONST, *leb(value)))
