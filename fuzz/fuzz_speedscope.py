"""speedscope's files from any bytes."""

import copy
import json
import random
from typing import Any

from mutate import main
from profile_views import show

from undwarf.imports.speedscope import SCHEMA

STRANGE: list[Any] = [None, True, -1, 2, 1 << 70, 1e300, "", "O", "seconds", [], [0, 1], {}, {"type": "O", "frame": 0}]


def one_input(data: bytes) -> None:
    """The file; if it is JSON, once more with some values in it exchanged, as its bytes choose."""
    show(data, "speedscope")
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return
    chance = random.Random(data)
    for _ in range(chance.randrange(1, 4)):
        exchange(whole, chance)
    show(json.dumps(whole).encode(), "speedscope")


def exchange(whole: Any, chance: random.Random) -> None:
    """Put another value somewhere into lists and objects."""
    while isinstance(whole, list | dict) and whole:
        key = chance.choice(list(whole) if isinstance(whole, dict) else range(len(whole)))
        if chance.randrange(4) == 0 or not isinstance(whole[key], list | dict):
            whole[key] = copy.deepcopy(chance.choice(STRANGE))
            return
        whole = whole[key]


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
