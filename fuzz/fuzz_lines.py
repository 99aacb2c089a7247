"""Line number programs from any bytes: rows ascend, files have names or none."""

from mutate import main

from undwarf.dwarf.line_program import LineProgram

MOST_ROWS = 20_000
CODE = [0x1000, 0x9000]


def one_input(data: bytes) -> None:
    """The first byte is the shape (big-endian, code known), the second the offset; the section is the rest."""
    shape, offset = (data[0], data[1]) if len(data) > 1 else (0, 0)
    code = None
    if shape & 2:
        code = memoryview(b"".join(number.to_bytes(8, "little") for number in CODE)).cast("Q")
    read = LineProgram(
        memoryview(data[2:]), offset if shape & 4 else 0, 8, big=bool(shape & 1), code=code, max_rows=MOST_ROWS
    )
    rows = read.rows()
    addresses = rows["address"].tolist()
    assert len({len(column) for column in rows.values()}) == 1, "columns are of one length"
    assert all(addresses[i] < addresses[i + 1] for i in range(len(addresses) - 1)), "addresses ascend"
    assert len(addresses) <= MOST_ROWS, "rows are limited"
    assert not code or not addresses or CODE[0] <= addresses[0] < CODE[1], "what lies outside of code is left out"
    kinds, values, directories = read.strings()
    assert len(kinds) == len(values) == len(directories) >= read.directory_count, "strings are of one length"
    assert all(kind != 6 or value <= len(data) for kind, value in zip(kinds, values, strict=True)), "strings lie inside"


def seeds() -> list[bytes]:
    """Tables of version 4 and 5, by hand."""
    operations = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
    body = b"\0\x09\x02" + (0x1000).to_bytes(8, "little") + b"\x05\x03\x13\x20\x21\x4a\x04\x02\x06\x08\x02\x10\0\1\1"
    old = b"\1\1\1\xfb\x0e\x0d" + operations + b"/usr\0\0a.c\0\1\0\0b.c\0\0\0\0\0"
    inner = b"\4\0" + len(old).to_bytes(4, "little") + old + body
    new = b"\1\1\1\xfb\x0e\x0d" + operations + b"\1\1\x08\2/usr\0inc\0\2\1\x08\2\x0b\2a.c\0\0b.c\0\1"
    other = b"\5\0\x08\0" + len(new).to_bytes(4, "little") + new + body
    tables = [len(one).to_bytes(4, "little") + one for one in (inner, other)]
    wide = [b"\xff\xff\xff\xff" + len(one).to_bytes(8, "little") + one for one in (inner, other)]
    return [bytes((shape, 0)) + one for one in tables + wide for shape in (0, 2, 6)]


if __name__ == "__main__":
    main(one_input, seeds())
