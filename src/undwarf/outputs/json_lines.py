"""JSON with one line for each entry, written in large pieces.

The text is that of ``json.dump`` with an indent, for which the standard library uses its slow encoder in Python.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from json import dumps as dump_json
from json.encoder import encode_basestring_ascii
from typing import Any, TextIO

from undwarf.outputs.terminal.escape import without_surrogates

_PIECES = 1 << 15
"""Parts of the text that are joined before they are written."""


def quoted(text: str) -> str:
    r"""A string in quotes, in ASCII. Bytes that are no UTF-8 are written as ``\\xNN``: strict readers refuse the
    surrogates that stand for them."""
    return encode_basestring_ascii(text if text.isascii() else without_surrogates(text))


def dump(value: object, sink: TextIO, indent: int = 1) -> None:
    """Write a value that :mod:`json` supports, and a newline."""
    parts: list[str] = []

    def add(part: str) -> None:
        parts.append(part)
        if len(parts) >= _PIECES:
            sink.write("".join(parts))
            parts.clear()

    _put(value, "\n", " " * indent, add)
    add("\n")
    sink.write("".join(parts))


def dumps(value: object, indent: int = 1) -> str:
    """The text of a value that :mod:`json` supports."""
    parts: list[str] = []
    _put(value, "\n", " " * indent, parts.append)
    return "".join(parts)


def line_of(value: object) -> bytes:
    """A value as one line without blanks, for commands that print many."""
    text = dump_json(value, separators=(",", ":"))
    if "\\ud" in text:
        # A surrogate, which may stand for an undecodable byte.
        text = dump_json(_without_surrogates(value), separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_surrogates(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(entry) for entry in value]
    return without_surrogates(value) if isinstance(value, str) else value


def pack_quoted(names: Iterable[str]) -> "tuple[bytes, memoryview[int]]":
    """As :func:`undwarf.outputs.terminal.escape.pack`, each name in quotes."""
    return packed([quoted(name).encode("ascii") for name in names])


def packed(texts: Sequence[bytes]) -> "tuple[bytes, memoryview[int]]":
    """Texts in one buffer, and their n + 1 offsets (I)."""
    return b"".join(texts), memoryview(array("I", accumulate(map(len, texts), initial=0)))


def _put(value: Any, line: str, step: str, add: Callable[[str], None]) -> None:
    """Add the parts of a value; ``line``: a newline with the indent of the value's own line."""
    if isinstance(value, dict):
        if not value:
            add("{}")
            return
        inner = line + step
        before = "{" + inner
        for key, entry in value.items():
            if isinstance(key, str):
                name = encode_basestring_ascii(key) if key.isascii() else quoted(key)
            else:
                name = f'"{_plain(key)}"'
            kind = type(entry)
            if kind is int:
                add(f"{before}{name}: {entry}")
            elif kind is str:
                # A call less for most texts.
                add(f"{before}{name}: {encode_basestring_ascii(entry) if entry.isascii() else quoted(entry)}")
            else:
                add(f"{before}{name}: ")
                _put(entry, inner, step, add)
            before = "," + inner
        add(line + "}")
    elif isinstance(value, list | tuple):
        if not value:
            add("[]")
            return
        inner = line + step
        before = "[" + inner
        for entry in value:
            add(before)
            _put(entry, inner, step, add)
            before = "," + inner
        add(line + "]")
    else:
        add(_plain(value))


def _plain(value: Any) -> str:
    """The text of a value without entries."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or (kind is float and value - value == 0):
        return repr(value)
    return dump_json(value)
