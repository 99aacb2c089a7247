"""All formats, on profiles with the largest and the fewest numbers."""

import gzip
import json

import pytest
from tests.support.exports import losses, write
from tests.support.profiles import S, make_profile

from undwarf.outputs.export.formats import FORMATS

LARGEST = (1 << 64) - 1


@pytest.mark.parametrize("name", FORMATS)
def test_the_largest_numbers_are_written(name: str) -> None:
    samples = [
        S("main@app", time=LARGEST, period=LARGEST, cpu=-1, pid=-1, tid=-1),
        S("main@app f@kernel", time=0, period=1 << 63, cpu=(1 << 31) - 1, pid=(1 << 31) - 1, tid=0, comm=None),
        S("", time=5, period=0),
    ]
    profile = make_profile(samples)
    profile.frames.address[0] = LARGEST
    assert write(profile, name)


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if not form.by_table])
def test_events_that_have_no_samples_are_left_out(name: str) -> None:
    profile = make_profile([S("main@app", event=1)], ("instructions", "cycles", "page-faults"))
    data = write(profile, name)
    text = gzip.decompress(data) if FORMATS[name].extension.endswith("gz") else data
    assert (b"main" in text, b"page-faults" in text, b"instructions" in text) == (True, False, False)


@pytest.mark.parametrize("name", FORMATS)
def test_a_profile_without_samples_is_written(name: str) -> None:
    assert isinstance(write(make_profile([]), name), bytes)


@pytest.mark.parametrize("name", ["firefox", "speedscope"])
def test_rounded_weights_are_named(name: str) -> None:
    assert "2^53" in losses(make_profile([S("main@app", period=1 << 53)]), name)
    assert "2^53" not in losses(make_profile([S("main@app", period=1 << 52)]), name)


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if ".json" in form.extension])
def test_what_is_json_is_valid_with_the_deepest_stack(name: str) -> None:
    data = write(
        make_profile([S(" ".join(f"f{number}@app" for number in range(3000)), period=2)], ("cpu-clock",)), name
    )
    assert json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
