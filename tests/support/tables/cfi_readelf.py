"""The call frame information of a binary as readelf prints it, as an oracle."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
_CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE")
_ROW = re.compile(r"^([0-9a-f]{8,16}) (\S+)\s*(.*)$")
_NAMED = re.compile(r"r\d+ \((\w+)\)")
"""A register as the value of another: its number and its name."""
_VECTOR = re.compile(r"(xmm|v)\d+")


@dataclass
class Function:
    """One FDE's rows: (address, call frame address, {register: rule}) as printed."""

    start: int
    end: int
    rows: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)


def frames(tool: str, path: "str | Path", source: str) -> Iterator[Function]:
    """The functions of a section that ``readelf --debug-dump=frames-interp`` prints, in its order.

    It prints no row for a function without instructions, which then has the one of its CIE.
    """
    command = [tool, "-W", "--debug-dump=frames-interp", str(path)]
    initial: dict[str, list[tuple[int, str, dict[str, str]]]] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        function: Function | None = None
        rows: list[tuple[int, str, dict[str, str]]] = []
        columns: list[str] | None = None
        wanted = False
        for line in process.stdout:
            if line.startswith("Contents of the "):
                wanted = f".{source} " in line or f".z{source} " in line
            if not wanted:
                continue
            if found := _FDE.match(line):
                if function is not None:
                    yield function
                function = Function(int(found[2], 16), int(found[3], 16))
                function.rows = [(function.start, *row[1:]) for row in initial.get(found[1], [])]
                rows, columns = [], None
            elif found := _CIE.match(line):
                if function is not None:
                    yield function
                function = None
                rows = initial[found[1]] = []
                columns = None
            elif line.lstrip().startswith("LOC "):
                columns = line.split()[2:]
            elif columns is not None and (found := _ROW.match(line)) and found[2] != "ZERO":
                printed = _NAMED.sub(r"\1", found[3]).split()
                rows.append((int(found[1], 16), found[2], dict(zip(columns, printed, strict=True))))
                if function is not None:
                    function.rows = rows
        if function is not None:
            yield function


def plain(cfa: str, registers: dict[str, str]) -> tuple[str, dict[str, str]]:
    """A printed row without what says nothing: registers that are unchanged or never had a rule, and vector registers,
    which rules leave out."""
    kept = {
        name: rule
        for name, rule in registers.items()
        if (rule not in ("u", "s") or name == "ra") and not _VECTOR.fullmatch(name)
    }
    return cfa, kept


@dataclass
class SFrameFunction:
    """One function's rows: (address, call frame address, frame pointer, return address) as printed, an outermost row
    with three times ``undefined``. ``masked`` rows repeat; their addresses are those of the first block."""

    start: int
    size: int
    masked: bool = False
    rows: list[tuple[int, str, str, str]] = field(default_factory=list)


_INDEX = re.compile(r"^\s+func idx \[\d+\]: pc = 0x([0-9a-f]+), size = (\d+) bytes")
_FRAME_ROW = re.compile(r"^\s+([0-9a-f]{16})\s+(.*)$")


def sframe_rows(tool: str, path: "str | Path") -> Iterator[SFrameFunction]:
    """The functions that ``readelf --sframe`` prints."""
    done = subprocess.run([tool, "--sframe", str(path)], capture_output=True, text=True, check=False)
    function: SFrameFunction | None = None
    for line in done.stdout.splitlines():
        found = _INDEX.match(line)
        if found:
            if function is not None:
                yield function
            function = SFrameFunction(int(found[1], 16), int(found[2]))
        elif function is not None and line.lstrip().startswith("STARTPC"):
            function.masked = "[m]" in line
        elif function is not None:
            row = _FRAME_ROW.match(line)
            if row:
                pc = int(row[1], 16) + (function.start if function.masked else 0)
                words = row[2].split()
                if words[0] == "RA":
                    words = ["undefined"] * 3
                function.rows.append((pc, words[0], words[1], words[2]))
    if function is not None:
        yield function
