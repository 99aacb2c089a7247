"""The functions of one side's recordings: their keys, and what identifies a function whose name changed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.ordering import sort_order
from undwarf.profile.grouping import Pairs, look_up, sums, without_none
from undwarf.profile.labels import UNKNOWN, is_kernel, short_dso
from undwarf.profile.model import NONE, Profile
from undwarf.views.kernels.stack_tree import collapse, subtree_sums
from undwarf.views.sample_selection import Events, Selection, Weight

_CLONE = re.compile(
    r"(?: \[clone [^\]]*\])+$|(?:\.(?:constprop|isra|part|cold|lto_priv|llvm|localalias|warm|hot)(?:\.\d+)*)+$"
)
"""What compilers append to the names of copies and parts of functions: GCC's clones (`clone_function_name` in
``cgraphclones.cc``), LLVM's promoted internal functions (`getGlobalNameForLocal`) and split parts."""


class Key(NamedTuple):
    """What a function is known by: its name without suffixes of clones, the last part of its file's name, and for a
    function without a symbol the build-id of that file, since its name is an address in it."""

    name: str
    image: str
    build_id: str = ""
    kernel: bool = False
    unnamed: bool = False


def plain_name(name: str) -> str:
    """The name of the function that a clone was made of."""
    return _CLONE.sub("", name) or name


class _Tables(NamedTuple):
    """The functions and the tree of functions of a profile: by number of the side."""

    profile: Profile
    of_function: memoryview
    of_frame: memoryview
    node_of: memoryview
    parent: memoryview
    function: memoryview


def _same_tables(one: Profile, other: Profile) -> bool:
    """Whether two profiles differ in their samples alone, as the parts of a store's span do."""
    return (
        one.images is other.images
        and one.functions.name is other.functions.name
        and one.frames.function is other.frames.function
        and one.stacks.parent is other.stacks.parent
    )


class SideFunctions:
    """The functions of one side, numbered by key, with the properties that matching compares. Weights are parts of the
    side's.

    ``keys``; ``own`` and ``passing``: weights without and with callees; ``callers`` and ``callees``: weight by number;
    ``inlined``: how much of its weight passed through copies that were inlined; ``variants``: the names with suffixes
    of clones; ``order``: by image, the functions by address. ``of_functions``: for each recording the number (I) of
    each of the profile's functions.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.own: list[float] = []
        self.passing: list[float] = []
        self.inlined: list[float] = []
        self.variants: list[set[str]] = []
        self.callers: list[dict[int, float]] = []
        self.callees: list[dict[int, float]] = []
        self.order: dict[str, list[int]] = {}
        self.of_functions: list[memoryview] = []
        self._numbers: dict[Key, int] = {}
        self._last: _Tables | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def number(self, key: Key) -> int | None:
        """The number of a key; None if the side has it not."""
        return self._numbers.get(key)

    def add(self, profile: Profile, events: Events, weight: Weight, part: float) -> None:
        """Add a recording, which is this ``part`` of its side."""
        if self._last is None or not _same_tables(profile, self._last.profile):
            of_function = self._number_functions(profile)
            of_frame = look_up(profile.frames.function, of_function)
            tree = collapse(profile.stacks.parent, profile.stacks.frame, of_frame)
            self._last = _Tables(profile, of_function, of_frame, *tree)
            self._add_order(profile, of_function)
        _profile, of_function, of_frame, node_of, parent, function = self._last
        self.of_functions.append(of_function)
        selection = Selection(profile, events, weight)
        scale = part / (selection.total or 1)
        own = sums(look_up(selection.stacks, node_of), selection.weights, len(parent))
        below = subtree_sums(parent, own)
        count = len(self.keys)
        for number, value in enumerate(sums(function, own, count)):
            if value:
                self.own[number] += value * scale
        # Recursion counts more than once here, alike on both sides.
        for number, value in enumerate(sums(function, below, count)):
            if value:
                self.passing[number] += value * scale
        edges = Pairs()
        edge = edges.column(look_up(parent, function), function)
        for caller, callee, value in zip(edges.high(), edges.low(), sums(edge, below, len(edges)), strict=True):
            if caller != NONE and value:
                _add(self.callers[callee], caller, value * scale)
                _add(self.callees[caller], callee, value * scale)
        self._add_inlined(profile, selection, of_frame, scale)

    def _number_functions(self, profile: Profile) -> memoryview:
        functions = profile.functions
        names = [short_dso(image) for image in profile.images]
        kernel = [is_kernel(image) for image in profile.images]
        of_function = zeros("I", len(functions.name))
        for i, (name, image, unnamed) in enumerate(
            zip(functions.name, functions.image, functions.unnamed, strict=True)
        ):
            plain = plain_name(name)
            if image == NONE:
                key = Key(plain, UNKNOWN)
            else:
                build_id = profile.images[image].build_id if unnamed else ""
                key = Key(plain, names[image], build_id, kernel[image], bool(unnamed))
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.keys)
                self.keys.append(key)
                self.variants.append(set())
                self.callers.append({})
                self.callees.append({})
                for weights in (self.own, self.passing, self.inlined):
                    weights.append(0.0)
            if plain != name:
                self.variants[number].add(name)
            of_function[i] = number
        return of_function

    def _add_inlined(self, profile: Profile, selection: Selection, of_frame: memoryview, scale: float) -> None:
        depths = profile.frames.inline_depth
        if not any(depths.tobytes()):
            return
        inline = zeros("I", len(profile.frames))
        for frame, (depth, number) in enumerate(zip(depths, of_frame, strict=True)):
            inline[frame] = number if depth else NONE
        own = sums(selection.stacks, selection.weights, len(profile.stacks))
        below = subtree_sums(profile.stacks.parent, own)
        for number, value in enumerate(sums(look_up(profile.stacks.frame, inline), below, len(self.keys))):
            if value:
                self.inlined[number] += value * scale

    def _add_order(self, profile: Profile, of_function: memoryview) -> None:
        """The order of functions in each file that no recording before had."""
        images = [short_dso(image) for image in profile.images]
        found: dict[str, list[int]] = {}
        functions = profile.functions
        addresses = zeros("Q", len(functions))
        addresses[:] = functions.address
        for i in sort_order(addresses):
            if functions.image[i] != NONE:
                found.setdefault(images[functions.image[i]], []).append(of_function[i])
        for image, numbers in found.items():
            self.order.setdefault(image, list(dict.fromkeys(numbers)))


def _add(weights: dict[int, float], number: int, value: float) -> None:
    weights[number] = weights.get(number, 0.0) + value


def renumbered(column: memoryview, numbers: Sequence[int]) -> memoryview:
    """The column of a side's numbers with others instead."""
    table = zeros("I", max(len(numbers), 1))
    for at, number in enumerate(numbers):
        table[at] = number
    result: memoryview = look_up(without_none(column, NONE), table)
    return result


def similar(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """How much of two distributions is common, 0 to 1; 1 if both are empty."""
    if not one or not other:
        return float(not one and not other)
    first, second = sum(one.values()), sum(other.values())
    return sum(min(value / first, other.get(key, 0.0) / second) for key, value in one.items())


def by_image(functions: SideFunctions, numbers: Iterable[int]) -> dict[str, list[int]]:
    """Numbers of functions by the file they are in."""
    found: dict[str, list[int]] = {}
    for number in numbers:
        found.setdefault(functions.keys[number].image, []).append(number)
    return found
