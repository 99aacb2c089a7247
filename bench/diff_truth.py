"""Comparisons of simulated recordings, whose truth is known: how often is something found that is not there, how often
a change of 3 %, and how often do intervals contain the truth?

    python bench/diff_truth.py [--pairs 200] [--runs 1,5] [--seconds 60]
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.simulated import SHARES, Program, simulate

from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.model import Comparison, Recorded

SCENES = {
    "independent samples": Program(),
    "the same phases of 2 s in each run": Program(phases=2.0, fixed=True),
    "random phases of 0.1 s": Program(phases=0.1),
    "random phases of 1 s": Program(phases=1.0),
    "all of a run faster or slower by 1 %": Program(speed=0.01),
}


def side(program: Program, runs: int, random_: random.Random, seconds: float) -> list[Recorded]:
    return [Recorded("", simulate(program, random_, seconds)) for _run in range(runs)]


def found(comparison: Comparison) -> set[str]:
    """The functions that are significant, and the total."""
    (event,) = comparison.events
    (table,) = event.tables
    rows = [*table.rows, *([table.others] if table.others else []), event.total]
    return {row.name for row in rows if row.significant}


def covered(comparison: Comparison, program: Program, changed: Program, seconds: float) -> list[bool]:
    """Whether the interval of each function's difference contains the true one."""
    (event,) = comparison.events
    truth = [1e9 * seconds * (b - a) for a, b in zip(program.times(), changed.times(), strict=True)]
    result = []
    for row in event.tables[0].rows:
        if row.name.startswith("f") and row.weight.difference is not None:
            low, high = row.weight.difference
            result.append(low <= truth[int(row.name[1:])] <= high)
    return result


def measure(program: Program, changed: Program, pairs: int, runs: int, seconds: float) -> tuple[int, int, int, float]:
    """(comparisons with a finding, with f0 found, with another one found, share of intervals with the truth)."""
    anything = first = other = 0
    inside: list[bool] = []
    for pair in range(pairs):
        random_ = random.Random(1000 * runs + pair)
        comparison = compare(side(program, runs, random_, seconds), side(changed, runs, random_, seconds))
        names = found(comparison)
        anything += bool(names)
        first += "f0" in names
        other += bool(names - {"f0", "total"})
        inside += covered(comparison, program, changed, seconds)
    return anything, first, other, sum(inside) / max(1, len(inside))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--runs", default="1,5")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--scene", default="")
    options = parser.parse_args(arguments)
    print(f"{options.pairs} pairs; f0 has {100 * SHARES[0]:.0f} % of {options.seconds:g} s at 999 Hz\n")
    print(f"{'':38} {'runs':>4} {'no change: found':>17} {'intervals':>9}   3 %: found {'others':>7} {'intervals':>9}")
    for name, program in SCENES.items():
        if options.scene not in name:
            continue
        changed = Program(program.shares, {0: 1.03}, program.phases, program.fixed, program.speed)
        for runs in map(int, options.runs.split(",")):
            start = time.monotonic()
            nothing = measure(program, program, options.pairs, runs, options.seconds)
            one = measure(program, changed, options.pairs, runs, options.seconds)
            shares = [100 * count / options.pairs for count in (nothing[0], one[1], one[2])]
            print(
                f"{name:38} {runs:4} {shares[0]:15.1f} % {100 * nothing[3]:7.1f} %"
                f" {shares[1]:10.1f} % {shares[2]:5.1f} % {100 * one[3]:7.1f} %   {time.monotonic() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
