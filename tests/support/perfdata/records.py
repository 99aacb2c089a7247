"""Events and records that tests of several forms of a file share."""

from collections.abc import Callable

from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build

from undwarf.perfdata import PerfData

Opener = Callable[..., PerfData]

EVENTS = [
    Attr(sample_type=b.IDENTIFIER | b.PLAIN | b.CALLCHAIN | b.REGS_USER | b.STACK_USER, regs=0b111, ids=[5, 6]),
    Attr(type=0, sample_type=b.IDENTIFIER | b.PLAIN | b.CALLCHAIN, config=1, ids=[7]),
]


def some_records(make: Build) -> list[bytes]:
    first, second = EVENTS
    records = [make.comm(first, b"init", pid=1, tid=1), make.mmap2(first, b"/bin/a", build_id=b"\x01" * 20)]
    records.append(make.mmap2(first, b"/bin/b", where=(8, 1, 99, 4), time=500, ident=5))
    for number in range(200):
        records.append(
            make.sample(
                first,
                ident=5 + number % 2,
                time=1000 + 7 * (number ^ 1),
                ip=0x400000 + number,
                chain=(2**64 - 512, 0x400000 + number),
                regs=(number, 2, 3),
                stack=bytes(range(256)),
                dyn=200,
            )
        )
        records.append(make.sample(second, ident=7, time=1003 + 7 * number, cpu=3, period=number))
        if number % 50 == 49:
            records.append(make.round())
    records.append(make.task(first, 7, time=2000))
    records.append(make.task(first, 4, time=2001))
    return records


EVERYTHING = Attr(
    sample_type=(1 << 25) - 1 - b.WEIGHT_STRUCT,
    read_format=0xF & ~8,
    branch=1 << 17 | 1 << 19,
    regs=0xFF0FFF,
    intr=0b1011,
    stack=512,
    ids=[9],
)


VALUES = {
    "ident": 9, "ip": 0xFFFF, "pid": 12, "tid": 13, "time": 5000, "addr": 0xADD0, "stream": 0x57, "cpu": 3,
    "period": 99, "read": (1, 2, 3, 9), "chain": (2**64 - 512, 5, 6), "raw": b"12345678abcd",
    "branches": ((1, 2, 0x1234_5), (3, 4, 2)), "hw_idx": 7, "counters": (8, 9), "regs": tuple(range(20)),
    "stack": bytes(512), "dyn": 100, "weight": 0xDEADBEEF, "data_src": 0x1234567890, "transaction": 0x77,
    "intr": (21, 22, 23), "phys": 0x9000, "cgroup": 0xC6, "data_page": 4096, "code_page": 8192, "aux": b"a" * 16,
}  # fmt: skip  # a table
