"""Sentences on what type layouts and false sharing cost, for the text and the page."""

import posixpath

from undwarf.outputs.terminal.escape import printable
from undwarf.views.data.false_sharing import Sharing
from undwarf.views.data.layout import Spread
from undwarf.views.data.types import Counts, DataTypes

__all__ = [
    "SHARING_TITLES", "SPREAD_TITLE", "clash_advice", "clash_parties", "clash_place", "inferred_text",
    "spread_advice", "spread_functions", "typed_text", "unread_text", "untyped_advice", "untyped_text",
]  # fmt: skip  # a table

SHARING_TITLES = {
    True: "False sharing: cpus take cache lines from each other for different bytes",
    False: "Shared data: cpus take cache lines from each other for the same bytes",
}
SPREAD_TITLE = "Members used together on several cache lines"
_MOST_PARTIES = 12
_MOST_FILES = 3
_ADVICE = {
    "no DWARF and no BTF": "install the debug file, name its folder with --debug-dir, or let --debuginfod fetch it",
    "no vmlinux with the kernel's build-id": "give the kernel's file with --vmlinux, or let --debuginfod fetch it",
    "file not found": "give the recorded machine's files with --symfs",
}
"""Advice by the reason why a file's accesses have no types."""
_LATE_ADVICE = "events that are not precise stop after the access: see --skid"


def inferred_text(counts: Counts, *, spelled: bool = False) -> str:
    """How much of a weight was only inferred, and of that weight with which confidence; empty for nothing. ``spelled``:
    says as well that it is confidence which is high or low, for where nothing around does."""
    if not counts.inferred:
        return ""
    whole = counts.weight or 1
    text = f"{100 * counts.inferred / whole:.0f}% inferred"
    high, low = 100 * counts.consumed / whole, 100 * (counts.inferred - counts.consumed) / whole
    sure = "high" if low < 0.5 else "low" if high < 0.5 else f"high {high:.0f}%, low {low:.0f}%"
    return f"{text} ({'confidence ' * spelled}{sure})"


def typed_text(found: DataTypes) -> str:
    """What stands beside the share that has a type: how much of the whole was only inferred, and how surely."""
    if not found.inferred:
        return "typed"
    total = found.total or 1
    whole, high, low = (
        f"{100 * part / total:.2f}%" for part in (found.inferred, found.consumed, found.inferred - found.consumed)
    )
    return f"typed; {whole} inferred (confidence high {high}, low {low})"


def untyped_text(found: DataTypes, reason: str) -> str:
    """Why something is not typed, and of which files that is so."""
    return f"not typed: {_with_files(found, reason)}"


def unread_text(found: DataTypes, reason: str) -> str:
    """Why instructions are not at hand, and of which files."""
    return f"in code that cannot be read: {_with_files(found, reason)}"


def _with_files(found: DataTypes, reason: str) -> str:
    files = found.untold.get(reason, {})
    names = [posixpath.basename(path) or path for path in sorted(files, key=lambda path: (-files[path], path))]
    if not names or names[0].startswith("[kernel"):
        return reason
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    return f"{reason} ({', '.join(names[:_MOST_FILES])}{more})"


def untyped_advice(found: DataTypes, *, late: bool) -> list[str]:
    """What to do about samples that stopped where no memory is touched (``late``: they may be about what is before),
    and about whole files without types."""
    made = [_LATE_ADVICE] if late and found.outside.get("no memory access", 0) > 0.25 * (found.total or 1) else []
    return made + [advice for reason, advice in _ADVICE.items() if reason in found.untold]


def clash_place(one: Sharing) -> str:
    """Where it is, and how that is known."""
    if one.by_address:
        lines = f"{one.lines:,} line{'s' if one.lines != 1 else ''}"
        where = lines + (f", one at {one.address:#x}" if one.address else "") + ", by data address"
    else:
        where = f"line {one.line}, by type: if the objects are the same"
    where += ", some of it inferred" if one.inferred else ""
    return where + ("" if one.cpus_known else "; by threads, since cpus were not recorded")


def clash_parties(one: Sharing) -> list[str]:
    """A line for each member: who writes it, or only uses it."""
    written = {(party.type, party.field, party.offset) for party in one.written}
    parties = [(party, True) for party in one.written]
    parties += [(party, False) for party in one.used if (party.type, party.field, party.offset) not in written]
    made = []
    for party, writes in parties[:_MOST_PARTIES]:
        name = printable(party.field) or "(whole)"
        if party.type != one.type:
            name = f"{printable(party.type)} {name}"
        cpus = f" on cpu{'s' if len(party.cpus) > 1 else ''} {_numbers(party.cpus)}" if party.cpus else ""
        threads = f"thread{'s' if len(party.threads) > 1 else ''} {_numbers(party.threads)}"
        made.append(f"+{party.offset:<5} {name} {'written' if writes else 'used'} by {threads}{cpus}")
    if len(parties) > _MOST_PARTIES:
        made.append(f"and {len(parties) - _MOST_PARTIES} more")
    return made


def clash_advice(one: Sharing) -> list[str]:
    """What to do about it."""
    if one.false and one.objects:
        made = [f"several objects lie on one line: give each {one.line_size} bytes, or each thread a block of its own"]
    elif one.false:
        made = [f"put them {one.line_size} bytes apart, if they need not be together"]
    else:
        made = ["one copy for each thread, or fewer writes, would keep the line where it is"]
    if not one.by_address:
        made.append("perf record --call-graph dwarf (registers) or -d (data addresses) shows which objects")
    return made


def spread_functions(two: Spread) -> str:
    """Where they are used together, with the share of the type's weight there."""
    return "together in " + ", ".join(f"{printable(name)} ({100 * share:.0f}%)" for name, share in two.functions)


def spread_advice(two: Spread) -> str:
    """What to do about it."""
    first = min(offset for _name, offset, _share in two.members)
    last = max(offset for _name, offset, _share in two.members)
    return (
        f"they lie {last - first} bytes apart on {two.taken} lines at best; next to each other they need {two.needed}"
    )


def _numbers(numbers: set[int]) -> str:
    shown = ", ".join(str(number) for number in sorted(numbers)[:8])
    return shown + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
