"""A call graph for KCachegrind and callgrind_annotate: costs of functions by line, and of the calls between them.

Source: https://valgrind.org/docs/manual/cl-format.html.
"""

import re
from array import array
from typing import TYPE_CHECKING, BinaryIO

from undwarf.ordering import group
from undwarf.outputs.export.code_names import CodeNames, code_names, main_files
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import NONE, Column

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_calls import Calls
    from undwarf.views.export_tables import ExportTables

_NO_FILE = "???"
"""An unknown file, as Callgrind writes it."""
_THREADS = "[threads]"
"""The file of the functions that stand for threads."""
_PIECE = 1 << 14
"""Lines that are written at once."""


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write the graph. Each name of threads is a function that calls the outermost functions of its stacks."""
    functions, lines, of_frame = _places(tables)
    costs = tables.call_costs(of_frame, functions)
    threads = sorted({printable(thread.name) for thread in tables.threads})
    names = _Names(tables, code_names(tables))
    totals = [event.total for event in tables.events]
    events = [re.sub(r"[^\w.:/-]", "_", event.name) for event in tables.events]
    head = ["# callgrind format", "version: 1", "creator: undwarf", "positions: line", f"events: {' '.join(events)}"]
    head[3:3] = [f"desc: {comment}" for comment in origin.comments()]
    out = [*head, f"summary: {_costs(totals)}", ""]

    by_function, starts = group(functions, len(tables.functions))
    calls, calls_from = group(costs.calls.caller, len(functions))
    for function in range(len(tables.functions)):
        places = by_function[starts[function] : starts[function + 1]]
        if not len(places):
            continue
        out.append(names.of(function))
        for place in places:
            own = [column[place] for column in costs.own]
            if any(own):
                out.append(f"{lines[place]} {_costs(own)}")
            for call in calls[calls_from[place] : calls_from[place + 1]]:
                out += (names.called(costs.calls.function[call]), *_call(costs.calls, call, lines[place]))
        if len(out) > _PIECE:
            sink.write("\n".join((*out, "")).encode("utf-8"))
            out.clear()
    of_name = {name: number for number, name in enumerate(threads)}
    thread_name = [of_name[printable(thread.name)] for thread in tables.threads]
    for number, name in enumerate(threads):
        rootless = [sum(column[one] for one, at in enumerate(thread_name) if at == number) for column in costs.rootless]
        if name == UNKNOWN and not any(rootless):
            # Nobody is known to call the outermost functions.
            continue
        out.append(names.of_thread(name))
        if any(rootless):
            out.append(f"0 {_costs(rootless)}")
        for call, thread in enumerate(costs.roots.caller):
            if thread_name[thread] == number and costs.roots.function[call] != NONE:
                out += (names.called(costs.roots.function[call]), *_call(costs.roots, call, 0))
    sink.write("\n".join((*out, "")).encode("utf-8"))
    return ["when samples were taken, on which CPU, process and thread ids, and stacks deeper than one call"]


def _costs(values: list[int]) -> str:
    return " ".join(map(str, values))


def _call(calls: "Calls", number: int, line: int) -> tuple[str, str]:
    return f"calls={calls.samples[number] or 1} 0", f"{line} {_costs([column[number] for column in calls.weights])}"


def _places(tables: "ExportTables") -> tuple[Column, Column, Column]:
    """(function and line (I) of each place, the place (I) of each frame). A line of another file than the function's
    own is 0."""
    frames = tables.profile.frames
    line = array("I", [0]) * len(frames)
    if frames.file is not None and frames.line is not None:
        own = main_files(tables)
        for frame, (function, file) in enumerate(zip(tables.function, frames.file, strict=True)):
            if file == own[function]:
                line[frame] = frames.line[frame]
    pairs = Pairs()
    of_frame = pairs.column(tables.function, memoryview(line))
    return pairs.high(), pairs.low(), of_frame


class _Names:
    """Writes names of functions with their files; all but the first time as numbers."""

    def __init__(self, tables: "ExportTables", names: CodeNames) -> None:
        self._seen: dict[tuple[str, str], str] = {}
        files = [names.files[file] if file != NONE else _NO_FILE for file in main_files(tables)]
        images = [names.images[one.image if one.image != NONE else -1] for one in tables.functions]
        self._parts = list(zip(images, files, names.functions, range(len(files)), strict=True))

    def _number(self, kind: str, name: str, key: str = "") -> str:
        """The number of a name, with the name the first time. Functions of one name have a ``key`` each."""
        seen = self._seen.get((kind, key or name))
        if seen is not None:
            return seen
        number = self._seen[kind, key or name] = f"({len(self._seen) + 1})"
        return f"{number} {name.strip() or UNKNOWN}"

    def of(self, function: int) -> str:
        """The lines that begin a function."""
        image, file, name, key = self._parts[function]
        number = self._number
        return f"ob={number('ob', image)}\nfl={number('fl', file)}\nfn={number('fn', name, f'{key} {name}')}"

    def called(self, function: int) -> str:
        """The lines that name a called function."""
        image, file, name, key = self._parts[function]
        number = self._number
        return f"cob={number('ob', image)}\ncfi={number('fl', file)}\ncfn={number('fn', name, f'{key} {name}')}"

    def of_thread(self, name: str) -> str:
        """The lines that begin a function that stands for threads."""
        number = self._number
        return f"ob={number('ob', _NO_FILE)}\nfl={number('fl', _THREADS)}\nfn={number('fn', name, f'thread {name}')}"
