"""Builds a profile from what a file of another tool holds: functions, frames and stacks are interned."""

from array import array
from collections.abc import Iterable
from typing import TypeVar

from undwarf.column import absent, zeros
from undwarf.defects import Defects
from undwarf.errors import UnreadableInput
from undwarf.limits import DEFAULT, Limits
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Origin,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import StopReason

Built = TypeVar("Built", bound=Profile)
UNITS = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}
"""Units of time, in ns: weights of these are kept in ns."""
LARGEST = (1 << 62) - 1
"""The largest weight, and sum of weights: sums must fit 64 bits."""


def text_of(raw: bytes) -> str:
    r"""The text of a name; bytes that are not UTF-8 become ``\xNN``."""
    return raw.decode("utf-8", "backslashreplace")


class ProfileBuilder:
    """Collects samples with their stacks; :meth:`profile` makes the profile of them.

    What a file does not say stays unknown: NONE for a name or an image, -1 for ids of processes, threads and CPUs, 0
    for times, lines and addresses. ``path`` is the file, for errors and defects.
    """

    def __init__(self, path: str, defects: Defects, limits: Limits = DEFAULT) -> None:
        self.path = path
        self.defects = defects
        self.limits = limits
        self.images: list[ImageInfo] = []
        self.comms: list[str] = []
        self.events: list[EventInfo] = []
        self.files: list[str] = []
        self._image_of: dict[ImageInfo, int] = {}
        self._comm_of: dict[str, int] = {}
        self._event_of: dict[tuple[str, str], int] = {}
        self._file_of: dict[str, int] = {}
        self._functions: dict[tuple[str, int], int] = {}
        self._frames: dict[tuple[int, int, int, int, int], int] = {}
        self._nodes: dict[int, int] = {}
        self._tree: tuple[memoryview, memoryview] | None = None
        self._stack, self._comm = array("I"), array("I")
        self._period, self._time = array("Q"), array("Q")
        self._event = array("H")
        self._pid, self._tid, self._cpu = array("i"), array("i"), array("i")

    def damage(self, kind: str, count: int = 1, detail: str = "") -> None:
        """Count a defect of the file; none if ``count`` is 0."""
        if count:
            self.defects.add(kind, self.path, count, detail)

    def image(self, name: str, kind: str = "file", *, path: str = "", build_id: str = "") -> int:
        """The number of an image; ``kind`` as of :class:`undwarf.images.ImageKind`, in small letters."""
        image = ImageInfo(name, path or name, build_id, kind)
        number = self._image_of.setdefault(image, len(self.images))
        if number == len(self.images):
            self.images.append(image)
        return number

    def function(self, name: str, image: int = NONE) -> int:
        """The number of a function; one without a name is unknown."""
        return self._functions.setdefault((name or UNKNOWN, image), len(self._functions))

    def frame(self, function: int, *, file: str = "", line: int = 0, address: int = 0, depth: int = 0) -> int:
        """The number of a frame: a function at a source position and run-time address. ``depth``: the number of
        functions that it is inlined into."""
        source = NONE
        if file:
            source = self._file_of.setdefault(file, len(self.files))
            if source == len(self.files):
                self.files.append(file)
        key = (function, source, line if 0 < line < 1 << 32 else 0, address, min(depth, 255))
        return self._frames.setdefault(key, len(self._frames))

    def node(self, parent: int, frame: int) -> int:
        """The number of a stack: a frame and its caller's stack, NONE for a root."""
        number = self._nodes.setdefault(parent << 32 | frame, len(self._nodes))
        if number > self.limits.profile_nodes:
            raise self.too_large()
        return number

    def stack(self, frames: Iterable[int]) -> int:
        """The number of a stack, of its frames from the root on; NONE without any."""
        node = NONE
        for frame in frames:
            node = self.node(node, frame)
        return node

    def tree(self, parent: memoryview, frame: memoryview) -> None:
        """Set all stacks, by number: the caller's, and the frame (I)."""
        self._tree = parent, frame

    def too_large(self) -> UnreadableInput:
        """The error for too many stacks."""
        why = f"its stacks have more than {self.limits.profile_nodes:,} distinct frames in their callers' order"
        return UnreadableInput(f"cannot read {self.path}", why, "raise the limit if it is genuine")

    def comm(self, name: str) -> int:
        """The number of a thread's name; NONE for an empty one."""
        if not name:
            return NONE
        number = self._comm_of.setdefault(name, len(self.comms))
        if number == len(self.comms):
            self.comms.append(name)
        return number

    def event(self, name: str, unit: str = "") -> int:
        """The number of an event; ``unit`` is empty if its name says it.

        Units of time are ``ns``: weights must be converted (:data:`UNITS`).
        """
        key = (name, "ns" if unit in UNITS else unit)
        number = self._event_of.setdefault(key, len(self.events))
        if number == len(self.events):
            if number >= self.limits.profile_events:
                why = f"it has more than {self.limits.profile_events:,} events"
                raise UnreadableInput(f"cannot read {self.path}", why, "raise the limit if it is genuine")
            self.events.append(EventInfo(name, unit=key[1]))
        return number

    def sample(
        self,
        stack: int,
        period: int,
        event: int = 0,
        *,
        comm: int = NONE,
        time: int = 0,
        pid: int = -1,
        tid: int = -1,
        cpu: int = -1,
    ) -> None:
        """Add a sample."""
        self._stack.append(stack)
        self._period.append(period)
        self._event.append(event)
        self._comm.append(comm)
        self._time.append(time)
        self._pid.append(pid)
        self._tid.append(tid)
        self._cpu.append(cpu)

    def profile(self, origin: Origin, kind: type[Built]) -> Built:
        """The profile of the samples that were added one by one."""
        columns = SampleColumns(
            time=memoryview(self._time),
            pid=memoryview(self._pid),
            tid=memoryview(self._tid),
            cpu=memoryview(self._cpu),
            event=memoryview(self._event),
            period=memoryview(self._period),
            comm=memoryview(self._comm),
            stack=memoryview(self._stack),
            **_unstated(len(self._stack)),
        )
        return self._built(columns, origin, kind)

    def profile_of(
        self,
        stack: memoryview,
        period: memoryview,
        event: memoryview,
        origin: Origin,
        kind: type[Built],
        *,
        time: memoryview | None = None,
        pid: memoryview | None = None,
        tid: memoryview | None = None,
        comm: memoryview | None = None,
    ) -> Built:
        """The profile of these samples (I, Q, H), with what else is known of them (Q, i, i, I)."""
        count = len(stack)
        columns = SampleColumns(
            time=time if time is not None else zeros("Q", count),
            pid=pid if pid is not None else _no_ids(count),
            tid=tid if tid is not None else _no_ids(count),
            cpu=_no_ids(count),
            event=event,
            period=period,
            comm=comm if comm is not None else absent("I", count),
            stack=stack,
            **_unstated(count),
        )
        return self._built(columns, origin, kind)

    def _built(self, columns: SampleColumns, origin: Origin, kind: type[Built]) -> Built:
        if sum(columns.period) > LARGEST:
            raise UnreadableInput(f"cannot read {self.path}", "its weights add up to more than 62 bits hold")
        names = [name for name, _image in self._functions]
        images = memoryview(array("I", [image for _name, image in self._functions]))
        function, file, line, address, depth = (
            array(code, [key[part] for key in self._frames]) for part, code in enumerate("IIIQB")
        )
        frames = FrameColumns(
            memoryview(array("I", [images[number] for number in function])),
            zeros("Q", len(function)),
            memoryview(bytes((Provenance.OTHER_TOOL,)) * len(function)),
            memoryview(function),
            memoryview(address) if "address" in origin.fields else None,
            memoryview(depth),
            memoryview(file) if "line" in origin.fields else None,
            memoryview(line) if "line" in origin.fields else None,
        )
        if self._tree is None:
            parents = array("I", [key >> 32 for key in self._nodes])
            self._tree = memoryview(parents), memoryview(array("I", [key & NONE for key in self._nodes]))
        return kind(
            columns,
            StackColumns(*self._tree),
            frames,
            FunctionTable(names, images, zeros("Q", len(names)), memoryview(bytes(name == UNKNOWN for name in names))),
            self.images,
            self.comms,
            self.events,
            files=self.files,
            origin=origin,
        )


def _unstated(count: int) -> dict[str, memoryview]:
    """The columns that no such file has."""
    return {
        "stop": memoryview(bytes((StopReason.UNSTATED,)) * count),
        "stop_image": absent("I", count),
        "ip": zeros("Q", count),
    }


def _no_ids(count: int) -> "memoryview[int]":
    """A column (i) of -1."""
    return absent("I", count).cast("B").cast("i")
