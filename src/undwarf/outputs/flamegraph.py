"""A flame graph as one self-contained page: the tree as packed columns, drawn by the page's own script."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.flame_graph import FlameGraph


class FlamegraphOptions(NamedTuple):
    """``title`` of the page; ``weight``: what the widths show at first, the samples' periods or their number."""

    title: str = "undwarf"
    weight: Literal["period", "samples"] = "period"


def _packed(column: memoryview) -> str:
    return base64.b64encode(bytes(column.cast("B")) if len(column) else b"").decode("ascii")


def page_data(graph: "FlameGraph", options: FlamegraphOptions) -> dict[str, Any]:
    """The input of the page's script.

    ``parent`` and ``entity`` are the tree (u32, parents first), ``name``, ``dso`` and ``kind`` describe entities.
    ``count`` samples of group ``count_group`` (thread name and event) end in node ``count_node``; ``weight`` (f64) is
    the sum of their periods. ``graphs`` are the events that are drawn together, each with its unit. ``sums``: there are
    no single samples, and none are counted. ``whole`` says in ``other`` what a profile of another tool is.
    """
    quality = graph.quality
    return {
        "title": printable(options.title),
        "name": [printable(name) for name, _dso, _kind in graph.entities],
        "dso": [printable(dso) for _name, dso, _kind in graph.entities],
        "kind": [kind for _name, _dso, kind in graph.entities],
        "kinds": graph.kinds,
        "groups": [[printable(comm) if comm is not None else "[unknown]", event] for comm, event in graph.groups],
        "graphs": [
            {"name": printable(measure.name), "unit": printable(measure.unit), "events": measure.events}
            for measure in graph.graphs
        ],
        "by": options.weight,
        "sums": graph.origin is not None and graph.origin.sums,
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
            "other": printable(graph.origin.format) if graph.origin is not None else "",
            "gaps": [
                [gap.samples, printable(gap.description), printable(gap.image), printable(gap.advice)]
                for gap in quality.gaps[:5]
            ],
        },
    }


def _asset(name: str) -> str:
    return (files("undwarf.outputs") / "assets" / name).read_text(encoding="utf-8")


def write(graph: "FlameGraph", sink: BinaryIO, options: FlamegraphOptions) -> None:
    """Write the page. It loads nothing from the network; a content security policy enforces that."""
    # Within <script>, only "<" can end the element; JSON has an escape for it.
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
