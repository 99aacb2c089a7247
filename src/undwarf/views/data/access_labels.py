"""Sort keys and fields of a sample's memory access: level, snoop, TLB, lock, latency, page size, address, variable.

Named as in ``perf report --sort``, ``perf mem report`` and ``perf script -F``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.perfdata.data_source import blocked, level, locked, page_size, snoop, tlb
from undwarf.profile.grouping import Pairs, halves, look_up
from undwarf.profile.labels import UNKNOWN
from undwarf.profile.model import NONE, Column, Profile
from undwarf.views.kernels.weights import part_of_weight

_TEXTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "mem": ("data_src", level),
    "snoop": ("data_src", snoop),
    "tlb": ("data_src", tlb),
    "locked": ("data_src", locked),
    "blocked": ("data_src", blocked),
    "data_page_size": ("data_page_size", page_size),
    "code_page_size": ("code_page_size", page_size),
}
"""By key: the column of the samples, and the function that gives the text of a value."""
LATENCIES = {
    "local_weight": 0, "weight": 0, "local_ins_lat": 1, "ins_lat": 1, "local_retire_lat": 2, "retire_lat": 2,
}  # fmt: skip
"""By key: the index of this latency within a weight."""
SUMMED = frozenset(("weight", "ins_lat", "retire_lat"))
"""Keys that show the sum over the samples of a row, instead of one sample's latency."""
_ADDRESSES = ("symbol_daddr", "dso_daddr", "dcacheline")
MEMORY_KEYS = (*_TEXTS, "phys_daddr", *LATENCIES, *_ADDRESSES)
NEEDED = {
    "data_src": ("data sources", "perf mem record, or perf record -d with an event of memory accesses, records them"),
    "phys_addr": ("physical addresses", "perf record --phys-data records them"),
    "data_page_size": ("data page sizes", "perf record --data-page-size records them"),
    "code_page_size": ("code page sizes", "perf record --code-page-size records them"),
    "weight": ("weights", "perf record -W with an event that has latencies records them"),
    "addr": ("data addresses", "perf record -d records them"),
}
"""By column: what it holds, and how to record it."""

SampleLabels = Mapping[str, tuple[Column, Sequence[str]]]
"""By sort key: (index of each sample's label (I), NONE for a sample without a frame; the labels)."""
DataPlace = Callable[[int, int], tuple[str, str]]
"""Resolves a data address: (address space, address) to (file, variable with what is added to it); either may be
empty."""


def latency_of(profile: Profile, part: int) -> Column:
    """A latency of each sample (Q); only for profiles with weights."""
    columns = profile.samples.columns
    packed = zeros("B", max(len(profile.events), 1))
    for number, event in enumerate(profile.events):
        packed[number] = event.packed
    latencies: Column = part_of_weight(columns.weight, columns.event, packed, part)
    return latencies


def access_values(profile: Profile, fields: Collection[str]) -> dict[str, tuple[Column, list[int]]]:
    """The recorded details of the samples' memory accesses, for those of ``fields`` that the profile has.

    (index of each sample's value (I), the values); of a latency (each sample's (Q), nothing).
    """
    columns = profile.samples.columns
    found: dict[str, tuple[Column, list[int]]] = {}
    for name in ("data_src", "data_page_size", "code_page_size"):
        column = getattr(columns, name)
        if name in fields and column is not None:
            found[name] = _distinct(column)
    for name in ("weight", "ins_lat", "retire_lat"):
        if name in fields and columns.weight is not None:
            found[name] = (latency_of(profile, LATENCIES[name]), [])
    return found


def access_labels(profile: Profile, keys: tuple[str, ...], place: DataPlace) -> SampleLabels:
    """Labels for those of ``keys`` that describe the samples' memory accesses; ``place`` resolves data addresses.

    Raises UsageError if no event recorded what a key needs.
    """
    known: dict[str, tuple[Column, list[int]]] = {}
    return {key: _label(profile, key, place, known) for key in keys if key in MEMORY_KEYS}


def _column(profile: Profile, key: str, name: str) -> Column:
    column: Column | None = getattr(profile.samples.columns, name)
    if column is None:
        what, how = NEEDED[name]
        raise UsageError(f"cannot sort by {key}", f"the recording has no {what}", how)
    return column


def _label(
    profile: Profile, key: str, place: DataPlace, known: dict[str, tuple[Column, list[int]]]
) -> tuple[Column, list[str]]:
    if key in _ADDRESSES:
        return _by_address(profile, key, place)
    part = LATENCIES.get(key)
    name = _TEXTS[key][0] if key in _TEXTS else "phys_addr" if part is None else "weight"
    source = f"{name}{part}"
    if source not in known:
        column = _column(profile, key, name)
        known[source] = _distinct(latency_of(profile, part) if part is not None else column)
    index, values = known[source]
    text_of: Callable[[int], str] = _TEXTS[key][1] if key in _TEXTS else str if part is not None else _physical
    return _merged(index, [text_of(value) for value in values])


def _physical(address: int) -> str:
    return f"[.] {address:#018x}" if address else "N/A"


def _distinct(column: Column, shift: int = 0) -> tuple[Column, list[int]]:
    """(index of each entry's value, the distinct values) of a column (Q); without the lowest ``shift`` bits."""
    pairs = Pairs()
    index = pairs.column(*halves(column, shift))
    return index, [(high << 32 | low) << shift for high, low in zip(pairs.high(), pairs.low(), strict=True)]


def _merged(index: Column, texts: list[str]) -> tuple[Column, list[str]]:
    """The same labels with equal texts merged."""
    known: dict[str, int] = {}
    merged = zeros("I", max(len(texts), 1))
    for number, text in enumerate(texts):
        merged[number] = known.setdefault(text, len(known))
    return look_up(index, merged), list(known)


def _by_address(profile: Profile, key: str, place: DataPlace) -> tuple[Column, list[str]]:
    columns = profile.samples.columns
    shift = profile.line_size.bit_length() - 1 if key == "dcacheline" else 0
    index, addresses = _distinct(_column(profile, key, "addr"), shift)
    spaces = columns.space if columns.space is not None else zeros("I", len(index))
    pairs = Pairs()
    label = pairs.column(spaces, index)
    texts = []
    for space, number in zip(pairs.high(), pairs.low(), strict=True):
        address = addresses[number]
        file, symbol = place(space, address) if space != NONE and address else ("", "")
        if key == "dso_daddr":
            texts.append(file or UNKNOWN)
        else:
            mark = "[.]" if address < 1 << 63 else "[k]"
            texts.append(f"{mark} {symbol or f'{address:#018x}'}")
    return _merged(label, texts)
