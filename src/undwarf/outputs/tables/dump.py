"""Rows of an unwind table as text or JSON."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.tables.dump import Binary, Rows, RowWords

SILENT = ("same", "undefined")
"""What text leaves out of registers, but for the return address."""

BATCH = 4096
"""Rows that are joined before they are written."""


class RowOptions(NamedTuple):
    """``json``: a list of objects, one a row."""

    json: bool = False


def write(binary: "Binary", rows: "Rows", sink: TextIO, options: RowOptions) -> None:
    """All rows in ascending order."""
    if options.json:
        _write_json(rows, sink)
    else:
        _write_text(binary, rows, sink)


def _write_json(rows: "Rows", sink: TextIO) -> None:
    endings: dict[int, str] = {}
    words = rows.words

    def lines() -> Iterator[str]:
        for start, end, rule in rows.cut():
            ending = endings.get(rule)
            if ending is None:
                ending = endings[rule] = json.dumps(words[rule].fields())[1:]
            yield f'{{"pc": {start}, "end": {end}, {ending}'

    found = lines()
    sink.write("[")
    mark = "\n"
    while batch := list(islice(found, BATCH)):
        sink.write(mark + ",\n".join(batch))
        mark = ",\n"
    sink.write("\n]\n")


def _shown(words: "RowWords") -> str:
    """The registers that have something to say."""
    found = [f"{name}={text}" for name, text in words.registers.items() if name == "ra" or text not in SILENT]
    return " ".join(found) + ("  signal frame" if words.signal else "")


def _write_text(binary: "Binary", rows: "Rows", sink: TextIO) -> None:
    texts: dict[int, str] = {}
    words = rows.words
    starts = rows.table.starts
    number = 0
    held: list[str] = []
    last = -1
    for start, end, rule in rows.cut():
        while number < len(starts) and starts[number] <= start:
            number += 1
        if number != last:
            last = number
            name = binary.name_at(start)
            mark = "\n" if held or number > 1 else ""
            held.append(f"{mark}{printable(name) or 'function'} at {start:#x}\n" if name else f"{mark}{start:#x}\n")
        text = texts.get(rule)
        if text is None:
            one = words[rule]
            text = texts[rule] = f"  {one.cfa:<14} {_shown(one)}  [{one.source}]\n"
        held.append(f"  {start:16x} {end:16x}{text}")
        if len(held) > BATCH:
            sink.write("".join(held))
            held = [""]
    sink.write("".join(held))
