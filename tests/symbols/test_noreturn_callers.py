"""A call that never returns may be a function's last instruction: the return address is then the next function's first.

perf names the function that follows (`__pfx_clear_bss` where `x86_64_start_reservations` called); the caller is the one
before.
"""

from pathlib import Path

import pytest
from tests.support.perfdata.build import CALLCHAIN, PLAIN, Attr, Build

import undwarf

KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
BASE = 0xFFFFFFFF81000000
KALLSYMS = """\
ffffffff81000000 T _text
ffffffff81000100 T idle
ffffffff81000200 T start_kernel
ffffffff81000300 t x86_64_start_reservations
ffffffff81000328 t clear_bss
ffffffff81000400 T _etext
"""


@pytest.fixture
def stack(tmp_path: Path) -> list[str]:
    """Names of a kernel stack whose outermost return address lies just behind its caller."""
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    chain = (KERNEL, BASE + 0x110, BASE + 0x250, BASE + 0x328)
    records = [
        build.mmap(attr, b"[kernel.kallsyms]_text", pid=(1 << 32) - 1, start=BASE, length=0x1000, pgoff=BASE, misc=1),
        build.comm(attr, b"idle", pid=10, tid=10, time=1),
        build.sample(attr, ip=BASE + 0x110, pid=10, tid=10, time=1000, chain=chain, misc=1),
        # An interrupted address is exact: the first instruction of a function is that function.
        build.sample(attr, ip=BASE + 0x328, pid=10, tid=10, time=2000, chain=(KERNEL, BASE + 0x328), misc=1),
    ]
    (tmp_path / "perf.data").write_bytes(build.file([attr], records))
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    with undwarf.open(tmp_path / "perf.data", kallsyms=tmp_path / "kallsyms") as recording:
        return [frame.name for sample in recording.profile().samples for frame in sample.stack]


def test_the_caller_is_the_function_before(stack: list[str]) -> None:
    assert stack == ["idle", "start_kernel", "x86_64_start_reservations", "clear_bss"]
