"""Decodes the parts of a page, as docs/reference/page-data.md describes them, and adds up what a report has."""

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

NONE = 0xFFFFFFFF
_WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
_PART = re.compile(r'<script type="text/plain" id="part-([a-z-]+)">([A-Za-z0-9+/=]*)</script>')


@dataclass
class Part:
    """A decoded part."""

    values: dict[str, Any]
    columns: dict[str, list[int]]

    def __getattr__(self, name: str) -> Any:
        return self.columns[name] if name in self.columns else self.values[name]


def decode(data: bytes) -> Part:
    """The part."""
    plain = zlib.decompress(data)
    length = int.from_bytes(plain[:4], "little")
    assert (4 + length) % 8 == 0
    values = json.loads(plain[4 : 4 + length])
    body = plain[4 + length :]
    return Part(values, {name: _column(body, place) for name, place in values["columns"].items()})


def _column(body: bytes, place: dict[str, Any]) -> list[int]:
    count, width = place["count"], _WIDTHS[place["type"]]
    assert place["at"] % 8 == 0
    planes = [body[place["at"] + plane * count : place["at"] + (plane + 1) * count] for plane in range(width)]
    values = [int.from_bytes(bytes(one), "little") for one in zip(*planes, strict=True)]
    if place["delta"]:
        before = 0
        for index, coded in enumerate(values):
            before = (before + ((coded >> 1) ^ -(coded & 1))) % (1 << 8 * width)
            values[index] = before
    return values


def parts_of(page: str) -> dict[str, Part]:
    """The parts that are in a page."""
    return {name: decode(base64.b64decode(text)) for name, text in _PART.findall(page)}


def rows_of(part: Part, keys: tuple[str, ...], measure: int = 0) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """By the values of report's sort keys: (self weight, weight with callees, samples), as report --json has them."""
    events = set(part.measures[measure]["events"])
    own: Counter[tuple[Any, ...]] = Counter()
    samples: Counter[tuple[Any, ...]] = Counter()
    total: Counter[tuple[Any, ...]] = Counter()
    of_frame = ("sym", "dso", "srcline", "srcfile")
    for row in range(len(part.row_node)):
        if part.row_event[row] not in events:
            continue
        thread = part.threads[part.row_thread[row]]
        known = {
            "tid": thread["tid"],
            "comm": thread["name"],
            "pid": part.processes[thread["process"]]["pid"],
            "cpu": part.row_cpu[row] if part.row_cpu[row] != 0xFFFF else None,
            "event": part.events[part.row_event[row]]["name"],
        }
        # A report has the kernel's and other code of equal texts in two rows.
        on_stack = []
        node = part.row_node[row]
        while node != NONE:
            values = {**known, **_of_frame(part, part.node_frame[node])}
            on_stack.append((tuple(values[key] for key in keys), _is_kernel(part, part.node_frame[node])))
            node = part.node_parent[node]
        if not on_stack:
            on_stack = [(tuple({**known, **dict.fromkeys(of_frame)}[key] for key in keys), False)]
        own[on_stack[0][0]] += part.row_weight[row]
        samples[on_stack[0][0]] += part.row_count[row]
        for key, _kernel in set(on_stack) if set(of_frame).intersection(keys) else on_stack[:1]:
            total[key] += part.row_weight[row]
    return {key: (own[key], total[key], samples[key]) for key in total}


def _is_kernel(part: Part, frame: int) -> bool:
    image = part.function_image[part.frame_function[frame]]
    return image != NONE and part.images[image]["kind"] == "kernel"


def _of_frame(part: Part, frame: int) -> dict[str, Any]:
    function, file, line = part.frame_function[frame], part.frame_file[frame], part.frame_line[frame]
    image = part.function_image[function]
    name = part.files[file] if file != NONE else None
    return {
        "sym": part.functions[function],
        "dso": part.images[image]["path"] if image != NONE else None,
        "srcfile": name,
        "srcline": f"{name.rpartition('/')[2]}:{line}" if name else None,
    }


def reported(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """The rows of an event of report --json, by their keys; rows of equal keys are added up."""
    found: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    for row in rows:
        key = tuple(row[one] for one in keys)
        before = found.get(key, (0, 0, 0))
        found[key] = (before[0] + row["self"], before[1] + row["total"], before[2] + (row["samples"] or 0))
    return found
