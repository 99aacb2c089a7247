"""Stacks larger than their dump: cuts the dumps of a recording, compares what is inferred with the whole stacks.

    python bench/larger_than_dump.py RECORDING [--sizes 16384,8192]

RECORDING was made by `perf record --call-graph dwarf,65528`. A dump is cut by lowering the size that its sample states
as valid (`dyn_size`, the last word of PERF_SAMPLE_STACK_USER); the bytes stay where they are. Of the samples that are
whole in RECORDING and not in the cut one it counts those that are continued to their root, and of these those whose
stacks are the true ones.
"""

import argparse
import os
import shutil
import struct
import tempfile
from collections import Counter
from pathlib import Path

import undwarf
from undwarf.api import open_recording


def cut(source: str, target: str, size: int) -> int:
    """Copy a recording with dumps of at most ``size`` bytes; returns how many were cut."""
    shutil.copyfile(source, target)
    done = 0
    with open_recording(source, format="perf.data") as recording, open(target, "r+b") as file:
        samples = recording.records.samples
        # struct perf_file_header: where the records start; positions count from there.
        file.seek(40)
        (begin,) = struct.unpack("<Q", file.read(8))
        for position, at in zip(samples.position, samples.stack_at, strict=True):
            if not at:
                continue
            file.seek(begin + position + at)
            (held,) = struct.unpack("<Q", file.read(8))
            if not held:
                continue
            file.seek(begin + position + at + 8 + held)
            (valid,) = struct.unpack("<Q", file.read(8))
            if valid > size:
                file.seek(-8, os.SEEK_CUR)
                file.write(struct.pack("<Q", size))
                done += 1
    return done


def stacks(path: str) -> tuple[list[tuple[int, ...]], list[int], list[bool]]:
    """By sample: its functions' places from the root inwards, why it ends, and whether part of it is inferred."""
    with open_recording(path, format="perf.data") as recording:
        made = recording.profile(inline=False)
    frames, nodes = made.frames, made.stacks
    number: dict[tuple[int, int], int] = {}
    place = [
        number.setdefault((image, address), len(number))
        for image, address in zip(frames.image, frames.address, strict=True)
    ]
    names = {value: key for key, value in number.items()}
    images = [image.path or image.name for image in made.images]
    chains: list[tuple[object, ...]] = []
    inferred: list[bool] = []
    for parent, frame in zip(nodes.parent, nodes.frame, strict=True):
        image, address = names[place[frame]]
        own = (images[image] if image < len(images) else "", address)
        chains.append((*chains[parent], own) if parent != 0xFFFFFFFF else (own,))
        other = frames.provenance[frame] == undwarf.Provenance.OTHER_DUMP
        inferred.append(other or (parent != 0xFFFFFFFF and inferred[parent]))
    columns = made.samples.columns
    found = [chains[node] if node != 0xFFFFFFFF else () for node in columns.stack]
    guessed = [node != 0xFFFFFFFF and inferred[node] for node in columns.stack]
    return found, list(columns.stop), guessed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("--sizes", default="16384,8192")
    options = parser.parse_args()
    true, true_stop, _ = stacks(options.recording)
    root = undwarf.StopReason.ROOT
    print(f"{options.recording}: {len(true):,} samples, {true_stop.count(root):,} whole")
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=Path(options.recording).resolve().parent) as folder:
            path = str(Path(folder) / "cut.data")
            cut(options.recording, path, size)
            chains, stops, guessed = stacks(path)
        counts: Counter[str] = Counter()
        for whole, whole_stop, chain, stop, guess in zip(true, true_stop, chains, stops, guessed, strict=True):
            if whole_stop != root or (stop == root and not guess):
                continue
            counts["spoilt"] += 1
            if guess:
                counts["continued"] += 1
                counts["equal"] += chain == whole
        spoilt, continued, equal = counts["spoilt"], counts["continued"], counts["equal"]
        print(
            f"  {size:>6} bytes: {spoilt:,} spoilt, "
            f"{continued:,} continued ({100 * continued / max(spoilt, 1):.2f} %), "
            f"{equal:,} of these equal ({100 * equal / max(continued, 1):.3f} %), {continued - equal:,} false "
            f"({100 * (continued - equal) / max(spoilt, 1):.3f} % of the spoilt)"
        )


if __name__ == "__main__":
    main()
