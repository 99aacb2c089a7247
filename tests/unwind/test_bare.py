"""Samples that have an address only: what is remembered of one holds for the others of its address space."""

from pathlib import Path

from tests.support.perfdata.build import PLAIN, Attr, Build

import undwarf
from undwarf.perfdata import SampleField

ATTR = Attr(ids=[])
BUILD = Build()
AT = 0x400100
# Registers bp, sp and ip.
DUMPED = Attr(sample_type=PLAIN | SampleField.REGS_USER | SampleField.STACK_USER, regs=0x1C0, stack=16)


def frames(path: Path, *records: bytes) -> list[tuple[list[str], undwarf.StopReason]]:
    """What each sample shows: its frames' files, and why there are no more."""
    (path / "perf.data").write_bytes(BUILD.file([ATTR], list(records)))
    with undwarf.open(path / "perf.data") as recording:
        profile = recording.profile()
        return [([frame.dso for frame in one.stack], one.stop) for one in profile.samples]


def mapped(name: str, pid: int, time: int) -> bytes:
    return BUILD.mmap2(ATTR, f"/bin/{name}".encode(), pid=pid, tid=pid, time=time)


def sampled(pid: int, time: int, ip: int = AT, misc: int = 2) -> bytes:
    return BUILD.sample(ATTR, ip=ip, pid=pid, tid=pid, time=time, misc=misc)


def test_an_address_is_another_place_in_another_process(tmp_path: Path) -> None:
    turns = [sampled(pid, 10 + k) for k, pid in enumerate((10, 20) * 3)]
    found = frames(tmp_path, mapped("one", 10, 1), mapped("two", 20, 2), *turns)
    assert found == [(["/bin/one"], undwarf.StopReason.NO_DUMP), (["/bin/two"], undwarf.StopReason.NO_DUMP)] * 3


def test_an_address_is_another_place_when_something_else_is_mapped_there(tmp_path: Path) -> None:
    records = [mapped("one", 10, 1), sampled(10, 2), sampled(10, 3), mapped("two", 10, 4), sampled(10, 5)]
    assert [files for files, _stop in frames(tmp_path, *records)] == [["/bin/one"]] * 2 + [["/bin/two"]]


def test_an_address_in_the_kernel_is_no_address_of_the_program(tmp_path: Path) -> None:
    records = [mapped("one", 10, 1), sampled(10, 2), sampled(10, 3, misc=1), sampled(10, 4)]
    program, kernel, again = frames(tmp_path, *records)
    assert program == again == (["/bin/one"], undwarf.StopReason.NO_DUMP)
    assert kernel[0] != ["/bin/one"]


def test_an_address_of_nothing_stays_one(tmp_path: Path) -> None:
    first, second = frames(tmp_path, mapped("one", 10, 1), sampled(10, 2, 0x900000), sampled(10, 3, 0x900000))
    assert first == second == (["[unknown]"], undwarf.StopReason.NO_DUMP)


def test_a_call_through_a_null_pointer_needs_no_unwind_tables(tmp_path: Path) -> None:
    stack = BUILD.words(AT, 0)
    null = BUILD.sample(DUMPED, ip=0, pid=10, tid=10, time=2, regs=(0, 0x7F0000, 0), stack=stack)
    (tmp_path / "perf.data").write_bytes(BUILD.file([DUMPED], [BUILD.mmap2(DUMPED, b"/bin/one", pid=10), null]))
    with undwarf.open(tmp_path / "perf.data") as recording:
        (sample,) = recording.profile(callers=False).samples
    assert [frame.address.lookup for frame in sample.stack] == [0]
