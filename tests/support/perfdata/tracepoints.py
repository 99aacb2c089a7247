"""Formats of tracepoints made from their fields, and records of them."""

import struct

HEAD = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

{fields}
print fmt: {shown}
"""
FIELDS = (
    ("int a", 8, 4, 1),
    ("u32 b", 12, 4, 0),
    ("unsigned long c", 16, 8, 0),
    ("char comm[8]", 24, 8, 0),
    ("__data_loc char[] name", 32, 4, 0),
    ("u8 mac[6]", 36, 6, 0),
    ("u16 d", 42, 2, 0),
    ("__data_loc u32[] list", 44, 4, 0),
    ("const char * text", 48, 8, 0),
    ("__rel_loc char[] near", 56, 4, 0),
)
SIZE = 60


def format_file(shown: str, fields=FIELDS, name: str = "event", number: int = 77) -> bytes:
    lines = "".join(
        f"\tfield:{declared};\toffset:{at};\tsize:{size};\tsigned:{signed};\n" for declared, at, size, signed in fields
    )
    return HEAD.format(name=name, number=number, fields=lines, shown=shown).encode()


def raw(a=0, b=0, c=0, comm=b"prog", name=b"file", mac=b"\1\2\3\4\5\xff", d=0, items=(), text=0, near=b"by") -> bytes:
    """A record with these values, as the kernel lays it out."""
    tail = name + b"\0"
    lists = struct.pack(f"={len(items)}I", *items)
    places = [SIZE, SIZE + len(tail), SIZE + len(tail) + len(lists)]
    return (
        struct.pack("=HBBi", 77, 0, 0, 42)
        + struct.pack("=iIQ8s", a, b, c, comm)
        + struct.pack("=I6sHI", places[0] | len(tail) << 16, mac, d, places[1] | len(lists) << 16)
        + struct.pack("=QI", text, places[2] - SIZE | (len(near) + 1) << 16)
        + tail
        + lists
        + near
        + b"\0"
    )
