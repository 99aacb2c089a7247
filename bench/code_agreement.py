"""How far the rules found in machine code agree with `.eh_frame`, over all instruction addresses that it covers.

    python bench/code_agreement.py [--show KIND] FILE...

``same`` has the same words for the call frame address and the return address; ``equal`` other words that are the same
address in the state found there, ``undefined`` nothing, ``wrong`` something else.
"""

import argparse
import sys
import time
from bisect import bisect_right
from collections import Counter

from iced_x86 import Decoder

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.tables.code.program_analysis import ProgramAnalysis
from undwarf.tables.code.stack_state import is_call_frame
from undwarf.tables.from_code import source
from undwarf.tables.model import NO_RULE, RuleSet, UnwindTable
from undwarf.tables.sources import Request


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--show", default="")
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for path in options.files:
        found, seconds, examples = compare(path, options)
        total += found
        line(path, found, seconds)
        for example in examples:
            print("   ", *example)
    line("all", total, 0)


def line(name: str, found: "Counter[str]", seconds: float) -> None:
    n = sum(found.values()) or 1
    shares = "  ".join(f"{kind} {100 * found[kind] / n:7.3f}" for kind in ("same", "equal", "undefined", "wrong"))
    print(f"{name:55} {n:9} {shares}  {seconds:6.2f} s", flush=True)


def cfa_value(words: "list[int]", address: int) -> "tuple[int, ...]":
    kind, register, offset, extra = words[:4]
    if kind == 3:
        return (1, register, offset + (8 if address & 15 >= extra else 0), 0)
    return (kind, register, offset, extra if kind == 2 else 0)


def return_address(words: "list[int]") -> "tuple[int, ...]":
    return tuple(words[9:12]) if words[6] and words[8] == words[7] else ()


def compare(path: str, options: argparse.Namespace) -> "tuple[Counter[str], float, list[tuple[str, ...]]]":
    elf = ElfFile.open(path)
    rules = RuleSet()
    table = UnwindTable.from_elf(elf, "eh_frame", rules=rules)
    before = time.process_time()
    request = Request(elf, ("code",), lambda: None, rules, DEFAULT, Defects(), quick=False, followed=False)
    code = source(request)
    if code is None:
        return Counter(), 0.0, []
    binary = code.binary
    code.compile_all()
    seconds = time.process_time() - before
    found: Counter[str] = Counter()
    examples: list[tuple[str, ...]] = []
    cache: dict[int, list[int]] = {}

    def words(rule: int) -> "list[int]":
        if rule not in cache:
            cache[rule] = rules.words(rule)
        return cache[rule]

    flat_at: list[int] = []
    flat_rule: list[int] = []
    for piece in range(len(code.starts)):
        addresses, numbers = code.rows(piece, code.starts[piece], code.ends[piece])
        flat_at += addresses.tolist()
        flat_rule += numbers.tolist()
        flat_at.append(code.ends[piece])
        flat_rule.append(NO_RULE)
    for function in range(len(table)):
        start, end = table.starts[function], table.ends[function]
        addresses, numbers = table.rows(function)
        data = elf.read(start, end - start)
        if data is None:
            continue
        last = ""
        for one in Decoder(64, bytes(data), ip=start):
            at = one.ip
            theirs = numbers[bisect_right(addresses, at) - 1]
            if theirs == NO_RULE:
                continue
            i = bisect_right(flat_at, at) - 1
            ours = flat_rule[i] if i >= 0 else NO_RULE
            a = words(theirs)
            if a[4] & 2 or a[0] == 4:
                # The end of the stack, and expressions.
                continue
            if ours == NO_RULE:
                kind = "undefined"
            else:
                b = words(ours)
                if cfa_value(a, at) == cfa_value(b, at) and return_address(a) == return_address(b):
                    kind = "same"
                elif a[0] in (1, 2) and return_address(a) == return_address(b) and same_place(binary, at, a, b):
                    kind = "equal"
                else:
                    kind = "wrong"
            found[kind] += 1
            if kind == options.show and kind != last and len(examples) < options.count:
                name = binary.functions.names.get(start, hex(start))
                we = words(ours)[:4] if ours != NO_RULE else "-"
                examples.append((kind, name, hex(at), str(one), f"cfi {a[:4]} {return_address(a)} code {we}"))
            last = kind
    return found, seconds, examples


def same_place(binary: ProgramAnalysis, at: int, a: "list[int]", b: "list[int]") -> bool:
    """Whether the call frame address that `.eh_frame` states is the same by the state the analysis has there."""
    number = binary.functions.at(at)
    if number is None:
        return False
    cfa = a[0], a[1], a[2], a[3] if a[0] == 2 else 0
    return any(is_call_frame(state, cfa) for state in binary.state_at(number, at))


if __name__ == "__main__":
    sys.exit(main())
