"""Sentences about untyped samples, type layouts and false sharing, for the text and the page."""

import posixpath
from typing import TYPE_CHECKING

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.data.false_sharing import Sharing
    from undwarf.views.data.layout import Spread
    from undwarf.views.data.types import Counts, DataTypes

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
"""By the reason why the accesses of a file have no types."""
_STORED_ADVICE = "look again where the files are, or name them: undwarf fleet symbols add STORE [ELF]..."
_LATE_ADVICE = "events that are not precise stop after the access: see --skid"


def inferred_text(counts: "Counts", *, spelled: bool = False) -> str:
    """The inferred share of a weight and its confidence; empty if nothing was inferred. ``spelled``: with the word
    "confidence", if no heading has it."""
    if not counts.inferred:
        return ""
    weight = counts.weight or 1
    text = f"{100 * counts.inferred / weight:.0f}% inferred"
    high, low = 100 * counts.consumed / weight, 100 * (counts.inferred - counts.consumed) / weight
    confidence = "high" if low < 0.5 else "low" if high < 0.5 else f"high {high:.0f}%, low {low:.0f}%"
    return f"{text} ({'confidence ' * spelled}{confidence})"


def typed_text(data: "DataTypes") -> str:
    """The label of the typed share: how much was only inferred, with which confidence."""
    if not data.inferred:
        return "typed"
    total = data.total or 1
    inferred, high, low = (
        f"{100 * part / total:.2f}%" for part in (data.inferred, data.consumed, data.inferred - data.consumed)
    )
    return f"typed; {inferred} inferred (confidence high {high}, low {low})"


def untyped_text(data: "DataTypes", reason: str) -> str:
    """Why samples are not typed, and in which files."""
    return f"not typed: {_with_files(data, reason)}"


def unread_text(data: "DataTypes", reason: str) -> str:
    """Why code cannot be read, and of which files."""
    return f"in code that cannot be read: {_with_files(data, reason)}"


def _with_files(data: "DataTypes", reason: str) -> str:
    files = data.untyped_files.get(reason, {})
    names = [posixpath.basename(path) or path for path in sorted(files, key=lambda path: (-files[path], path))]
    if not names or names[0].startswith("[kernel"):
        return reason
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    return f"{reason} ({', '.join(names[:_MOST_FILES])}{more})"


def untyped_advice(data: "DataTypes", *, late: bool, stored: bool = False) -> list[str]:
    """Advice for samples at instructions without a memory access (``late``: the event may stop after the access), and
    for files without types; ``stored``: those of a store, which are looked at once."""
    skids = late and data.outside.get("no memory access", 0) > 0.25 * (data.total or 1)
    if stored:
        return [_LATE_ADVICE] * skids + [_STORED_ADVICE] * bool(data.untyped_files)
    return [_LATE_ADVICE] * skids + [advice for reason, advice in _ADVICE.items() if reason in data.untyped_files]


def clash_place(clash: "Sharing") -> str:
    """The cache lines of a clash, and the evidence."""
    if clash.by_address:
        lines = f"{clash.lines:,} line{'s' if clash.lines != 1 else ''}"
        text = lines + (f", one at {clash.address:#x}" if clash.address else "") + ", by data address"
    else:
        text = f"line {clash.line}, by type: if the objects are the same"
    text += ", some of it inferred" if clash.inferred else ""
    return text + ("" if clash.cpus_known else "; by threads, since cpus were not recorded")


def clash_parties(clash: "Sharing") -> list[str]:
    """A line for each member: the threads and CPUs that write it, or only use it."""
    written = {(party.type, party.field, party.offset) for party in clash.written}
    parties = [(party, True) for party in clash.written]
    parties += [(party, False) for party in clash.used if (party.type, party.field, party.offset) not in written]
    lines = []
    for party, writes in parties[:_MOST_PARTIES]:
        name = printable(party.field) or "(whole)"
        if party.type != clash.type:
            name = f"{printable(party.type)} {name}"
        cpus = f" on cpu{'s' if len(party.cpus) > 1 else ''} {_numbers(party.cpus)}" if party.cpus else ""
        threads = f"thread{'s' if len(party.threads) > 1 else ''} {_numbers(party.threads)}"
        lines.append(f"+{party.offset:<5} {name} {'written' if writes else 'used'} by {threads}{cpus}")
    if len(parties) > _MOST_PARTIES:
        lines.append(f"and {len(parties) - _MOST_PARTIES} more")
    return lines


def clash_advice(clash: "Sharing") -> list[str]:
    """What to do about a clash."""
    size = clash.line_size
    if clash.false and clash.objects:
        advice = [f"several objects lie on one line: give each {size} bytes, or each thread a block of its own"]
    elif clash.false:
        advice = [f"put them {size} bytes apart, if they need not be together"]
    else:
        advice = ["one copy for each thread, or fewer writes, would keep the line where it is"]
    if not clash.by_address:
        advice.append("perf record --call-graph dwarf (registers) or -d (data addresses) shows which objects")
    return advice


def spread_functions(spread: "Spread") -> str:
    """The functions that use the members together, each with its share of the type's weight."""
    return "together in " + ", ".join(f"{printable(name)} ({100 * share:.0f}%)" for name, share in spread.functions)


def spread_advice(spread: "Spread") -> str:
    """What to do about members that are too far apart."""
    offsets = [offset for _name, offset, _share in spread.members]
    apart = max(offsets) - min(offsets)
    return f"they lie {apart} bytes apart on {spread.taken} lines at best; next to each other they need {spread.needed}"


def _numbers(numbers: set[int]) -> str:
    shown = ", ".join(str(number) for number in sorted(numbers)[:8])
    return shown + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
