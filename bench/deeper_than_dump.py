"""Stacks deeper than their dump while recording: what is followed in the running process, compared with the truth.

    python bench/deeper_than_dump.py [--cut 16384] [--freq 999] COMMAND...

Samples have dumps of 65,528 bytes. Each is unwound twice: from all of its dump, and from the `--cut` innermost bytes
with what the running process still has. Of the samples that are whole in the first and not within the cut dump it
counts those that are continued, proven or inferred, and of these those whose stacks are the true ones.
"""

import argparse
import io
import struct
import time
from collections import Counter
from typing import Any

import undwarf
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Settings

NONE = 0xFFFFFFFF


class Both:
    """A walker that walks each sample from its whole dump, from the cut one alone, and as recording does."""

    def __init__(self, unwinder: Any, cut: int, counts: Counter[str]) -> None:
        self.unwinder, self.cut, self.counts = unwinder, cut, counts
        self.walker: Any = None
        self.beyond = unwinder.deep.beyond
        self.next_round = unwinder.deep.next_round
        unwinder.deep.next_round = self.begin
        self.shortened: dict[int, memoryview] = {}

    def __call__(self, samples: Any, *others: Any) -> "Both":
        self.samples = samples
        self.walker = self.unwinder_walker(samples, *others)
        return self

    def begin(self, samples: Any, dumps: Any) -> None:
        """Show only the innermost bytes of each dump."""
        # The kernel's buffers are read-only.
        self.shortened = {span[1]: memoryview(bytearray(span[0])) for span in dumps._spans}
        for span in dumps._spans:
            self.shorten(self.shortened[span[1]], *span[1:])
        dumps._spans = [(self.shortened[span[1]], *span[1:]) for span in dumps._spans]
        self.next_round(samples, dumps)

    def chain(self, columns: dict[str, Any], node: int) -> list[tuple[int, int]]:
        found = []
        while node != NONE:
            frame = columns["frame"][node]
            found.append((columns["image"][frame], columns["runtime"][frame]))
            node = columns["parent"][node]
        return found

    def walk(self, view: memoryview, position: int, first: int, end: int, stack: Any, stop: Any, image: Any) -> None:
        deep = self.unwinder.deep
        walked = []
        deep.beyond = lambda *_args: None
        for cut in (False, True):
            view = self.shortened[position] if cut else view
            self.walker.walk(view, position, first, end, stack, stop, image)
            walked.append((list(stack[first:end]), list(stop[first:end])))
        deep.beyond = self.beyond
        begin = time.process_time()
        self.walker.walk(view, position, first, end, stack, stop, image)
        self.counts["ms"] += int(1e3 * (time.process_time() - begin))
        columns = self.walker.rules.stacks.columns()
        root, inferred, truncated = (
            undwarf.StopReason.ROOT,
            undwarf.StopReason.INFERRED_ROOT,
            undwarf.StopReason.TRUNCATED,
        )
        (whole, whole_stop), (_short, short_stop) = walked
        for i in range(end - first):
            self.counts["samples"] += 1
            if whole_stop[i] != root or short_stop[i] != truncated:
                continue
            self.counts["spoilt"] += 1
            for name, reason in (("proven", root), ("inferred", inferred)):
                if stop[first + i] == reason:
                    self.counts[name] += 1
                    equal = self.chain(columns, stack[first + i]) == self.chain(columns, whole[i])
                    self.counts[f"{name} equal"] += equal

    def shorten(self, view: memoryview, position: int, first: int, end: int) -> None:
        """Lower the size that samples state as valid, the last word of PERF_SAMPLE_STACK_USER."""
        for sample in range(first, end):
            at = self.samples.stack_at[sample]
            if at:
                at += self.samples.position[sample] - position
                (held,) = struct.unpack_from("<Q", view, at)
                (valid,) = struct.unpack_from("<Q", view, at + 8 + held)
                if held and valid > self.cut:
                    struct.pack_into("<Q", view, at + 8 + held, self.cut)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cut", type=int, default=16384)
    parser.add_argument("--freq", type=int, default=999)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    sampler = Sampler(Settings(command=options.command, frequency=options.freq))
    try:
        recorder = Recorder(sampler, io.BytesIO, "bench")
        unwinder: Any = recorder._unwinder
        both = Both(unwinder, options.cut, counts)
        both.unwinder_walker = unwinder._walker_for
        unwinder._walker_for = both
        recorder.run()
    finally:
        sampler.close()
    spoilt = counts["spoilt"]
    print(f"{counts['samples']:,} samples, {spoilt:,} spoilt by {options.cut:,} bytes, {counts['ms']:,} ms")
    for name in ("proven", "inferred"):
        count, equal = counts[name], counts[f"{name} equal"]
        print(
            f"  {name}: {count:,} ({100 * count / max(spoilt, 1):.2f} %), {equal:,} equal "
            f"({100 * equal / max(count, 1):.3f} %), {count - equal:,} false"
        )


if __name__ == "__main__":
    main()
