"""The report as JSON: the same numbers as weights, names in full."""

from typing import TYPE_CHECKING, Any, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.report import ReportOptions

if TYPE_CHECKING:
    from undwarf.views.call_tree import TreeNode
    from undwarf.views.flat_profile import FlatProfile
    from undwarf.views.report import Report


def write(report: "Report", sink: TextIO, options: ReportOptions) -> None:
    """Write one JSON object: ``events`` holds a table of ``rows`` and a ``tree`` for each event that has samples.

    A tree is a list of nodes: ``parent`` is the ``id`` of another, which stands before it, or null at a root.
    Numbers of samples are null for a profile of another tool that has no single samples.
    """
    quality = report.quality
    counted = report.origin is None or not report.origin.sums
    events = []
    for event in report.events:
        numbers: dict[str, Any] = {
            "event": event.name,
            "unit": event.unit or None,
            "samples": event.flat.samples if counted else None,
            "total": event.flat.total,
            "rows": _rows(event.flat, options, counted),
        }
        if event.tree is not None:
            numbers["tree"] = _tree(event.tree.roots)
        events.append(numbers)
    shown = {
        "file": options.path,
        "format": report.origin.format if report.origin is not None else "perf.data",
        "samples": quality.samples if counted else None,
        "lost": options.lost,
        "sort": list(options.keys),
        "weight": options.weight,
        "percent_limit": options.percent_limit,
        "wholeness": quality.as_dict(),
        "events": events,
        "groups": report.group_names,
    }
    dump(shown, sink)


def _rows(flat: "FlatProfile", options: ReportOptions, counted: bool) -> list[dict[str, Any]]:
    least = options.percent_limit * flat.total / 100
    rows = [row for row in flat.rows if (row.children_weight if options.children else row.self_weight) >= least]
    if not options.children:
        rows.sort(key=lambda row: -row.self_weight)
    return [
        {
            **dict(zip(flat.keys, row.key, strict=True)),
            "self": row.self_weight,
            "children": row.children_weight,
            "samples": row.samples if counted else None,
        }
        for row in rows
    ]


def _tree(roots: "list[TreeNode]") -> list[dict[str, Any]]:
    """The nodes as a list, each after its parent and its heavier siblings: readers of JSON may refuse nesting as deep
    as call trees (jq 1.6: 256)."""
    nodes: list[dict[str, Any]] = []
    left: list[tuple[TreeNode, int | None]] = [(root, None) for root in reversed(roots)]
    while left:
        node, parent = left.pop()
        number = len(nodes)
        nodes.append(
            {
                "id": number,
                "parent": parent,
                "sym": node.name,
                "dso": node.dso,
                "weight": node.weight,
                "self": node.self_weight,
            }
        )
        left += [(child, number) for child in reversed(node.children)]
    return nodes
