"""The part of a page with code: source and assembly of functions, and the types of operands."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.column import zeros
from undwarf.disasm.flow_control import Flow
from undwarf.limits import DEFAULT, Limits
from undwarf.ordering import group
from undwarf.profile.grouping import Pairs, look_up, subtree_sums, sums
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, Profile
from undwarf.views.kernels.stack_tree import inclusive
from undwarf.views.page.part import Part
from undwarf.views.page.profile_part import PageProfile
from undwarf.views.source import AROUND, Target, source_of

if TYPE_CHECKING:
    from undwarf.disasm import Instruction
    from undwarf.types.access import Access
    from undwarf.views.function_code import Block, Disassembly, Place

_MEMORY = re.compile(r"(?:%[a-z]s:)?-?(?:0x[0-9a-f]+|[0-9]+)?\([^()]*\)|\[[^\[\]]*\]")
"""A memory operand in the syntax of AT&T, or of AArch64."""
_JUMPS = (Flow.JUMP, Flow.BRANCH)


class CodeBounds(NamedTuple):
    """The most ``functions``, ``instructions`` and ``source_lines`` of the part, and the most bytes of code that are
    read for one of its functions."""

    functions: int = 400
    instructions: int = 24_000
    source_lines: int = 40_000
    function_bytes: int = 48 << 10


@dataclass(slots=True)
class CodeSources:
    """Where code comes from: ``disassembly``, None for profiles of other tools; ``accesses`` gives what the instruction
    at an address of an image accesses, None if types are not asked for. ``symfs``: the root of the recorded machine's
    files, or empty."""

    disassembly: "Disassembly | None" = None
    accesses: "Callable[[int, int], Sequence[Access]] | None" = None
    symfs: str = ""
    limits: Limits = DEFAULT


class FunctionWeights(NamedTuple):
    """Self and total weight of each function of a page, in the default measure."""

    own: memoryview
    total: list[int]


def heaviest(page: PageProfile, weights: FunctionWeights) -> list[int]:
    """The functions of a page that are looked at first: by self weight, and a tenth of what they call."""
    score = [own + total / 10 for own, total in zip(weights.own, weights.total, strict=True)]
    return sorted((number for number, one in enumerate(score) if one), key=lambda number: -score[number])


def function_weights(page: PageProfile) -> FunctionWeights:
    """The weights of the functions of a page."""
    columns = page.part.columns
    count = len(page.functions)
    node, weight, parent = columns["row_node"], columns["row_weight"], columns["node_parent"]
    of_node = look_up(columns["node_frame"], columns["frame_function"])
    if page.measures and len(page.profile.events) > 1:
        wanted = set(page.measures[0].events)
        counted = zeros("Q", len(weight))
        for row, event in enumerate(columns["row_event"]):
            if event in wanted:
                counted[row] = weight[row]
        weight = counted
    paths = Pairs(1024)
    path = paths.column(zeros("I", len(node)), node)
    weights = sums(path, weight, len(paths))
    total = [0] * count
    for _group, function, passing in zip(
        *inclusive(paths.high(), paths.low(), weights, parent, of_node, count), strict=True
    ):
        total[function] = passing
    return FunctionWeights(sums(look_up(node, of_node), weight, count), total)


def code_part(
    page: PageProfile, functions: Iterable[int], sources: CodeSources, bounds: CodeBounds | None = None
) -> Part:
    """Source and assembly of functions of a page, by number, until the bounds are reached."""
    bounds = bounds or CodeBounds()
    code = _Code(page, sources, bounds)
    wanted = list(functions)
    for number in wanted:
        if code.is_full:
            break
        code.add(number)
    code.add_sources()
    values = {
        "functions": {str(number): entry for number, entry in code.functions.items()},
        "lines": code.lines,
        "files": code.more_files,
        "sources": {str(number): source for number, source in code.sources.items()},
        "left_out": len(wanted) - len(code.functions),
        "problem": None if sources.disassembly is not None else "it is a profile of another tool, without code",
    }
    return Part("code", values, {})


def without_code(problem: str) -> Part:
    """The part of a page that has no code, which says why."""
    return Part(
        "code", {"functions": {}, "lines": [], "files": [], "sources": {}, "left_out": 0, "problem": problem}, {}
    )


class _Code:
    """Collects the code of functions."""

    def __init__(self, page: PageProfile, sources: CodeSources, bounds: CodeBounds) -> None:
        self._page, self._from, self._bounds = page, sources, bounds
        self._profile: Profile = page.profile
        self._rows = group(page.profile.frames.function, len(page.profile.functions))
        stacks, samples = page.profile.stacks, page.profile.samples.columns
        passing = subtree_sums(stacks.parent, sums(samples.stack, None, len(stacks)))
        self._weights = sums(stacks.frame, passing, len(page.profile.frames))
        self._files = dict(page.files)
        self._known_files = len(page.files)
        self._line_numbers: dict[Any, int] = {}
        self._spans: dict[int, list[int]] = {}
        self._binaries: dict[int, str] = {}
        self._instructions = 0
        self.functions: dict[int, dict[str, Any]] = {}
        self.lines: list[Any] = []
        self.more_files: list[str] = []
        self.sources: dict[int, dict[str, Any]] = {}

    @property
    def is_full(self) -> bool:
        """Whether a bound is reached."""
        return len(self.functions) >= self._bounds.functions or self._instructions >= self._bounds.instructions

    def add(self, number: int) -> None:
        """Add a function of the page."""
        profile, frames = self._profile, self._profile.frames
        order, starts = self._rows
        rows = [int(row) for one in self._page.functions[number] for row in order[starts[one] : starts[one + 1]]]
        entry: dict[str, Any] = {
            "start": None,
            "end": None,
            "image": None,
            "file": None,
            "first_line": 0,
            "instructions": [],
            "problem": None,
        }
        self.functions[number] = entry
        if not rows:
            entry["problem"] = "it stands for stacks that are not shown one by one"
            return
        image = profile.functions.image[self._page.functions[number][0]]
        image_number = self._page.part.columns["function_image"][number]
        entry["image"] = image_number if image_number != NONE else None
        binary = dso(profile.images[image]) if image != NONE else UNKNOWN
        blocks: list[Block] = []
        if self._from.disassembly is None:
            entry["problem"] = "it is a profile of another tool, without code"
        elif image == NONE:
            entry["problem"] = "it is in no file"
        else:
            rows_there = [row for row in rows if frames.image[row] == image]
            name = profile.functions.name[self._page.functions[number][0]]
            weights = [self._weights[row] for row in rows_there]
            skipped = self._from.disassembly.skipped
            target = Target(name, image, rows_there, weights, weights, 0, {})
            blocks = self._from.disassembly.blocks(profile, target, self._bounds.function_bytes)
            if not any(block.code for block in blocks):
                entry["problem"] = (
                    "its code is too large for this page"
                    if self._from.disassembly.skipped > skipped
                    else profile.images[image].problem
                    or "its code cannot be read: the kernel's, or generated at run time"
                )
        places: dict[tuple[int, int], int] = {}
        if frames.file is not None and frames.line is not None:
            for row in rows:
                if frames.file[row] != NONE and frames.line[row]:
                    place = self._file(profile.files[frames.file[row]]), frames.line[row]
                    places[place] = places.get(place, 0) + 1
        self._add_blocks(entry, blocks, image, places)
        self._add_places(entry, places, binary)

    def _add_blocks(
        self, entry: dict[str, Any], blocks: "list[Block]", image: int, places: dict[tuple[int, int], int]
    ) -> None:
        if not blocks:
            return
        own = next((block for block in blocks if block.own), blocks[0])
        entry["start"], entry["end"] = f"{own.start:#x}", f"{own.end:#x}"
        listed = entry["instructions"]
        for block in blocks:
            for insn, place in block.code:
                target = insn.target if insn.flow in _JUMPS and insn.target is not None else None
                inside = target is not None and block.start <= target < block.end
                listed.append(
                    [
                        insn.address - own.start,
                        insn.text,
                        self._line(place),
                        target - own.start if inside and target is not None else None,
                        self._operands(insn, image),
                    ]
                )
                if place.file and place.line:
                    where = self._file(place.file), place.line
                    places[where] = places.get(where, 0) + 1
        self._instructions += len(listed)

    def _line(self, place: "Place") -> int | None:
        """The number of an instruction's place in ``lines``."""
        if not place.file and not place.inlined:
            return None
        number = self._line_numbers.setdefault(place, len(self.lines))
        if number == len(self.lines):
            file = self._file(place.file) if place.file else None
            self.lines.append([file, place.line, [name or None for name in place.inlined]])
        return number

    def _file(self, name: str) -> int:
        """The number of a source file: of the profile's part, else after these."""
        number = self._files.setdefault(name, len(self._files))
        if number >= self._known_files + len(self.more_files):
            self.more_files.append(name)
        return number

    def _operands(self, insn: "Instruction", image: int) -> list[Any] | None:
        """The types of an instruction's memory operands with their columns in its text."""
        if self._from.accesses is None:
            return None
        text = insn.text
        texts = list(_MEMORY.finditer(text))
        if not texts or text.startswith(("lea", "nop")):
            return None
        accesses = [one for one in self._from.accesses(image, insn.address) if one.type is not None]
        if not accesses:
            return None
        found = []
        for place, access in zip(texts, accesses if len(texts) > 1 else accesses[:1], strict=False):
            found.append([place.start(), place.end(), access.type, access.field or None, access.offset])
        return found

    def _add_places(self, entry: dict[str, Any], places: dict[tuple[int, int], int], binary: str) -> None:
        """The file in which most of the function is, its first line there, and what is needed of the source."""
        if not places:
            return
        weights: dict[int, int] = {}
        for (file, _line), count in places.items():
            weights[file] = weights.get(file, 0) + count
        entry["file"] = max(weights, key=lambda file: weights[file])
        entry["first_line"] = min(line for file, line in places if file == entry["file"])
        for file, line in places:
            span = self._spans.setdefault(file, [line, line])
            span[0], span[1] = min(span[0], line), max(span[1], line)
            self._binaries.setdefault(file, binary)

    def add_sources(self) -> None:
        """Read the source files that the functions are in, as far as they have code."""
        names = {number: name for name, number in self._files.items()}
        left = self._bounds.source_lines
        for file, (first, last) in self._spans.items():
            entry: dict[str, Any] = {"first": max(1, first - AROUND), "text": [], "problem": None}
            self.sources[file] = entry
            try:
                source = source_of(names[file], self._binaries[file], self._from.limits.source_bytes, self._from.symfs)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else None
                entry["problem"] = f"the source cannot be read: {reason or error}"
                continue
            # Debugging information counts lines as C compilers do, which end them at each carriage return too.
            text = [part for line in source.lines for part in line.split("\r")] if source.firsts else source.lines
            if last > len(text):
                entry["problem"] = f"the source has only {len(text)} lines: it is not what the binary was made from"
            elif source.newer:
                entry["problem"] = "the source is newer than the binary: lines may have moved"
            wanted = text[entry["first"] - 1 : last + AROUND]
            if len(wanted) > left:
                entry["problem"] = "it is left out: the page has as much source as it may have"
                continue
            left -= len(wanted)
            entry["text"] = wanted
