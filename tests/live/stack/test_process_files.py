"""Mapped files of running processes that were replaced or removed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.stacks import functions, rests_in_main, shown

pytestmark = pytest.mark.usefixtures("stacks_are_supported")


def test_a_replaced_program_is_opened_through_its_mapping(sleeper: tuple[subprocess.Popen[bytes], Path]):
    running, program = sleeper
    program.unlink()
    shutil.copy("/bin/true", program)
    assert rests_in_main(shown(running.pid))


def test_a_program_without_a_file_is_rebuilt_from_memory(
    sleeper: tuple[subprocess.Popen[bytes], Path], monkeypatch: pytest.MonkeyPatch
):
    """What users other than root see of a deleted program: here as if nothing led to it."""
    running, program = sleeper
    program.unlink()
    monkeypatch.setattr("undwarf.live.stack.process_files.ProcessFiles._find", lambda _self, _key: None)
    whole = shown(running.pid)[0]
    assert whole["incomplete"] is None
    assert len(functions(whole)) >= 5


MOVED = r"""
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((section("moved"), aligned(4096), noinline)) static void spins(void) {
  for (;;) __asm__ volatile("1: jmp 1b; .skip 4096, 0xcc");
}
int main(int count, char **arguments) {
  static char code[4096];
  memcpy(code, (void *)spins, sizeof code);
  mmap((void *)spins, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (count > 1) memset(memset(code, 0x90, sizeof code), 0xeb, 1), code[1] = (char)0xfe;
  memcpy((void *)spins, code, sizeof code);
  write(1, "x", 1);
  spins();
  return 0;
}
"""


@pytest.mark.parametrize(("arguments", "image"), [([], "p"), (["other"], "//anon")], ids=["same", "other"])
def test_code_copied_to_anonymous_memory_is_the_file_s_if_it_is_equal(tmp_path: Path, arguments: list[str], image: str):
    (tmp_path / "p.c").write_text(MOVED)
    subprocess.run(["gcc", "-g", "-O1", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    with subprocess.Popen([str(tmp_path / "p"), *arguments], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.read(1) == b"x"
        try:
            # It may still be in write.
            frames = next(
                found for _ in range(100) if "libc" not in (found := shown(running.pid)[0]["frames"])[0]["dso"]
            )
        finally:
            running.kill()
    assert frames[0]["dso"].endswith(image)
    names = [frame["sym"] for frame in frames]
    assert names[:2] == (["spins", "main"] if image == "p" else [None])
