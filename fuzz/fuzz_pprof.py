"""pprof's profiles from any bytes, compressed or not."""

import gzip
import sys
from pathlib import Path

from mutate import main
from profile_views import show

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.support.pprof_builder import Pprof, message, number, packed


def one_input(data: bytes) -> None:
    """The file."""
    show(data, "pprof")


def seeds() -> list[bytes]:
    """Profiles with one and several types, inlined functions, damaged references; one compressed."""
    types = [("samples", "count"), ("cpu", "nanoseconds")]
    samples = [
        (["inner:3,outer:9", "main:4"], [1, 10]),
        (["main:5"], [2, -20]),
        (["", "main"], [0, 1 << 62]),
        ([], [1, 1]),
    ]
    whole = Pprof(types, samples, default="cpu").build()
    labels = Pprof(
        types[1:],
        [(["a", "b"], [1]), (["a"], [2])],
        labels=[{"pid": 1, "tid": 2, "comm": "a"}, {"thread_comm": "b", "timestamp_ns": -1, "tid": 1 << 40}],
    )
    lists = Pprof([("bytes", "bytes")], [(["a", "b"], [1])], packed=False).build()
    strange = message(1, number(1, 1)) + message(2, packed(1, [7, 0, 1 << 63]) + packed(2, [5])) + message(6, b"")
    strange += message(4, number(1, 7) + message(4, number(1, 9) + number(2, -1))) + message(5, number(1, 9))
    return [whole, lists, labels.build(), strange, gzip.compress(whole, mtime=0)]


if __name__ == "__main__":
    main(one_input, seeds())
