"""What notebooks show."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.support.profiles import S, make_profile

import undwarf
from undwarf.outputs.notebook import html
from undwarf.views.notebook import MAX_BOXES, summary

FOLDER = Path(__file__).parents[2] / "examples" / "recording"


def test_a_profile_is_a_flame_graph_and_a_table() -> None:
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        page = ET.fromstring(recording.profile()._repr_html_())
    boxes = page.findall(".//rect")
    assert float(boxes[0].get("width", "0")) == 960
    titles = [title.text for title in page.findall(".//title")]
    assert titles[0] == "_start (/demo/words) 100.0%"
    cells = [[cell.text for cell in row] for row in page.findall(".//tr")]
    assert cells[1][2:] == ["compare", "/demo/words"]
    assert len(cells) > 5


def test_children_lie_within_their_callers() -> None:
    found = summary(make_profile([S("main@app a@app", period=30), S("main@app b@app", period=10)]))
    places = {box.name: (box.left, box.width, box.depth) for box in found.boxes}
    assert places == {"main": (0, 1, 0), "a": (0, 0.75, 1), "b": (0.75, 0.25, 1)}


def test_hostile_names_are_text() -> None:
    name = "<script>alert(1)</script>&\x1b[2J'\""
    page = html(summary(make_profile([S(f"main@app {name}@app")])))
    assert "<script" not in page
    assert "\x1b" not in page
    assert "alert(1)" in "".join(ET.fromstring(page).itertext())


def test_the_graph_stays_small() -> None:
    wide = make_profile([S(f"main@app f{number}@app g{number}@app") for number in range(2000)])
    deep = make_profile([S(" ".join(f"f{number}@app" for number in range(500)))])
    assert 0 < len(summary(wide).boxes) <= MAX_BOXES
    assert 0 < len(summary(deep).boxes) <= 40


def test_a_profile_without_samples_has_a_summary() -> None:
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        empty = recording.profile(filters=undwarf.Filters(pids=[10473], end=1))
    assert "0 samples" in "".join(ET.fromstring(empty._repr_html_()).itertext())


def test_a_recording_is_a_table_of_its_header() -> None:
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        text = "".join(ET.fromstring(recording._repr_html_()).itertext())
    assert "/demo/words 500" in text
    assert "6.18.44-fc-v595" in text


def test_a_hostile_header_is_text() -> None:
    sink = io.BytesIO()
    command = ["<script>", "\x1b[2J"]
    undwarf.PerfDataWriter(sink, [undwarf.Event("<b>")], command=command, hostname="<i>").close()
    with undwarf.open(io.BytesIO(sink.getvalue())) as recording:
        page = recording._repr_html_()
    assert not {"<script", "<b>", "<i>", "\x1b"} & {part for part in ("<script", "<b>", "<i>", "\x1b") if part in page}
    assert "&lt;script&gt;" in page
