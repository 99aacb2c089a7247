"""The report as JSON: the same numbers as weights, names in full."""

from typing import TYPE_CHECKING, TextIO, cast

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import WEIGHTED_UNITS, known, wholeness
from undwarf.outputs.report import ReportOptions

if TYPE_CHECKING:
    from undwarf.outputs.schemas.report import Node, Report, Row
    from undwarf.views import flat_profile as view_of_rows
    from undwarf.views import report as view
    from undwarf.views.call_tree import TreeNode
    from undwarf.views.flat_profile import FlatProfile

_NUMBERS = frozenset(
    ("pid", "tid", "cpu", "weight", "ins_lat", "retire_lat", "local_weight", "local_ins_lat", "local_retire_lat")
)
"""Keys whose texts are numbers."""
_MARKED = frozenset(("phys_daddr", "symbol_daddr", "dcacheline"))
"""Keys whose texts begin with perf's mark of the address space."""
_UNKNOWN = frozenset(("", "[unknown]", "[no frame]", "N/A", "??", "??:0", "(unknown)"))
"""Texts of keys for what is not known, or not there."""


def write(report: "view.Report", sink: TextIO, options: ReportOptions) -> None:
    """Write one JSON object."""
    counted = report.origin is None or not report.origin.sums
    document: Report = {
        "schema": "undwarf/report",
        "version": 1,
        "recording": options.path,
        "format": report.origin.format if report.origin is not None else "perf.data",
        "sort": list(options.keys),
        "graph": options.graph,
        "weighted_by": options.weight,
        "row_limit_percent": options.percent_limit,
        "tree_limit_percent": options.tree_limit,
        "samples": report.quality.samples if counted else None,
        "lost": options.lost,
        "wholeness": wholeness(report.quality),
        "groups": report.group_names,
        "events": [
            {
                "event": event.name if event.event is not None else None,
                "unit": WEIGHTED_UNITS.get(options.weight) or known(event.unit),
                "weight": event.flat.total,
                "samples": event.flat.samples if counted else None,
                "rows": _shown(event.flat, options, counted),
                "tree": _tree(event.tree.roots) if event.tree is not None else None,
            }
            for event in report.events
        ],
    }
    dump(document, sink)


def _shown(flat: "FlatProfile", options: ReportOptions, counted: bool) -> "list[Row]":
    least = options.percent_limit * flat.total / 100
    shown = [row for row in flat.rows if (row.children_weight if options.children else row.self_weight) >= least]
    if not options.children:
        shown.sort(key=lambda row: -row.self_weight)
    return [
        cast(
            "Row",
            {
                **keys_of(flat, row),
                "self": row.self_weight,
                "total": row.children_weight,
                "samples": row.samples if counted else None,
            },
        )
        for row in shown
    ]


def keys_of(flat: "FlatProfile", row: "view_of_rows.Row") -> dict[str, str | int | None]:
    """The values of a row's sort keys."""
    return {key: _value(key, text) for key, text in zip(flat.keys, row.key, strict=True)}


def _value(key: str, text: str) -> str | int | None:
    """The value of a sort key from its text; ids and CPUs of -1 are unknown."""
    if text in _UNKNOWN:
        return None
    if key in _NUMBERS:
        number = int(text)
        return number if number >= 0 else None
    return text[len("[.] ") :] if key in _MARKED else text


def _tree(roots: "list[TreeNode]") -> "list[Node]":
    """The nodes as a list, each after its parent and its heavier siblings: readers of JSON may refuse nesting as deep
    as call trees (jq 1.6: 256)."""
    nodes: list[Node] = []
    left: list[tuple[TreeNode, int | None]] = [(root, None) for root in reversed(roots)]
    while left:
        node, parent = left.pop()
        number = len(nodes)
        nodes.append(
            {
                "id": number,
                "parent": parent,
                "sym": known(node.name),
                "dso": known(node.dso),
                "kernel": node.kernel,
                "self": node.self_weight,
                "total": node.weight,
            }
        )
        left += [(child, number) for child in reversed(node.children)]
    return nodes
