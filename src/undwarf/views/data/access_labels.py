"""Sort keys from the memory access of a sample: level, snoop, TLB, lock, latency, page size, address, variable.

Named as in ``perf report --sort`` and ``perf mem report``.
"""

from collections.abc import Callable, Mapping, Sequence

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.profile.grouping import Pairs, halves, look_up
from undwarf.profile.model import NONE, Column, Profile
from undwarf.views.data.data_source import TEXTS
from undwarf.views.kernels.weights import part_of_weight

__all__ = [
    "LATENCIES",
    "MEMORY_KEYS",
    "NEEDED",
    "SUMMED",
    "DataPlace",
    "SampleLabels",
    "access_labels",
    "latency_of",
]

LATENCIES = {
    "local_weight": 0, "weight": 0, "local_ins_lat": 1, "ins_lat": 1, "local_retire_lat": 2, "retire_lat": 2,
}  # fmt: skip  # a table
"""Keys of latencies: which part of the weight they are."""
SUMMED = frozenset(("weight", "ins_lat", "retire_lat"))
"""Keys that give the sum over a row's samples in place of one sample's number."""
_ADDRESSES = ("symbol_daddr", "dso_daddr", "dcacheline")
MEMORY_KEYS = (*TEXTS, "phys_daddr", *LATENCIES, *_ADDRESSES)
NEEDED = {
    "data_src": ("data sources", "perf mem record, or perf record -d with an event of memory accesses, records them"),
    "phys_addr": ("physical addresses", "perf record --phys-data records them"),
    "data_page_size": ("data page sizes", "perf record --data-page-size records them"),
    "code_page_size": ("code page sizes", "perf record --code-page-size records them"),
    "weight": ("weights", "perf record -W with an event that has latencies records them"),
    "addr": ("data addresses", "perf record -d records them"),
}
"""What a column is of, and what records it."""

SampleLabels = Mapping[str, tuple[Column, Sequence[str]]]
"""By sort key: (index of each sample's label (I), NONE for a sample without a frame; the labels)."""
Place = tuple[str, str]
"""(file of a data address, variable there with what is added to it); either may be empty."""
DataPlace = Callable[[int, int], Place]
"""The place of a data address in an address space."""


def latency_of(profile: Profile, part: int) -> Column:
    """A latency of each sample (Q); only for profiles with weights."""
    columns = profile.samples.columns
    packed = zeros("B", max(len(profile.events), 1))
    for number, event in enumerate(profile.events):
        packed[number] = event.packed
    made: Column = part_of_weight(columns.weight, columns.event, packed, part)
    return made


def access_labels(profile: Profile, keys: tuple[str, ...], place: DataPlace) -> SampleLabels:
    """Labels for those of ``keys`` that are of the samples' memory accesses.

    ``place`` names data addresses. Raises UsageError where no event recorded what a key is of.
    """
    known: dict[str, tuple[Column, list[int]]] = {}
    return {key: _label(profile, key, place, known) for key in keys if key in MEMORY_KEYS}


def _column(profile: Profile, key: str, name: str) -> Column:
    found: Column | None = getattr(profile.samples.columns, name)
    if found is None:
        what, how = NEEDED[name]
        raise UsageError(f"cannot sort by {key}", f"the recording has no {what}", how)
    return found


def _label(
    profile: Profile, key: str, place: DataPlace, known: dict[str, tuple[Column, list[int]]]
) -> tuple[Column, list[str]]:
    if key in _ADDRESSES:
        return _by_address(profile, key, place)
    part = LATENCIES.get(key)
    name = TEXTS[key][0] if key in TEXTS else "phys_addr" if part is None else "weight"
    at = f"{name}{part}"
    if at not in known:
        column = _column(profile, key, name)
        known[at] = numbered(latency_of(profile, part) if part is not None else column)
    numbers, values = known[at]
    make: Callable[[int], str] = TEXTS[key][1] if key in TEXTS else str if part is not None else _physical
    return _merged(numbers, [make(value) for value in values])


def _physical(address: int) -> str:
    return f"[.] {address:#018x}" if address else "N/A"


def numbered(column: Column, shift: int = 0) -> tuple[Column, list[int]]:
    """(number of each value of a column of typecode Q, the values)."""
    pairs = Pairs()
    numbers = pairs.column(*halves(column, shift))
    return numbers, [(high << 32 | low) << shift for high, low in zip(pairs.high(), pairs.low(), strict=True)]


def _merged(numbers: Column, texts: list[str]) -> tuple[Column, list[str]]:
    """The same with each text once."""
    known: dict[str, int] = {}
    of = zeros("I", max(len(texts), 1))
    for number, text in enumerate(texts):
        of[number] = known.setdefault(text, len(known))
    return look_up(numbers, of), list(known)


def _by_address(profile: Profile, key: str, place: DataPlace) -> tuple[Column, list[str]]:
    columns = profile.samples.columns
    low = profile.line_size.bit_length() - 1 if key == "dcacheline" else 0
    numbers, values = numbered(_column(profile, key, "addr"), low)
    spaces = columns.space if columns.space is not None else zeros("I", len(numbers))
    pairs = Pairs()
    both = pairs.column(spaces, numbers)
    texts = []
    for space, number in zip(pairs.high(), pairs.low(), strict=True):
        address = values[number]
        file, symbol = place(space, address) if space != NONE and address else ("", "")
        if key == "dso_daddr":
            texts.append(file or "[unknown]")
        else:
            mark = "[.]" if address < 1 << 63 else "[k]"
            texts.append(f"{mark} {symbol or f'{address:#018x}'}")
    return _merged(both, texts)
