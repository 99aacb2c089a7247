"""Caller-saved registers that a function preserves nevertheless: its code saves them first and restores them at the
end.

Callees of a kernel's inline assembler are such: `preempt_schedule_thunk` (arch/x86/entry/thunk_64.S), and functions
defined by `PV_CALLEE_SAVE_REGS_THUNK` (asm/paravirt.h).
"""

from collections.abc import Callable, Iterator

from undwarf.disasm import NONE, Action, Flow, Instruction, Machine

__all__ = ["preserved_registers"]

_MOST = 64
"""Limit of instructions, and number of bytes decoded at once."""

Read = Callable[[int, int], bytes | None]


def preserved_registers(machine: Machine, read: Read, address: int) -> frozenset[int]:
    """The registers that straight-line code pushes and pops before it returns.

    Empty if the code branches, writes to memory otherwise, or moves the stack pointer: the saved values might be lost.
    """
    stack: list[int] = []
    changed: set[int] = set()
    saved: set[int] = set()
    for made in _straight(machine, read, address):
        if made.flow == Flow.RETURN:
            return frozenset(saved - changed) if not stack else frozenset()
        if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
            changed |= machine.caller_saved
        elif made.action == Action.PUSH:
            kept = made.left if made.left != NONE and made.left not in changed else NONE
            stack.append(kept)
            if kept != NONE:
                saved.add(kept)
        elif made.action == Action.POP:
            if not stack:
                break
            changed.add(made.destination)
            if stack.pop() == made.destination:
                changed.discard(made.destination)
        elif machine.stack_pointer in made.writes or any("w" in operand.access for operand in made.memory):
            break
        else:
            changed.update(made.writes)
    return frozenset()


def _straight(machine: Machine, read: Read, address: int) -> Iterator[Instruction]:
    """Instructions from an address on, along jumps, up to a return; ends where the code branches."""
    left = _MOST
    while left > 0:
        code = read(address, _MOST)
        if not code:
            return
        listing = machine.listing(code, address)
        follow = None
        # The last may be cut off.
        for k in range(len(listing) - 1):
            made = listing[k]
            left -= 1
            if made.flow == Flow.JUMP and made.target is not None:
                follow = made.target
                break
            if made.flow in (Flow.JUMP, Flow.BRANCH, Flow.INDIRECT_JUMP, Flow.STOP) or left < 0:
                return
            yield made
        address = listing.address_of(len(listing) - 1) if follow is None else follow
        if follow is None and len(listing) < 2:
            return
