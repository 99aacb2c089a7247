"""A file for speedscope: for each thread, its stacks in the order of time with their weights.

Source: https://www.speedscope.app/file-format-schema.json.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from undwarf.ordering import group, take
from undwarf.outputs.export import json_text as js
from undwarf.outputs.export.code_names import code_names, main_files
from undwarf.outputs.kernels.stack_lists import StackLists, runs
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import look_up
from undwarf.profile.model import NONE, Column

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"ns": "nanoseconds"}


class _Part(NamedTuple):
    """A thread's samples of one event: runs of equal stacks with their weights."""

    name: str
    unit: str
    total: int
    nodes: Column
    weights: Column


def write(tables: "ExportTables", sink: BinaryIO, origin: "Origin") -> list[str]:
    """Write a profile for each thread and event, the heaviest first."""
    tree = tables.by_function
    parts = sorted(_parts(tables), key=lambda part: -part.total)
    head = {"$schema": _SCHEMA, "exporter": "undwarf", "name": printable(origin.name), "activeProfileIndex": 0}
    sink.write(js.text(head)[:-1] + b',"shared":{"frames":' + _frames(tables) + b'},"profiles":[')
    lists = StackLists(tree.parent, tree.function)
    for number, part in enumerate(parts):
        about = {"type": "sampled", "name": part.name, "unit": part.unit, "startValue": 0, "endValue": part.total}
        sink.write((b"," if number else b"") + js.text(about)[:-1] + b',"samples":[')
        at = 0
        while at < len(part.nodes):
            text, at = lists.fill(part.nodes, at)
            sink.write(text)
        sink.write(b'],"weights":' + js.array(part.weights) + b"}")
    sink.write(b"]}\n")
    lost = ["when each sample was taken (their order is kept), on which CPU, and lines within functions"]
    if any(event.total >= js.SAFE for event in tables.events):
        lost.append("the last digits of weights above 2^53, which JavaScript rounds")
    return lost


def _parts(tables: "ExportTables") -> Iterator[_Part]:
    node = look_up(tables.profile.samples.columns.stack, tables.by_function.node_of)
    for event in tables.events:
        rows = tables.rows(event)
        order, starts = group(take(tables.thread, rows), len(tables.threads))
        several = f" {printable(event.name)}" if len(tables.events) > 1 else ""
        for number, thread in enumerate(tables.threads):
            chosen = take(rows, order[starts[number] : starts[number + 1]])
            if len(chosen):
                nodes, weights = runs(take(node, chosen), take(tables.weights, chosen))
                ids = f" ({thread.pid}/{thread.tid})" if "tid" in thread.known else ""
                name = f"{printable(thread.name)}{ids}{several}"
                yield _Part(name, _UNITS.get(event.unit, "none"), sum(weights), nodes, weights)


def _frames(tables: "ExportTables") -> bytes:
    """The functions, with a source file or else the file of their code."""
    names = code_names(tables)
    images = js.strings(names.images)
    files = js.strings(names.files)
    places = [
        files[file] if file != NONE else images[function.image if function.image != NONE else -1]
        for function, file in zip(tables.functions, main_files(tables), strict=True)
    ]
    return js.joined(
        b'{"name":%b,"file":%b}' % entry for entry in zip(js.strings(names.functions), places, strict=True)
    )
