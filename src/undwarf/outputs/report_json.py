"""The report as JSON: the same numbers as weights, names in full."""

from dataclasses import asdict
from typing import Any, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.report import ReportOptions
from undwarf.profile.model import Profile
from undwarf.views.call_tree import TreeNode, call_tree, callers
from undwarf.views.flat_profile import FlatProfile, flat_profile
from undwarf.views.sample_selection import sections
from undwarf.views.unwind_quality import unwind_quality


def write(profile: Profile, sink: TextIO, options: ReportOptions) -> None:
    """Write one JSON object: ``events`` holds a table of ``rows`` and a ``tree`` for each event that has samples.

    A tree is a list of nodes: ``parent`` is the ``id`` of another, which stands before it, or null at a root.
    """
    whole = unwind_quality(profile, options.dump)
    events = []
    for event, name in sections(profile, options.keys):
        flat = flat_profile(profile, options.keys, options.weight, event=event)
        found: dict[str, Any] = {
            "event": name,
            "samples": flat.samples,
            "total": flat.total,
            "rows": _rows(flat, options),
        }
        if options.graph != "none":
            made = call_tree if options.graph == "caller" else callers
            tree = made(profile, weight=options.weight, event=event, min_share=options.tree_limit / 100)
            found["tree"] = _tree(tree.roots)
        events.append(found)
    report = {
        "file": options.path,
        "samples": whole.samples,
        "lost": options.lost,
        "sort": list(options.keys),
        "weight": options.weight,
        "percent_limit": options.percent_limit,
        "wholeness": {**asdict(whole), "share": whole.share},
        "events": events,
        "groups": [[profile.events[event].name for event in group] for group in options.groups],
    }
    dump(report, sink)


def _rows(flat: FlatProfile, options: ReportOptions) -> list[dict[str, Any]]:
    least = options.percent_limit * flat.total / 100
    rows = [row for row in flat.rows if (row.children_weight if options.children else row.self_weight) >= least]
    if not options.children:
        rows.sort(key=lambda row: -row.self_weight)
    return [
        {
            **dict(zip(flat.keys, row.key, strict=True)),
            "self": row.self_weight,
            "children": row.children_weight,
            "samples": row.samples,
        }
        for row in rows
    ]


def _tree(roots: list[TreeNode]) -> list[dict[str, Any]]:
    """The nodes as a list, each after its parent and the heavier of its siblings: what reads JSON may refuse nesting as
    deep as call trees are (jq 1.6: 256)."""
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
