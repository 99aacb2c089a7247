"""Recordings whose samples are at chosen instructions of a program."""

from itertools import product
from pathlib import Path

import pytest
from tests.support.perfdata.build import (
    ADDR,
    CODE_PAGE_SIZE,
    DATA_PAGE_SIZE,
    DATA_SRC,
    IDENTIFIER,
    PHYS_ADDR,
    PLAIN,
    SAMPLE_ID_ALL,
    WEIGHT_STRUCT,
    Attr,
    Build,
)
from tests.support.types.programs import answers

from undwarf.elf import ElfFile

BASE = 0x5555_0000_0000


EVERYTHING = PLAIN | ADDR | WEIGHT_STRUCT | DATA_SRC | PHYS_ADDR | DATA_PAGE_SIZE | CODE_PAGE_SIZE | IDENTIFIER


# Precise, so that nothing skids; as old as perf 6.1.
EXACT = Attr(sample_type=EVERYTHING, type=4, config=0x1CD, flags=SAMPLE_ID_ALL | 2 << 15, ids=[7], size=128)


def recording(folder: Path, binary: Path, samples: list[tuple[int, int, int]], precise: int = 0, misc: int = 2) -> Path:
    """A recording of a timer with samples (address in the binary, cpu, how many)."""
    b, attr = Build(), Attr(sample_type=PLAIN, type=1, config=0, period=1000, flags=SAMPLE_ID_ALL | precise << 15)
    elf = ElfFile.open(binary)
    records = [b.comm(attr, b"program")]
    for segment in elf.loads:
        if segment.flags & 1:
            start = BASE + segment.address - segment.offset
            records.append(
                b.mmap2(
                    attr,
                    str(binary).encode(),
                    start=start + segment.offset // 4096 * 4096,
                    length=(segment.offset % 4096 + segment.file_size + 4095) // 4096 * 4096,
                    pgoff=segment.offset // 4096 * 4096,
                    build_id=bytes(elf.build_id),
                )
            )
    time = 1000
    for address, cpu, count in samples:
        for _ in range(count):
            time += 1
            records.append(
                b.sample(attr, ip=BASE + address, pid=10, tid=10, time=time, cpu=cpu, period=1000, misc=misc)
            )
    path = folder / "perf.data"
    path.write_bytes(b.file([attr], records))
    return path


def place(binary: Path, function: str, t: str, member: str, access: str) -> int:
    """The address of the first instruction of a function that touches a member."""
    found = answers(binary, function)
    for one in found:
        if one["type"] == t and one["field"] == member and set(access) <= set(one["access"]):
            return int(one["address"], 16)
    assert any(one["type"] for one in found)
    pytest.skip("the compiler made something else of it")


def memory_recording(
    folder: Path,
    binary: Path,
    samples: list[dict[str, int]],
    attr: Attr = EXACT,
    second: Attr | None = None,
    line_size: int = 0,
    header: dict[int, str] | None = None,
) -> Path:
    """A recording with these samples, whose ``ip`` is an address in the binary that each process has mapped; ``ident``
    is the id of their event, the second one's if it is not the first one's. The recorder states the size of the
    machine's cache lines if it is not 0, and the texts of the ``header``.
    """
    b = Build()
    elf = ElfFile.open(binary)
    pids = sorted({one.get("pid", 10) for one in samples})
    records = [b.comm(attr, b"program", pid=pid, tid=pid, ident=7) for pid in pids]
    for pid, segment in product(pids, elf.loads):
        if segment.flags & 1:
            start = BASE + segment.address - segment.offset % 4096
            records.append(
                b.mmap2(
                    attr, str(binary).encode(), pid=pid, tid=pid, start=start, length=0x10000,
                    pgoff=segment.offset // 4096 * 4096, build_id=bytes(elf.build_id), ident=7,
                )
            )  # fmt: skip  # rows of fields
    for time, one in enumerate(samples, 1000):
        values = {"pid": 10, "tid": 10, "time": time, "period": 1000, "ident": 7, "misc": 2 | 1 << 14, **one}
        values["ip"] += BASE
        of = second if second is not None and values["ident"] in second.ids else attr
        records.append(b.sample(of, **values))
    path = folder / "memory.data"
    features = {34: b.pack("I", line_size)} if line_size else {}
    features |= {number: b.string(text) for number, text in (header or {}).items()}
    path.write_bytes(b.file([attr, second] if second is not None else [attr], records, features))
    return path
