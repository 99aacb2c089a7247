"""Stacks of running processes."""

import gc
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.stacks import functions, shown

from undwarf.cli.main import undwarf
from undwarf.errors import UsageError
from undwarf.live.stack import ptrace_threads
from undwarf.live.stack.ptrace_threads import take

pytestmark = pytest.mark.usefixtures("stacks_are_supported")


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


def test_the_process_runs_again_afterwards(process: subprocess.Popen[bytes]):
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


def test_addresses_are_return_addresses_on_the_stack(process: subprocess.Popen[bytes]):
    """The innermost one is the program counter, all others are in the stack's memory."""
    snapshot = take(process.pid)
    profile, _defects = snapshot.profile(inline=False, cache=False)
    for thread, sample in zip(snapshot.threads, profile.samples, strict=True):
        addresses = [frame.runtime for frame in sample.stack]
        assert addresses[0] == thread.registers[snapshot.machine.ip]
        memory = thread.stack + b"".join(data for _at, data in thread.more)
        assert all(struct.pack("<Q", address) in memory for address in addresses[1:])


def test_a_thread_id_selects_its_process(process: subprocess.Popen[bytes]):
    tid = max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
    assert take(tid).pid == process.pid


def test_memory_that_a_walk_needs_is_copied_in_a_second_stop(
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
    assert names[at - 1] is None
    assert thread["frames"][at - 1]["ip"] == "0x0"
    assert thread["incomplete"] is None


VFORK = r"""
#include <unistd.h>
__attribute__((noinline)) static int waits(void) { return vfork() ? 0 : pause(); }
int main(void) { write(1, "x", 1); return waits() + 1; }
"""


def test_a_process_in_uninterruptible_sleep_is_shown_as_it_waits(tmp_path: Path):
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
            shown_text = CliRunner().invoke(undwarf, ["stack", "--json", str(running.pid)], catch_exceptions=False)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
    # The frame pointer of `waits` is unknown: the stack may end there, with a reason.
    thread = json.loads(shown_text.stdout)["threads"][0]
    assert functions(thread)[1] == "waits"
    assert "could not be stopped" in shown_text.stderr


COUNTER = """
import os, signal, time
signal.signal(signal.SIGUSR1, lambda number, frame: os.write(1, b"1"))
os.write(1, b"0")
while True:
    time.sleep(100)
"""


def test_signals_sent_meanwhile_are_not_lost(process: subprocess.Popen[bytes]):
    """A signal is delivered before or after the look at a thread, not left out, and what it stops stays stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", COUNTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as running:
        assert running.stdout is not None
        assert running.stdout.read(1) == b"0"
        for _ in range(40):
            os.kill(running.pid, signal.SIGUSR1)
            take(running.pid)
            # Signals of one number do not queue: it writes when it has handled this one.
            assert select.select([running.stdout], [], [], 60)[0]
            assert running.stdout.read(1) == b"1"
        running.kill()


def test_a_process_that_does_not_exist():
    with pytest.raises(UsageError, match="no process"):
        take(999_999_999)


def test_a_process_that_has_ended():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(UsageError, match="has ended"):
            take(child.pid)


def test_refusals_have_a_reason():
    with pytest.raises(UsageError, match="this program itself"):
        take(os.getpid())
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        with pytest.raises(UsageError, match="kernel thread"):
            take(2)


def test_another_tracer_is_named(process: subprocess.Popen[bytes]):
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
            # It is continued until it holds no thread, and is stopped then.
            while quiet < 10 and time.monotonic() < end:
                quiet = quiet + 1 if "State:\tT" in status.read_text() and not held(process.pid) else 0
                time.sleep(0.005)
            assert quiet == 10
            taker.send_signal(signal.SIGCONT)
        taker.kill()


def test_ctrl_z_is_deferred_until_no_thread_is_held():
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
