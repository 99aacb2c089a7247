"""Folded stacks from any bytes."""

from mutate import main
from profile_views import show


def one_input(data: bytes) -> None:
    """The file."""
    show(data, "folded")


def seeds() -> list[bytes]:
    """Texts as different programs write them."""
    return [
        b"app;main;work 12\napp;main 3\napp;main;work;[libc.so.6];memcpy_[k] 5\n",
        b"# mode: wall\nP1;T2;a.py:f:3;b.py:<module>:1 1000\r\n" + b"f;" * 300 + b"g 1\n",
        "häuser;grün \x1b[31m;a b 1.5\n; 2\n;; 3\n 4\nx; 5\n".encode() + b"\xff\xfe;a 7\n",
        b"a 4611686018427387904\nb 99999999999999999999\nc -1\nd 1e5\ne nan\n",
    ]


if __name__ == "__main__":
    main(one_input, seeds())
