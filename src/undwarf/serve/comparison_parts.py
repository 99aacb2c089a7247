"""The parts of the page of a comparison, for one file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf import __version__
from undwarf.api import OpenedRecording
from undwarf.column import absent
from undwarf.outputs.json_values import wholeness
from undwarf.outputs.page.parts import encode
from undwarf.serve.page_parts import MOST_BYTES, NO_CODE, OUTSIDE_PARTS, SERVED_BOUNDS, Described, described
from undwarf.views.comparison.combined import Combined, combine
from undwarf.views.page.code_part import CodeBounds, CodeSources, code_part, function_weights, heaviest, without_code
from undwarf.views.page.comparison_part import ComparedPage, compared_page, comparison_part
from undwarf.views.page.profile_part import Bounds

if TYPE_CHECKING:
    from undwarf.api import Profile as ApiProfile
    from undwarf.imports.profile_file import OpenedProfile
    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.views.comparison.model import Comparison
    from undwarf.views.sample_selection import Weight

_BASE64 = 4 / 3
_LEAST_SCALE = 1 / 256
"""Of the usual bounds, where a page stays too large."""


class Side(NamedTuple):
    """The first recording of a side, whose code is shown; for a store, which has no code, its description. ``symfs``:
    the root of its machine's files, or empty. ``touched``: what its samples access, if data types were compared;
    ``skid``: with accesses before the sample."""

    source: "OpenedRecording | OpenedProfile[ApiProfile] | Described"
    symfs: str = ""
    touched: "ResolvedAccesses | None" = None
    skid: bool = False


def comparison_parts(
    comparison: "Comparison",
    before: Side,
    after: Side,
    title: str,
    *,
    weight: "Weight" = "period",
    served: bool = False,
) -> dict[str, bytes]:
    """The parts by name: ``profile``, ``comparison``, ``code`` of the side after and ``before-code``, and with data
    types ``types`` and ``before-types``. Files larger than MOST_BYTES have fewer rows and stack nodes, which their
    notes say; pages that are ``served`` have SERVED_BOUNDS."""
    combined = combine(comparison, weight)
    most = (MOST_BYTES - OUTSIDE_PARTS) / _BASE64
    scale = 1.0
    while True:
        usual = SERVED_BOUNDS if served else Bounds()
        bounds = Bounds(int(usual.rows * scale), int(usual.nodes * scale))
        parts = _parts(comparison, combined, before, after, title, weight, bounds)
        if served or sum(map(len, parts.values())) <= most or scale <= _LEAST_SCALE:
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
    wanted: list[int] = []
    compared.values["machines"] = [described(one.source) for one in (before, after)]
    if isinstance(after.source, Described):
        compared.values["recordings_are"] = "parts"
    else:
        wanted = heaviest(page.page, function_weights(page.page))
    parts = {
        "profile": encode(page.page.part),
        "comparison": encode(compared),
        "code": encode(_code(comparison, page, 1, after, wanted)),
        "before-code": encode(_code(comparison, page, 0, before, wanted)),
    }
    for name, side, number in (("types", after, len(comparison.before)), ("before-types", before, 0)):
        if side.touched is not None:
            alone = len(comparison.after if number else comparison.before) == 1
            parts[name] = encode(_types(combined, page, side, side.touched, number) if alone else _several())
    return parts


def _several() -> Any:
    from undwarf.views.page.types_part import without_types

    return without_types("data types are shown where there is one recording on a side; the table compares them")


def _types(combined: Combined, compared: ComparedPage, side: Side, touched: "ResolvedAccesses", number: int) -> Any:
    """The data types of one side's recording, which has this number."""
    from undwarf.outputs.page.type_texts import with_texts
    from undwarf.views.page.types_part import types_part

    recording = side.source
    assert isinstance(recording, OpenedRecording)
    page = compared.page
    samples, rows = absent("I", len(page.samples)), absent("I", len(touched.profile.samples))
    for sample, (owner, own) in enumerate(zip(combined.recording, combined.own, strict=True)):
        if owner == number:
            rows[own] = page.rows[sample]
            samples[page.rows[sample]] = own
    found = types_part(
        replace(page, samples=samples, rows=rows),
        touched,
        lambda: recording.data_addresses(touched.profile, touched),
        precise=recording.event_stops.at | recording.event_stops.after,
        skid=side.skid,
    )
    return with_texts(found)


def _code(comparison: "Comparison", compared: ComparedPage, side: int, of: Side, wanted: Sequence[int]) -> Any:
    """The code of one side's first recording."""
    if isinstance(of.source, Described):
        return without_code(NO_CODE)
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
