"""Code made at run time: a jitdump written by a small program, and a real runtime's."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from undwarf import StopReason
from undwarf.api import open_recording

from .conftest import Stack, stacks_of

pytestmark = pytest.mark.records

Build = Callable[..., Path]
Record = Callable[..., Path]
ONES = (["first"], ["second"], ["third"])
CALLER = {"burn_first": "first", "burn_second": "second", "burn_moved": "second", "burn_third": "third"}
CALLERS = tuple([name] for name in CALLER)
CALL = 10
"""Where the call is in each function; its second line begins there."""


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dumps are written to the test's directory."""
    monkeypatch.chdir(tmp_path)


def burning(stacks: list[Stack]) -> list[Stack]:
    return [stack for stack in stacks if stack.names and stack.names[-1] in CALLER]


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("clock", [["-k", "mono"], []], ids=["monotonic", "own"])
@pytest.mark.parametrize("order", ["0", "1", "3"], ids=["frame-first", "header-first", "no-machine"])
def test_code_is_that_of_its_time_and_is_unwound_by_its_dump(
    build: Build, record: Record, clock: list[str], order: str
) -> None:
    program = build("gcc", "jitdump.c", "-O2", "-fomit-frame-pointer")
    found = burning(stacks_of(record([program, "300", order], *clock)))
    assert Counter(stack.names[-1] for stack in found).keys() == CALLER.keys()
    # A sample may hit the few µs between writing a record and running the code, and a clock that had to be calibrated.
    right = [stack for stack in found if stack.names[-2:-1] == (CALLER[stack.names[-1]],)]
    assert len(right) >= 0.98 * len(found)
    for stack in right:
        assert stack.stop is StopReason.ROOT
        assert stack.of(program, Path(stack.dsos[-2])) == ["_start", "main", "turn", stack.names[-2], stack.names[-1]]


@pytest.mark.usefixtures("inside")
def test_without_unwind_information_the_stack_ends_in_the_code(build: Build, record: Record) -> None:
    program = build("gcc", "jitdump.c", "-O2", "-fomit-frame-pointer")
    found = burning(stacks_of(record([program, "200", "2"], "-k", "mono")))
    assert len(found) > 20
    assert {stack.stop for stack in found} == {StopReason.NO_RULE}
    assert sum(stack.names[-2:-1] == (CALLER[stack.names[-1]],) for stack in found) >= 0.98 * len(found)


@pytest.mark.usefixtures("inside")
def test_lines_of_the_code(build: Build, record: Record, tmp_path: Path) -> None:
    program = build("gcc", "jitdump.c", "-O2")
    with open_recording(record([program, "100"], "-k", "mono")) as recording:
        profile = recording.profile()
        dumps = [(image.number, image.jitdump) for image in recording.images.images if image.jitdump is not None]
        assert len(dumps) == 1
        number, dump = dumps[0]
        frames = profile.frames
        found = set()
        for i in range(len(frames)):
            if frames.image[i] == number:
                address = frames.address[i]
                code = dump.code_at(address)
                assert code is not None
                line = dump.line_at(address)
                assert line is not None
                calls = address >= dump.codes[code].offset + CALL
                found.add((profile.functions.name[frames.function[i]], calls, line.file, line.line, line.column))
    # A sample may also hit the code itself, before its call.
    lines = {"first": 10, "second": 20, "third": 30}
    called = {(name, True, "made.src", line + 1, 2) for name, line in lines.items()}
    assert called <= found <= called | {(name, False, "made.src", line, 1) for name, line in lines.items()}


@pytest.mark.usefixtures("inside")
def test_lines_in_stacks(build: Build, record: Record, tmp_path: Path) -> None:
    program = build("gcc", "jitdump.c", "-O2")
    target = record([program, "100"], "-k", "mono")
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", "script", "-F", "ip,sym,srcline", str(target)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    # Leaf first, two lines for each frame: what called a burning function is in its call.
    below = {
        line.split()[1]: lines[i + 1].strip()
        for i, line in enumerate(lines)
        if line.split()[1:] in ONES and lines[i - 2].split()[1:] in CALLERS
    }
    assert below == {"first": "made.src:11", "second": "made.src:21", "third": "made.src:31"}


@pytest.mark.usefixtures("inside")
def test_what_perf_inject_makes_of_it_gives_the_same_stacks(build: Build, record: Record, tmp_path: Path) -> None:
    program = build("gcc", "jitdump.c", "-O2", "-fomit-frame-pointer")
    injected = tmp_path / "injected.data"
    for _attempt in range(3):
        target = record([program, "200", "0"], "-k", "mono")
        command = ["perf", "inject", "--jit", "-i", str(target), "-o", str(injected)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)})
        if done.returncode or not list(tmp_path.glob("jitted-*.so")):
            pytest.skip(f"perf inject --jit does not work here: {done.stderr.strip()}")
        ours, theirs = ([stack.names for stack in burning(stacks_of(path))] for path in (target, injected))
        assert len(ours) > 20
        # perf inject puts the mappings of code into the recording some samples late now and then; ours are of their
        # time. Seldom it is late with most of them, and the next recording is compared.
        differ = [one for one, other in zip(ours, theirs, strict=True) if one != other]
        assert sum(tuple(names[-2:-1]) == (CALLER[names[-1]],) for names in differ) >= len(differ) - 3
        if len(differ) < 0.5 * len(ours):
            break
    assert len(differ) < 0.5 * len(ours)


# node ------------------------------------------------------------------------------------------------------

SCRIPT = """
function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.imul(i, s | 1); return s; }
function middle(n) { return leaf(n) + leaf(n + 1); }
const spent = () => process.cpuUsage().user / 1000;
function top_(ms) { const end = spent() + ms; let s = 0; while (spent() < end) s += middle(4000); return s; }
top_(350);
"""


def node(record: Record, tmp_path: Path, *flags: str, options: tuple[str, ...] = (), graph: str = "dwarf") -> Path:
    program = shutil.which("node")
    if not program:
        pytest.skip("node is not installed")
    (tmp_path / "work.js").write_text(SCRIPT)
    return record([program, *flags, "work.js"], *options, graph=graph)


def calls(stacks: list[Stack]) -> list[list[str]]:
    """The script's functions on each stack that has one: JavaScript names are ``JS:*leaf file:line:column``."""
    found = []
    for stack in stacks:
        matches = (re.match(r"\w+:[~*^+]*(top_|middle|leaf) ", name) for name in stack.names)
        names = [match[1] for match in matches if match]
        if names:
            found.append(names)
    return found


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("flags", "options", "graph"),
    [
        (["--perf-prof"], ["-k", "mono"], "dwarf"),
        (["--perf-prof"], [], "dwarf"),
        (["--perf-prof", "--interpreted-frames-native-stack"], ["-k", "mono"], "fp"),
        (["--perf-prof", "--perf-prof-unwinding-info"], ["-k", "mono"], "dwarf"),
        (["--perf-basic-prof"], [], "dwarf"),
        (["--perf-basic-prof", "--interpreted-frames-native-stack"], [], "fp"),
    ],
    ids=["jitdump", "jitdump-own-clock", "jitdump-fp", "jitdump-unwinding-info", "map", "map-fp"],
)
def test_javascript_has_names(record: Record, tmp_path: Path, flags: list[str], options: list[str], graph: str) -> None:
    found = stacks_of(node(record, tmp_path, *flags, options=tuple(options), graph=graph))
    for path in Path("/tmp").glob("perf-*.map"):
        # Other tests have maps there meanwhile.
        if bytes(tmp_path) in path.read_bytes():
            path.unlink()
    shown = calls(found)
    assert len(shown) > 0.5 * len(found)
    # V8 inlines what is hot: leaf into middle, middle into top_. Where it did not, the calls are in order.
    assert all(names == sorted(names, key=["top_", "middle", "leaf"].index) for names in shown)
    if "--interpreted-frames-native-stack" in flags:
        assert max(map(len, shown)) > 1
    if graph == "dwarf":
        whole = sum(stack.stop is StopReason.ROOT for stack in found)
        assert whole >= 0.9 * len(found)
