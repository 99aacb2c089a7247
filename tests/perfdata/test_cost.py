"""What reading costs: memory that does not grow with the recording, no Python work for each record."""

import subprocess
import sys

from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_is_cheap():
    code = "import sys, undwarf.perfdata; print(*sys.modules)"
    loaded = set(run(code).split())
    assert not loaded & {"numpy", "zstandard", "tempfile", "rich", "click"}


def test_resident_memory_does_not_grow_with_the_recording(tmp_path):
    attr = Attr(sample_type=b.PLAIN | b.STACK_USER)
    make = Build()
    sample = make.sample(attr, stack=bytes(65_000))
    path = tmp_path / "perf.data"
    path.write_bytes(make.file([attr], [sample * 3000]))
    code = (
        "import resource, sys\n"
        "from undwarf.perfdata import open_perf_data\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert len(open_perf_data(sys.argv[1]).records().samples) == 3000\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    assert path.stat().st_size > 180 << 20
    assert int(run(code, str(path))) < 90 << 10


def test_python_is_not_called_for_each_record(opened):
    attr = Attr()
    make = Build()
    records = [make.mmap2(attr, b"/lib/%d" % (n % 50), time=n + 1) for n in range(5000)]
    records += [make.sample(attr, time=n + 1) for n in range(5000)]
    data = opened(make.file([attr], records))
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        data.records()
    finally:
        sys.setprofile(None)
    # Enumerations make up to 2,200 calls once, in Python 3.13 and later.
    assert calls < 4000
