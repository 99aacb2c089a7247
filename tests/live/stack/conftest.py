"""Processes whose stacks are taken."""

import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from undwarf.errors import UsageError
from undwarf.live.stack.ptrace_threads import take


@pytest.fixture(scope="session")
def stacks_are_supported() -> None:
    if platform.machine() != "x86_64" or shutil.which("gcc") is None:
        pytest.skip("needs x86-64 and gcc")


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
