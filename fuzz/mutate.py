"""What the fuzz targets share: coverage-guided runs where atheris is installed, else mutations of the seeds."""

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# An unforeseen error ends a run of a fuzzer instead of being counted as a defect.
os.environ["UNDWARF_TRACEBACK"] = "1"


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """A seed with a few flips, numbers out of range, cuts, repeats; half of them keep all else where it was."""
    data = bytearray(seed)
    kinds = chance.choice((3, 6))
    for _ in range(chance.randrange(1, 9)):
        if not data:
            break
        at = chance.randrange(len(data))
        what = chance.randrange(kinds)
        if what == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif what == 2:
            size = chance.choice((2, 4, 8))
            whole, some = 1 << 8 * size, chance.getrandbits(8 * size)
            value = chance.choice((0, 1, whole - 1, whole >> 1, some, whole - 1 - (some & 0xFF)))
            if chance.randrange(2):
                at -= at % size
            data[at : at + size] = value.to_bytes(size, "little")
        elif what == 3:
            del data[at : at + chance.randrange(1, 64)]
        elif what == 4:
            data[at:at] = data[at : at + chance.randrange(1, 64)]
        else:
            del data[chance.randrange(len(data)) :]
    return bytes(data)


def main(one_input: Callable[[bytes], None], seeds: list[bytes]) -> None:
    """``[SECONDS [SEED]]``: run a target for a while; an exception that it lets through ends the run with an error."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    chance = random.Random(number)
    end = time.monotonic() + seconds
    runs, slowest = 0, 0.0
    for seed in seeds:
        one_input(seed)
    while time.monotonic() < end:
        data = mutated(chance.choice(seeds), chance)
        before = time.monotonic()
        try:
            one_input(data)
        except BaseException:
            path = f"crash-{number}-{runs}.bin"
            with open(path, "wb") as file:
                file.write(data)
            print(f"input kept in {path}", file=sys.stderr)
            raise
        slowest = max(slowest, time.monotonic() - before)
        runs += 1
    print(f"{runs} inputs, slowest {slowest:.2f} s")


def guided(one_input: Callable[[bytes], None], seeds: list[bytes]) -> None:
    """Run under atheris with its own arguments, starting from the seeds."""
    import atheris

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        atheris.instrument_all()
        atheris.Setup([*sys.argv, f"-max_len={2 * max(map(len, seeds))}", corpus], one_input)
        atheris.Fuzz()
