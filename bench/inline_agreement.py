"""How often inlined functions in `undwarf script` are those of perf: ``bench/inline_agreement.py RECORDING...``.

Both print every sample with inlined functions. What any perf (``--perf``, more than once) tells of an address in any
sample of all recordings is collected: which functions are inlined there, in order, and in which. A sample of ours
agrees where each of its addresses has inlined functions and a last function that a perf tells: new perf names the last
by its symbol, but sees no inlined functions in position-independent programs; old perf sees them, but names all by
DWARF. Samples with an address that no perf saw do not count. Addresses are compared by their last three digits and the
file, since old perf prints those of the file; names without parameters, template arguments and suffixes of clones.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FIELDS = "comm,tid,time,event,ip,sym,dso"
HEAD = re.compile(r"^\S.*?\s+\d+\s+\d+\.\d+:")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \(([^()]*|inlined|\[[^]]*\])\)$")
Place = tuple[str, str]
"""A file, and the end of an address in it."""
Functions = tuple[str, ...]
"""What an address is, innermost first; the last has code of its own."""


def samples(command: list[str]) -> Iterator[list[tuple[Place, Functions]]]:
    """The frames of each sample that a command prints."""
    frames: list[tuple[Place, Functions]] = []
    address, file, names = "", "", list[str]()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as job:
        assert job.stdout is not None
        for line in [*job.stdout, "-- 0 0.0:"]:
            found = FRAME.match(line.rstrip("\n"))
            # Old perf takes a clone for a function that is inlined in nothing, and one that is inlined in itself for
            # one that calls itself: only the address shows what belongs together.
            if names and (not found or found[1] != address):
                frames.append(((file, address[-3:]), tuple(names)))
                file, names = "", []
            if HEAD.match(line):
                yield frames
                frames = []
            elif found:
                address = found[1]
                names.append(short(found[2]))
                if found[3] != "inlined":
                    file = found[3]


def short(name: str) -> str:
    """A name without its offset, parameters and template's arguments."""
    name = re.sub(r"\+0x[0-9a-f]+$", "", name)
    name = re.sub(r"( \[clone [^]]*\]|\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)?)+$", "", name)
    name = re.sub(r"\(anonymous namespace\)", "{anonymous}", name)
    name = re.sub(r"\boperator(<<|>>|<=>|<=|>=|<|>|->|\(\))", lambda found: f"operator{found[1].encode().hex()}", name)
    while (cut := re.sub(r"<[^<>]*>|\([^()]*\)", "", name)) != name:
        name = cut
    name = re.sub(r"( const| volatile|\[abi:\w+\])+", "", name)
    return name.strip().rpartition(" ")[2]


def main() -> int:
    """1 where fewer samples agree than asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--perf", action="append", help="default: perf")
    parser.add_argument("--least", type=float, default=99.0, help="percent")
    parser.add_argument("--show", type=int, default=2, help="differences to show of each")
    arguments = parser.parse_args()
    below = 0
    chains: defaultdict[Place, set[Functions]] = defaultdict(set)
    names: defaultdict[Place, set[str]] = defaultdict(set)
    for path in arguments.recordings:
        for perf in arguments.perf or ["perf"]:
            for sample in samples([perf, "script", "--inline", "-F", FIELDS, "-i", str(path)]):
                for (file, end), functions in sample:
                    # Where GNU addr2line (and so old perf) is asked for the first address of an inlined function, it
                    # names that as the one it is inlined in.
                    slip = len(functions) > 1 and functions[0] == functions[-1]
                    chains[file, end].add(("?",) * slip + functions[slip:-1])
                    names[file, end].add(functions[-1])
    for path in arguments.recordings:
        same = counted = inlined = shown = 0
        for sample in samples([sys.executable, "-m", "undwarf", "script", "-F", FIELDS, str(path)]):
            told = [(chains[place] | chains["", place[1]], names[place] | names["", place[1]]) for place, _ in sample]
            if not all(known for known, _ in told) or not sample:
                continue
            counted += 1
            inlined += any(len(functions) > 1 for _, functions in sample)
            wrong = [
                (place, functions, known, last)
                for (place, functions), (known, last) in zip(sample, told, strict=True)
                if not known & {functions[:-1], ("?", *functions[1:-1])} or functions[-1] not in last
            ]
            same += not wrong
            if wrong and shown < arguments.show:
                shown += 1
                for place, functions, known, last in wrong:
                    print(f"    {place} ours {functions}\n        perf {known} {last}")
        percent = 100 * same / counted if counted else 0.0
        print(f"{path}: {percent:.2f} % of {counted} samples, {inlined} of them with inlined functions", flush=True)
        below += percent < arguments.least
    return below > 0


if __name__ == "__main__":
    sys.exit(main())
