"""The report in the terminal: hot functions, then the call tree, with colours that repeat what the numbers say."""

import json
import shutil
from dataclasses import asdict, dataclass
from typing import TextIO

from undwarf.outputs.escape import printable
from undwarf.profile.model import Profile
from undwarf.views.hot import Hot, hot
from undwarf.views.tree import TreeNode, call_tree, callers_of
from undwarf.views.wholeness import Wholeness, wholeness

TITLES = {"comm": "Command", "pid": "Pid", "tid": "Tid", "cpu": "CPU", "event": "Event", "dso": "Shared Object", "sym": "Symbol"}
WIDEST = {"comm": 16, "dso": 40}
TREE_DEPTH = 60


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """``graph`` is none, caller (from the outermost caller down) or callee (callers of the hot functions)."""

    keys: tuple[str, ...] = ("comm", "dso", "sym")
    children: bool = True
    graph: str = "none"
    percent_limit: float = 0.5
    colour: bool = False
    width: int | None = None
    json: bool = False
    dump: int = 8192
    lost: int = 0
    path: str = ""


def write(profile: Profile, sink: TextIO, options: ReportOptions) -> None:
    """Write the report."""
    flat = hot(profile, options.keys)
    whole = wholeness(profile, options.dump)
    if options.json:
        _write_json(profile, flat, whole, sink, options)
        return
    paint = _Paint(options.colour)
    width = options.width
    sink.write(paint.dim(_summary(profile, flat, whole, options)) + "\n")
    sink.write(_whole_line(whole, paint) + "\n\n")
    _write_table(flat, sink, options, paint, width)
    if options.graph == "caller":
        tree = call_tree(profile, min_share=options.percent_limit / 100)
        sink.write("\n" + paint.bold("Call tree (callers first)") + "\n")
        for root in tree.roots:
            _write_tree(root, tree.total, sink, options, paint)
    elif options.graph == "callee":
        rows = [row for row in hot(profile, ("sym", "dso")).rows if row.self_weight]
        rows.sort(key=lambda row: -row.self_weight)
        shown = [row for row in rows if 100 * row.self_weight >= options.percent_limit * flat.total][:30]
        sink.write("\n" + paint.bold("Callers of the hot functions") + "\n")
        for node in callers_of(profile, [(row.key[0], row.key[1]) for row in shown]):
            _write_tree(node, flat.total, sink, options, paint)


class _Paint:
    """Styles by ANSI codes, or none."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on else text

    def dim(self, text: str) -> str:
        return self._style("2", text)

    def bold(self, text: str) -> str:
        return self._style("1", text)

    def share(self, share: float, text: str) -> str:
        """Red from 10 %, yellow from 3 %: the number stands beside it."""
        if share >= 0.10:
            return self._style("1;31", text)
        return self._style("33", text) if share >= 0.03 else text

    def kernel(self, text: str) -> str:
        return self._style("36", text)

    def unknown(self, text: str) -> str:
        return self._style("2;35", text)


def _summary(profile: Profile, flat: Hot, whole: Wholeness, options: ReportOptions) -> str:
    names = ", ".join(printable(event.name) for event in profile.events if event.name) or "no event"
    lost = f", {options.lost:,} lost" if options.lost else ""
    return f"{printable(options.path)}: {whole.samples:,} samples of {names}{lost}"


def _whole_line(whole: Wholeness, paint: _Paint) -> str:
    if not whole.unwound:
        return paint.dim("no sample has a user stack")
    text = f"{100 * whole.share:.1f} % of {whole.unwound:,} user stacks reach their root"
    rest = [gap for gap in whole.gaps if gap.samples * 200 >= whole.unwound][:2]
    if rest:
        text += "; " + "; ".join(
            f"{100 * gap.samples / whole.unwound:.1f} % end since {gap.description} ({printable(gap.image)})" for gap in rest
        )
    if whole.share < 0.9:
        text += "; undwarf info says more"
    return text if whole.share >= 0.9 else paint.share(0.03, text)


def _write_table(flat: Hot, sink: TextIO, options: ReportOptions, paint: _Paint, width: int | None) -> None:
    total = flat.total or 1
    rows = flat.rows
    if not options.children:
        rows = sorted((row for row in rows if row.self_weight), key=lambda row: (-row.self_weight, row.key))
    shown = [
        row
        for row in rows
        if 100 * (row.children_weight if options.children else row.self_weight) >= options.percent_limit * total
    ]
    texts = [[printable(part) for part in row.key] for row in shown]
    sizes = []
    for column, key in enumerate(flat.keys):
        longest = max([len(TITLES[key]), *(len(text[column]) for text in texts)], default=0)
        sizes.append(min(longest, WIDEST.get(key, longest)))
    heads = (["Children", "    Self"] if options.children else ["    Self"]) + [
        TITLES[key].ljust(size) for key, size in zip(flat.keys, sizes, strict=True)
    ]
    sink.write(paint.bold("  ".join(heads).rstrip()) + "\n")
    for row, text in zip(shown, texts, strict=True):
        shares = [row.children_weight / total, row.self_weight / total] if options.children else [row.self_weight / total]
        cells = [paint.share(share, f"{100 * share:7.2f}%") for share in shares]
        used = 10 * len(cells)
        for column, key in enumerate(flat.keys):
            last = column == len(flat.keys) - 1
            value = text[column]
            room = max(20, width - used) if last and width else (len(value) if last else sizes[column])
            value = _fit(value, room, key)
            used += sizes[column] + 2
            padded = value if last else value.ljust(sizes[column])
            if key in ("sym", "dso") and "[unknown]" in value:
                padded = paint.unknown(padded)
            elif key == "dso" and value.startswith("["):
                padded = paint.kernel(padded)
            cells.append(padded)
        sink.write("  ".join(cells).rstrip() + "\n")
    hidden = len(rows) - len(shown)
    if hidden > 0:
        sink.write(paint.dim(f"{hidden:,} more below {options.percent_limit:g} % (--percent-limit 0 shows all)") + "\n")


def _fit(text: str, room: int, key: str) -> str:
    """A text that is too long loses its middle or, being a path, its start."""
    if len(text) <= room:
        return text
    if key == "dso":
        return "…" + text[len(text) - room + 1 :]
    return text[: room - 1] + "…"


def _write_tree(root: TreeNode, total: int, sink: TextIO, options: ReportOptions, paint: _Paint) -> None:
    """Write one tree; a chain of single callers shares one indent, as in perf's."""
    stack: list[tuple[TreeNode, str, str, int]] = [(root, "", "", 0)]
    while stack:
        node, prefix, mark, depth = stack.pop()
        share = node.weight / total if total else 0.0
        name = printable(node.name)
        if node.name == "[unknown]":
            name = paint.unknown(f"{name} {printable(node.dso)}")
        sink.write(f"{prefix}{mark}{paint.share(share, f'{100 * share:.2f}%')} {name}\n")
        kept = [child for child in node.children if 100 * child.weight >= options.percent_limit * total]
        if depth >= TREE_DEPTH:
            if kept:
                sink.write(f"{prefix}   ...\n")
            continue
        below = prefix + ("" if not mark else "│  " if mark.startswith("├") else "   ")
        if len(kept) == 1 and mark == "":
            below = prefix
        for i in range(len(kept) - 1, -1, -1):
            stack.append((kept[i], below, "└─ " if i == len(kept) - 1 else "├─ ", depth + 1))


def _write_json(profile: Profile, flat: Hot, whole: Wholeness, sink: TextIO, options: ReportOptions) -> None:
    def tree(node: TreeNode, depth: int) -> dict[str, object]:
        children = [] if depth >= TREE_DEPTH else [
            tree(child, depth + 1)
            for child in node.children
            if 100 * child.weight >= options.percent_limit * flat.total
        ]  # fmt: skip
        return {"name": node.name, "dso": node.dso, "weight": node.weight, "self": node.self_weight, "children": children}

    limit = options.percent_limit * flat.total
    found: dict[str, object] = {
        "samples": whole.samples,
        "lost": options.lost,
        "total": flat.total,
        "events": [event.name for event in profile.events],
        "sort": list(flat.keys),
        "rows": [
            {**dict(zip(flat.keys, row.key, strict=True)), "self": row.self_weight, "children": row.children_weight}
            for row in flat.rows
            if 100 * row.children_weight >= limit
        ],
        "wholeness": {**asdict(whole), "share": whole.share},
    }
    if options.graph == "caller":
        found["tree"] = [tree(root, 0) for root in call_tree(profile, min_share=options.percent_limit / 100).roots]
    json.dump(found, sink, indent=1)
    sink.write("\n")


def terminal_width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((120, 40)).columns
