"""A gzipped profile for the Firefox Profiler: threads with their samples over time, inlined functions and lines.

Source: https://github.com/firefox-devtools/profiler/blob/main/src/types/profile.ts, processed profiles of version 55,
the last one in which each thread has its own tables: later versions of the viewer upgrade it, and samply writes it too.
"""

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from undwarf.ordering import group, take
from undwarf.outputs.export import json_text as js
from undwarf.outputs.export.code_names import CodeNames, code_names, function_files
from undwarf.outputs.export.gzip_file import compressed
from undwarf.outputs.kernels.local_tables import LocalNumbers, LocalStacks
from undwarf.outputs.kernels.number_text import differences
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import look_up, rows_among, widen
from undwarf.profile.labels import UNKNOWN, is_kernel, kind_of
from undwarf.profile.model import NONE, Column, ImageInfo

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportEvent, ExportTables

VERSION = 55
_GECKO_VERSION = 24
_LIBRARY = 1
_MILLISECONDS = 6
"""Decimal places of nanoseconds as milliseconds."""
_CATEGORIES = (("Other", "grey"), ("User", "yellow"), ("Kernel", "orange"), ("JIT", "green"))
_OTHER, _USER, _KERNEL, _JIT = range(len(_CATEGORIES))
_CPU_UNITS = {"ns": "ns", "cycles": "variable CPU cycles"}
"""By unit of weights: the unit of CPU time that the viewer knows."""
_MARKERS = ("category", "data", "endTime", "name", "phase", "startTime")
_WAITS = "offcpu-time"


class _Shared(NamedTuple):
    """What the tables of all threads take their entries from. Columns (I) by frame are ``category``, ``function``,
    ``symbol``, ``line`` and ``depth``; ``function_*`` are by function, ``symbol_*`` by symbol, ``image_*`` and
    ``library`` by image. ``strings`` are all names: functions, then source files, then images."""

    strings: list[bytes]
    category: Column
    function: Column
    symbol: Column
    line: Column
    depth: Column
    function_name: Column
    function_file: Column
    function_image: Column
    symbol_address: Column
    symbol_name: Column
    symbol_image: Column
    image_name: Column
    library: Column


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the profile. The events of the first measure are samples, the others counters."""
    profile = tables.profile
    events = [event for event in tables.events if event.number in tables.main]
    others = [event for event in tables.events if event.number not in tables.main]
    unit = events[0].unit if events else ""
    times = profile.samples.columns.time
    start = min(times, default=0)
    flags = bytearray(max(len(profile.events), 1))
    for event in events:
        flags[event.number] = 1
    rows = rows_among(profile.samples.columns.event, memoryview(flags))
    order, starts = group(take(tables.thread, rows), len(tables.threads))
    names = code_names(tables)
    with compressed(sink) as file:
        file.write(
            b'{"meta":%b,"libs":%b,"pages":[],"profilerOverhead":[]' % (_meta(origin, unit, events), _libs(tables))
        )
        file.write(b',"threads":[')
        threads = _Threads(tables, names, unit, start)
        for number in range(len(tables.threads)):
            file.write(b"," if number else b"")
            threads.write(number, take(rows, order[starts[number] : starts[number + 1]]), file)
        file.write(b'],"counters":')
        file.write(js.joined(_counters(tables, others, threads.pids, start)))
        file.write(b"}")
    lost = ["on which CPU each sample was taken"]
    lost += [
        f"the stacks of {event.samples:,} samples of {event.name}, which is a counter (choose it with --event)"
        for event in others
    ]
    if any(event.total >= js.SAFE for event in tables.events):
        lost.append("the last digits of weights above 2^53, which JavaScript rounds")
    return lost


def _meta(origin: "Origin", unit: str, events: "list[ExportEvent]") -> bytes:
    intervals = [origin.intervals[event.number] for event in events if event.number < len(origin.intervals)]
    units = {"time": "ms", "eventDelay": "ms"} | ({"threadCPUDelta": _CPU_UNITS[unit]} if unit in _CPU_UNITS else {})
    machine = f" on {origin.host}" if origin.host else ""
    return js.text({
        "version": _GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "interval": max(intervals, default=0) / 1e6 or 1,
        "startTime": origin.start / 1e6,
        "product": printable(f"{origin.command or origin.name}{machine}"),
        "importedFrom": printable(origin.name),
        "oscpu": printable(f"Linux {origin.os} {origin.arch}".strip()),
        "logicalCPUs": origin.cpus,
        "stackwalk": 1,
        "processType": 0,
        "debug": False,
        "symbolicated": True,
        "usesOnlyOneStackType": True,
        "doesNotUseFrameImplementation": True,
        "sourceCodeIsNotOnSearchfox": True,
        "sampleUnits": units,
        "categories": [{"name": name, "color": color, "subcategories": ["Other"]} for name, color in _CATEGORIES],
        "extensions": {"baseURL": [], "id": [], "length": 0, "name": []},
        "markerSchema": [],
        "pausedRanges": [],
    })  # fmt: skip  # a table


def _libs(tables: "ExportTables") -> bytes:
    """The images with code that was sampled."""
    libs = []
    for number in _libraries(tables):
        image = tables.profile.images[number]
        path, name = printable(image.path), printable(image.name.rpartition("/")[2] or image.name)
        libs.append({
            "name": name, "path": path, "debugName": name, "debugPath": path, "arch": None,
            "breakpadId": _breakpad_id(image.build_id), "codeId": printable(image.build_id) or None,
        })  # fmt: skip  # a table
    return js.text(libs)


def _libraries(tables: "ExportTables") -> list[int]:
    """The images with code that was sampled, by number."""
    return sorted(set(tables.profile.frames.image) - {NONE})


def _breakpad_id(build_id: str) -> str:
    """A build-id as Breakpad writes it: a GUID whose first three numbers are little-endian, and an age of 0."""
    try:
        raw = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    except ValueError:
        raw = bytes(16)
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + "0"


def _category(image: ImageInfo) -> int:
    if is_kernel(image):
        return _KERNEL
    return _JIT if kind_of(image) in ("JIT", "ANON") else _USER


def _shared(tables: "ExportTables", names: CodeNames) -> _Shared:
    profile = tables.profile
    frames, known = profile.frames, profile.functions
    functions = function_files(tables)
    of_function = memoryview(array("I", [function.image for function in tables.functions]))
    by_image = [*map(_category, profile.images)]
    category = array("I", [by_image[image] if image != NONE else _OTHER for image in frames.image])
    symbol = array("I", frames.function.tobytes())
    for frame in range(len(frames) - 2, -1, -1):
        # The function that this one is inlined into: frames of an address are adjacent, outermost last.
        if frames.inline_depth[frame] and tables.location[frame + 1] == NONE:
            symbol[frame] = symbol[frame + 1]
    symbol_name = array("I", [0]) * len(known)
    for one, function in zip(frames.function, tables.function, strict=True):
        symbol_name[one] = function
    file_strings = len(names.functions)
    image_strings = file_strings + len(names.files)
    no_file = len(names.files) - 1
    library = array("I", [0]) * len(profile.images)
    for number, image in enumerate(_libraries(tables)):
        library[image] = number
    return _Shared(
        js.strings((*names.functions, *names.files, *names.images)),
        memoryview(category),
        functions.of_frame,
        memoryview(symbol),
        memoryview(
            array("I", [line or NONE for line in frames.line] if frames.line is not None else [NONE] * len(frames))
        ),
        widen(frames.inline_depth),
        functions.function,
        memoryview(array("I", [file_strings + file if file != no_file else NONE for file in functions.file])),
        of_function,
        known.address,
        memoryview(symbol_name),
        known.image,
        memoryview(array("I", range(image_strings, image_strings + len(names.images)))),
        memoryview(library),
    )


class _Threads:
    """Writes threads, one after the other."""

    def __init__(self, tables: "ExportTables", names: CodeNames, unit: str, start: int) -> None:
        self._tables = tables
        self._unit = unit
        self._start = start
        self._shared = shared = _shared(tables, names)
        profile = tables.profile
        self._stacks = LocalStacks(profile.stacks.parent, profile.stacks.frame)
        self._frames = LocalNumbers(len(profile.frames))
        self._functions = LocalNumbers(len(shared.function_name))
        self._symbols = LocalNumbers(len(profile.functions))
        self._images = LocalNumbers(len(profile.images))
        self._strings = LocalNumbers(len(shared.strings))
        # Addresses that JavaScript would round are unknown, which is -1: those of the kernel.
        self._addresses = [b"%d" % address if address < js.SAFE else b"-1" for address in profile.frames.address]
        self._tids: dict[tuple[int, int], int] = {}
        self.pids: dict[int, int] = {}
        """The index of the first thread of each process."""

    def write(self, number: int, rows: Column, file: BinaryIO) -> None:
        """Write a thread with these samples."""
        shared, thread = self._shared, self._tables.threads[number]
        columns = self._tables.profile.samples.columns
        prefix, node_frame, stack = self._stacks.local(take(columns.stack, rows))
        frame, frames = self._frames.local(node_frame)
        function, functions = self._functions.local(take(shared.function, frames))
        symbol, symbols = self._symbols.local(take(shared.symbol, frames))
        owner = look_up(take(shared.function_name, functions), shared.function_image)
        resource, images = self._images.local(owner)
        # One call numbers the strings of all tables.
        symbol_image = take(shared.symbol_image, symbols)
        used = [take(shared.function_name, functions), take(shared.function_file, functions),
                take(shared.symbol_name, symbols),
                take(shared.image_name, images)]  # fmt: skip  # by table
        strings, distinct = self._strings.local(memoryview(b"".join(one.tobytes() for one in used)).cast("I"))
        ends = [0]
        for one in used:
            ends.append(ends[-1] + len(one))
        names, files, symbol_names, image_names = (strings[a:b] for a, b in pairwise(ends))
        nulls, zeros, no = b"null", b"0", b"false"
        count, known = len(frames), len(functions)
        first = thread.pid not in self.pids
        self.pids.setdefault(thread.pid, number)
        again = self._tids.setdefault((thread.pid, thread.tid), 0)
        self._tids[thread.pid, thread.tid] += 1
        about = js.text({
            "name": printable(thread.name),
            "processName": printable(self._tables.threads[self.pids[thread.pid]].name) if thread.pid >= 0 else UNKNOWN,
            "processType": "default",
            "isMainThread": first and thread.pid == thread.tid,
            "pid": str(thread.pid),
            # A thread that changed its name, as by execve, is shown once for each name.
            "tid": f"{thread.tid}.{again}" if again else str(thread.tid),
            "processStartupTime": 0, "processShutdownTime": None, "registerTime": 0, "unregisterTime": None,
            "pausedRanges": [], "showMarkersInTimeline": False,
            "markers": {"length": 0, **{name: [] for name in _MARKERS}},
        })  # fmt: skip  # a table
        file.write(about[:-1])
        parts = (
            ("samples", self._samples(rows, stack)),
            ("stackTable", js.table((("prefix", js.array(prefix)), ("frame", js.array(frame))), len(prefix))),
            ("frameTable", js.table((
                ("address", js.joined([self._addresses[one] for one in frames])),
                ("inlineDepth", js.array(take(shared.depth, frames))),
                ("category", js.array(take(shared.category, frames))),
                ("subcategory", js.repeated(zeros, count)),
                ("func", js.array(function)),
                ("nativeSymbol", js.array(symbol)),
                ("innerWindowID", js.repeated(zeros, count)),
                ("line", js.array(take(shared.line, frames))),
                ("column", js.repeated(nulls, count)),
            ), count)),
            ("funcTable", js.table((
                ("name", js.array(names)),
                ("isJS", js.repeated(no, known)),
                ("relevantForJS", js.repeated(no, known)),
                ("resource", js.array(resource).replace(nulls, b"-1")),
                ("fileName", js.array(files)),
                ("lineNumber", js.repeated(nulls, known)),
                ("columnNumber", js.repeated(nulls, known)),
            ), known)),
            ("nativeSymbols", js.table((
                ("libIndex", js.array(look_up(symbol_image, shared.library)).replace(nulls, b"0")),
                ("address", js.array(take(shared.symbol_address, symbols))),
                ("functionSize", js.repeated(nulls, len(symbols))),
                ("name", js.array(symbol_names)),
            ), len(symbols))),
            ("resourceTable", js.table((
                ("lib", js.array(take(shared.library, images))),
                ("name", js.array(image_names)),
                ("host", js.repeated(nulls, len(images))),
                ("type", js.repeated(b"%d" % _LIBRARY, len(images))),
            ), len(images))),
            ("stringArray", js.joined([shared.strings[one] for one in distinct])),
        )  # fmt: skip  # a table
        for name, text in parts:
            file.write(b',"%b":%b' % (name.encode(), text))
        file.write(b"}")

    def _samples(self, rows: Column, stack: Column) -> bytes:
        """Samples with the time since the one before, and their weights; a wait uses no CPU time."""
        columns = self._tables.profile.samples.columns
        weights = take(self._tables.weights, rows)
        in_time = self._unit == "ns"
        parts = [
            ("weightType", b'"tracing-ms"' if in_time else b'"samples"'),
            ("stack", js.array(stack)),
            ("timeDeltas", js.array(differences(take(columns.time, rows), self._start), _MILLISECONDS)),
            ("weight", js.array(weights, _MILLISECONDS if in_time else 0)),
        ]
        if self._unit in _CPU_UNITS:
            waits = [event.number for event in self._tables.events if event.name.startswith(_WAITS)]
            if waits:
                event_of = take(columns.event, rows)
                used = [0 if event in waits else one for event, one in zip(event_of, weights, strict=True)]
                weights = memoryview(array("Q", used))
            parts.append(("threadCPUDelta", js.array(weights)))
        return js.table(parts, len(rows))


def _counters(tables: "ExportTables", events: "list[ExportEvent]", pids: dict[int, int], start: int) -> "list[bytes]":
    """For each event and process, its weights over time."""
    columns = tables.profile.samples.columns
    found = []
    order = {pid: number for number, pid in enumerate(pids)}
    process = memoryview(array("I", [order[thread.pid] for thread in tables.threads]))
    for event in events:
        rows = tables.rows(event)
        grouped, starts = group(look_up(take(tables.thread, rows), process), len(order))
        for pid, number in order.items():
            chosen = take(rows, grouped[starts[number] : starts[number + 1]])
            if not len(chosen):
                continue
            about = js.text({
                "name": printable(event.name),
                "category": "perf",
                "description": printable(f"weight of {event.name}, in {event.unit}"),
                "pid": str(pid),
                "mainThreadIndex": pids[pid],
            })  # fmt: skip  # a table
            samples = js.table(
                (
                    ("timeDeltas", js.array(differences(take(columns.time, chosen), start), _MILLISECONDS)),
                    ("count", js.array(take(tables.weights, chosen))),
                ),
                len(chosen),
            )
            found.append(b'%b,"samples":%b}' % (about[:-1], samples))
    return found
