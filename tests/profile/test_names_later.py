"""Profiles built without names, some of whose frames are named later."""

from pathlib import Path

import pytest
from tests.support.perfdata.build import PLAIN, Attr, Build

import undwarf
from undwarf.api import OpenedRecording, open_recording

BASE = 0xFFFFFFFF81000000
KALLSYMS = "".join(f"{BASE + 0x100 * k:x} T {name}\n" for k, name in enumerate(("_text", "read", "write", "_etext")))


@pytest.fixture
def recording(tmp_path: Path) -> OpenedRecording:
    """Two samples in the kernel, in functions of their own."""
    build = Build()
    attr = Attr(sample_type=PLAIN, ids=[1])
    records = [
        build.mmap(attr, b"[kernel.kallsyms]_text", pid=(1 << 32) - 1, start=BASE, length=0x1000, pgoff=BASE, misc=1),
        build.comm(attr, b"idle", pid=10, tid=10, time=1),
        build.sample(attr, ip=BASE + 0x110, pid=10, tid=10, time=1000, misc=1),
        build.sample(attr, ip=BASE + 0x220, pid=10, tid=10, time=2000, misc=1),
    ]
    (tmp_path / "perf.data").write_bytes(build.file([attr], records))
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    return open_recording(tmp_path / "perf.data", kallsyms=tmp_path / "kallsyms")


def names(profile: undwarf.Profile) -> list[str]:
    """Of the innermost frames of all samples."""
    return [sample.stack[0].name for sample in profile.samples]


def test_without_names_no_symbols_are_read(recording: OpenedRecording, tmp_path: Path) -> None:
    (tmp_path / "kallsyms").unlink()
    with recording:
        profile = recording.profile(names=False, inline=False)
        assert names(profile) == ["[unknown]", "[unknown]"]
        assert [image.problem for image in profile.images if image.kind == "kernel"] == [""]


def test_only_what_is_wanted_is_named(recording: OpenedRecording) -> None:
    with recording:
        profile = recording.profile(names=False, inline=False)
        frame = profile.stacks.frame[profile.samples.stack[1]]
        some = recording.named(profile, [frame])
        assert names(some) == ["[unknown]", "write"]
        assert some.functions.address[some.frames.function[frame]] == BASE + 0x200
        assert names(profile) == ["[unknown]", "[unknown]"]
        every = recording.named(profile, range(len(profile.frames)))
        assert names(every) == names(recording.profile()) == ["read", "write"]
