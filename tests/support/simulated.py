"""Profiles of a simulated program whose true times are known: what chance does to a comparison of recordings.

The program spends its time in functions ``f0``, ``f1``, ... with known shares, called by ``main``. It is sampled at a
fixed rate; each sample finds one function, with probabilities that depend on the phase that the program is in.
"""

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from undwarf.profile.model import (
    NONE,
    EventInfo,
    FrameColumns,
    FunctionTable,
    ImageInfo,
    Profile,
    SampleColumns,
    StackColumns,
)
from undwarf.unwind.stop_reason import StopReason

SHARES = (0.40, 0.15, 0.10, 0.08, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.01, 0.01, 0.005, 0.005, 0.005, 0.005)


@dataclass(frozen=True)
class Program:
    """A program. ``shares``: of its time, by function. ``slower``: by what factor functions take longer, by number.

    ``phases``: the mean length in seconds of phases, whose lengths are random; functions of even numbers take half as
    much again in every other phase, and half in those between. 0: no phases. ``fixed``: the lengths of phases are the
    same in each run. ``speed``: the standard deviation of a factor by which all of a run is slower or faster.
    """

    shares: Sequence[float] = SHARES
    slower: dict[int, float] = field(default_factory=dict)
    phases: float = 0.0
    fixed: bool = False
    speed: float = 0.0

    def times(self) -> list[float]:
        """The time of each function in one second of work."""
        return [share * self.slower.get(number, 1.0) for number, share in enumerate(self.shares)]


def simulate(program: Program, random_: random.Random, seconds: float = 60.0, rate: int = 999) -> Profile:
    """A recording of so much work, which takes longer if functions are slower."""
    times = program.times()
    factor = max(0.5, random_.gauss(1.0, program.speed)) if program.speed else 1.0
    numbers = range(len(times))
    lengths = random.Random(7) if program.fixed else random_
    leaves: list[int] = []
    done, high = 0.0, True
    while done < seconds:
        length = seconds - done
        weights = times
        if program.phases:
            length = min(length, lengths.expovariate(1 / program.phases))
            scale = (1.5, 0.5) if high else (0.5, 1.5)
            weights = [time * scale[number % 2] for number, time in enumerate(times)]
            # A second of work takes a second in each phase.
            whole = sum(share * scale[number % 2] for number, share in enumerate(program.shares))
            weights = [weight / whole for weight in weights]
            high = not high
        done += length
        exact = length * sum(weights) * factor * rate
        count = int(exact) + (random_.random() < exact % 1)
        leaves += random_.choices(numbers, weights, k=count)
    return profile_of(leaves, len(times), rate)


def profile_of(leaves: Sequence[int], functions: int, rate: int = 999) -> Profile:
    """The profile of samples in these functions, one after the other."""
    count = len(leaves)
    period = 1_000_000_000 // rate

    def column(typecode: str, value: int, size: int = count) -> memoryview:
        return memoryview(array(typecode, [value]) * size)

    names = ["main", *(f"f{number}" for number in range(functions))]
    size = len(names)
    return Profile(
        SampleColumns(
            time=memoryview(array("Q", range(0, period * count, period))),
            pid=column("i", 1),
            tid=column("i", 1),
            cpu=column("i", 0),
            event=column("H", 0),
            period=column("Q", period),
            comm=column("I", 0),
            stack=memoryview(array("I", [leaf + 1 for leaf in leaves])),
            stop=column("B", StopReason.ROOT),
            stop_image=column("I", NONE),
            ip=column("Q", 0),
        ),
        StackColumns(memoryview(array("I", [NONE, *[0] * functions])), memoryview(array("I", range(size)))),
        FrameColumns(
            column("I", 0, size),
            memoryview(array("Q", [0x1000 * number for number in range(size)])),
            column("B", 1, size),
            memoryview(array("I", range(size))),
            None,
            column("B", 0, size),
        ),
        FunctionTable(
            names,
            column("I", 0, size),
            memoryview(array("Q", [0x1000 * number for number in range(size)])),
            column("B", 0, size),
        ),
        [ImageInfo("/opt/app", "/opt/app", "aa" * 20, "file")],
        ["app"],
        [EventInfo("cpu-clock")],
    )
