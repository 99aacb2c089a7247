"""What the fuzz targets of other tools' profiles share: the views of a file, whatever its bytes are."""

import io
from contextlib import suppress

from undwarf.api import InputFormat, Profile, open_recording
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.outputs import flamegraph, folded, report_json
from undwarf.outputs.page.parts import encode
from undwarf.outputs.report import ReportOptions, write
from undwarf.views.flame_graph import flame_graph
from undwarf.views.folded_stacks import fold
from undwarf.views.page.profile_part import Bounds, profile_part
from undwarf.views.report import compute_report

LIMITS = Limits(
    profile_bytes=8 << 20, profile_unpacked_bytes=1 << 20, profile_ratio=100, profile_nodes=100_000, profile_events=50
)


def show(data: bytes, format: InputFormat) -> None:
    """Read a file as this format and as what it is recognised as; anything but an UndwarfError is a defect."""
    for one in (format, "auto"):
        with suppress(UndwarfError), open_recording(io.BytesIO(data), format=one, limits=LIMITS) as opened:
            profile = opened.profile()
            check(profile)
            keys = ("comm", "dso", "sym", "srcline")
            computed = compute_report(profile, keys, min_share=0.01)
            write(computed, io.StringIO(), ReportOptions(keys, rows=20))
            report_json.write(computed, io.StringIO(), ReportOptions(keys, lost=None))
            folded.write(fold(profile, "period"), io.BytesIO())
            for bounds in (Bounds(), Bounds(rows=20, nodes=10)):
                encode(profile_part(profile, "title", {}, bounds=bounds).part)
            flamegraph.write(flame_graph(profile), io.BytesIO(), flamegraph.FlamegraphOptions())


def check(profile: Profile) -> None:
    """What every reader must keep to."""
    samples, stacks = profile.samples.columns, profile.stacks
    nodes, frames = len(stacks), len(profile.frames)
    assert all(parent == 0xFFFFFFFF or parent < node for node, parent in enumerate(stacks.parent)), "parents come first"
    assert all(frame < frames for frame in stacks.frame), "frames exist"
    assert all(node == 0xFFFFFFFF or node < nodes for node in samples.stack), "stacks exist"
    assert all(event < len(profile.events) for event in samples.event), "events exist"
    assert all(comm == 0xFFFFFFFF or comm < len(profile.comms) for comm in samples.comm), "names exist"
    lengths = {len(getattr(samples, name)) for name in ("time", "pid", "tid", "cpu", "period", "stop", "stop_image")}
    assert lengths == {len(samples)}, "columns are as long as there are samples"
    for sample in profile.samples[:5]:
        str(sample)
