"""Registers that a late state has lost: those that code may have written since the sampled instruction."""

from collections import deque

from undwarf.disasm import Flow, Instruction, machine_of
from undwarf.images import Image, ImageStore

__all__ = ["LateRegisters"]

_MAX_POSITIONS = 96
"""Positions that are followed, those of fewest instructions first."""
_WINDOW = 96
"""Bytes of code that are decoded at once."""
_LONGEST_INSTRUCTION = 15
_MAX_INSTRUCTIONS = 1 << 16
"""Decoded instructions that are remembered."""
_SYSTEM_CALL_RESULT = 0
"""rax, the result; the kernel keeps all others but rcx and r11, which the instruction itself writes. AArch64: x0."""


class LateRegisters:
    """Answers for the images of one recording. Code is followed through jumps, direct calls and what returns from them,
    in one image."""

    def __init__(self, images: ImageStore) -> None:
        self._images = images
        self._instructions: dict[tuple[int, int], Instruction | None] = {}
        self._known: dict[tuple[int, int, int], frozenset[int] | None] = {}

    def written(self, image: int, address: int, steps: int) -> frozenset[int] | None:
        """The registers (DWARF) that may have another value after 1 to ``steps`` instructions from an address on than
        before; None where control may be anywhere by then, or the code cannot be read."""
        key = (image, address, steps)
        if key not in self._known:
            self._known[key] = self._follow(self._images[image], address, steps)
        return self._known[key]

    def _follow(self, image: Image, address: int, steps: int) -> frozenset[int] | None:
        written: set[int] = set()
        waiting: deque[tuple[int, int, tuple[int, ...]]] = deque([(0, address, ())])
        seen: set[tuple[int, tuple[int, ...]]] = set()
        while waiting:
            done, at, returns = waiting.popleft()
            if done == steps or (at, returns) in seen:
                continue
            seen.add((at, returns))
            made = self._instruction(image, at)
            if made is None or len(seen) > _MAX_POSITIONS:
                return None
            written.update(made.writes)
            done += 1
            after = made.address + made.size
            if made.flow in (Flow.JUMP, Flow.BRANCH) and made.target is not None:
                waiting.append((done, made.target, returns))
            if made.flow in (Flow.NEXT, Flow.BRANCH):
                waiting.append((done, after, returns))
            elif made.flow == Flow.CALL and made.target is None:
                written.add(_SYSTEM_CALL_RESULT)
                waiting.append((done, after, returns))
            elif made.flow == Flow.CALL and made.target is not None:
                waiting.append((done, made.target, (*returns, after)))
            elif made.flow == Flow.RETURN and returns:
                waiting.append((done, returns[-1], returns[:-1]))
            elif made.flow in (Flow.RETURN, Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP) and done < steps:
                return None
        return frozenset(written)

    def _instruction(self, image: Image, address: int) -> Instruction | None:
        """The instruction at an address; None where there is no code to read."""
        key = (image.number, address)
        if key not in self._instructions:
            if len(self._instructions) >= _MAX_INSTRUCTIONS:
                self._instructions.clear()
            self._instructions[key] = None
            for made in _decoded(image, address):
                self._instructions[image.number, made.address] = made
        return self._instructions[key]


def _decoded(image: Image, address: int) -> list[Instruction]:
    """The instructions of a window of code from an address on, up to the end of its segment."""
    elf = image.elf
    machine = machine_of(elf.machine) if elf is not None else None
    if elf is None or machine is None:
        return []
    ends = (one.address + one.file_size for one in elf.loads if 0 <= address - one.address < one.file_size)
    size = min(_WINDOW, max(0, next(ends, address) - address))
    code = image.read(address, size)
    if code is None:
        return []
    found = machine.decode(bytes(code), address)
    # The window may end inside of its last instruction.
    return [one for one in found if size < _WINDOW or one.address <= address + _WINDOW - _LONGEST_INSTRUCTION]
