"""Rows of an unwind table as text or JSON."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.terminal.escape import printable, without_surrogates

if TYPE_CHECKING:
    from undwarf.views.tables.dump import Binary, Rows, RowWords

SILENT = ("same", "undefined")
"""Rules of registers that are left out of the text, except for the return address."""

BATCH = 4096
"""Rows that are joined before they are written."""


def write_json(path: str, rows: "Rows", sink: TextIO) -> None:
    """Write one JSON object with a line for each row, by address."""
    endings: dict[int, str] = {}
    words = rows.words

    def lines() -> Iterator[str]:
        for start, end, rule in rows.cut():
            ending = endings.get(rule)
            if ending is None:
                ending = endings[rule] = _ending(words[rule])
            yield f'{{"address": "{start:#x}", "end_address": "{end:#x}", {ending}'

    remaining = lines()
    head = json.dumps({"schema": "undwarf/tables-dump", "version": 1, "binary": without_surrogates(path)})
    sink.write(f'{head[:-1]}, "rows": [')
    separator = "\n"
    while batch := list(islice(remaining, BATCH)):
        sink.write(separator + ",\n".join(batch))
        separator = ",\n"
    sink.write("\n]}\n")


def _ending(words: "RowWords") -> str:
    """What follows the addresses of a row."""
    registers = {name: text for name, text in words.registers.items() if name != "ra"}
    return json.dumps(
        {
            "cfa": words.cfa,
            "ra": words.registers["ra"],
            "registers": registers,
            "signal": words.signal,
            "source": words.source,
        }
    )[1:]


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
