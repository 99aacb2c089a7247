"""speedscope's files from any bytes."""

import json

from mutate import main
from profile_views import show

from undwarf.imports.speedscope import SCHEMA


def one_input(data: bytes) -> None:
    """The file."""
    show(data, "speedscope")


def seeds() -> list[bytes]:
    """A file with sampled and evented profiles, and texts that are JSON but nothing else."""
    sampled = {"type": "sampled", "name": "t", "unit": "seconds", "startValue": 0.5, "endValue": 9}
    sampled |= {"samples": [[0, 1], [0], [], [0, 1, 1]], "weights": [0.25, 1, 2, 1e9]}
    evented = {"type": "evented", "name": "u", "unit": "none", "startValue": 0, "endValue": 14}
    evented["events"] = [
        {"type": kind, "frame": frame, "at": at}
        for kind, frame, at in [("O", 0, 0), ("O", 1, 2.5), ("C", 1, 7), ("C", 0, 9), ("O", 1, 10)]
    ]
    frames = [{"name": "a", "file": "a.c", "line": 3}, {"name": "b"}]
    whole = {"$schema": SCHEMA, "shared": {"frames": frames}, "profiles": [sampled, evented]}
    text = json.dumps(whole).encode()
    return [text, text.replace(b"0.25", b"NaN"), b'{"profiles":' + b"[" * 5000, b'{"a": ' + b"9" * 5000 + b"}"]


if __name__ == "__main__":
    main(one_input, seeds())
