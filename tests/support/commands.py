"""Running the command line, and small recordings to run it on."""

import subprocess
from collections.abc import Callable

from tests.support.perfdata.build import CALLCHAIN, IDENTIFIER, PLAIN, Attr, Build

Run = Callable[..., "subprocess.CompletedProcess[str]"]
USER, KERNEL = (1 << 64) - 512, (1 << 64) - 128


def recording(comm: bytes = b"prog", samples: int = 3) -> bytes:
    """One thread of pid 10, tid 11, with frame-pointer chains in a file that does not exist here."""
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    records = [
        build.comm(attr, comm, pid=10, tid=10, time=1),
        build.comm(attr, comm, pid=10, tid=11, time=1),
        build.mmap2(attr, b"/nowhere/prog", time=2),
    ]
    records += [
        build.sample(
            attr,
            ip=0x400010,
            time=1_500_000_000 + 1000 * number,
            cpu=number % 2,
            period=5,
            chain=(USER, 0x400010, 0x400020),
        )
        for number in range(samples)
    ]
    return build.file([attr], records)


def two_events(features: dict[int, bytes] | None = None) -> bytes:
    """Three samples of cpu-clock in one function, one sample of page-faults that stands for seven, in another file."""
    build = Build()
    clock, faults = (
        Attr(sample_type=PLAIN | CALLCHAIN | IDENTIFIER, config=config, ids=[number])
        for number, config in ((1, 0), (2, 2))
    )
    records = [
        build.comm(clock, b"prog", pid=10, tid=11, time=1, ident=1),
        build.mmap2(clock, b"/nowhere/prog", time=2, ident=1),
        build.mmap2(clock, b"/nowhere/lib.so", start=0x600000, time=2, ident=1),
    ]
    for number, (attr, ip, period) in enumerate([(clock, 0x400010, 5)] * 3 + [(faults, 0x600010, 7)]):
        time = 1_500_000_000 + 1000 * number
        records.append(
            build.sample(attr, ip=ip, time=time, period=period, ident=attr.ids[0], chain=(USER, ip, 0x400020))
        )
    return build.file([clock, faults], records, features or {})
