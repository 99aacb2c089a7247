"""Kernels and modules as they are packed."""

import bz2
import gzip
import lzma
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import zstandard
from tests.support.elf_builder import BUILD_ID, program

from undwarf.elf.lz4 import unpack_block, unpack_legacy
from undwarf.errors import ElfError
from undwarf.images.packed_binary import boot_payload, open_binary
from undwarf.limits import Limits

ELF = program().build()


def lz4_literals(data: bytes) -> bytes:
    """A legacy frame with one block that has nothing but literals."""
    size = len(data)
    head = bytes((0xF0,)) + b"\xff" * ((size - 15) // 255) + bytes(((size - 15) % 255,))
    return b"\x02\x21\x4c\x18" + struct.pack("<I", len(head) + size) + head + data


PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4_literals,
}


def boot_image(payload: bytes, *, version: int = 0x20F, sectors: int = 4, offset: int = 0x100) -> bytes:
    """A kernel image as the boot protocol describes it."""
    head = bytearray((sectors + 1) * 512)
    head[0x1F1] = 0 if sectors == 4 else sectors
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x206, version)
    struct.pack_into("<II", head, 0x248, offset, len(payload))
    return bytes(head) + bytes(offset) + payload + bytes(512)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("sectors", [4, 39])
def test_the_kernel_inside_of_a_boot_image(tmp_path: Path, kind: str, sectors: int) -> None:
    payload = PACKERS[kind](ELF)
    if kind != "gzip":
        payload += struct.pack("<I", len(ELF))
    (tmp_path / "vmlinuz").write_bytes(boot_image(payload, sectors=sectors))
    elf = open_binary(tmp_path / "vmlinuz")
    assert bytes(elf.data) == ELF
    assert elf.build_id == BUILD_ID


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_modules(tmp_path: Path, kind: str) -> None:
    (tmp_path / "m.ko").write_bytes(PACKERS[kind](ELF))
    assert bytes(open_binary(tmp_path / "m.ko").data) == ELF


def test_plain_files_are_opened_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(ELF)
    assert open_binary(tmp_path / "plain").build_id == BUILD_ID


@pytest.mark.parametrize("size", [0, 1, 0x1F1, 0x205, 0x24F, 0x250, 600, 2700])
def test_boot_images_cut_short_are_no_elf_files(tmp_path: Path, size: int) -> None:
    (tmp_path / "cut").write_bytes(boot_image(gzip.compress(ELF))[:size])
    with pytest.raises(ElfError):
        open_binary(tmp_path / "cut")


def test_a_payload_past_the_end_is_none() -> None:
    image = bytearray(boot_image(gzip.compress(ELF)))
    struct.pack_into("<I", image, 0x24C, 1 << 31)
    assert boot_payload(memoryview(image)) is None
    struct.pack_into("<II", image, 0x248, 0xFFFFFFFF, 100)
    assert boot_payload(memoryview(image)) is None


def test_an_old_boot_protocol_does_not_say_where_the_payload_is() -> None:
    assert boot_payload(memoryview(boot_image(gzip.compress(ELF), version=0x207))) is None


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_payloads_are_refused(tmp_path: Path, kind: str) -> None:
    packed = PACKERS[kind](ELF)
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ElfError):
        open_binary(tmp_path / "cut")


@pytest.mark.parametrize("kind", PACKERS)
def test_the_limit_of_unpacked_bytes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "m.ko").write_bytes(PACKERS[kind](ELF))
    with pytest.raises(ElfError, match="limit"):
        open_binary(tmp_path / "m.ko", limits=Limits(module_bytes=100))


def block(packed: bytes, room: int = 1000) -> "bytes | None":
    target = bytearray(room)
    size = unpack_block(packed, target)
    return bytes(target[:size]) if size >= 0 else None


def test_lz4_copies_repeat_what_they_run_into() -> None:
    # Two literals, then 4 + 6 bytes from two back; then one literal.
    assert block(b"\x26ab\x02\x00\x10c") == b"ab" + b"ab" * 5 + b"c"
    # One literal, then 4 + 15 + 3 bytes from one back.
    assert block(b"\x1fz\x01\x00\x03\x10!") == b"z" * 23 + b"!"


@pytest.mark.parametrize(
    "packed",
    [b"", b"\x26ab\x03\x00\x10c", b"\x26ab\x00\x00\x10c", b"\x26ab\x02", b"\x26ab\x02\x00", b"\xf0\xff\xff", b"\x30ab"],
)
def test_damaged_lz4_blocks_are_refused(packed: bytes) -> None:
    assert block(packed) is None


def test_lz4_blocks_stay_in_their_room() -> None:
    assert block(b"\x26ab\x02\x00\x10c", 13) is not None
    assert block(b"\x26ab\x02\x00\x10c", 12) is None
    assert block(b"\x26ab\x02\x00\x10c", 11) is None
    assert block(b"\x26ab\x02\x00\x10c", 1) is None


def test_lz4_as_its_own_program_packs_it() -> None:
    if shutil.which("lz4") is None:
        pytest.skip("no lz4")
    chance = random.Random(1)
    words = [chance.randbytes(chance.randrange(1, 40)) for _ in range(300)]
    data = b"".join(chance.choice(words) for _ in range(150_000)) + bytes(9 << 20)
    packed = subprocess.run(["lz4", "-l", "-9", "-c"], input=data, capture_output=True, check=True).stdout
    assert unpack_legacy(memoryview(packed), len(data)) == data
    assert unpack_legacy(memoryview(packed), len(data) - 1) is None
    assert unpack_legacy(memoryview(packed)[:-1], len(data)) is None


def test_any_bytes_as_lz4_are_unpacked_or_refused() -> None:
    chance = random.Random(2)
    packed = b"\x26ab\x02\x00\x8fsome text\x04\x00\xff\x20\x50quite"
    for _ in range(3000):
        data = bytearray(packed)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        found = block(bytes(data), 500)
        assert found is None or len(found) <= 500
