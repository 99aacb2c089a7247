"""Rows of an unwind table as text or JSON."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.views.tables.dump import Binary, Rows, RowWords

SILENT = ("same", "undefined")
"""Rules of registers that are left out of the text, except for the return address."""

BATCH = 4096
"""Rows that are joined before they are written."""


def write_json(rows: "Rows", sink: TextIO) -> None:
    """Write a list with an object for each row, by address."""
    endings: dict[int, str] = {}
    words = rows.words

    def lines() -> Iterator[str]:
        for start, end, rule in rows.cut():
            ending = endings.get(rule)
            if ending is None:
                ending = endings[rule] = json.dumps(words[rule].fields())[1:]
            yield f'{{"pc": {start}, "end": {end}, {ending}'

    remaining = lines()
    sink.write("[")
    separator = "\n"
    while batch := list(islice(remaining, BATCH)):
        sink.write(separator + ",\n".join(batch))
        separator = ",\n"
    sink.write("\n]\n")


def _registers(words: "RowWords") -> str:
    texts = [f"{name}={text}" for name, text in words.registers.items() if name == "ra" or text not in SILENT]
    return " ".join(texts) + ("  signal frame" if words.signal else "")


def write(binary: "Binary", rows: "Rows", sink: TextIO) -> None:
    """Write a line for each row, by address, with the functions' names."""
    texts: dict[int, str] = {}
    words = rows.words
    starts = rows.table.starts
    number = 0
    lines: list[str] = []
    last = -1
    for start, end, rule in rows.cut():
        while number < len(starts) and starts[number] <= start:
            number += 1
        if number != last:
            last = number
            name = binary.name_at(start)
            blank = "\n" if lines or number > 1 else ""
            lines.append(f"{blank}{printable(name)} at {start:#x}\n" if name else f"{blank}{start:#x}\n")
        text = texts.get(rule)
        if text is None:
            row = words[rule]
            text = texts[rule] = f"  {row.cfa:<14} {_registers(row)}  [{row.source}]\n"
        lines.append(f"  {start:16x} {end:16x}{text}")
        if len(lines) > BATCH:
            sink.write("".join(lines))
            # Not empty: the next function is not the first.
            lines = [""]
    sink.write("".join(lines))
