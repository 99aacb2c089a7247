"""The parts of the page of a comparison, for one file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf import __version__
from undwarf.api import OpenedRecording
from undwarf.outputs.json_values import wholeness
from undwarf.outputs.page.parts import encode
from undwarf.serve.page_parts import MOST_BYTES, OUTSIDE_PARTS, described
from undwarf.views.comparison.combined import Combined, combine
from undwarf.views.page.code_part import CodeBounds, CodeSources, code_part, function_weights, heaviest
from undwarf.views.page.comparison_part import ComparedPage, compared_page, comparison_part
from undwarf.views.page.profile_part import Bounds

if TYPE_CHECKING:
    from undwarf.api import Profile as ApiProfile
    from undwarf.imports.profile_file import OpenedProfile
    from undwarf.views.comparison.model import Comparison
    from undwarf.views.sample_selection import Weight

_BASE64 = 4 / 3
_LEAST_SCALE = 1 / 256
"""Of the usual bounds, where a page stays too large."""


class Side(NamedTuple):
    """The first recording of a side, whose code is shown. ``symfs``: the root of its machine's files, or empty."""

    source: "OpenedRecording | OpenedProfile[ApiProfile]"
    symfs: str = ""


def comparison_parts(
    comparison: "Comparison", before: Side, after: Side, title: str, *, weight: "Weight" = "period"
) -> dict[str, bytes]:
    """The parts by name: ``profile``, ``comparison``, ``code`` of the side after and ``before-code``. Larger pages than
    MOST_BYTES have fewer rows and stack nodes, which their notes say."""
    combined = combine(comparison, weight)
    most = (MOST_BYTES - OUTSIDE_PARTS) / _BASE64
    scale = 1.0
    while True:
        usual = Bounds()
        bounds = Bounds(int(usual.rows * scale), int(usual.nodes * scale))
        parts = _parts(comparison, combined, before, after, title, weight, bounds)
        if sum(map(len, parts.values())) <= most or scale <= _LEAST_SCALE:
            return parts
        scale /= 2


def _parts(
    comparison: "Comparison",
    combined: Combined,
    before: Side,
    after: Side,
    title: str,
    weight: "Weight",
    bounds: Bounds,
) -> dict[str, bytes]:
    dumps = [one.source.stack_dump for one in (before, after) if isinstance(one.source, OpenedRecording)]
    # Path and machine are those of the sides, which part "comparison" has.
    recording: dict[str, str | None] = {**described(after.source), "undwarf": __version__}
    page = compared_page(comparison, combined, title, recording, dump=max(dumps, default=0), bounds=bounds)
    page.page.part.values["quality"] = wholeness(page.page.quality)
    compared = comparison_part(comparison, combined, page, weight)
    compared.values["machines"] = [described(one.source) for one in (before, after)]
    wanted = heaviest(page.page, function_weights(page.page))
    return {
        "profile": encode(page.page.part),
        "comparison": encode(compared),
        "code": encode(_code(comparison, page, 1, after, wanted)),
        "before-code": encode(_code(comparison, page, 0, before, wanted)),
    }


def _code(comparison: "Comparison", compared: ComparedPage, side: int, of: Side, wanted: Sequence[int]) -> Any:
    """The code of one side's first recording."""
    recorded = (comparison.after if side else comparison.before)[0]
    numbers = (comparison.functions.after if side else comparison.functions.before)[0]
    functions: list[list[int]] = [[] for _function in compared.page.functions]
    for own, number in enumerate(numbers):
        function = compared.numbers[number]
        if function < len(functions):
            functions[function].append(own)
    page = replace(compared.page, profile=recorded.profile, functions=functions)
    disassembly = None
    if isinstance(of.source, OpenedRecording):
        from undwarf.views.function_code import Disassembly

        disassembly = Disassembly(of.source.images.images.__getitem__, of.source.lines)
    usual = CodeBounds()
    # Two sides share what the page of one recording may have.
    bounds = usual._replace(instructions=usual.instructions // 2, source_lines=usual.source_lines // 2)
    there = [number for number in wanted if functions[number]]
    return code_part(page, there, CodeSources(disassembly, None, of.symfs), bounds)
