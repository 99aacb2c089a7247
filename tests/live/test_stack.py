"""Stacks of running processes and of core files."""

import gc
import json
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from undwarf.cli.main import undwarf
from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput, UsageError
from undwarf.live.stack import ptrace_threads
from undwarf.live.stack.core_file import read_core, snapshot_of
from undwarf.live.stack.ptrace_threads import take

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="needs x86-64 and gcc"
)

PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
#include <string.h>
static pthread_barrier_t all;
__attribute__((noinline)) static void rest(int n) {
  if (!n) { pthread_barrier_wait(&all); for (;;) pause(); }
  else rest(n - 1);
  __asm__ volatile("");
}
__attribute__((noinline)) static void deep(int n) {
  volatile char room[4000];
  memset((char *)room, n, sizeof room);
  if (n) deep(n - 1); else rest(1);
  __asm__ volatile("" : : "r"(room) : "memory");
}
static void *run(void *which) { if (which) deep(50); else rest(3); return 0; }
int main(void) {
  pthread_t one;
  pthread_barrier_init(&all, 0, 4);
  for (long i = 0; i < 3; i++) pthread_create(&one, 0, run, (void *)(i == 2 ? 1L : 0L));
  pthread_barrier_wait(&all);
  write(1, "x", 1);
  for (;;) pause();
}
"""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    folder = tmp_path_factory.mktemp("stack")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "p.c", "-o", "p"], cwd=folder, check=True
    )
    with subprocess.Popen([str(folder / "p")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        try:
            take(running.pid)
        except UsageError as error:
            running.kill()
            pytest.skip(f"no ptrace here: {error}")
        yield running
        running.kill()


def shown(target: object, *options: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(undwarf, ["stack", "--json", *options, str(target)], catch_exceptions=False)
    made: list[dict[str, object]] = json.loads(done.stdout)["threads"]
    return made


def functions(thread: dict[str, object]) -> list[str]:
    return [frame["function"] for frame in thread["frames"]]  # type: ignore[attr-defined]


def test_all_threads_are_whole(process: subprocess.Popen[bytes]):
    found = shown(process.pid)
    assert len(found) == 4
    assert all(thread["incomplete"] is None for thread in found)
    assert sorted(functions(thread).count("rest") for thread in found) == [0, 2, 4, 4]
    assert "main" in functions(found[0])


def test_a_stack_larger_than_a_record_is_whole(process: subprocess.Popen[bytes]):
    deep = [thread for thread in shown(process.pid) if "deep" in functions(thread)]
    assert [functions(thread).count("deep") for thread in deep] == [51]
    assert "run" in functions(deep[0])


def test_text_names_functions_and_lines(process: subprocess.Popen[bytes]):
    text = CliRunner().invoke(undwarf, ["stack", str(process.pid)], catch_exceptions=False).stdout
    assert f"TID {process.pid} p:" in text
    assert any("rest at " in line and "p.c:" in line for line in text.splitlines())


def test_it_runs_again_afterwards(process: subprocess.Popen[bytes]):
    snapshot = take(process.pid)
    assert all(thread.stopped > 0 for thread in snapshot.threads)
    for tid in os.listdir(f"/proc/{process.pid}/task"):
        status = Path(f"/proc/{process.pid}/task/{tid}/status").read_text()
        assert "TracerPid:\t0" in status
        assert "State:\tt" not in status


def all_are(pid: int, state: str) -> bool:
    tids = os.listdir(f"/proc/{pid}/task")
    return all(state in Path(f"/proc/{pid}/task/{tid}/status").read_text() for tid in tids)


def test_a_stopped_process_stays_stopped(process: subprocess.Popen[bytes]):
    os.kill(process.pid, signal.SIGSTOP)
    try:
        assert len(take(process.pid).threads) == 4
        # A thread that is let go runs for a moment, to stop again.
        end = time.monotonic() + 30
        while not all_are(process.pid, "State:\tT") and time.monotonic() < end:
            time.sleep(0.01)
        assert all_are(process.pid, "State:\tT")
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_addresses_are_those_that_debuggers_print(process: subprocess.Popen[bytes]):
    """Return addresses: each stands behind a call, and on the stack."""
    snapshot = take(process.pid)
    profile, _defects = snapshot.profile(inline=False, cache=False)
    for thread, sample in zip(snapshot.threads, profile.samples, strict=True):
        addresses = [frame.runtime for frame in sample.stack]
        assert addresses[0] == thread.registers[snapshot.machine.ip]
        memory = thread.stack + b"".join(data for _at, data in thread.more)
        assert all(struct.pack("<Q", address) in memory for address in addresses[1:])


def test_a_thread_stands_for_its_process(process: subprocess.Popen[bytes]):
    tid = max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
    assert take(tid).pid == process.pid


def core_of(pid: int, folder: Path) -> Path:
    if shutil.which("gcore") is None:
        pytest.skip("no gcore")
    done = subprocess.run(["gcore", "-o", str(folder / "core"), str(pid)], capture_output=True, check=False)
    core = folder / f"core.{pid}"
    if done.returncode or not core.exists():
        pytest.skip("gcore cannot write a core here")
    return core


def test_a_core_has_the_same_stacks(process: subprocess.Popen[bytes], tmp_path: Path):
    core = core_of(process.pid, tmp_path)
    whole = sorted(map(functions, shown(process.pid)))
    assert ["deep" in names for names in whole].count(True) == 1
    assert sorted(map(functions, shown(core))) == whole


def test_what_was_not_copied_is_copied_at_a_further_look(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("undwarf.live.stack.ptrace_threads.COPY_BYTES", 1 << 12)
    monkeypatch.setattr("undwarf.live.stack.ptrace_threads.OWN_STACK_COPY_BYTES", 1 << 12)
    snapshot = take(process.pid)
    assert all(len(thread.stack) <= 1 << 12 and not thread.more for thread in snapshot.threads)
    profile, _defects = snapshot.profile(cache=False)
    assert sorted([frame.name for frame in one.stack].count("deep") for one in profile.samples) == [0, 0, 0, 51]
    assert any(thread.more for thread in snapshot.threads)


CRASH = """
#include <signal.h>
#include <unistd.h>
static char room[65536];
static void (*volatile nowhere)(void);
static void on(int number) { write(1, "x", 1); for (;;) pause(); }
__attribute__((noinline)) int calls(int n) { volatile int x = n; if (n) return calls(n - 1) + x; nowhere(); return x; }
int main(void) {
  stack_t other = {.ss_sp = room, .ss_size = sizeof room};
  struct sigaction what = {.sa_handler = on, .sa_flags = SA_ONSTACK};
  sigaltstack(&other, 0);
  sigaction(SIGSEGV, &what, 0);
  return calls(3);
}
"""


def test_a_call_of_a_bad_pointer_is_unwound_from_the_signal_stack(tmp_path: Path):
    (tmp_path / "c.c").write_text(CRASH)
    subprocess.run(["gcc", "-g", "-O1", "c.c", "-o", "c"], cwd=tmp_path, check=True)
    with subprocess.Popen([str(tmp_path / "c")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        try:
            thread = shown(running.pid)[0]
        finally:
            running.kill()
    names = functions(thread)
    at = names.index("calls")
    assert names[at : at + 5] == ["calls"] * 4 + ["main"]
    assert names[at - 1] == "[unknown]"
    assert thread["frames"][at - 1]["address"] == "0x0"  # type: ignore[index]
    assert thread["incomplete"] is None


VFORK = r"""
#include <unistd.h>
__attribute__((noinline)) static int waits(void) { return vfork() ? 0 : pause(); }
int main(void) { write(1, "x", 1); return waits() + 1; }
"""


def test_a_process_that_nothing_can_stop_is_shown_as_it_waits(tmp_path: Path):
    (tmp_path / "v.c").write_text(VFORK)
    subprocess.run(["gcc", "-g", "-O0", "v.c", "-o", "v"], cwd=tmp_path, check=True)
    with subprocess.Popen([str(tmp_path / "v")], stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        place = Path(f"/proc/{running.pid}/task/{running.pid}")
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end and "State:\tD" not in (place / "status").read_text():
                time.sleep(0.01)
            if not (place / "syscall").exists() or "State:\tD" not in (place / "status").read_text():
                pytest.skip("this kernel shows nothing of it")
            made = CliRunner().invoke(undwarf, ["stack", "--json", str(running.pid)], catch_exceptions=False)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
    # The frame pointer of `waits` is not known: the stack may end there, but says why.
    thread = json.loads(made.stdout)["threads"][0]
    assert functions(thread)[1] == "waits"
    assert "could not be stopped" in made.stderr


COUNTER = """
import os, signal, time
signal.signal(signal.SIGUSR1, lambda number, frame: os.write(1, b"1"))
os.write(1, b"0")
while True:
    time.sleep(100)
"""


def test_signals_that_come_meanwhile_are_not_lost(process: subprocess.Popen[bytes]):
    """A signal is delivered before or after the look at a thread, not left out, and what it stops stays stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", COUNTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as running:
        assert running.stdout is not None
        assert running.stdout.read(1) == b"0"
        for _ in range(40):
            os.kill(running.pid, signal.SIGUSR1)
            take(running.pid)
            # Signals of one number do not queue: it has taken this one when it says so.
            assert select.select([running.stdout], [], [], 60)[0]
            assert running.stdout.read(1) == b"1"
        running.kill()


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process, and the program it runs, without a build-id."""
    (tmp_path / "s.c").write_text(
        "#include <unistd.h>\n"
        "__attribute__((noinline)) int rests(void) { pause(); return 1; }\n"
        'int main(void) { write(1, "x", 1); return rests() + 1; }\n'
    )
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id=none", "s.c", "-o", "s"], cwd=tmp_path, check=True)
    with subprocess.Popen([str(tmp_path / "s")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        yield running, tmp_path / "s"
        running.kill()


def rests_in_main(found: list[dict[str, object]]) -> bool:
    """Whether a sleeper's functions are there, whatever of the C library it is in."""
    frames = found[0]["frames"]
    assert isinstance(frames, list)
    own = [frame["function"] for frame in frames if "libc" not in frame["image"]]
    return own[:2] == ["rests", "main"]


def test_a_program_that_was_replaced_counts_as_it_was(sleeper: tuple[subprocess.Popen[bytes], Path]):
    running, program = sleeper
    program.unlink()
    shutil.copy("/bin/true", program)
    assert rests_in_main(shown(running.pid))


def test_a_program_without_a_file_is_read_from_memory(
    sleeper: tuple[subprocess.Popen[bytes], Path], monkeypatch: pytest.MonkeyPatch
):
    """What users other than root see of a deleted program: here as if nothing led to it."""
    running, program = sleeper
    program.unlink()
    monkeypatch.setattr("undwarf.live.stack.process_files.ProcessFiles._find", lambda _self, _key: None)
    whole = shown(running.pid)[0]
    assert whole["incomplete"] is None
    assert len(functions(whole)) >= 5


def test_a_process_that_is_not_there():
    with pytest.raises(UsageError, match="no process"):
        take(999_999_999)


def test_a_process_that_has_ended():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(UsageError, match="has ended"):
            take(child.pid)


def test_refusals_say_why():
    with pytest.raises(UsageError, match="this program itself"):
        take(os.getpid())
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        with pytest.raises(UsageError, match="kernel thread"):
            take(2)


def test_who_traces_a_process_is_named(process: subprocess.Popen[bytes]):
    code = "import sys; from undwarf.live.stack.ptrace_threads import _ptrace\n"
    code += "_ptrace(0x4206, int(sys.argv[1])); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(process.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tracer:
        assert tracer.stdout is not None
        if not tracer.stdout.readline():
            pytest.skip("only parents may trace here")
        try:
            snapshot = take(process.pid)
        finally:
            tracer.kill()
    assert len(snapshot.threads) == 3
    assert [tid for tid, _why in snapshot.missed] == [process.pid]
    assert f"process {tracer.pid}" in snapshot.missed[0][1]


def test_killing_us_leaves_the_process_running(process: subprocess.Popen[bytes]):
    code = "import sys\nfrom undwarf.live.stack.ptrace_threads import take\n"
    code += "print(flush=True)\nwhile True: take(int(sys.argv[1]))"
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen([sys.executable, "-c", code, str(process.pid)], stdout=subprocess.PIPE) as taker:
            assert taker.stdout is not None
            taker.stdout.readline()
            time.sleep(0.02)
            taker.send_signal(number)
        for tid in os.listdir(f"/proc/{process.pid}/task"):
            status = Path(f"/proc/{process.pid}/task/{tid}/status").read_text()
            assert "TracerPid:\t0" in status
            assert "State:\tt" not in status


def held(pid: int) -> bool:
    statuses = [Path(f"/proc/{pid}/task/{tid}/status").read_text() for tid in os.listdir(f"/proc/{pid}/task")]
    return any("State:\tt" in status for status in statuses)


def test_stopping_us_leaves_the_process_running(process: subprocess.Popen[bytes]):
    code = "import sys\nfrom undwarf.live.stack.ptrace_threads import take\n"
    code += "print(flush=True)\nwhile True: take(int(sys.argv[1]))"
    with subprocess.Popen([sys.executable, "-c", code, str(process.pid)], stdout=subprocess.PIPE) as taker:
        assert taker.stdout is not None
        taker.stdout.readline()
        status = Path(f"/proc/{taker.pid}/status")
        for delay in (0.01, 0.0137, 0.0171):
            time.sleep(delay)
            taker.send_signal(signal.SIGSTOP)
            end = time.monotonic() + 20
            quiet = 0
            # It goes on until it holds nobody, and is stopped then.
            while quiet < 10 and time.monotonic() < end:
                quiet = quiet + 1 if "State:\tT" in status.read_text() and not held(process.pid) else 0
                time.sleep(0.005)
            assert quiet == 10
            taker.send_signal(signal.SIGCONT)
        taker.kill()


def test_ctrl_z_waits_until_nobody_is_held():
    inside: list[set[int]] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    collecting: list[bool] = []

    def look() -> None:
        inside.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
        collecting.append(gc.isenabled())

    ptrace_threads._in_own_thread(look)
    # Whoever is held need not wait until our garbage is collected.
    assert (collecting, gc.isenabled()) == ([False], True)
    assert signal.SIGTSTP in inside[0]
    assert signal.SIGINT not in inside[0]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def header(kind: int, machine: int = 62, body: bytes = b"") -> ElfFile:
    made = b"\x7fELF\2\1\1".ljust(16, b"\0")
    made += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1 if body else 0, 64, 0, 0)
    if body:
        made += struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(body), len(body), 4)
    return ElfFile.from_bytes(made + body)


def test_other_files_are_no_core():
    with pytest.raises(UnreadableInput, match="another kind"):
        snapshot_of(header(2))
    with pytest.raises(UnreadableInput, match="machine 40"):
        snapshot_of(header(4, 40))
    with pytest.raises(UnreadableInput, match="no registers"):
        snapshot_of(header(4))


def test_a_packed_core_says_how_to_unpack_it(tmp_path: Path):
    packed = tmp_path / "my core.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(UnreadableInput, match="compressed with zstd") as refused:
        read_core(str(packed))
    assert refused.value.hint == f"zstd -dc < '{packed}' > core"


def test_a_core_of_another_place_takes_files_that_are_given(
    sleeper: tuple[subprocess.Popen[bytes], Path], tmp_path: Path
):
    running, program = sleeper
    core = core_of(running.pid, tmp_path)
    moved = tmp_path / "moved"
    program.rename(moved)
    shutil.copy("/bin/true", program)
    assert "rests" not in functions(shown(core)[0])
    assert (
        f"files of the process that were not found: {program};"
        in CliRunner().invoke(undwarf, ["stack", str(core)]).stderr
    )
    assert rests_in_main(shown(core, "--binary", str(moved)))
    inside = tmp_path / "root" / str(program).lstrip("/")
    inside.parent.mkdir(parents=True)
    shutil.copy(moved, inside)
    assert rests_in_main(shown(core, "--symfs", str(tmp_path / "root")))


def test_only_programs_and_libraries_are_lacking(tmp_path: Path):
    """Other files that a process had mapped have no part in its stacks."""
    (tmp_path / "data").write_bytes(bytes(10_000))
    script = "import mmap, time; f = open('data'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print(flush=True)"
    command = [sys.executable, "-c", f"{script}; time.sleep(99)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as running:
        assert running.stdout is not None
        assert running.stdout.read(1)
        try:
            core = core_of(running.pid, tmp_path)
        finally:
            running.kill()
    assert "not here" not in CliRunner().invoke(undwarf, ["stack", str(core)]).stderr


def test_a_core_that_is_cut_short_says_so(sleeper: tuple[subprocess.Popen[bytes], Path], tmp_path: Path):
    core = core_of(sleeper[0].pid, tmp_path)
    size = core.stat().st_size
    os.truncate(core, size // 2)
    # A debugger writes the registers last, the kernel first.
    with pytest.raises(UnreadableInput, match="truncated"):
        shown(core)


def test_what_a_core_promises_and_lacks_is_told():
    registers = [0] * 27
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    made = b"\x7fELF\2\1\1".ljust(16, b"\0")
    made += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    made += struct.pack("<IIQQQQQQ", 4, 0, 176, 0, 0, len(note), len(note), 4)
    made += struct.pack("<IIQQQQQQ", 1, 6, 176 + len(note), 0x1000, 0, 4096, 4096, 4096)
    snapshot = snapshot_of(ElfFile.from_bytes(made + note + bytes(96)))
    assert snapshot.remarks == ["the core file is truncated: 4,000 bytes of memory are missing"]


def test_a_core_that_names_no_files_takes_the_program_that_is_given(tmp_path: Path):
    """QEMU's cores of AArch64 programs: neither file names nor code are in them."""
    compiler, machine = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
    if not compiler or not machine:
        pytest.skip("needs aarch64-linux-gnu-gcc and qemu-aarch64")
    (tmp_path / "a.c").write_text(
        "__attribute__((noinline)) int falls(int n) {\n"
        "  volatile int x = n;\n"
        "  if (n) return falls(n - 1) + x;\n"
        "  *(volatile int *)8 = 1;\n"
        "  return x;\n"
        "}\n"
        "int main(void) { return falls(3); }\n"
    )
    options = ["-g", "-O1", "-fno-optimize-sibling-calls", "-static"]
    built = subprocess.run([compiler, *options, "a.c", "-o", "a"], cwd=tmp_path, capture_output=True, check=False)
    if built.returncode:
        pytest.skip("no static library for AArch64")
    subprocess.run(["sh", "-c", f"ulimit -c unlimited; {machine} ./a"], cwd=tmp_path, capture_output=True, check=False)
    core = next(tmp_path.glob("qemu_*.core"), None)
    if core is None:
        pytest.skip("no core is written here")
    thread = shown(core, "--binary", str(tmp_path / "a"))[0]
    assert functions(thread)[:5] == ["falls"] * 4 + ["main"]
    assert thread["incomplete"] is None


def test_a_core_without_memory_has_the_innermost_frame():
    registers = [0] * 27
    registers[16] = 0x1234
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    snapshot = snapshot_of(header(4, body=note))
    with snapshot.open(cache=False) as recording:
        profile = recording.profile(runtime=True)
        assert [frame.runtime for frame in profile.samples[0].stack] == [0x1234]


def test_a_program_in_a_core_that_says_it_takes_all_addresses_is_mapped():
    registers = [0] * 27
    registers[16] = 0x400100
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    program = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    program += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, (1 << 64) - 1, (1 << 64) - 1, 4096)
    made = ident + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    made += struct.pack("<IIQQQQQQ", 4, 0, 176, 0, 0, len(note), len(note), 4)
    made += struct.pack("<IIQQQQQQ", 1, 5, 176 + len(note), 0x400000, 0, len(program), 4096, 4096)
    profile, _defects = snapshot_of(ElfFile.from_bytes(made + note + program)).profile(cache=False)
    assert [image.path for image in profile.images] == ["/400000"]
    assert len(profile.samples[0].stack) == 1
