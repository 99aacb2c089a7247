"""Makes BTF from tuples: what include/uapi/linux/btf.h says, written out."""

import struct
from dataclasses import dataclass, field


@dataclass
class BtfBuilder:
    """Types are numbered from ``first``; every method returns the number of what it added."""

    mark: str = "<"
    first: int = 1
    strings_start: int = 0
    _types: list[bytes] = field(default_factory=list)
    _strings: bytearray = field(default_factory=lambda: bytearray(b"\0"))

    def string(self, text: str) -> int:
        if not text:
            return 0
        at = self.strings_start + len(self._strings)
        self._strings += text.encode() + b"\0"
        return at

    def add(self, kind: int, name: str, value: int, *words: int, count: int = 0, flag: int = 0) -> int:
        head = (self.string(name), flag << 31 | kind << 24 | count, value)
        every = [word & 0xFFFFFFFF for word in (*head, *words)]
        self._types.append(struct.pack(f"{self.mark}{len(every)}I", *every))
        return self.first + len(self._types) - 1

    def integer(self, name: str, size: int, *, encoding: int = 1, bits: int = 0, offset: int = 0) -> int:
        return self.add(1, name, size, encoding << 24 | offset << 16 | (bits or 8 * size))

    def pointer(self, to: int) -> int:
        return self.add(2, "", to)

    def array(self, of: int, index: int, count: int) -> int:
        return self.add(3, "", 0, of, index, count)

    def struct(self, name: str, size: int, *members: tuple[str, int, int], flag: int = 0, union: bool = False) -> int:
        words = [word for text, of, bits in members for word in (self.string(text), of, bits)]
        return self.add(5 if union else 4, name, size, *words, count=len(members), flag=flag)

    def prototype(self, returns: int, *parameters: tuple[str, int]) -> int:
        words = [word for text, of in parameters for word in (self.string(text), of)]
        return self.add(13, "", returns, *words, count=len(parameters))

    def function(self, name: str, prototype: int) -> int:
        return self.add(12, name, prototype, count=1)

    def variable(self, name: str, of: int) -> int:
        return self.add(14, name, of, 1)

    def section(self, name: str, *rows: tuple[int, int, int]) -> int:
        return self.add(15, name, 0, *(word for row in rows for word in row), count=len(rows))

    def bytes(self) -> bytes:
        types = b"".join(self._types)
        sizes = (0, len(types), len(types), len(self._strings))
        return struct.pack(f"{self.mark}HBBI4I", 0xEB9F, 1, 0, 24, *sizes) + types + bytes(self._strings)
