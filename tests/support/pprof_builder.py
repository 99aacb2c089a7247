"""pprof profiles made of tuples, by an encoder of protobuf of their own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


def varint(value: int) -> bytes:
    """A number of seven bits a byte; negative ones as 64 bits."""
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def number(field_number: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field_number << 3) + varint(value)


def message(field_number: int, content: bytes) -> bytes:
    """A field of bytes."""
    return varint(field_number << 3 | 2) + varint(len(content)) + content


def packed(field_number: int, values: Iterable[int]) -> bytes:
    """A list of numbers."""
    return message(field_number, b"".join(map(varint, values)))


@dataclass
class Pprof:
    """``types`` are (name, unit); ``samples`` are (locations innermost first, values).

    A location is its functions, innermost first, as in ``"inlined,outer"``; each is ``name`` or ``name:line``. All
    are in one mapping of ``/bin/app``, whose functions are in ``app.c``.
    """

    types: Sequence[tuple[str, str]]
    samples: Sequence[tuple[Sequence[str], Sequence[int]]]
    default: str = ""
    strings: list[str] = field(default_factory=lambda: [""])
    packed: bool = True
    labels: Sequence[dict[str, int | str]] = ()
    """Of each sample, if there are any."""

    def text(self, text: str) -> int:
        """The number of a string."""
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def build(self) -> bytes:
        """The profile, not compressed."""
        made = b"".join(
            message(1, number(1, self.text(name)) + number(2, self.text(unit))) for name, unit in self.types
        )
        locations: dict[str, int] = {}
        functions: dict[str, int] = {}
        for at, (stack, values) in enumerate(self.samples):
            ids = [locations.setdefault(one, len(locations) + 1) for one in stack]
            if self.packed:
                content = packed(1, ids) + packed(2, values)
            else:
                content = b"".join(number(1, one) for one in ids) + b"".join(number(2, one) for one in values)
            for key, value in (self.labels[at] if self.labels else {}).items():
                what = number(2, self.text(value)) if isinstance(value, str) else number(3, value)
                content += message(3, number(1, self.text(key)) + what)
            made += message(2, content)
        made += message(3, number(1, 1) + number(5, self.text("/bin/app")) + number(6, self.text("abcd")))
        for location, at in locations.items():
            lines = b""
            for one in filter(None, location.split(",")):
                name, _colon, line = one.partition(":")
                function = functions.setdefault(name, len(functions) + 1)
                lines += message(4, number(1, function) + number(2, int(line or 0)))
            made += message(4, number(1, at) + number(2, 1) + number(3, 0x1000 * at) + lines)
        for name, at in functions.items():
            made += message(5, number(1, at) + number(2, self.text(name)) + number(4, self.text("app.c")))
        made += number(14, self.text(self.default)) if self.default else b""
        return made + b"".join(message(6, text.encode()) for text in self.strings)
