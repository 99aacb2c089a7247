"""undwarf.Unwinder on any registers, mappings and memory: what a debugger reads of a process that it does not trust."""

import struct
from pathlib import Path

from mutate import main

import undwarf
from undwarf.limits import Limits

LIMITS = Limits(max_frames=256)
PROGRAM = Path(__file__).parent.parent / "examples" / "recording" / "demo" / "words"
NAMES = ("rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15")
STACK = 0x7FFC0000


def one_input(data: bytes) -> None:
    """Anything but an UndwarfError is a defect. ``data``: registers, a list of mappings, a zero byte, memory."""
    head, _zero, memory = data[8 * len(NAMES) :].partition(b"\0")
    words = struct.unpack(f"<{len(NAMES)}Q", data[: 8 * len(NAMES)].ljust(8 * len(NAMES), b"\0"))

    def read(address: int, size: int) -> bytes | None:
        # All of memory is there, again and again: no walk may go on for ever.
        start = address % max(1, len(memory))
        return memory[start : start + size] or None

    try:
        maps = undwarf.Mapping.parse_maps(head)
        unwinder = undwarf.Unwinder(maps[:64], read, cache=False, limits=LIMITS)
        for _again in range(2):
            stack = unwinder.unwind(dict(zip(NAMES, words, strict=True)))
            assert 0 < len(stack.frames) <= LIMITS.max_frames
            assert stack.stop is not undwarf.StopReason.NONE
            unwinder.remap(maps[:32])
    except undwarf.UndwarfError:
        return


def seeds() -> list[bytes]:
    """The example's program in its functions, mapped; with the names that mean something to the search for files."""
    program = str(PROGRAM).encode()
    maps = b"400000-401000 r-xp 00000000 fe:00 1 " + program + b"\n7ffc0000-7ffd0000 rw-p 00000000 00:00 0 [stack]\n"
    odd = b"".join(
        b"%x-%x r-xp 00000000 00:00 0 %s\n" % (0x500000 + 0x1000 * k, 0x501000 + 0x1000 * k, name)
        for k, name in enumerate(
            (b"", b"[vdso]", b"[kernel.kallsyms]", b"[vsyscall]", b"/a (deleted)", b"/tmp/perf-1.map", b"/jit-1.dump")
        )
    )
    table = undwarf.UnwindTable.from_elf(PROGRAM)
    found = []
    for number, start in enumerate(list(table.starts)[::3]):
        inside = start + 1 if number % 2 else start
        memory = b"".join(struct.pack("<Q", address + 5) for address in table.starts) * 40
        words = struct.pack("<8Q", inside, STACK, STACK + 64, 0, 0, 0, 0, 0)
        found.append(words + maps + (odd if number % 3 == 0 else b"") + b"\0" + memory)
    return found


if __name__ == "__main__":
    main(one_input, seeds())
