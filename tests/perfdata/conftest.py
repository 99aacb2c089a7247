"""Recordings made from bytes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.perfdata.records import Opener

from undwarf.defects import Defects
from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata import PerfData, open_perf_data


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens bytes as a recording; closed when the test ends."""
    found: list[PerfData] = []

    def open_bytes(data: bytes, limits: Limits = DEFAULT, name: str = "perf.data") -> PerfData:
        path = tmp_path / name
        path.write_bytes(data)
        found.append(open_perf_data(path, limits=limits, defects=Defects()))
        return found[-1]

    yield open_bytes
    for data in found:
        data.close()
