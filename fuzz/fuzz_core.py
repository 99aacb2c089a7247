"""Core files from any bytes: notes, mappings, memory, and the recording made of them."""

import struct

from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.live.core_file import snapshot_of
from undwarf.live.snapshot import X86_64


def one_input(data: bytes) -> None:
    """Anything but UnreadableInput is a defect."""
    try:
        snapshot = snapshot_of(ElfFile.from_bytes(data))
    except UnreadableInput:
        return
    snapshot.encode()
    for number, thread in enumerate(snapshot.threads[:8]):
        snapshot.read(number, thread.registers[X86_64.sp], thread.registers[X86_64.sp] + 64)


def seeds() -> list[bytes]:
    """A core of one thread with a mapped file and a stack."""
    registers = [0] * 27
    registers[16], registers[19] = 0x400100, 0x7000
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    process = bytes(24) + struct.pack("<i", 7) + bytes(12) + b"name".ljust(96, b"\0")
    files = struct.pack("<5Q", 1, 4096, 0x400000, 0x402000, 0) + b"/bin/true\0"
    body = b""
    for kind, data in ((1, status), (3, process), (6, struct.pack("<4Q", 33, 0x9000, 0, 0)), (0x46494C45, files)):
        body += struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + data + bytes(-len(data) % 4)
    head = b"\x7fELF\2\1\1".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    head += struct.pack("<IIQQQQQQ", 4, 0, 176, 0, 0, len(body), len(body), 4)
    head += struct.pack("<IIQQQQQQ", 1, 6, 176 + len(body), 0x7000, 0, 64, 4096, 4096)
    return [head + body + bytes(64)]


if __name__ == "__main__":
    main(one_input, seeds())
