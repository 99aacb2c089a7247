"""The rows of each table, common to both sides, and the groups that count them in each recording."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.column import absent, zeros
from undwarf.errors import UsageError
from undwarf.profile.grouping import look_up, rows_from, sums, without_none
from undwarf.profile.model import NONE, Profile
from undwarf.views.comparison.model import By, FunctionNumbers, FunctionPair, Note, Recorded
from undwarf.views.comparison.quantities import Groups
from undwarf.views.flat_profile import NO_FRAME
from undwarf.views.kernels.stack_tree import collapse, subtree_sums
from undwarf.views.sample_selection import Events, Selection, Weight

_FINEST = 100
"""Call paths below this part of the least share count as 0 in a recording."""
_DEEPEST = 256
"""Functions of a call path; deeper ones count in the path of their callers alone."""
_MOST_SHIFT = 10_000


_Lines = dict[tuple[int, str], dict[int, int]]
"""Samples by line, for each function and file."""


class Thing(NamedTuple):
    """A row before it is measured."""

    name: str
    image: str = ""
    kernel: bool = False
    name_before: str = ""
    path: tuple[str, ...] = ()
    number: int = -1
    notes: tuple[Note, ...] = ()
    numbers: tuple[int, ...] = ()


class Counted(NamedTuple):
    """The rows of a table, and the groups of each recording of both sides."""

    by: By
    things: list[Thing]
    before: list[Groups]
    after: list[Groups]


class Both(NamedTuple):
    """Both sides, with their functions by common number, and what each is as a row."""

    before: Sequence[Recorded]
    after: Sequence[Recorded]
    functions: FunctionNumbers
    function_rows: list[Thing]

    def recordings(self) -> list[tuple[Recorded, memoryview]]:
        """All recordings, those of before first, each with the numbers of its functions."""
        numbers = [*self.functions.before, *self.functions.after]
        return list(zip((*self.before, *self.after), numbers, strict=True))

    def counted(self, by: By, things: list[Thing], groups: list[Groups]) -> Counted:
        """The table of these groups, which are in the order of :meth:`recordings`."""
        return Counted(by, things, groups[: len(self.before)], groups[len(self.before) :])


def name_of(pair: FunctionPair) -> str:
    """The name of a function on the side after, if it has it."""
    return pair.after if pair.after is not None else pair.before or ""


def image_of(pair: FunctionPair) -> str:
    """The file of a function on the side after, if it has it."""
    return (pair.image_after if pair.after is not None else pair.image_before) or ""


def _leaves(profile: Profile) -> memoryview:
    """The innermost frame of each sample."""
    result: memoryview = look_up(profile.samples.columns.stack, profile.stacks.frame)
    return result


def functions(both: Both, children: bool) -> Counted:
    """The functions, by their own weight or with ``children``."""
    groups = []
    for recorded, numbers in both.recordings():
        of_frame = look_up(recorded.profile.frames.function, numbers)
        if children:
            node_of, parent, function = collapse(
                recorded.profile.stacks.parent, recorded.profile.stacks.frame, of_frame
            )
            groups.append(Groups(function, parent, node_of))
        else:
            groups.append(Groups(look_up(_leaves(recorded.profile), of_frame)))
    return both.counted("function", both.function_rows, groups)


def images(both: Both) -> Counted:
    """The files that code is in."""
    names: dict[str, int] = {}
    before: dict[int, str] = {}
    of_function = []
    # What is gone of a file is gone of the file that it is after.
    after = {
        pair.image_before: pair.image_after for pair in both.functions.pairs if pair.image_before and pair.image_after
    }
    for pair in both.functions.pairs:
        image = image_of(pair)
        if pair.after is None:
            image = after.get(image) or image
        number = names.setdefault(image, len(names))
        of_function.append(number)
        if pair.image_before and pair.image_before != image:
            before[number] = pair.image_before
    table = zeros("I", max(1, len(of_function)))
    for at, number in enumerate(of_function):
        table[at] = number
    groups = []
    for recorded, numbers in both.recordings():
        of_frame = look_up(look_up(recorded.profile.frames.function, numbers), table)
        groups.append(Groups(look_up(_leaves(recorded.profile), of_frame)))
    things = [Thing(name, name_before=before.get(number, "")) for name, number in names.items()]
    return both.counted("image", things, groups)


def paths(both: Both, events: Sequence[Events], weight: Weight, least: float) -> Counted:
    """The nodes of the call tree that have at least this share in one recording, with their callees."""
    trees = []
    heavy: dict[tuple[int, int], int] = {}
    depths: list[int] = []
    parts = []
    for (recorded, numbers), event in zip(both.recordings(), events, strict=True):
        profile = recorded.profile
        of_frame = look_up(profile.frames.function, numbers)
        node_of, parent, function = collapse(profile.stacks.parent, profile.stacks.frame, of_frame)
        selection = Selection(profile, event, weight)
        own = sums(look_up(selection.stacks, node_of), selection.weights, len(parent))
        below = subtree_sums(parent, own)
        trees.append((node_of, parent, function))
        parts.append((below, max(1, int(least * selection.total))))
        of_node: dict[int, int] = {}
        for node in rows_from(below, parts[-1][1]):
            up = parent[node]
            above = of_node.get(up, NONE) if up != NONE else NONE
            depth = depths[above] + 1 if above != NONE else 0
            if (up != NONE and above == NONE) or depth >= _DEEPEST:
                continue
            number = of_node[node] = heavy.setdefault((above, function[node]), len(heavy))
            if number == len(depths):
                depths.append(depth)
    groups = []
    for (node_of, parent, function), (below, limit) in zip(trees, parts, strict=True):
        of = absent("I", len(parent))
        for node in rows_from(below, max(1, limit // _FINEST)):
            up = parent[node]
            above = of[up] if up != NONE else NONE
            if up == NONE or above != NONE:
                of[node] = heavy.get((above, function[node]), NONE)
        groups.append(Groups(of, parent, node_of))
    things: list[Thing] = []
    for above, number in heavy:
        thing = both.function_rows[number]
        path = (*(things[above].path if above != NONE else ()), thing.name)
        passed = (*(things[above].numbers if above != NONE else ()), number)
        things.append(thing._replace(path=path, number=number, notes=(), numbers=passed))
    return both.counted("path", things, groups)


def lines(both: Both) -> Counted:
    """The source lines of functions; where all lines of a function moved alike, they are the same ones."""
    of_frames: list[list[tuple[int, str, int] | None]] = []
    sides: list[_Lines] = [{}, {}]
    for at, (recorded, numbers) in enumerate(both.recordings()):
        profile = recorded.profile
        frames = profile.frames
        if frames.file is None or frames.line is None:
            raise UsageError("source lines are not known", "", "compare functions")
        names = [name.rpartition("/")[2] for name in profile.files]
        leaves = sums(_leaves(profile), profile.samples.columns.count, len(frames))
        of_frame: list[tuple[int, str, int] | None] = []
        for own, source, line, count in zip(frames.function, frames.file, frames.line, leaves, strict=True):
            if not count or source == NONE or not line:
                of_frame.append(None)
                continue
            key = numbers[own], names[source]
            counted = sides[at >= len(both.before)].setdefault(key, {})
            counted[line] = counted.get(line, 0) + count
            of_frame.append((*key, line))
        of_frames.append(of_frame)
    names_after = _files(*sides)
    sides[0] = {(function, names_after.get((function, file), file)): old for (function, file), old in sides[0].items()}
    shifts = {key: _shift(old, sides[1][key]) for key, old in sides[0].items() if key in sides[1]}
    rows: dict[tuple[int, str, int], int] = {}
    groups = []
    for at, ((recorded, _numbers), of_frame) in enumerate(zip(both.recordings(), of_frames, strict=True)):
        column = absent("I", max(1, len(of_frame)))
        for frame, line_key in enumerate(of_frame):
            if line_key is not None:
                function, file, line = line_key
                moved = line
                if at < len(both.before):
                    file = names_after.get((function, file), file)
                    moved += shifts.get((function, file), 0)
                column[frame] = rows.setdefault((function, file, moved), len(rows))
        groups.append(Groups(look_up(_leaves(recorded.profile), column)))
    things = []
    for function, file, line in rows:
        shift = shifts.get((function, file), 0)
        of = both.function_rows[function]
        before = f"{file}:{line - shift}" if shift else ""
        notes = (Note("lines-moved", f"line {line - shift} before"),) if shift else ()
        things.append(Thing(f"{file}:{line}", of.name, of.kernel, before, (), function, notes))
    return both.counted("line", things, groups)


def _files(before: "_Lines", after: "_Lines") -> dict[tuple[int, str], str]:
    """By (function, file before) the file after, where the source file of a function has another name."""
    left: dict[int, tuple[set[str], set[str]]] = {}
    for side, lines_ in enumerate((before, after)):
        for function, file in lines_:
            left.setdefault(function, (set(), set()))[side].add(file)
    found = {}
    for function, (old, new) in left.items():
        old, new = old - new, new - old
        if len(old) == len(new) == 1:
            found[function, old.pop()] = new.pop()
    return found


def _shift(old: dict[int, int], new: dict[int, int]) -> int:
    """By how many lines a function moved in its file: the number with which most samples fall on the same lines, 0 if
    no other is better."""
    heaviest = sorted(old, key=lambda line: -old[line])[:8], sorted(new, key=lambda line: -new[line])[:8]
    shifts = {0} | {b - a for a in heaviest[0] for b in heaviest[1] if abs(b - a) <= _MOST_SHIFT}
    total = sum(old.values()), sum(new.values())

    def common(shift: int) -> float:
        return sum(min(count / total[0], new.get(line + shift, 0) / total[1]) for line, count in old.items())

    return max(shifts, key=lambda shift: (round(common(shift), 1), shift == 0, common(shift), -abs(shift)))


def labelled(both: Both, by: By, key: str) -> Counted:
    """The data types or members that samples access."""
    names: dict[str, int] = {}
    groups = []
    for recorded, _numbers in both.recordings():
        of_sample, texts = recorded.labels[key]
        table = zeros("I", len(texts) + 1)
        for at, text in enumerate((*texts, NO_FRAME)):
            table[at] = names.setdefault(text, len(names))
        groups.append(Groups(look_up(without_none(of_sample, len(texts)), table)))
    return both.counted(by, [Thing(name) for name in names], groups)


def threads(both: Both) -> Counted:
    """Threads by name."""
    names: dict[str, int] = {}
    groups = []
    for recorded, _numbers in both.recordings():
        profile = recorded.profile
        table = zeros("I", len(profile.comms) + 1)
        for at, name in enumerate((*profile.comms, "[unknown]")):
            table[at] = names.setdefault(name, len(names))
        groups.append(Groups(look_up(without_none(profile.samples.columns.comm, len(profile.comms)), table)))
    return both.counted("thread", [Thing(name) for name in names], groups)


def chosen(groups: Groups, table: memoryview) -> Groups:
    """The groups with numbers by this table (I): those of the rows that are tested."""
    return groups._replace(of=look_up(groups.of, table))
