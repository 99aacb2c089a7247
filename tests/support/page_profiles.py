"""Parts of pages that no recording has: small ones with known numbers, and hostile ones."""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

NONE = 0xFFFFFFFF
_WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}

Column = tuple[str, Sequence[int]]
"""A column's type ("u8", "u16", "u32", "u64") and values."""


class PagePart(NamedTuple):
    """The JSON of a part, and its columns."""

    json: dict[str, Any]
    columns: Mapping[str, Column] = MappingProxyType({})


def encode(part: PagePart) -> bytes:
    """A part as ``docs/reference/page-data.md`` describes it, without delta coding."""
    places: dict[str, Any] = {}
    data = b""
    for name, (kind, values) in part.columns.items():
        data += b"\0" * (-len(data) % 8)
        places[name] = {"at": len(data), "count": len(values), "type": kind, "delta": False}
        for plane in range(_WIDTHS[kind]):
            data += bytes(value >> 8 * plane & 0xFF for value in values)
    text = json.dumps({**part.json, "columns": places}).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return zlib.compress(struct.pack("<I", len(text)) + text + data)


class Frame(NamedTuple):
    """A frame: function, address, file and line, number of functions it is inlined into, whether it is a caller."""

    function: int
    address: int
    file: int = NONE
    line: int = 0
    inline: int = 0
    caller: bool = False


class ProfileBuilder:
    """Collects the tables of part ``profile``."""

    def __init__(self, title: str = "particles 40000", served: bool = False) -> None:
        self.title = title
        self.served = served
        self.images: list[dict[str, Any]] = []
        self.functions: list[tuple[str | None, int, int]] = []
        self.files: list[str] = []
        self.threads: list[dict[str, Any]] = []
        self.processes: list[dict[str, Any]] = [{"pid": 4242, "name": "particles"}]
        self.gaps: list[dict[str, Any]] = [
            {"reason": "root", "description": "whole", "image": None, "advice": None},
        ]
        self.events = [{"name": "task-clock:u", "unit": "ns"}]
        self.measures = [{"name": "task-clock:u", "unit": "ns", "events": [0]}]
        self.frames: dict[Frame, int] = {}
        self.children: dict[int, dict[int, int]] = {}
        self.rows: list[tuple[int, ...]] = []
        self.nodes = 0
        self.notes: list[str] = []
        self.command = "/demo/particles 40000"

    def image(self, name: str, kind: str = "program", path: str | None = None) -> int:
        self.images.append({"name": name, "path": path or f"/demo/{name}", "build_id": None, "kind": kind})
        return len(self.images) - 1

    def function(self, name: str | None, image: int, address: int) -> int:
        self.functions.append((name, image, address))
        return len(self.functions) - 1

    def node(self, stack: Sequence[Frame]) -> int:
        """The node of a stack, outermost frame first."""
        node = NONE
        for frame in stack:
            number = self.frames.setdefault(frame, len(self.frames))
            below = self.children.setdefault(node, {})
            if number not in below:
                below[number] = self.nodes
                self.nodes += 1
            node = below[number]
        return node

    def row(
        self,
        time: int,
        node: int,
        *,
        thread: int = 0,
        cpu: int = 0,
        event: int = 0,
        gap: int = 0,
        count: int = 1,
        weight: int = 1000000,
    ) -> None:
        self.rows.append((time, thread, cpu, event, node, gap, count, weight))

    def part(self) -> PagePart:
        # Nodes were numbered as they came: now depth first.
        order: dict[int, int] = {NONE: NONE}
        parents: list[int] = []
        frames: list[int] = []
        pending = [(NONE, frame, node) for frame, node in reversed(self.children.get(NONE, {}).items())]
        while pending:
            parent, frame, node = pending.pop()
            order[node] = len(parents)
            parents.append(order[parent])
            frames.append(frame)
            pending += [(node, below, child) for below, child in reversed(self.children.get(node, {}).items())]
        rows = sorted(self.rows)
        f = list(self.frames)
        end = max((row[0] for row in rows), default=0) + 1
        known = [row for row in rows if self.gaps[row[5]]["reason"] not in ("none", "no_dump", "unstated")]
        whole = sum(row[6] for row in rows if row[5] == 0)
        unwound = sum(row[6] for row in known)
        data = {
            "version": 1,
            "title": self.title,
            "recording": {
                "path": "perf.data",
                "host": "laptop",
                "kernel": "6.12.0",
                "cpu": "x86-64",
                "command": self.command,
                "recorded": "2026-11-28T20:00:00",
                "undwarf": "0.0",
            },
            "served": self.served,
            "time_unit_ns": 1000000,
            "time_start_ns": 5000000000,
            "time_end_ns": 5000000000 + end * 1000000,
            "merged_time_ns": 0,
            "events": self.events,
            "measures": self.measures,
            "images": self.images,
            "functions": [name for name, _, _ in self.functions],
            "files": self.files,
            "processes": self.processes,
            "threads": self.threads or [{"tid": 4242, "process": 0, "name": "particles", "idle": False}],
            "gaps": self.gaps,
            "quality": {
                "samples": sum(row[6] for row in rows),
                "unwound": unwound,
                "whole": whole,
                "share": whole / unwound if unwound else 1.0,
                "inferred": 0,
                "without_user": 0,
                "as_recorded": 0,
                "without_chain": 0,
                "unstated": 0,
                "copied_code": 0,
                "reasons": {},
                "gaps": [],
            },
            "marks": [{"time": end // 2, "kind": "lost", "count": 7, "text": "7 samples lost"}],
            "switches": None,
            "origin": None,
            "notes": self.notes,
        }
        columns: dict[str, Column] = {
            "node_parent": ("u32", parents),
            "node_frame": ("u32", frames),
            "frame_function": ("u32", [one.function for one in f]),
            "frame_image": ("u32", [self.functions[one.function][1] if one.function != NONE else NONE for one in f]),
            "frame_file": ("u32", [one.file for one in f]),
            "frame_line": ("u32", [one.line for one in f]),
            "frame_address": ("u64", [one.address & (1 << 52) - 1 for one in f]),
            "frame_inline": ("u8", [one.inline for one in f]),
            "frame_flags": ("u8", [2 if one.caller else 0 for one in f]),
            "function_image": ("u32", [image for _, image, _ in self.functions]),
            "function_address": ("u64", [address & (1 << 52) - 1 for _, _, address in self.functions]),
            "function_flags": ("u8", [1 if name is None else 0 for name, _, _ in self.functions]),
        }
        names = ("time", "thread", "cpu", "event", "node", "gap", "count", "weight")
        kinds = ("u32", "u32", "u16", "u8", "u32", "u16", "u32", "u64")
        for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            values = [row[i] for row in rows]
            columns[f"row_{name}"] = (kind, [order[value] for value in values] if name == "node" else values)
        return PagePart(data, columns)


SOURCE = """// Particles that move, and are counted by cell.
#include "particles.h"

static inline float clamp(float x)
{
\treturn x < 0 ? 0 : x > 1 ? 1 : x;
}

void move(struct particle *p, int n, float dt)
{
\tfor (int i = 0; i < n; i++) {
\t\tp[i].x = clamp(p[i].x + dt * p[i].vx);
\t\tp[i].y = clamp(p[i].y + dt * p[i].vy);
\t\tp[i].steps++;
\t}
}

int main(int argc, char **argv)
{
\tfor (int step = 0; step < STEPS; step++)
\t\tmove(particles, N, 0.01f);
\treturn report("</script><script>alert(1)</script>");
}
"""

INSTRUCTIONS: list[list[Any]] = [
    [0x00, "test   %esi,%esi", 0, None, None],
    [0x02, "jle    401240 <move+0x40>", 0, 0x40, None],
    [0x04, "mov    %rdi,%rax", 0, None, None],
    [0x08, "movss  0x10(%rax),%xmm1", 1, None, [[7, 17, "struct particle", "vx", 16]]],
    [0x0C, "mulss  %xmm0,%xmm1", 1, None, None],
    [0x10, "addss  (%rax),%xmm1", 1, None, [[7, 13, "struct particle", "x", 0]]],
    [0x14, "comiss %xmm1,%xmm2", 2, None, None],
    [0x18, "ja     401220 <move+0x20>", 2, 0x20, None],
    [0x1C, "minss  %xmm3,%xmm1", 2, None, None],
    [0x20, "movss  %xmm1,(%rax)", 1, None, [[13, 19, "struct particle", "x", 0]]],
    [0x24, "movss  0x14(%rax),%xmm1", 3, None, [[7, 17, "struct particle", "vy", 20]]],
    [0x28, "mulss  %xmm0,%xmm1", 3, None, None],
    [0x2C, "addss  0x4(%rax),%xmm1", 3, None, [[7, 16, "struct particle", "y", 4]]],
    [0x30, "movss  %xmm1,0x4(%rax)", 3, None, [[13, 22, "struct particle", "y", 4]]],
    [0x34, "incl   0x20(%rax)", 4, None, [[7, 17, "struct particle", "steps", 32]]],
    [0x38, "add    $0x40,%rax", 0, None, None],
    [0x3C, "jne    401208 <move+0x8>", 0, 0x08, None],
    [0x40, "ret", 5, None, None],
]


def particles() -> dict[str, PagePart]:
    """A program with source, assembly and types; samples of 1 ms: 70 in ``move``, 20 in ``clamp``, 10 in ``report``.

    ``clamp`` is inlined into ``move``; ``main`` calls both.
    """
    builder = ProfileBuilder()
    program = builder.image("particles")
    libc = builder.image("libc.so.6", "library", "/lib/libc.so.6")
    kernel = builder.image("[kernel.kallsyms]", "kernel", "[kernel.kallsyms]")
    start = builder.function("_start", program, 0x401000)
    main = builder.function("main", program, 0x401100)
    move = builder.function("move", program, 0x401200)
    clamp = builder.function("clamp", program, 0)
    report = builder.function("report", libc, 0x8000)
    unknown = builder.function(None, libc, 0x9000)
    fault = builder.function("exc_page_fault", kernel, 0xFFFFFFFF81000000)
    builder.files = ["/src/particles.c", "/src/report.c"]
    builder.threads = [
        {"tid": 4242, "process": 0, "name": "particles", "idle": False},
        {"tid": 4243, "process": 0, "name": "worker", "idle": False},
        {"tid": 0, "process": 0, "name": "swapper", "idle": True},
    ]
    builder.gaps.append(
        {
            "reason": "truncated",
            "description": "the stack dump ends",
            "image": libc,
            "advice": "record with a larger stack dump: perf record --call-graph dwarf,16384",
        }
    )
    base = [Frame(start, 0x401020, caller=True), Frame(main, 0x401150, 0, 21, caller=True)]
    accesses: list[dict[str, Any]] = []
    row_access: list[tuple[int, int]] = []

    def access(offset: int, member: str, kind: str) -> int:
        entry = {"type": 0, "offset": offset, "member": member, "kind": kind, "reason": None}
        if entry not in accesses:
            accesses.append(entry)
        return accesses.index(entry)

    accesses.append({"type": None, "offset": 0, "member": None, "kind": "load", "reason": "no debug information"})
    lines = {0: (0, 11), 1: (0, 12), 2: (0, 6), 3: (0, 13), 4: (0, 14), 5: (0, 16)}
    members = {
        0x10: ("vx", 16, "load"),
        0x14: ("x", 0, "load"),
        0x24: ("x", 0, "store"),
        0x2C: ("y", 4, "load"),
        0x30: ("y", 4, "store"),
        0x34: ("steps", 32, "both"),
    }
    hot = [0x0C] * 30 + [0x10] * 12 + [0x28] * 14 + [0x34] * 10 + [0x38] * 4
    inlined = [0x14] * 12 + [0x1C] * 8
    time = 0
    for i, offset in enumerate([value for pair in zip(hot[:20], inlined, strict=True) for value in pair] + hot[20:]):
        line = next(one[2] for one in INSTRUCTIONS if one[0] == offset)
        if line == 2:
            stack = [Frame(move, 0x401200 + offset, 0, 12), Frame(clamp, 0x401200 + offset, 0, 6, 1)]
        else:
            stack = [Frame(move, 0x401200 + offset, *lines[line])]
        builder.row(time, builder.node([*base, *stack]), thread=i % 2, cpu=i % 2)
        member = members.get(offset)
        row_access.append((time, access(member[1], member[0], member[2]) if member else NONE))
        time += 1
    for i in range(10):
        stack = (
            [Frame(report, 0x8010, 1, 5)]
            if i < 6
            else [Frame(report, 0x8020, 1, 7, caller=True), Frame(unknown, 0x9004)]
        )
        builder.row(time, builder.node([*base, *stack] if i < 4 else stack), gap=0 if i < 4 else 1)
        row_access.append((time, 0))
        time += 1
    builder.row(time, builder.node([Frame(fault, 0xFFFFFFFF81000010)]), thread=2)
    row_access.append((time, NONE))
    code = PagePart(
        {
            "problem": None,
            "functions": {
                str(move): {
                    "start": "0x401200",
                    "end": "0x401241",
                    "image": program,
                    "file": 0,
                    "first_line": 9,
                    "instructions": INSTRUCTIONS,
                    "problem": None,
                },
                str(report): {
                    "start": None,
                    "end": None,
                    "image": libc,
                    "file": None,
                    "first_line": 0,
                    "instructions": [],
                    "problem": "/lib/libc.so.6 is not here",
                },
            },
            "lines": [[0, 11, []], [0, 12, []], [0, 12, ["clamp"]], [0, 13, []], [0, 14, []], [0, 16, []]],
            "files": [],
            "left_out": 0,
            "sources": {"0": {"first": 1, "text": SOURCE.split("\n"), "problem": None}},
        }
    )
    particle = {
        "name": "struct particle",
        "size": 64,
        "kind": "struct",
        "drawn": True,
        "one_object": False,
        "members": [
            {
                "name": path.rpartition(".")[2],
                "path": path,
                "type": type_,
                "offset": offset,
                "size": size,
                "bits": None,
                "depth": depth,
                "repeat": repeat,
                "elements": [],
                "within_array": False,
            }
            for path, type_, offset, size, depth, repeat in (
                ("x", "float", 0, 4, 0, 1),
                ("y", "float", 4, 4, 0, 1),
                ("kind", "char", 8, 1, 0, 1),
                ("vx", "float", 16, 4, 0, 1),
                ("vy", "float", 20, 4, 0, 1),
                ("steps", "int", 32, 4, 0, 1),
                ("last", "struct cell", 36, 8, 0, 1),
                ("last.row", "int", 36, 4, 1, 1),
                ("last.column", "int", 40, 4, 1, 1),
                ("trace1", "int", 44, 4, 0, 5),
            )
        ],
        "holes": [[9, 7], [24, 8]],
    }
    types = PagePart(
        {"problem": None, "line_size": 64, "types": [particle], "accesses": accesses, "sharing": None, "advice": []},
        {"row_access": ("u32", [value for _, value in sorted(row_access)])},
    )
    return {"profile": builder.part(), "code": code, "types": types}
