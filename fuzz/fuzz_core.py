"""Core files from any bytes: notes, mappings, memory, programs that only memory shows, and the stacks of it all."""

import struct
import sys
from pathlib import Path

from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.live.stack.core_file import snapshot_of
from undwarf.live.stack.snapshot import X86_64
from undwarf.outputs.stack import lines

PROGRAM, STACK = 0x400000, 0x7000


def one_input(data: bytes) -> None:
    """Anything but UnreadableInput is a defect."""
    try:
        snapshot = snapshot_of(ElfFile.from_bytes(data))
    except UnreadableInput:
        return
    snapshot.encode()
    for number, thread in enumerate(snapshot.threads[:8]):
        snapshot.read(number, thread.registers[X86_64.sp], thread.registers[X86_64.sp] + 64)
    profile, _defects = snapshot.profile(cache=False)
    for _line in lines(profile, "name"):
        pass


def core(program: bytes, code: int) -> bytes:
    """A core of one thread with a mapped file, of which memory shows the beginning, and a stack."""
    registers = [0] * 27
    registers[16], registers[19] = PROGRAM + code, STACK
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    process = bytes(24) + struct.pack("<i", 7) + bytes(12) + b"name".ljust(96, b"\0")
    size = len(program) + 0xFFF & ~0xFFF
    files = struct.pack("<5Q", 1, 4096, PROGRAM, PROGRAM + size, 0) + b"/nonexistent/program\0"
    auxiliary = struct.pack("<4Q", 33, 0x9000, 9, PROGRAM + code)
    notes = b""
    for kind, data in ((1, status), (3, process), (6, auxiliary), (0x46494C45, files)):
        notes += struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + data + bytes(-len(data) % 4)
    stack = struct.pack("<32Q", *(PROGRAM + code + 16 * k for k in range(32)))
    head = b"\x7fELF\2\1\1".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    at = len(head) + 3 * 56
    head += struct.pack("<IIQQQQQQ", 4, 0, at, 0, 0, len(notes), len(notes), 4)
    at += len(notes)
    head += struct.pack("<IIQQQQQQ", 1, 6, at, STACK, 0, len(stack), 4096, 4096)
    at += len(stack)
    head += struct.pack("<IIQQQQQQ", 1, 5, at, PROGRAM, 0, len(program), size, 4096)
    return head + notes + stack + program


def seeds() -> list[bytes]:
    """Cores whose memory shows nothing, the beginning of a real program, and a small one without sections."""
    small = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0
    )
    small += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 256, 256, 4096)
    # push %rbx; call .+1; pop %rbx; ret
    small += b"\x53\xe8\x01\0\0\0\x5b\xc3".ljust(16, b"\x90") * 8
    return [core(bytes(64), 0x100), core(Path(sys.executable).read_bytes()[:4096], 0x100), core(small, 120)]


if __name__ == "__main__":
    main(one_input, seeds())
