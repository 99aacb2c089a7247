"""A gzipped trace in Chrome's Trace Event format: for each thread, a slice of time for each function on its stack.

Source: Trace Event Format (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
"""

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from undwarf.ordering import group, take
from undwarf.outputs.export import json_text as js
from undwarf.outputs.export.code_names import code_names
from undwarf.outputs.export.gzip_file import compressed
from undwarf.outputs.kernels.time_slices import SliceText, depths, scaled, slices
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import look_up
from undwarf.profile.model import NONE

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables

LONGEST_NAME = 1000
"""Characters of a name that are written: the format repeats it in each slice."""


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the trace. Weights are the lengths of slices: a sample ends at its time and lasts as long as its period, or
    if that is no time, in proportion to it."""
    profile, tree = tables.profile, tables.by_function
    columns = profile.samples.columns
    # A thread that changed its name is one track.
    tracks: dict[tuple[int, int], int] = {}
    of_thread = [tracks.setdefault((thread.pid, thread.tid), len(tracks)) for thread in tables.threads]
    order, starts = group(look_up(tables.thread, memoryview(array("I", of_thread))), len(tracks))
    lost = ["on which CPU each sample was taken, files and lines"]
    weights = tables.weights
    if tables.events and tables.events[0].unit != "ns":
        event = tables.events[0]
        factor = _interval(tables, origin) * event.samples / event.total
        weights = scaled(weights, factor)
        lost.append(f"weights, but for their shares: a millisecond stands for {1e6 / factor:,.6g} {event.unit}")
    names = code_names(tables).functions
    if cut := sum(len(name) > LONGEST_NAME for name in names):
        lost.append(f"the rest of names longer than {LONGEST_NAME:,} characters ({cut:,})")
    texts = js.strings(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..." for name in names)
    texts = [b',"name":%b}' % name for name in texts]
    ends = memoryview(array("I", accumulate(map(len, texts), initial=0)))
    text = SliceText(b"".join(texts), ends, tree.function)
    leaves, depth = look_up(columns.stack, tree.node_of), depths(tree.parent)
    about = js.text({"recording": printable(origin.name), "command": printable(origin.command)})
    with compressed(sink) as file:
        file.write(b'{"displayTimeUnit":"ns","otherData":' + about + b',"traceEvents":[\n' + _names(tables))
        for number, (pid, tid) in enumerate(tracks):
            rows = order[starts[number] : starts[number + 1]]
            events = slices(take(columns.time, rows), take(weights, rows), take(leaves, rows), tree.parent, depth)
            end, begin = (b',\n{"ph":"%b","pid":%d,"tid":%d,"ts":' % (phase, pid, tid) for phase in (b"E", b"B"))
            at = 0
            while at < len(events[1]):
                piece, at = text.fill(events, at, end, begin)
                file.write(piece)
        file.write(b"\n]}\n")
    if renamed := len(tables.threads) - len(tracks):
        lost.append(f"earlier names of threads that changed theirs ({renamed:,})")
    without = len(columns.stack) - sum(node != NONE for node in columns.stack)
    if without:
        lost.append(f"{without:,} samples without a stack")
    if weightless := sum(weight == 0 for weight in weights):
        lost.append(f"{weightless:,} samples without a weight")
    return lost


def _interval(tables: "ExportTables", origin: "Origin") -> float:
    """The time between two samples of a thread in ns: as requested, or else that of the thread with most samples."""
    number = tables.events[0].number
    if number < len(origin.intervals) and origin.intervals[number]:
        return origin.intervals[number]
    order, starts = group(tables.thread, len(tables.threads))
    times = tables.profile.samples.columns.time
    busiest = max(range(len(tables.threads)), key=lambda one: starts[one + 1] - starts[one])
    first, last = order[starts[busiest]], order[starts[busiest + 1] - 1]
    return max((times[last] - times[first]) / max(starts[busiest + 1] - starts[busiest] - 1, 1), 1)


def _names(tables: "ExportTables") -> bytes:
    """The names of processes and threads, as metadata events. Of a thread with several names the last one counts."""
    threads = {(thread.pid, thread.tid): printable(thread.name) for thread in tables.threads}
    events = [
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": printable(name)}}
        for pid, name in tables.process_names.items()
    ]
    events += [
        {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for (pid, tid), name in threads.items()
    ]
    return b",\n".join(map(js.text, events))
