"""Zlib streams unpacked into their place: what zlib itself says of them is the truth."""

import random
import sys
import zlib
from pathlib import Path

import pytest

from undwarf.elf.inflate import inflate

STRATEGIES = {
    "usual": zlib.Z_DEFAULT_STRATEGY,
    "bytes only": zlib.Z_HUFFMAN_ONLY,
    "runs": zlib.Z_RLE,
    "filtered": zlib.Z_FILTERED,
    "fixed codes": zlib.Z_FIXED,
}


def packed(text: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY, window: int = 15) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, window, 8, strategy)
    return packer.compress(text) + packer.flush()


def texts() -> list[bytes]:
    """Of all kinds: nothing to find, one byte again and again, near and far repetitions, code."""
    chance = random.Random(1)
    code = Path(sys.executable).resolve().read_bytes()
    found = [b"a", bytes(70_000), chance.randbytes(70_000), code[:200_000]]
    found.append(b"".join(chance.choice([b"struct ", b"int", b"x" * chance.randrange(300)]) for _ in range(2_000)))
    found.append(bytes(chance.choice(b"ab") for _ in range(5_000)))
    found.append(chance.randbytes(32_768) * 2)
    return found + [text[:n] for text in found[2:] for n in (2, 3, 17, 257, 258, 279, 280, 281, 1000)]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_all_that_zlib_packs(level: int, strategy: int) -> None:
    for text in texts():
        for window in (9, 15):
            room = bytearray(len(text))
            assert inflate(packed(text, level, strategy, window), room)
            assert room == text


def test_what_comes_behind_the_stream_is_not_read() -> None:
    text = b"one after the other, " * 40
    room = bytearray(len(text))
    assert inflate(packed(text) + b"else", room)
    assert room == text


@pytest.mark.parametrize("more", [-700, -1, 1, 300])
def test_a_stream_of_another_size_is_refused(more: int) -> None:
    text = bytes(range(256)) * 4
    assert not inflate(packed(text), bytearray(len(text) + more))


def test_a_stream_cut_short_is_refused() -> None:
    text = random.Random(2).randbytes(40) * 30
    whole = packed(text)
    for end in range(len(whole)):
        assert not inflate(whole[:end], bytearray(len(text)))


def test_damage_is_refused_unless_zlib_reads_the_same() -> None:
    chance = random.Random(3)
    refused = 0
    for text in texts():
        for level in (0, 1, 9):
            whole = packed(text[:3_000], level)
            for _ in range(20):
                damaged = bytearray(whole)
                for _ in range(chance.choice([1, 1, 3])):
                    damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                room = bytearray(len(text[:3_000]))
                if inflate(bytes(damaged), room):
                    assert zlib.decompress(damaged) == room
                else:
                    refused += 1
    assert refused > 1_000


def test_a_checksum_that_is_wrong_is_refused() -> None:
    whole = bytearray(packed(b"some text"))
    whole[-1] ^= 1
    assert not inflate(bytes(whole), bytearray(9))


def test_a_dictionary_is_asked_of_nobody() -> None:
    packer = zlib.compressobj(zdict=b"some text")
    assert not inflate(packer.compress(b"some text") + packer.flush(), bytearray(9))
