"""The source of a function with the weight of each line, and the instructions compiled from it."""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from undwarf.column import zeros
from undwarf.errors import NothingUsable
from undwarf.images.symfs_paths import confined, usable
from undwarf.profile.grouping import Pairs, look_up, rows_set, sums
from undwarf.profile.labels import dso
from undwarf.profile.model import NONE, Profile
from undwarf.symbols.resolver import UNKNOWN
from undwarf.symbols.source_text import SourceText, read_source
from undwarf.views.kernels.stack_tree import inclusive
from undwarf.views.sample_selection import Events, Selection, Weight

AROUND = 3
"""Lines shown before the first and after the last known line of the function."""
SIMILAR = 5
"""Similar names that are suggested for an unknown one."""


@dataclass(frozen=True, slots=True)
class Code:
    """One instruction: its address in the ELF file, its text, and the function inlined there, if any.

    ``self_weight`` is of samples at it, ``total_weight`` of all stacks with a frame at it.
    """

    address: int
    text: str
    self_weight: int = 0
    total_weight: int = 0
    inlined: str = ""


@dataclass(slots=True)
class Line:
    """One line: ``text`` is None without the source file, ``number`` 0 for instructions without a line."""

    number: int
    text: str | None = None
    self_weight: int = 0
    total_weight: int = 0
    code: list[Code] = field(default_factory=list)


@dataclass(slots=True)
class Listing:
    """A function of one binary in one source file: ``lines`` by number, without gaps if the source file is there.

    Weights are the function's, of the profile's ``whole`` weight. ``problem``: why lines are missing or doubtful.
    """

    function: str
    dso: str
    file: str
    whole: int
    self_weight: int
    total_weight: int
    lines: list[Line]
    problem: str = ""


@dataclass(slots=True)
class Target:
    """One function of one image: its frames (``rows``, ascending) with the weights of each.

    ``line_weights`` has (self, total) weights by (file number, line).
    """

    name: str
    image: int
    rows: list[int]
    own: list[int]
    total: list[int]
    whole_total: int
    line_weights: dict[tuple[int, int], tuple[int, int]]


Disassemble = Callable[[Profile, Target], list[tuple[str, int, Code]]]
"""Gives the instructions of a function by address, each with its source file and line in that function."""


def find_function(profile: Profile, wanted: str) -> list[str]:
    """The names that match ``wanted``: in full, else without parameters, else without template arguments and return
    type, else without namespaces and classes.

    Raises NothingUsable if no sample passed such a function.
    """
    names = sorted(set(profile.functions.name) - {UNKNOWN})
    forms: tuple[Callable[[str], str], ...] = (
        str,
        without_parameters,
        plain_name,
        lambda name: plain_name(name).rpartition("::")[2],
    )
    for form_of in forms:
        matching = [name for name in names if form_of(name) == wanted]
        if matching:
            return matching
    similar = [name for name in names if wanted in name][:SIMILAR]
    similar = similar or difflib.get_close_matches(wanted, names, SIMILAR)
    hint = "close to it: " + "; ".join(similar) if similar else "undwarf report shows which functions there are"
    raise NothingUsable(f"no sample passed a function called {wanted}", "", hint)


def without_parameters(name: str) -> str:
    """A name without its parameters: ``ns::f`` for ``ns::f(int) const``; ``(anonymous namespace)::f`` stays."""
    depth = 0
    for i, char in enumerate(name):
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
        elif char == "(" and not depth and i and not name.startswith("(anonymous", i):
            return name[:i]
    return name


def plain_name(name: str) -> str:
    """A name without parameters, template arguments and return type: ``ns::f`` for ``void ns::f<int>(char)``."""
    depth = 0
    kept = []
    for char in without_parameters(name):
        if char == ">" and depth:
            depth -= 1
        elif char == "<":
            depth += 1
        elif not depth:
            kept.append(char)
    return "".join(kept).replace("(anonymous namespace)", "(anonymous)").rpartition(" ")[2]


def listings(
    profile: Profile,
    wanted: str,
    weight: Weight = "period",
    *,
    event: Events = None,
    disassemble: Disassemble | None = None,
    source_bytes: int = 16 << 20,
    symfs: str = "",
) -> list[Listing]:
    """A listing for each binary and source file in which a function called ``wanted`` has samples, heaviest first.

    With ``disassemble``, lines have their instructions. Source files of more than ``source_bytes`` are not read. They
    are looked for below ``symfs``, if it is not empty, then where the compiler had them.
    Raises NothingUsable if there is no such function, ValueError for a profile without source lines.
    """
    names = set(find_function(profile, wanted))
    selection = Selection(profile, event, weight)
    wanted_functions: dict[tuple[str, int], list[int]] = {}
    for i, (name, image) in enumerate(zip(profile.functions.name, profile.functions.image, strict=True)):
        if name in names:
            wanted_functions.setdefault((name, image), []).append(i)
    found: list[Listing] = []
    for (name, image), numbers in wanted_functions.items():
        target = _target(profile, selection, name, image, numbers)
        code = disassemble(profile, target) if disassemble is not None and image != NONE else []
        found += _listings_of(profile, selection, target, code)
    for listing in found:
        _add_source(listing, source_bytes, symfs)
    found.sort(key=lambda listing: (-listing.total_weight, -listing.self_weight, listing.function, listing.file))
    return found


def _target(profile: Profile, selection: Selection, name: str, image: int, functions: list[int]) -> Target:
    """Weigh the frames of functions of one name (one with code of its own, others inlined)."""
    frames, stacks = profile.frames, profile.stacks
    if frames.file is None or frames.line is None:
        raise ValueError("a profile without source lines")
    flags = zeros("I", len(profile.functions))
    for number in functions:
        flags[number] = 1
    mine = look_up(frames.function, flags)
    rows = list(rows_set(mine))
    by_frame, by_line = zeros("I", len(frames)), zeros("I", len(frames))
    lines: dict[tuple[int, int], int] = {}
    for k, row in enumerate(rows, 1):
        by_frame[row] = k
        by_line[row] = lines.setdefault((frames.file[row], frames.line[row]), len(lines) + 1)
    paths = Pairs(1024)
    path = paths.column(zeros("I", len(selection)), selection.stacks)
    weights = sums(path, selection.weights, len(paths))
    groups, nodes = paths.high(), paths.low()

    def passing(of_frame: memoryview, count: int) -> list[int]:
        """The weight of all stacks with each of ``count`` things, numbered from 1; 0 is for frames without one."""
        total = [0] * (count + 1)
        of_node = look_up(stacks.frame, of_frame)
        for _group, thing, amount in zip(
            *inclusive(groups, nodes, weights, stacks.parent, of_node, count + 1), strict=True
        ):
            total[thing] = amount
        return total

    leaf = look_up(selection.stacks, stacks.frame)
    own = list(sums(look_up(leaf, by_frame), selection.weights, len(rows) + 1))
    own_of_line = list(sums(look_up(leaf, by_line), selection.weights, len(lines) + 1))
    total_of_line = passing(by_line, len(lines))
    return Target(
        name,
        image,
        rows,
        own[1:],
        passing(by_frame, len(rows))[1:],
        passing(mine, 1)[1],
        {place: (own_of_line[i], total_of_line[i]) for place, i in lines.items()},
    )


def _listings_of(
    profile: Profile, selection: Selection, target: Target, code: list[tuple[str, int, Code]]
) -> list[Listing]:
    """A listing for each source file, without source text."""
    label = dso(profile.images[target.image]) if target.image != NONE else UNKNOWN
    by_file: dict[str, dict[int, Line]] = {}
    for (number, line), (own, total) in target.line_weights.items():
        if total:
            file = profile.files[number] if number != NONE else ""
            by_file.setdefault(file, {})[line] = Line(line, None, own, total)
    for file, line, instruction in code:
        by_file.setdefault(file, {}).setdefault(line, Line(line)).code.append(instruction)
    found = []
    for file, lines in by_file.items():
        own = sum(line.self_weight for line in lines.values())
        ordered = [lines[number] for number in sorted(lines)]
        if not file and not any(line.total_weight for line in ordered):
            continue
        found.append(Listing(target.name, label, file, selection.total, own, target.whole_total, ordered))
    return found


def source_of(file: str, binary: str, most: int, symfs: str = "") -> SourceText:
    """The text of a source file, below ``symfs`` if it is there. Raises OSError if it cannot be read, or has more than
    ``most`` bytes."""
    inside = confined(symfs, file) if symfs and usable(file) else None
    return read_source(inside if inside and os.path.isfile(inside) else file, binary, most)


def _add_source(listing: Listing, most: int, symfs: str = "") -> None:
    """Add the text of the lines, and the lines between them."""
    if not listing.file:
        listing.problem = "no debugging information has its lines"
        return
    try:
        source = source_of(listing.file, listing.dso, most, symfs)
    except OSError as error:
        listing.problem = f"the source cannot be read: {error.strerror or error}"
        return
    known: dict[int, Line] = {}
    for line in listing.lines:
        line.number = source.line_of(line.number)
        same = known.setdefault(line.number, line)
        if same is not line:
            same.self_weight += line.self_weight
            same.total_weight += line.total_weight
            same.code += line.code
    text = source.lines
    numbers = [number for number in known if number]
    if not numbers:
        return
    if max(numbers) > len(text):
        listing.problem = f"the source has only {len(text)} lines: it is not what the binary was made from"
        return
    if source.newer:
        listing.problem = "the source is newer than the binary: lines may have moved"
    first, last = max(1, min(numbers) - AROUND), min(len(text), max(numbers) + AROUND)
    lines = [known[0]] if 0 in known else []
    for number in range(first, last + 1):
        line = known.get(number) or Line(number)
        line.text = text[number - 1]
        lines.append(line)
    listing.lines = lines
