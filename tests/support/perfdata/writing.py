"""A small recording through the writer, for tests of it and of what reads its files."""

import io
import os
import struct
from typing import Any, Literal

from undwarf.column import zeros
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata import feature_writer as encode
from undwarf.perfdata.features import BuildId, Feature
from undwarf.perfdata.record_writer import RecordEncoder, finished_round
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.sample_writer import Emitter

F = SampleField
FIELDS = int(F.IDENTIFIER | F.IP | F.TID | F.TIME | F.CPU | F.PERIOD | F.CALLCHAIN)
SAMPLE_ID_ALL = 1 << 18
FREQ = 1 << 10
BUILD_ID = bytes(range(1, 21))


CHANGING = ("type", "config", "sample_period", "freq", "sample_type", "read_format", "sample_id_all",
            "sample_regs_user", "sample_stack_user", "sample_regs_intr", "branch_sample_type")  # fmt: skip  # a table
"""What an event's attribute says that a test may change."""


def event(name: str = "cpu-clock", ids: tuple[int, ...] = (1, 2), **changes: Any) -> EventAttr:
    values: dict[str, Any] = {
        "name": name,
        "type": 1,
        "config": 0,
        "sample_period": 999,
        "freq": True,
        "sample_type": FIELDS,
        "read_format": 4,
        "flags": SAMPLE_ID_ALL | FREQ,
        "sample_id_all": True,
        "config1": 0,
        "config2": 0,
        "branch_sample_type": 0,
        "sample_regs_user": 0,
        "sample_stack_user": 0,
        "clockid": None,
        "sample_regs_intr": 0,
        "sample_max_stack": 127,
        "ids": ids,
    }
    return EventAttr(**{**values, **changes})


def events() -> list[EventAttr]:
    return [event(), event("dummy:u", (3, 4), config=9, sample_type=FIELDS & ~int(F.CALLCHAIN))]


def features(described: list[EventAttr]) -> dict[int, bytes]:
    return {
        Feature.HOSTNAME: encode.string("vm"),
        Feature.OSRELEASE: encode.string("6.99"),
        Feature.VERSION: encode.string("test"),
        Feature.ARCH: encode.string("x86_64"),
        Feature.NRCPUS: struct.pack("=II", 2, 2),
        Feature.CMDLINE: encode.strings(["undwarf", "record"]),
        Feature.EVENT_DESC: encode.event_desc(described),
        Feature.BUILD_ID: encode.build_ids([BuildId(-1, BUILD_ID, "/bin/x", 2)]),
        Feature.SAMPLE_TIME: struct.pack("=QQ", 1000, 2000),
        Feature.CLOCKID: struct.pack("=Q", 1),
        Feature.E_MACHINE: struct.pack("=II", 62, 0),
    }


def chains(*frames: tuple[int, bool]) -> dict[str, memoryview]:
    """One stack, root first: (address, whether it is the kernel's)."""
    n = len(frames)
    stacks = {"parent": zeros("I", n), "frame": zeros("I", n), "runtime": zeros("Q", n), "provenance": zeros("B", n)}
    for number, (address, kernel) in enumerate(frames):
        stacks["parent"][number] = number - 1 if number else 0xFFFFFFFF
        stacks["frame"][number] = number
        stacks["runtime"][number] = address
        stacks["provenance"][number] = 16 if kernel else 1
    return stacks


def columns(count: int, node: int = 3) -> dict[str, Any]:
    found: dict[str, Any] = {name: zeros("Q", count) for name in ("identifier", "ip", "time", "period")}
    found |= {name: zeros("i", count) for name in ("pid", "tid", "cpu")}
    found |= {"stack": zeros("I", count), "stop": zeros("B", count), "misc": zeros("H", count)}
    for i in range(count):
        found["identifier"][i] = 1 + i % 2
        found["ip"][i] = 0x400123
        found["pid"][i] = found["tid"][i] = 10
        found["time"][i] = 1000 + i
        found["cpu"][i] = i % 2
        found["period"][i] = 7
        found["stack"][i] = node
        found["misc"][i] = 2
        found["stop"][i] = 1
    return found


def recording(form: Literal["file", "pipe"] = "file", level: int = 0, count: int = 3, finish: bool = True) -> bytes:
    """Side band of one process, then samples with one stack of two user and two kernel frames."""
    described = events()
    encoder = RecordEncoder(described[0])
    sink = io.BytesIO()
    writer = PerfWriter(sink, described, features=features(described), form=form, zstd_level=level)
    writer.write(encoder.comm(b"prog", 10, 10, exec_=True, time=500))
    writer.write(encoder.mmap2(b"/bin/x", 10, 10, 0x400000, 0x10000, build_id=BUILD_ID, time=600))
    writer.write(encoder.mmap2(b"/lib/y", 10, 10, 0x7F0000, 0x1000, 0x1000, device=(8, 1), inode=(77, 3), time=601))
    writer.write(encoder.fork(11, 11, 10, 10, time=700))
    writer.write(encoder.exit(11, 11, 10, 10, time=710))
    writer.write(encoder.lost(5, time=720))
    writer.write(finished_round())
    emitter = Emitter(
        chains((0x400010, False), (0x400020, False), (0xFFFFFFFF81000010, True), (0xFFFFFFFF81000020, True))
    )
    emitter.samples(FIELDS, columns(count), 0, count)
    writer.write(emitter.take())
    writer.write(finished_round())
    if finish:
        writer.finish()
    else:
        writer.flush()
    return sink.getvalue()


class OneByteAtATime(io.RawIOBase):
    """A raw sink that takes little of what it is given."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = bytes(data)[: 1 + os.getpid() % 7]
        self.data += taken
        return len(taken)
