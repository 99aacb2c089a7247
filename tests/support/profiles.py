"""Profiles made from tuples, so that every number in a test can be added up by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from undwarf.column import zeros
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.unwind.stop_reason import StopReason


@dataclass
class S:
    """A sample: its stack from the root on, each frame ``function@image`` or ``function@image+offset``."""

    stack: str
    period: int = 1
    comm: str | None = "app"
    pid: int = 100
    tid: int = 100
    cpu: int = 0
    event: int = 0
    time: int = 1_000_000_000
    stop: StopReason = StopReason.ROOT
    stop_image: str = ""
    addr: int = 0
    frames: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.frames = self.stack.split()


IMAGES = {
    "app": ImageInfo("/opt/app/bin/app", "/opt/app/bin/app", "aa" * 20, "file"),
    "libc": ImageInfo("/lib/libc.so.6", "/lib/libc.so.6", "bb" * 20, "file"),
    "gone": ImageInfo("/opt/gone.so", "/opt/gone.so", "cc" * 20, "file", "missing"),
    "kernel": ImageInfo("[kernel.kallsyms]", "[kernel.kallsyms]", "", "kernel"),
    "module": ImageInfo("/lib/modules/6.1/kernel/fs/xfs.ko.zst", "/lib/modules/6.1/kernel/fs/xfs.ko.zst", "", "module"),
    "anon": ImageInfo("//anon", "//anon", "", "anon"),
}
BIAS = 0x7F00_0000_0000


def column(typecode: str, values: Sequence[int]) -> memoryview:
    """A column with these values."""
    made = zeros(typecode, len(values))
    for index, value in enumerate(values):
        made[index] = value
    return made


def make_profile(samples: Sequence[S], events: Sequence[str] = ("cycles",), *, recorded: bool = False) -> Profile:
    """The profile of these samples. Function n starts at 0x1000 * (n + 1); frames lie 0x10 further, or at ``+offset``.

    ``recorded``: frames are as in a sampled chain, printed one byte after what was looked up.
    """
    images: dict[str, int] = {}
    functions: dict[tuple[str, str], int] = {}
    frames: dict[tuple[int, int], int] = {}
    nodes: dict[tuple[int, int], int] = {}
    comms: dict[str, int] = {}
    leaves = []
    for sample in samples:
        node = NONE
        for text in sample.frames:
            place, _plus, offset = text.partition("+")
            name, _at, image = place.rpartition("@")
            if image:
                images.setdefault(image, len(images))
            function = functions.setdefault((name, image), len(functions))
            frame = frames.setdefault((function, int(offset or "10", 16)), len(frames))
            node = nodes.setdefault((node, frame), len(nodes))
        leaves.append(node)
    for sample in samples:
        if sample.stop_image:
            images.setdefault(sample.stop_image, len(images))
    names = [name if name != "?" else "[unknown]" for name, _image in functions]
    of_image = [images[image] if image else NONE for _name, image in functions]
    starts = [0 if name == "?" else 0x1000 * (number + 1) for number, (name, _image) in enumerate(functions)]
    addresses = [0x1000 * (function + 1) + offset for function, offset in frames]
    columns = SampleColumns(
        time=column("Q", [sample.time for sample in samples]),
        pid=column("i", [sample.pid for sample in samples]),
        tid=column("i", [sample.tid for sample in samples]),
        cpu=column("i", [sample.cpu for sample in samples]),
        event=column("H", [sample.event for sample in samples]),
        period=column("Q", [sample.period for sample in samples]),
        comm=column(
            "I",
            [comms.setdefault(sample.comm, len(comms)) if sample.comm is not None else NONE for sample in samples],
        ),
        stack=column("I", leaves),
        stop=column("B", [sample.stop for sample in samples]),
        stop_image=column("I", [images[sample.stop_image] if sample.stop_image else NONE for sample in samples]),
        ip=column("Q", [0] * len(samples)),
        addr=column("Q", [sample.addr for sample in samples]),
    )
    return Profile(
        columns,
        StackColumns(column("I", [up for up, _frame in nodes]), column("I", [frame for _up, frame in nodes])),
        FrameColumns(
            column("I", [of_image[function] for function, _offset in frames]),
            column("Q", addresses),
            column("B", [1] * len(frames)),
            column("I", [function for function, _offset in frames]),
            column("Q", [address + BIAS + recorded for address in addresses]),
            column("B", [0] * len(frames)),
        ),
        FunctionTable(
            names, column("I", of_image), column("Q", starts), column("B", [name == "[unknown]" for name in names])
        ),
        [IMAGES[image] for image in images],
        list(comms),
        [EventInfo(event) for event in events],
    )
