"""A flame graph as one self-contained page: the tree as packed columns, drawn by the page's own script."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any, BinaryIO, Literal, NamedTuple

from undwarf.outputs.terminal.escape import printable
from undwarf.views.flame_graph import KINDS, FlameGraph


class FlamegraphOptions(NamedTuple):
    """``title`` of the page; ``weight``: what widths are at first, what samples stand for or their number."""

    title: str = "undwarf"
    weight: Literal["period", "samples"] = "period"


def _packed(column: memoryview) -> str:
    return base64.b64encode(bytes(column.cast("B")) if len(column) else b"").decode("ascii")


def page_data(graph: FlameGraph, options: FlamegraphOptions) -> dict[str, Any]:
    """What the page's script works on.

    ``parent`` and ``entity`` are the tree (32-bit numbers, parents first), ``name``, ``dso`` and ``kind`` describe
    entities, ``count_group``, ``count_node`` and ``count`` say how many samples of a group (thread name and event) end
    in a node, ``weight`` (64-bit floating point) what they stand for. ``graphs`` are the events that are drawn
    together, each with its unit, the first one first.
    """
    quality = graph.quality
    return {
        "title": printable(options.title),
        "name": [printable(name) for name, _dso, _kind in graph.entities],
        "dso": [printable(dso) for _name, dso, _kind in graph.entities],
        "kind": [kind for _name, _dso, kind in graph.entities],
        "kinds": KINDS,
        "groups": [[printable(comm) if comm is not None else "[unknown]", event] for comm, event in graph.groups],
        "graphs": [
            {"name": printable(one.name), "unit": printable(one.unit), "events": one.events} for one in graph.graphs
        ],
        "by": options.weight,
        "parent": _packed(graph.parent),
        "entity": _packed(graph.entity),
        "count_group": _packed(graph.count_group),
        "count_node": _packed(graph.count_node),
        "count": _packed(graph.samples),
        "weight": _packed(graph.weight),
        "whole": {
            "share": quality.share,
            "unwound": quality.unwound,
            "inferred": quality.inferred,
            "gaps": [
                [gap.samples, printable(gap.description), printable(gap.image), printable(gap.advice)]
                for gap in quality.gaps[:5]
            ],
        },
    }


def _asset(name: str) -> str:
    return (files("undwarf.outputs") / "assets" / name).read_text(encoding="utf-8")


def write(graph: FlameGraph, sink: BinaryIO, options: FlamegraphOptions) -> None:
    """Write the page. Nothing in it asks the network; a content security policy forbids it as well."""
    # Inside <script> only "<" could end the element; in JSON it can be written as an escape.
    data = json.dumps(page_data(graph, options), separators=(",", ":")).replace("<", "\\u003c")
    script = _asset("flamegraph.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    page = _asset("flamegraph.html")
    for mark, text in (
        ("@DIGEST@", f"sha256-{digest}"),
        ("@STYLE@", _asset("flamegraph.css")),
        ("@SCRIPT@", script),
        ("@DATA@", data),
    ):
        before, _mark, after = page.partition(mark)
        page = before + text + after
    sink.write(page.encode("utf-8"))
