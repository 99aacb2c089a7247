"""The report as text: hot functions and the call tree of each event."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import Distinct, shorten, shorten_type
from undwarf.outputs.terminal.style import Paint, cells, fit, hidden_text, pad
from undwarf.profile.model import FIELDS

if TYPE_CHECKING:
    from undwarf.profile.model import Origin
    from undwarf.views.call_tree import CallTree, TreeNode
    from undwarf.views.report import EventGroup, EventReport, Graph, GroupRow, Report
    from undwarf.views.sample_selection import Weight

TITLES = {
    "comm": "Command",
    "pid": "Pid",
    "tid": "Tid",
    "cpu": "CPU",
    "event": "Event",
    "dso": "Shared Object",
    "sym": "Symbol",
    "srcline": "Source:Line",
    "srcfile": "Source File",
    "type": "Data Type",
    "typeoff": "Data Type Offset",
    "typecln": "Data Type Cacheline",
    "mem": "Memory access",
    "snoop": "Snoop",
    "tlb": "TLB access",
    "locked": "Locked",
    "blocked": "Blocked",
    "local_weight": "Local Weight",
    "weight": "Weight",
    "local_ins_lat": "Local INSTR Latency",
    "ins_lat": "INSTR Latency",
    "local_retire_lat": "Local Retire Latency",
    "retire_lat": "Retire Latency",
    "symbol_daddr": "Data Symbol",
    "dso_daddr": "Data Object",
    "dcacheline": "Data Cacheline",
    "phys_daddr": "Data Physical Address",
    "data_page_size": "Data Page Size",
    "code_page_size": "Code Page Size",
}
TREE_DEPTH = 200
_TYPES = ("typecln", "type", "typeoff")
"""Keys of data types, in the order in which their columns are cut."""
_PATHS = ("dso", "srcline", "srcfile")
"""Keys whose texts are cut at the start."""
_MOST_TYPE = 72
"""Columns of a type on a terminal of any width: longer template arguments are not read."""


class ReportOptions(NamedTuple):
    """How a report is shown.

    Rows below ``percent_limit`` are hidden, and at most ``rows`` are shown (0: all); ``tree_limit`` is the percentage
    below which the tree has no branches. ``width`` in columns; None: nothing is cut.
    """

    keys: tuple[str, ...] = ("comm", "dso", "sym")
    children: bool = True
    graph: "Graph" = "caller"
    percent_limit: float = 0.5
    tree_limit: float = 5.0
    rows: int = 0
    weight: "Weight" = "period"
    show_samples: bool = False
    colour: bool = False
    width: int | None = None
    lost: int | None = 0
    path: str = ""


def write(report: "Report", sink: TextIO, options: ReportOptions) -> None:
    """Write the report."""
    paint = Paint(options.colour)
    _write_head(report, sink, options, paint)
    for group in report.groups:
        numbered = len(group.events) > 1
        sink.write("\n")
        if numbered:
            sink.write(paint.bold(f"Group of {len(group.events)} events") + "\n")
        for number, event in enumerate(group.events, 1):
            sink.write((f"{number}: " if numbered else "") + _event_line(event, paint, report.origin) + "\n")
        _write_table(group, sink, options, paint)
        for number, event in enumerate(group.events, 1):
            if event.tree is not None:
                title = f", of {number}: {printable(event.name)}" if numbered else ""
                _write_graph(event.tree, sink, options, paint, title)


def _write_head(report: "Report", sink: TextIO, options: ReportOptions, paint: Paint) -> None:
    if report.origin is not None:
        text = f"{printable(options.path)}: {_entries(report.quality.samples, report.origin)}"
        sink.write(paint.bold(text) + "\n" + paint.dim(_lacking(report.origin)) + "\n")
        return
    quality = report.quality
    lost = f", {options.lost:,} lost" if options.lost else ""
    text = f"{printable(options.path)}: {samples_text(quality.samples)}"
    sink.write(paint.bold(text) + paint.warn(lost) + "\n")
    style = paint.good if quality.share >= 0.95 else paint.warn
    if quality.unwound:
        text = f"{percent(quality.share)} of {quality.unwound:,} user stacks are whole"
        if quality.inferred:
            share = percent(quality.inferred / quality.unwound)
            text += f"; {share}: with callers inferred from other dumps or memory of the thread"
        if quality.copied_code:
            text += f"; {percent(quality.copied_code / quality.samples)}: in code copied to memory without a file"
        large_gaps = [gap for gap in quality.gaps if gap.samples >= 0.01 * quality.unwound][:2]
        for gap in large_gaps:
            text += f"; {percent(gap.samples / quality.unwound)}: {gap.description} ({printable(gap.image)})"
        sink.write(style(text) + "\n")
        for advice in dict.fromkeys(gap.advice for gap in large_gaps if gap.advice):
            sink.write(paint.dim(f"  → {printable(advice)}") + "\n")
        if quality.share < 0.9:
            sink.write(paint.dim("  → undwarf info says more") + "\n")
    if quality.as_recorded:
        text = f"{samples_text(quality.as_recorded)} with frame-pointer chains, which cannot tell if they are whole"
        sink.write(paint.dim(text) + "\n")
    if quality.without_chain:
        text = f"{samples_text(quality.without_chain)} without call chains: recorded without --call-graph"
        sink.write(paint.dim(text) + "\n")


def percent(share: float) -> str:
    """A share with one digit after the point, never 100.0 unless it is all."""
    if share < 1 and share > 0.9995:
        return "99.9 %"
    return f"{100 * share:.1f} %"


def samples_text(count: int) -> str:
    """A number of samples in words."""
    return f"{count:,} sample" + ("" if count == 1 else "s")


def _entries(count: int, origin: "Origin | None") -> str:
    """A number of samples in words, or of what a profile without single samples has."""
    if origin is None or not origin.sums:
        return samples_text(count)
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _lacking(origin: "Origin") -> str:
    """What a profile of another tool does not say."""
    missing = [words for field, words in FIELDS.items() if field not in (*origin.fields, "address")]
    return f"{origin.format}: without {', '.join([*missing, 'the reason why stacks end'])}"


def _event_line(event: "EventReport", paint: Paint, origin: "Origin | None") -> str:
    flat = event.flat
    unit = f" {printable(event.unit)}" if origin is not None and event.unit not in ("", "count") else ""
    weights = f", {flat.total:,}{unit} in all" if flat.total != flat.samples else ""
    return paint.bold(printable(event.name)) + paint.dim(f"  {_entries(flat.samples, origin)}{weights}")


def _write_table(group: "EventGroup", sink: TextIO, options: ReportOptions, paint: Paint) -> None:
    """The table of an event, or of a group of events, whose columns are side by side."""
    keys = group.events[0].flat.keys
    totals = [event.flat.total or 1 for event in group.events]

    def weights(row: "GroupRow") -> list[tuple[int, int, int]]:
        """(children's weight, self weight, samples) for each event."""
        return [(one.children_weight, one.self_weight, one.samples) if one else (0, 0, 0) for one in row.of_event]

    limits = [options.percent_limit * total / 100 for total in totals]

    def is_shown(row: "GroupRow") -> bool:
        for one, limit in zip(row.of_event, limits, strict=True):
            if one is not None and (one.children_weight if options.children else one.self_weight) >= limit:
                return True
        return False

    shown = list(filter(is_shown, group.rows))
    if options.rows and len(shown) > options.rows:
        del shown[options.rows :]
    texts = [_texts(keys, row) for row in shown]
    sizes = _sizes(keys, len(totals), texts, options)
    marks = [f" {number}" for number in range(1, len(totals) + 1)] if len(totals) > 1 else [""]
    heads = [f"{'Children' + mark:>8}" for mark in marks] if options.children else []
    heads += [f"{'Self' + mark:>8}" for mark in marks]
    if options.show_samples:
        heads += [f"{'Samples' + mark:>10}" for mark in marks]
    widths = [max(8, cells(head)) for head in heads]
    heads += [pad(TITLES[key], size) for key, size in zip(keys, sizes, strict=True)]
    sink.write(paint.bold("  ".join(heads).rstrip()) + "\n")
    shorteners = [_shortener(key, size) for key, size in zip(keys, sizes, strict=True)]
    for row, text in zip(shown, texts, strict=True):
        of_events = weights(row)
        shares = [one[0] / total for one, total in zip(of_events, totals, strict=True)] if options.children else []
        shares += [one[1] / total for one, total in zip(of_events, totals, strict=True)]
        line = [paint.share(share, f"{100 * share:{w - 1}.2f}%") for share, w in zip(shares, widths, strict=False)]
        if options.show_samples:
            line += [f"{one[2]:10,}" for one in of_events]
        for number, key in enumerate(keys):
            value = shorteners[number](text[number])
            if number < len(keys) - 1:
                value = pad(value, sizes[number])
            if key == "sym" or key == "dso":
                value = paint.name(value, kernel=row.kernel)
            line.append(value)
        sink.write("  ".join(line).rstrip() + "\n")
    if hidden := hidden_text(len(group.rows), len(shown), options.rows, options.percent_limit):
        sink.write(paint.dim(hidden) + "\n")


def _texts(keys: Sequence[str], row: "GroupRow") -> list[str]:
    """A row's key as it is printed; symbols are marked as kernel or user code, as in perf."""
    level = "[k] " if row.kernel else "[.] "
    texts = []
    for key, part in zip(keys, row.key, strict=True):
        text = printable(part)
        texts.append(level + text if key == "sym" else _last_part(text) if key == "dso" else text)
    return texts


def _shortener(key: str, width: int) -> Callable[[str], str]:
    """Shortens the texts of a column: paths lose their start, signatures and types their arguments, but different ones
    stay different."""
    if key == "sym" or key in _TYPES:
        return partial(Distinct(shorten if key == "sym" else shorten_type), width=width)
    return partial(fit, width=width, keep_end=key in _PATHS)


def _sizes(keys: Sequence[str], events: int, texts: list[list[str]], options: ReportOptions) -> list[int]:
    """The width of each key's column: that of its texts; on a terminal types, files and functions are cut."""
    sizes = [max([cells(TITLES[key]), *(cells(text[column]) for text in texts)]) for column, key in enumerate(keys)]
    if options.width is None:
        return sizes
    for column, key in enumerate(keys):
        if key in _TYPES and sizes[column] > _MOST_TYPE:
            sizes[column] = max(cells(shorten_type(text[column], _MOST_TYPE)) for text in texts)
    number = 10 if events == 1 else 12
    used = events * (number * (2 if options.children else 1) + (12 if options.show_samples else 0)) + 2 * (
        len(sizes) - 1
    )
    types = ((key, 32) for key in _TYPES)
    for key, least in (("dso", 24), ("srcfile", 24), ("srcline", 24), ("sym", 30), ("comm", 12), ("dso", 12), *types):
        over = used + sum(sizes) - options.width
        if over > 0 and key in keys:
            column = keys.index(key)
            sizes[column] = max(min(sizes[column], least), sizes[column] - over)
    return sizes


def _write_graph(tree: "CallTree", sink: TextIO, options: ReportOptions, paint: Paint, of: str = "") -> None:
    if not any(root.children for root in tree.roots):
        return
    title = "Call tree, callers above" if options.graph == "caller" else "Hot functions, their callers below"
    sink.write(f"\n{paint.bold(title + of)}{paint.dim(f'  branches from {options.tree_limit:g} %')}\n")
    for line in tree_lines(tree, paint, options.width):
        sink.write(line + "\n")


def tree_lines(tree: "CallTree", paint: Paint, width: int | None) -> list[str]:
    """One line a node: its share of the whole, then its name. Only children of a node with several are indented; an
    empty line separates trees of more than one line."""
    total = tree.total or 1
    lines: list[str] = []
    nested = False
    distinct = Distinct()
    # (node, prefix of its line, prefix of its children's lines, file of the line above, depth)
    stack: list[tuple[TreeNode, str, str, str, int]] = [(root, "", "", "", 0) for root in reversed(tree.roots)]
    while stack:
        node, prefix, below, file_above, depth = stack.pop()
        if not depth and lines and (node.children or nested):
            lines.append("")
        nested = bool(depth)
        share = node.weight / total
        name = printable(node.name)
        file = f"  {printable(_last_part(node.dso))}" if node.dso != file_above else ""
        if width is not None:
            left = width - 9 - cells(prefix)
            name = distinct(name, max(12, left))
            file = file if cells(name) + cells(file) <= left else ""
        text = paint.name(name, kernel=node.kernel) + paint.dim(file)
        lines.append(f"{paint.share(share, f'{100 * share:7.2f}%')} {paint.dim(prefix)}{text}")
        if depth >= TREE_DEPTH:
            if node.children:
                lines.append(f"{'':8} {paint.dim(below + '...')}")
            continue
        only_child = len(node.children) == 1
        for i in range(len(node.children) - 1, -1, -1):
            child = node.children[i]
            if only_child:
                stack.append((child, below, below, node.dso, depth + 1))
            elif i == len(node.children) - 1:
                stack.append((child, below + "└─ ", below + "   ", node.dso, depth + 1))
            else:
                stack.append((child, below + "├─ ", below + "│  ", node.dso, depth + 1))
    return lines


def _last_part(dso: str) -> str:
    return dso if dso.startswith(("[", "//")) else dso.rsplit("/", 1)[-1]
