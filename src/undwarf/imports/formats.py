"""Which format a profile of another tool has: recognised by its contents, never by its name.

The rules, in this order; what follows none of them is refused:

* *speedscope*: it begins with ``{`` and a key of JSON, which must be a file of speedscope then.
* *pprof*: it begins with a field of pprof's ``Profile``, and has a byte that no text has (below 9) among the first 64.
* *perf-script*: its first line, not counting blank ones and those that begin with ``#``, is a frame (a tab and an
  address), or is followed by one, or has a time and an event, or a time and ``PERF_RECORD_``.
* *folded*: its first lines (64, or all) end in a blank and a number.

What gzip has compressed is unpacked first.
"""

import re
from collections.abc import Callable
from typing import Any, Literal

from undwarf.errors import UnreadableInput
from undwarf.imports import folded, perf_script, pprof, speedscope
from undwarf.perfdata.header import known_kind

Format = Literal["folded", "pprof", "perf-script", "speedscope"]
READERS: dict[Format, Callable[..., Any]] = {
    "folded": folded.read,
    "pprof": pprof.read,
    "perf-script": perf_script.read,
    "speedscope": speedscope.read,
}
HEAD = 1 << 20
"""The first bytes of a file, which decide."""
_LINES = 64
_BINARY = bytes(range(9))
_WIRES = {1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 0, 8: 0, 9: 0, 10: 0, 11: 2, 12: 0, 13: 2, 14: 0, 15: 0}
"""The wire type of each field of pprof's Profile."""
_JSON = re.compile(rb'\s*\{\s*"')
_FOLDED = re.compile(rb".*[ \t]\d+(?:\.\d*)?$")
_FRAME = re.compile(rb"\t *[0-9a-f]{1,16}(?: |$)")
_SIDE_BAND = re.compile(rb".*[ \t]\d{1,10}\.\d{1,9}: PERF_RECORD_[A-Z]")


def recognised(head: bytes, path: str) -> Format:
    """The format of a file with these first bytes (``HEAD``, or all).

    Raises UnreadableInput, which says what was looked for, if it is none of them.
    """
    if _JSON.match(head):
        return "speedscope"
    if any(byte in _BINARY for byte in head[:64]):
        if _WIRES.get(head[0] >> 3) == head[0] & 7:
            return "pprof"
        raise _refusal(head, path)
    lines = _first_lines(head)
    if lines and _is_script(lines):
        return "perf-script"
    if lines and all(map(_FOLDED.match, lines)):
        return "folded"
    raise _refusal(head, path)


def _first_lines(head: bytes) -> list[bytes]:
    """The first lines but for blank ones and comments; the last one may be cut off."""
    found = head.splitlines()
    if len(found) > 1 and len(head) >= HEAD:
        found.pop()
    return [line for line in found if line.strip() and not line.startswith(b"#")][:_LINES]


def _is_script(lines: list[bytes]) -> bool:
    if any(map(_FRAME.match, lines[:2])) or _SIDE_BAND.match(lines[0]):
        return True
    return perf_script.is_whole_header(lines[0][:4096].decode("utf-8", "replace"))


def _refusal(head: bytes, path: str) -> UnreadableInput:
    kind = known_kind(head)
    why = f"it is not a perf.data file{kind}"
    if not kind:
        why += (
            ", and no profile of another tool: not folded stacks (each line ends in a number), not pprof (protobuf or "
            "gzip), not text of perf script (a first line with time and event, or frames), not JSON of speedscope "
            "(with profiles and shared)"
        )
    return UnreadableInput(f"cannot read {path}", why, "--format says what it is, if it is one of them")
