"""Programs with real return probes, recorded by perf and by undwarf."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.recording import names

import undwarf
from undwarf import Provenance, StopReason

pytestmark = pytest.mark.usefixtures("perf_events")

SOURCE = """
__attribute__((noipa)) long inner(long n) { volatile long t = 0; for (long i = 0; i < n; i++) t += i * i; return t; }
__attribute__((noipa)) long probed(long n) { return inner(n) + 1; }
__attribute__((noipa)) long deeper(long n, long depth) { return depth ? deeper(n, depth - 1) + 1 : probed(n) + 2; }
__attribute__((noipa)) long outer(long n) { long t = 0; for (int i = 0; i < 20; i++) t += deeper(n, 3) + i; return t; }
int main(void) { long t = 0; for (int i = 0; i < 100; i++) t += outer(20000); return t == 42; }
"""
CHAIN = ["inner", "probed", *["deeper"] * 4, "outer", "main"]


@pytest.fixture(scope="module")
def run_probed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """``run_probed(command)`` runs a command while probed() and deeper() of "./program" have return probes."""
    folder = tmp_path_factory.mktemp("probes")
    (folder / "program.c").write_text(SOURCE)
    compiler, perf = shutil.which("gcc"), shutil.which("perf")
    if compiler is None or perf is None:
        pytest.skip("needs gcc and perf")
    subprocess.run([compiler, "-O1", "-g", "-o", "program", "program.c"], cwd=folder, check=True)
    group = f"undwarf_test_{os.getpid()}"
    events = []
    try:
        for function in ("probed", "deeper"):
            add = [perf, "probe", "-q", "-x", "./program", "-a", f"{group}:{function}={function}%return"]
            done = subprocess.run(add, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no return probes here: {done.stderr.strip()[-200:]}")
            events += ["-e", f"{group}:{function}__return"]

        def run(*command: str) -> Path:
            target = folder / "perf.data"
            target.unlink(missing_ok=True)
            while_counted = [perf, "stat", "-a", "-o", os.devnull, *events, "--", *command, "-o", str(target)]
            done = subprocess.run([*while_counted, "--", "./program"], cwd=folder, capture_output=True, text=True)
            if not target.exists():
                pytest.skip(f"no return probes here: {done.stderr.strip()[-200:]}")
            return target

        yield run
    finally:
        subprocess.run([perf, "probe", "-q", "-d", f"{group}:*"], capture_output=True)


@pytest.mark.parametrize("recorder", ["perf", "undwarf"])
def test_stacks_under_return_probes_are_whole(run_probed: Callable[..., Path], recorder: str):
    if recorder == "perf":
        path = run_probed("perf", "record", "-q", "-F", "1999", "-e", "cpu-clock", "--call-graph", "dwarf")
    else:
        path = run_probed(sys.executable, "-m", "undwarf", "record", "-q", "-F", "1999", "-e", "cpu-clock")
    with undwarf.open(path) as recording:
        inside = [one for one in recording.profile(inline=False).samples if names(one)[:1] == ["inner"]]
    assert inside
    for sample in inside:
        assert (names(sample)[: len(CHAIN)], sample.stop) == (CHAIN, StopReason.ROOT)
        inferred = [frame.name for frame in sample.stack if frame.provenance == Provenance.INFERRED_CALLER]
        assert inferred == CHAIN[2:7]
