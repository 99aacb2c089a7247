"""Rows of the table of symbols: a frame's name, the functions inlined there and its source lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from undwarf.fleet.columns import arrow, clean, numbers, table

if TYPE_CHECKING:
    import pyarrow

    from undwarf.symbols.inlines import Inlines

_NOTHING = 0xFFFFFFFF


def symbol_rows(
    ids: Any,
    frames: memoryview,
    names: Sequence[str],
    starts: Sequence[int],
    unnamed: Sequence[bool],
    inlines: "Inlines | None",
) -> "pyarrow.Table":
    """The rows of some frames, by number (I): of each its name, where its function starts, whether it has no symbol.

    ``ids`` has the hashes of all frames, ``inlines`` their chains of frames; None: there are none.
    """
    pa = arrow()
    offsets = [0]
    entries: list[int] = []
    columns = inlines.columns if inlines is not None else {}
    for frame in frames if inlines is not None else ():
        start = columns["start"][frame]
        entries.extend(range(start, start + columns["count"][frame]))
        offsets.append(len(entries))
    if inlines is None:
        offsets = [0] * (len(frames) + 1)
    texts = list(map(clean, inlines.names)) if inlines is not None else []
    files = list(map(clean, inlines.files)) if inlines is not None else []
    name_of = [columns["name"][entry] for entry in entries]
    file_of = [columns["file"][entry] for entry in entries]
    inlined = pa.StructArray.from_arrays(
        [
            pa.array([texts[one] if one != _NOTHING else None for one in name_of], pa.string()),
            pa.array([files[one] if one != _NOTHING else None for one in file_of], pa.string()),
            pa.array([min(columns["line"][entry], (1 << 31) - 1) for entry in entries], pa.int32()),
        ],
        ["name", "file", "line"],
    )
    return table(
        "symbols",
        {
            "frame": ids.take(numbers(frames)),
            "name": pa.array(list(map(clean, names)), pa.string()),
            "start": pa.array([min(start, (1 << 63) - 1) for start in starts], pa.int64()),
            "unnamed": pa.array(list(unnamed), pa.bool_()),
            "inlined": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inlined),
        },
    )
