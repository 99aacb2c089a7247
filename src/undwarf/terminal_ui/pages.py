"""The pages of a profile as rows: calls, functions, files, threads, source lines, types, quality of stacks."""

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import Distinct, shorten_type
from undwarf.outputs.terminal.style import fit, heat
from undwarf.terminal_ui.outline import Found, Outline
from undwarf.terminal_ui.rows import Column, Function, Table
from undwarf.terminal_ui.search import Search
from undwarf.terminal_ui.texts import file_text, function_text, shown_weight, style, text, weight_width

if TYPE_CHECKING:
    from undwarf.profile.model import Origin
    from undwarf.views.data.types import Counts, DataTypes, FieldRow, TypeRow
    from undwarf.views.flat_profile import FlatProfile, Row
    from undwarf.views.path_tree import PathNode, PathTree
    from undwarf.views.unwind_quality import Missing, UnwindQuality

UNFOLDED = 0.05
"""Share of the weight from which a call tree is unfolded at first, as in the report."""
WIDE = 110
"""Columns from which there is space for a bar, samples and longer file names."""
BAR = 10
ADVICE_WIDTH = 56
"""Columns of advice: it fits in a terminal of 80."""
_PARTS = " ▏▎▍▌▋▊▉█"

Exact = Callable[[], bool]
"""Whether weights are shown as numbers, and not as shares."""


def bar(share: float) -> Text:
    """A share as a bar of blocks."""
    eighths = round(max(0.0, min(share, 1.0)) * BAR * 8)
    line = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    return Text(line, style(heat(share) or "detail"))


def _weight(title: str, total: int, exact: Exact, of: Callable[[Any], int], sort: str = "") -> Column:
    size = weight_width(total, f"{title}▼", exact=exact())
    return Column(title, size, lambda item, _width: shown_weight(of(item), total, exact=exact()), True, sort)


def _bar(total: int, of: Callable[[Any], int]) -> Column:
    return Column("", BAR, lambda item, _width: bar(of(item) / (total or 1)))


def _last_part(path: str) -> str:
    return path if path.startswith(("[", "//")) else path.rpartition("/")[2] or path


def _file_width(width: int) -> int:
    return 28 if width >= WIDE else 14


def call_outline(paths: "PathTree", roots: "Sequence[PathNode]", *, callers: bool, exact: Exact) -> "Outline[PathNode]":
    """A tree of callees, or of ``callers``, below these functions."""
    short = Distinct()
    total = paths.total

    def columns(width: int) -> list[Column]:
        found = [_weight("Total", total, exact, lambda node: node.weight)]
        if not callers:
            found.append(_weight("Self", total, exact, lambda node: node.self_weight))
        if width >= WIDE:
            found.append(_bar(total, lambda node: node.weight))
        named = Column(
            "Function, its callers below" if callers else "Function",
            0,
            lambda node, width: function_text(node.name, node.kernel, width, short),
            tree=True,
        )
        file = Column("File", _file_width(width), lambda node, width: file_text(node.dso, width, kernel=node.kernel))
        return [*found, named, file]

    def find(search: Search) -> "Found[PathNode] | None":
        if callers:
            return None
        counts = paths.matching({name for name in set(paths.names) if search(name)})
        return Found(
            sum(counts[place] for root in roots for place in root.places),
            lambda node: sum(counts[place] for place in node.places),
            lambda node: search(node.name),
        )

    return Outline(
        roots,
        paths.callers if callers else paths.callees,
        lambda node: not paths.has_callers(node) if callers else node.weight == node.self_weight,
        columns,
        lambda node: f"{node.name}  {node.dso}",
        lambda node: node.name,
        lambda node: Function(node.name, node.dso),
        find=find,
    )


_TITLES = {"comm": "Thread", "pid": "Pid", "tid": "Tid", "dso": "File", "sym": "Function", "srcline": "Source line"}
_NUMBERS = ("pid", "tid")
_FIXED = {"comm": 16, "pid": 9, "tid": 9, "srcline": 24, "dso": 0, "sym": 0}


def flat_table(
    flat: "FlatProfile", *, exact: Exact, children: bool = True, samples: bool = True, sorted_by: str = "self"
) -> "Table[Row]":
    """A table of functions, files, threads or source lines; ``children``: their weight with callees has a column."""
    total, keys = flat.total, flat.keys
    short = Distinct()
    last = "sym" if "sym" in keys else keys[0] if len(keys) > 1 else keys[-1]

    def shown(number: int, row: "Row", width: int) -> Text:
        key, value = keys[number], row.key[number]
        if key == "sym":
            return function_text(value, row.kernel, width, short)
        if key == "dso":
            if len(keys) > 1:
                return file_text(value, width, kernel=row.kernel)
            what = "unknown" if value == "[unknown]" else "kernel" if row.kernel else ""
            return Text(fit(printable(value), width, keep_end=True), style(what))
        return Text(fit(printable(value), width, keep_end=key == "srcline"))

    def columns(width: int) -> list[Column]:
        found = []
        if children:
            found.append(_weight("Total", total, exact, lambda row: row.children_weight, "total"))
        found.append(_weight("Self", total, exact, lambda row: row.self_weight, "self"))
        if width >= WIDE:
            by_self = not children or sorted_by == "self"
            found.append(_bar(total, lambda row: row.self_weight if by_self else row.children_weight))
            if samples:
                count = Column("Samples", 9, lambda row, _width: Text(f"{row.samples:,}"), True, "samples")
                found.append(count)
        for number, key in enumerate(keys):
            size = 0 if key == last else _file_width(width) if key == "dso" else _FIXED[key]
            found.append(Column(_TITLES[key], size, partial(shown, number), key in _NUMBERS, key))
        return found

    def by_text(number: int, row: "Row") -> tuple[object, ...]:
        value = row.key[number]
        return int(value) if keys[number] in _NUMBERS else value.lower(), -row.self_weight, row.key

    orders: dict[str, Callable[[Row], object]] = {
        "total": lambda row: (-row.children_weight, -row.self_weight, row.key),
        "self": lambda row: (-row.self_weight, -row.children_weight, row.key),
        "samples": lambda row: (-row.samples, -row.self_weight, row.key),
        **{key: partial(by_text, number) for number, key in enumerate(keys)},
    }

    def function(row: "Row") -> Function | None:
        if "sym" not in keys or "dso" not in keys:
            return None
        return Function(row.key[keys.index("sym")], row.key[keys.index("dso")])

    return Table(
        flat.rows, columns, lambda row: "  ".join(row.key), lambda row: " ".join(row.key), function, orders, sorted_by
    )


class DataLine(NamedTuple):
    """A row of the types: a type, one of its members, or what has no type, with its weight."""

    label: str
    counts: "Counts | None"
    weight: int
    note: str = ""
    type: "TypeRow | None" = None
    field: "FieldRow | None" = None


def type_outline(data: "DataTypes", *, exact: Exact) -> Outline[DataLine]:
    """Types with their members, by weight, then what has no type."""
    total = data.total
    lines = [
        DataLine(one.name, one.counts, one.counts.weight, f"{one.size:,} B" if one.size else "", type=one)
        for one in data.types
    ]
    for title, reasons in (("unknown", data.unknown), ("unread", data.unread), ("no data", data.outside)):
        for reason, weight in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
            lines.append(DataLine(f"({reason})", None, weight, title))

    def members(line: DataLine) -> list[DataLine]:
        if line.type is None:
            return []
        fields = sorted(line.type.fields.values(), key=lambda one: (-one.counts.weight, one.offset, one.field))
        return [
            DataLine(
                f"+{one.offset} {one.field or '(whole)'}", one.counts, one.counts.weight, f"{one.size:,} B", field=one
            )
            for one in fields
        ]

    def name(line: DataLine, width: int) -> Text:
        shown = shorten_type(printable(line.label), max(4, width))
        return Text(shown, style("" if line.counts is not None else "detail"))

    def columns(width: int) -> list[Column]:
        found = [_weight("Share" if not exact() else "Weight", total, exact, lambda line: line.weight)]
        loads = _weight("Loads", total, exact, lambda line: line.counts.loads if line.counts else 0)
        stores = _weight("Stores", total, exact, lambda line: line.counts.stores if line.counts else 0)
        found += [loads, stores]
        if width >= WIDE:
            found.append(_bar(total, lambda line: line.weight))
        found.append(Column("Type, its members below", 0, name, tree=True))
        found.append(Column("Size", 12, lambda line, width: text(fit(line.note, width), "detail"), True))
        return found

    def detail(line: DataLine) -> str:
        functions = sorted(line.field.functions.items(), key=lambda item: (-item[1], item[0])) if line.field else []
        by = ", ".join(name for name, _weight in functions[:4])
        return f"{line.label}  {line.note}" + (f"  accessed by {by}" if by else "")

    return Outline(lines, members, lambda line: line.type is None, columns, detail, lambda line: line.label)


class Remark(NamedTuple):
    """A row about the quality of stacks: how many samples, their share in words, what is to be said, and the remarks
    below it."""

    samples: int | None
    share: str
    words: str
    what: str = ""
    below: "tuple[Remark, ...]" = ()
    detail: str = ""


def quality_outline(
    quality: "UnwindQuality", absent: "Sequence[Missing]", origin: "Origin | None", defects: Sequence[str]
) -> Outline[Remark]:
    """How many stacks are whole, why the others are not and what would help; missing files; damage."""
    remarks: list[Remark] = []
    if origin is not None:
        remarks.append(Remark(None, "", f"{origin.format}: it does not say whether stacks are whole", "detail"))
    if quality.unwound:
        whole = f"{100 * quality.share:.2f}%"
        good = "good" if quality.share >= 0.95 else "warning"
        remarks.append(Remark(quality.whole, whole, f"of {quality.unwound:,} user stacks reach their root", good))
    for count, words in (
        (quality.inferred, "more reach it with callers inferred from other dumps or memory of their thread"),
        (quality.copied_code, "pass through code copied to memory, found by the file it is from"),
        (quality.as_recorded, "have frame-pointer chains as recorded, which cannot tell if they are whole"),
        (quality.without_chain, "have no call chains: they were recorded without --call-graph"),
        (quality.without_user, "have no user part (kernel threads, the idle task)"),
    ):
        if count:
            remarks.append(Remark(count, "", words))
    if quality.gaps:
        remarks.append(Remark(None, "", "Why stacks are not whole, and what would help", "heading"))
    for gap in quality.gaps:
        share = gap.samples / max(1, quality.unwound)
        place = f" in {gap.image}" if gap.image != "[unknown]" else ""
        short = f" in {_last_part(gap.image)}" if place else ""
        lines = wrap(f"→ {gap.advice}", ADVICE_WIDTH, subsequent_indent="  ") if gap.advice else []
        advice = tuple(Remark(None, "", line, "detail") for line in lines)
        remarks.append(
            Remark(
                gap.samples,
                f"{100 * share:.2f}%",
                gap.description + short,
                heat(share),
                advice,
                gap.description + place,
            )
        )
    if absent:
        remarks.append(Remark(None, "", "Files that are missing or cannot be used, by samples", "heading"))
    remarks += [Remark(one.samples, "", f"{one.name}: {one.problem}") for one in absent]
    if defects:
        remarks.append(Remark(None, "", "Damage", "heading"))
    remarks += [Remark(None, "", words, "warning") for words in defects]

    def columns(width: int) -> list[Column]:
        return [
            Column("Samples", 10, lambda one, _w: Text(f"{one.samples:,}" if one.samples is not None else ""), True),
            Column("Share", 8, lambda one, _w: text(one.share, one.what if one.what != "heading" else ""), True),
            Column("Stacks", 0, lambda one, width: text(fit(one.words, width), one.what), tree=True),
        ]

    outline = Outline(
        remarks,
        lambda one: one.below,
        lambda one: not one.below,
        columns,
        lambda one: one.detail or one.words,
        lambda one: one.detail or one.words,
    )
    outline.unfold_where(lambda one: bool(one.below))
    return outline
