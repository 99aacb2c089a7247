"""A flame graph as one self-contained page: the tree as packed columns, drawn by the page's own script."""

import base64
import hashlib
import json
from array import array
from importlib.resources import files
from typing import Any, BinaryIO, Literal

from undwarf.column import zeros
from undwarf.lazy_dataclasses import dataclass
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.grouping import Pairs, look_up, sums
from undwarf.profile.model import NONE, ImageInfo, Profile
from undwarf.views.event_units import Measure, measures_of
from undwarf.views.kernels.stack_tree import collapse
from undwarf.views.labels import UNKNOWN, function_label, is_kernel, kind_of, short_dso
from undwarf.views.unwind_quality import unwind_quality

KINDS = ("program", "library", "kernel", "compiled at run time", "without a symbol", "data type")
"""What a frame's colour and pattern stand for."""
_DATA_TYPE = KINDS.index("data type")


@dataclass(frozen=True, slots=True)
class FlamegraphOptions:
    """``title`` of the page; ``dump``: the largest stack dump that was recorded, in bytes, for advice; ``weight``: what
    widths are at first, what samples stand for or their number."""

    title: str = "undwarf"
    dump: int = 8192
    weight: Literal["period", "samples"] = "period"


def _kind(name: str, image: ImageInfo | None, unnamed: bool) -> int:
    if image is None:
        # What is named but of no file is no code: a data type, with --by type.
        return 4 if name == UNKNOWN else _DATA_TYPE
    if is_kernel(image):
        return 2
    if kind_of(image) in ("ANON", "JIT"):
        return 3
    if unnamed:
        return 4
    base = image.path.rsplit("/", 1)[-1]
    return 1 if ".so" in base or kind_of(image) == "VDSO" else 0


def _packed(column: memoryview) -> str:
    return base64.b64encode(bytes(column.cast("B")) if len(column) else b"").decode("ascii")


def _graphs(profile: Profile) -> list[Measure]:
    """What can be drawn: events that may be added, and each of these alone; never the sum of different units."""
    found: list[Measure] = []
    for one in measures_of(profile):
        found.append(one)
        if len(one.events) > 1:
            found += [Measure(profile.events[event].name, one.unit, (event,)) for event in one.events]
    return found


def page_data(profile: Profile, options: FlamegraphOptions) -> dict[str, Any]:
    """What the page's script works on.

    ``parent`` and ``entity`` are the tree (32-bit numbers, parents first), ``name``, ``dso`` and ``kind`` describe
    entities, ``count_group``, ``count_node`` and ``count`` say how many samples of a group (thread name and event) end
    in a node, ``weight`` (64-bit floating point) what they stand for. ``graphs`` are the events that are drawn
    together, each with its unit, the first one first.
    """
    functions = profile.functions
    numbers: dict[tuple[str, str, int], int] = {}
    of_function = zeros("I", len(functions.name))
    for i, name in enumerate(functions.name):
        number = functions.image[i]
        image = profile.images[number] if number != NONE else None
        kind = _kind(name, image, bool(functions.unnamed[i]))
        file = short_dso(image) if image is not None else "" if kind == _DATA_TYPE else UNKNOWN
        key = (name if kind == _DATA_TYPE else function_label(name, image), file, kind)
        of_function[i] = numbers.setdefault(key, len(numbers))
    node_of, parent, entity = collapse(
        profile.stacks.parent, profile.stacks.frame, look_up(profile.frames.function, of_function)
    )
    samples = profile.samples
    by_name: dict[tuple[int, int], int] = {}
    group = zeros("I", len(samples))
    for i, pair in enumerate(zip(samples.comm, samples.event, strict=True)):
        group[i] = by_name.setdefault(pair, len(by_name))
    pairs = Pairs(len(samples))
    place = pairs.column(group, look_up(samples.stack, node_of))
    counts = sums(place, None, len(pairs))
    weights = sums(place, samples.period, len(pairs))
    whole = unwind_quality(profile, options.dump)
    return {
        "title": printable(options.title),
        "name": [printable(name) for name, _dso, _kind in numbers],
        "dso": [printable(dso) for _name, dso, _kind in numbers],
        "kind": [kind for _name, _dso, kind in numbers],
        "kinds": KINDS,
        "groups": [[printable(profile.comms[comm]) if comm != NONE else "[unknown]", event] for comm, event in by_name],
        "graphs": [
            {"name": printable(one.name), "unit": printable(one.unit), "events": one.events} for one in _graphs(profile)
        ],
        "by": options.weight,
        "parent": _packed(parent),
        "entity": _packed(entity),
        "count_group": _packed(pairs.high()),
        "count_node": _packed(pairs.low()),
        "count": _packed(memoryview(array("I", counts))),
        "weight": _packed(memoryview(array("d", weights))),
        "whole": {
            "share": whole.share,
            "unwound": whole.unwound,
            "inferred": whole.inferred,
            "gaps": [
                [gap.samples, printable(gap.description), printable(gap.image), printable(gap.advice)]
                for gap in whole.gaps[:5]
            ],
        },
    }


def _asset(name: str) -> str:
    return (files("undwarf.outputs") / "assets" / name).read_text(encoding="utf-8")


def write(profile: Profile, sink: BinaryIO, options: FlamegraphOptions) -> None:
    """Write the page. Nothing in it asks the network; a content security policy forbids it as well."""
    # Inside <script> only "<" could end the element; in JSON it can be written as an escape.
    data = json.dumps(page_data(profile, options), separators=(",", ":")).replace("<", "\\u003c")
    script = _asset("flamegraph.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    page = _asset("flamegraph.html")
    for mark, text in (
        ("@DIGEST@", f"sha256-{digest}"),
        ("@STYLE@", _asset("flamegraph.css")),
        ("@SCRIPT@", script),
        ("@DATA@", data),
    ):
        before, _mark, after = page.partition(mark)
        page = before + text + after
    sink.write(page.encode("utf-8"))
