"""Unwinding stacks that a program reads itself, compared with eu-stack."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.stack.conftest import PROGRAM

import undwarf

EXAMPLES = Path(__file__).parents[2] / "examples"
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("eu-stack", "gcc"))) or os.uname().machine != "x86_64",
    reason="needs x86-64, gcc and eu-stack",
)


def sleep_all(pid: int) -> bool:
    """Whether all threads of a process sleep (state S, in proc_pid_stat(5))."""
    return all(
        (task / "stat").read_text().rpartition(")")[2].split()[0] == "S" for task in Path(f"/proc/{pid}/task").iterdir()
    )


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    """A process with four threads that wait, one of them below 200 kB of stack."""
    folder = tmp_path_factory.mktemp("stack")
    (folder / "p.c").write_text(PROGRAM)
    options = ["-g", "-O1", "-fno-optimize-sibling-calls", "-pthread"]
    subprocess.run(["gcc", *options, "p.c", "-o", "p"], cwd=folder, check=True)
    with subprocess.Popen([str(folder / "p")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        # It still has to return from the write, and to wait.
        while not sleep_all(running.pid):
            time.sleep(0.01)
        yield running
        running.kill()


def threads(text: str) -> dict[int, list[tuple[int, str]]]:
    """By thread the address and the name of each frame, in text like that of eu-stack."""
    found: dict[int, list[tuple[int, str]]] = {}
    for line in text.splitlines():
        if line.startswith("TID"):
            frames = found[int(line[4:].rstrip(":"))] = []
        elif line.startswith("#"):
            _number, address, *name = line.split()
            frames.append((int(address, 16), name[0] if name else ""))
    return found


def output(*command: object) -> dict[int, list[tuple[int, str]]]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode and "perm" in done.stderr.lower():
        pytest.skip(f"not allowed here: {done.stderr.strip()}")
    found = threads(done.stdout)
    assert found, done.stderr
    return found


def addresses(stacks: dict[int, list[tuple[int, str]]]) -> dict[int, list[int]]:
    return {tid: [address for address, _name in frames] for tid, frames in stacks.items()}


def own_functions(stacks: dict[int, list[tuple[int, str]]]) -> dict[int, list[str]]:
    """Names of the program's functions; the C library's have several each."""
    return {
        tid: [name for _, name in frames if name in ("rest", "deep", "run", "main")] for tid, frames in stacks.items()
    }


@needs_tools
def test_a_running_process_has_the_frames_of_eu_stack(process: subprocess.Popen[bytes]) -> None:
    theirs = output("eu-stack", "-p", process.pid)
    ours = output(sys.executable, EXAMPLES / "unwind_process.py", process.pid)
    assert addresses(ours) == addresses(theirs)
    assert own_functions(ours) == own_functions(theirs)
    assert max(map(len, ours.values())) > 50


@needs_tools
@pytest.mark.skipif(shutil.which("gcore") is None, reason="needs gcore")
def test_a_core_file_has_the_frames_of_eu_stack(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    subprocess.run(["gcore", "-o", str(tmp_path / "core"), str(process.pid)], capture_output=True, check=False)
    core = tmp_path / f"core.{process.pid}"
    if not core.exists():
        pytest.skip("gcore cannot write a core here")
    theirs = output("eu-stack", "--core", core, "-e", Path(f"/proc/{process.pid}/exe").resolve())
    ours = output(sys.executable, EXAMPLES / "unwind_core.py", core)
    assert addresses(ours) == addresses(theirs)
    assert own_functions(ours) == own_functions(theirs)
    assert max(map(len, ours.values())) > 50


class Traced:
    """A process that stops itself: its registers are those in /proc/PID/syscall, its memory is in /proc/PID/mem."""

    def __init__(self, folder: Path, name: str) -> None:
        (folder / f"{name}.c").write_text(
            "#include <unistd.h>\n"
            f"__attribute__((noinline)) int {name}(void) {{ pause(); return 1; }}\n"
            f'int main(void) {{ write(1, "x", 1); return {name}() + 1; }}\n'
        )
        self.program = folder / name
        options = ["-g", "-O1", "-Wl,--build-id=none"]
        subprocess.run(["gcc", *options, f"{name}.c", "-o", name], cwd=folder, check=True)
        self.running = subprocess.Popen([str(self.program)], stdout=subprocess.PIPE)
        assert self.running.stdout is not None
        self.running.stdout.read(1)
        while True:
            words = Path(f"/proc/{self.running.pid}/syscall").read_text().split()
            if len(words) > 2:
                break
        self.registers = {"rsp": int(words[-2], 16), "rip": int(words[-1], 16)}

    def maps(self) -> list[undwarf.Mapping]:
        return undwarf.Mapping.parse_maps(Path(f"/proc/{self.running.pid}/maps").read_bytes())

    def read(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self.running.pid}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)

    def functions(self, unwinder: undwarf.Unwinder) -> list[str]:
        """The names of the program's own frames."""
        found = unwinder.unwind(self.registers).frames
        own = [frame.file_address for frame in found if frame.path.startswith(str(self.program)) and frame.file_address]
        return [one.symbol for one in undwarf.Symbolizer(f"{self.program}").lookup(own)]


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    if shutil.which("gcc") is None or os.uname().machine != "x86_64":
        pytest.skip("needs x86-64 and gcc")
    one = Traced(tmp_path, "rests")
    try:
        one.read(one.registers["rsp"], 8)
    except OSError:
        pytest.skip("memory of processes cannot be read here")
    try:
        yield one
    finally:
        one.running.kill()
        one.running.communicate()


def test_each_frame_says_how_its_caller_was_found(traced: Traced) -> None:
    stack = undwarf.Unwinder(traced.maps(), traced.read).unwind(traced.registers)
    assert stack.is_whole
    assert {frame.provenance for frame in stack.frames} == {undwarf.Provenance.EH_FRAME}
    assert [frame.address.is_return for frame in stack.frames] == [False] + [True] * (len(stack.frames) - 1)


def test_an_unwinder_goes_on_with_another_process(traced: Traced, tmp_path: Path) -> None:
    other = Traced(tmp_path, "waits")
    try:
        unwinder = undwarf.Unwinder(traced.maps(), traced.read)
        assert traced.functions(unwinder) == ["rests", "main", "_start"]
        unwinder.remap(other.maps(), other.read)
        assert other.functions(unwinder) == ["waits", "main", "_start"]
    finally:
        other.running.kill()
        other.running.communicate()


def test_a_file_that_is_gone_is_read_from_memory(traced: Traced) -> None:
    traced.program.rename(traced.program.with_suffix(".moved"))
    stack = undwarf.Unwinder(traced.maps(), traced.read).unwind(traced.registers)
    assert stack.is_whole
    own = [frame for frame in stack.frames if frame.path.startswith(str(traced.program))]
    assert len(own) == 3


def test_a_copy_of_the_stack_is_enough_for_a_thread(traced: Traced) -> None:
    base, maps = traced.registers["rsp"], traced.maps()
    copy = traced.read(base, 4096)
    traced.running.kill()
    traced.running.wait()

    def from_copy(address: int, size: int) -> bytes | None:
        return copy[address - base :][:size] if base <= address < base + len(copy) else None

    assert undwarf.Unwinder(maps, traced.read).unwind(traced.registers, from_copy).is_whole


def test_memory_that_cannot_be_read_ends_the_stack(traced: Traced) -> None:
    def refuse(_address: int, _size: int) -> bytes:
        raise OSError("no")

    stack = undwarf.Unwinder(traced.maps(), refuse).unwind(traced.registers)
    assert (len(stack.frames), stack.is_whole) == (1, False)
    assert stack.stop is undwarf.StopReason.UNREADABLE_MEMORY


def test_other_errors_of_the_reader_are_raised(traced: Traced) -> None:
    def fail(_address: int, _size: int) -> bytes:
        raise RuntimeError("a defect of the reader")

    unwinder = undwarf.Unwinder(traced.maps(), fail)
    with pytest.raises(RuntimeError, match="a defect of the reader"):
        unwinder.unwind(traced.registers)


def nothing(_address: int, _size: int) -> None:
    return None


def test_registers_that_are_needed_are_named() -> None:
    with pytest.raises(undwarf.UsageError, match="rip and rsp are needed"):
        undwarf.Unwinder([], nothing).unwind({"rip": 1})


def test_other_architectures_are_refused() -> None:
    with pytest.raises(undwarf.UsageError, match="riscv64"):
        undwarf.Unwinder([], nothing, architecture="riscv64")


@pytest.mark.parametrize(
    "mapping",
    [
        undwarf.Mapping(5, 5),
        undwarf.Mapping(-1, 5),
        undwarf.Mapping(0, 1 << 65),
        undwarf.Mapping(0, 5, 1 << 64),
        undwarf.Mapping(0, 5, build_id="xyz"),
    ],
)
def test_a_mapping_that_is_none_is_refused(mapping: undwarf.Mapping) -> None:
    with pytest.raises(undwarf.UsageError, match="a mapping cannot be used"):
        undwarf.Unwinder([mapping], nothing)


def test_a_mapping_at_the_end_of_memory_is_one() -> None:
    mapping = undwarf.Mapping((1 << 64) - 4096, 1 << 64, path="/nowhere")
    stack = undwarf.Unwinder([mapping], nothing).unwind({"rip": (1 << 64) - 8, "rsp": (1 << 64) - 8})
    assert [(frame.path, frame.file_address) for frame in stack.frames] == [("/nowhere", None)]
    assert stack.stop is undwarf.StopReason.NO_FILE


def test_values_of_registers_have_64_bits() -> None:
    stack = undwarf.Unwinder([], nothing).unwind({"rip": -1, "rsp": 1 << 70})
    assert [hex(frame.address) for frame in stack.frames] == ["0xffffffffffffffff"]
