"""Code that a runtime copies into anonymous memory for each of its functions, as CPython does."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from undwarf import StopReason

from .conftest import MILLISECONDS, Stack, stacks_of

pytestmark = pytest.mark.records

Build = Callable[..., Path]
Record = Callable[..., Path]
WHOLE = ["main"] + [part for name in ("first", "second", "third") for part in ("evaluate", name)] + ["evaluate", "burn"]
FORMS = pytest.mark.parametrize(
    "flags",
    [
        ["-fomit-frame-pointer"],
        ["-fno-omit-frame-pointer"],
        ["-fomit-frame-pointer", "-DPOINTER"],
        ["-fno-omit-frame-pointer", "-DPOINTER", "-static"],
    ],
    ids=["plain", "pointers-outside", "pointer-inside", "pointers"],
)


@pytest.fixture(autouse=True)
def tidy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No map of this test's processes stays; other runs of the tests keep theirs."""
    source = tmp_path / "made.py"
    monkeypatch.setenv("COPIES_FILE", str(source))
    yield
    for path in Path("/tmp").glob("perf-*.map"):
        with suppress(OSError):
            if f":{source}\n".encode() in path.read_bytes():
                path.unlink()


def program(build: Build, flags: list[str]) -> Path:
    return build("gcc", "copies.c", "-O2", "-rdynamic", *flags)


def burning(stacks: list[Stack]) -> list[Stack]:
    return [stack for stack in stacks if stack.names and stack.names[-1] == "burn"]


def short(stack: Stack) -> list[str]:
    """Names from main on, without what a runtime adds to those of its functions."""
    names = [name.removeprefix("py::").split(":")[0] for name in stack.names]
    return names[names.index("main") :] if "main" in names else names


@FORMS
def test_stacks_go_through_copies_that_a_map_names(build: Build, record: Record, flags: list[str]) -> None:
    found = burning(stacks_of(record([program(build, flags), str(MILLISECONDS)])))
    assert len(found) > 20
    assert {stack.stop for stack in found} == {StopReason.ROOT}
    assert [short(stack) for stack in found] == [WHOLE] * len(found)


def test_code_of_another_length_is_no_copy(build: Build, record: Record) -> None:
    found = burning(stacks_of(record([program(build, ["-fomit-frame-pointer"]), str(MILLISECONDS), "1"])))
    assert len(found) > 20
    assert {stack.stop for stack in found} == {StopReason.NO_RULE}
    assert [short(stack) for stack in found] == [WHOLE[-3:]] * len(found)


@FORMS
@pytest.mark.parametrize("number", ["0", "2"], ids=["map", "no-map"])
def test_live_copies_are_found_in_memory(
    build: Build, perf: str, tmp_path: Path, flags: list[str], number: str
) -> None:
    target = tmp_path / "live.data"
    command = [sys.executable, "-m", "undwarf", "record", "-q", "-e", "cpu-clock", "-o", str(target), "--"]
    done = subprocess.run([*command, program(build, flags), str(MILLISECONDS), number], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr}")
    found = burning(stacks_of(target))
    assert len(found) > 20
    # A busy machine may end the program before the last samples are walked.
    assert sum(stack.stop is StopReason.ROOT for stack in found) >= 0.98 * len(found)
    whole = (
        WHOLE if number == "0" else [name if name in ("main", "evaluate", "burn") else "[unknown]" for name in WHOLE]
    )
    assert sum(short(stack) == whole for stack in found) >= 0.98 * len(found)


def look(pid: int, core: Path | None) -> list[str]:
    """The names of a running process's frames, innermost first; of its core file where one is to be made."""
    target = str(pid)
    if core is not None:
        subprocess.run(["gcore", "-o", str(core), target], capture_output=True, check=True)
        target = f"{core}.{pid}"
    done = subprocess.run([sys.executable, "-m", "undwarf", "stack", target], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"processes cannot be looked at here: {done.stderr}")
    return [line.split()[2] for line in done.stdout.splitlines() if line.startswith("#") and "(inlined)" not in line]


@pytest.mark.parametrize("core", [False, True], ids=["running", "core"])
def test_copies_are_found_in_a_process_that_is_looked_at(build: Build, tmp_path: Path, core: bool) -> None:
    if core and not shutil.which("gcore"):
        pytest.skip("gcore is not installed")
    with subprocess.Popen([program(build, ["-fomit-frame-pointer"]), "60000", "2"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            for _ in range(20):
                names = look(process.pid, tmp_path / "core" if core else None)
                if "burn" in names:
                    break
        finally:
            process.kill()
    inside = names[names.index("burn") : names.index("main") + 1]
    assert inside == ["burn", *["evaluate", "[unknown]"] * 3, "evaluate", "main"]
    assert names[-1] == "_start"
