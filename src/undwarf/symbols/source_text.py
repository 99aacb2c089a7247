"""The text of source files."""

import stat
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

_C_FAMILY = frozenset((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".m", ".mm", ".s"))


class SourceText(NamedTuple):
    """The lines of a source file as editors number them: only a line feed ends one.

    ``newer``: the file was modified after the binary. ``firsts``: the compiler's number of each line, empty if the
    numbers are the same. GCC and Clang also count a carriage return as the end of a line, wherever it stands (observed
    in their line tables; rustc and Go do not).
    """

    lines: list[str]
    newer: bool
    firsts: list[int]

    def line_of(self, number: int) -> int:
        """The editor's number of the line that has this number in debugging information; 0, for none, stays 0."""
        return bisect_right(self.firsts, number) if self.firsts else number


def read_source(path: str, binary: str, most: int) -> SourceText:
    """The text of a source file. Raises OSError if it is no regular file or has more than ``most`` bytes."""
    # Debugging information may name anything: a FIFO or a device would block.
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")
    if status.st_size > most:
        raise OSError(f"{status.st_size:,} bytes are too many")
    with open(path, encoding="utf-8", errors="replace", newline="\n") as source:
        lines = [line.removesuffix("\r") for line in source.read(most).split("\n")]
    if not lines[-1]:
        lines.pop()
    firsts: list[int] = []
    if Path(path).suffix.lower() in _C_FAMILY and any("\r" in line for line in lines):
        number = 1
        for line in lines:
            firsts.append(number)
            number += 1 + line.count("\r")
    try:
        newer = status.st_mtime > Path(binary).stat().st_mtime
    except OSError:
        newer = False
    return SourceText(lines, newer, firsts)
