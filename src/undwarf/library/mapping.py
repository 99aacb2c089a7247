"""A mapping of a process, as recordings have them and as the unwinder takes them."""

import re
from typing import NamedTuple

_LINE = re.compile(
    rb"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([-r][-w][-x][ps]) ([0-9a-f]{1,16}) "
    rb"([0-9a-f]{1,8}):([0-9a-f]{1,8}) (\d{1,20})(?: +(.*))?$",
    re.MULTILINE,
)


class Mapping(NamedTuple):
    """A range of addresses of a process, and the part of a file that is mapped there.

    ``start`` and ``end`` are addresses, ``offset`` is where ``start`` is in the file ``path``; an empty path is memory
    without a file. ``protection`` is as in /proc/PID/maps (``r-xp``). ``build_id`` (hexadecimal) identifies the file
    better than its path; ``device`` (major, minor) and ``inode`` do if it is unknown; empty and 0 if unknown as well.

    >>> text = "00400000-00401000 r-xp 00001000 fe:00 4711  /usr/bin/words"
    >>> (mapping,) = undwarf.Mapping.parse_maps(text)
    >>> hex(mapping.start), mapping.path, mapping.executable
    ('0x400000', '/usr/bin/words', True)
    """

    start: int
    end: int
    offset: int = 0
    path: str = ""
    protection: str = "r-xp"
    build_id: str = ""
    device: tuple[int, int] = (0, 0)
    inode: int = 0

    @property
    def executable(self) -> bool:
        """Whether code may run there."""
        return "x" in self.protection

    @classmethod
    def parse_maps(cls, text: str | bytes) -> "list[Mapping]":
        """The mappings in the text of a /proc/PID/maps; lines that describe none are left out."""
        raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return [
            cls(
                int(found[1], 16),
                int(found[2], 16),
                int(found[4], 16),
                # The kernel escapes line feeds, and nothing else.
                (found[8] or b"").replace(rb"\012", b"\n").decode("utf-8", "surrogateescape"),
                found[3].decode(),
                "",
                (int(found[5], 16), int(found[6], 16)),
                int(found[7]),
            )
            for found in _LINE.finditer(raw)
            if int(found[1], 16) < int(found[2], 16)
        ]

    def __repr__(self) -> str:
        return f"Mapping({self.start:#x}-{self.end:#x} {self.protection} {self.offset:#x} {self.path!r})"
