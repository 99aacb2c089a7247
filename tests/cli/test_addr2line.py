"""undwarf addr2line beside GNU addr2line, on a program compiled here."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import Run
from tests.support.elf_builder import SHF_COMPRESSED, Elf, Section

SOURCE = """
static inline int square(int x) { return x * x + 1; }
__attribute__((noinline)) int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += square(i) ^ s;
  return s;
}
int main(int argc, char **argv) { return work(argc) > 100; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("addr2line")
    (folder / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-o", folder / "a", folder / "a.c"], check=True)
    return folder / "a"


def run(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "undwarf", "addr2line", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def addresses_of(program: Path) -> list[str]:
    """All addresses of the functions of the source."""
    text = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    ranges = re.findall(r"^(\w+) (\w+) T (?:main|work)$", text, re.M)
    return [hex(at) for start, size in ranges for at in range(int(start, 16), int(start, 16) + int(size, 16))]


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="GNU addr2line is not installed")
@pytest.mark.parametrize(
    "options", [[], ["-f"], ["-f", "-i"], ["-i"], ["-a", "-f", "-i"], ["-s", "-f"], ["-p", "-f", "-i", "-a"]]
)
def test_lines_are_those_of_gnu_addr2line(program: Path, options: list[str]) -> None:
    addresses = addresses_of(program)
    assert len(addresses) > 20
    gnu = subprocess.run(["addr2line", "-e", program, *options, *addresses], capture_output=True, text=True).stdout
    # Discriminators tell blocks of one line apart; elfutils leaves them out as well.
    assert run("-e", program, *options, *addresses).stdout == re.sub(r" \(discriminator \d+\)", "", gnu)


def test_addresses_come_from_standard_input_with_or_without_0x(program: Path) -> None:
    addresses = addresses_of(program)
    given = run("-e", program, "-f", *addresses).stdout
    assert run("-e", program, "-f", text="\n".join(addresses)).stdout == given
    assert run("-e", program, "-f", text=" ".join(text[2:] for text in addresses)).stdout == given


def test_answer_comes_before_the_next_question(program: Path) -> None:
    command = [sys.executable, "-m", "undwarf", "addr2line", "-e", str(program), "-f"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for address in addresses_of(program)[:3]:
            process.stdin.write(address + "\n")
            process.stdin.flush()
            assert process.stdout.readline().strip() in ("main", "work")
            assert "a.c:" in process.stdout.readline()


def test_unknown_address(program: Path) -> None:
    assert run("-e", program, "-f", "0").stdout == "??\n??:0\n"


def test_json_has_all_frames(program: Path) -> None:
    rows = [json.loads(line) for line in run("-e", program, "--json", *addresses_of(program)).stdout.splitlines()]
    frames = [frame for row in rows for frame in row["frames"]]
    assert {frame["sym"] for frame in frames} == {"main", "work", "square"}
    assert {frame["sym"] for frame in frames if frame["inlined"]} >= {"square"}
    assert all(frame["file"].endswith("a.c") and frame["line"] > 0 for frame in frames)


def test_errors_say_what_and_how_it_ends(program: Path) -> None:
    bad = run("-e", program, "xyz")
    assert bad.returncode == 2 and "'xyz' is not an address" in bad.stderr
    none = run("-e", "/nowhere", "0")
    assert none.returncode == 3 and "cannot read /nowhere" in none.stderr


def test_damage_of_the_file_is_told(undwarf: Run, tmp_path: Path) -> None:
    made = Elf()
    made.sections = [Section(".debug_info", made.compressed(1, b"damaged", 100), flags=SHF_COMPRESSED)]
    (tmp_path / "program").write_bytes(made.build())
    done = undwarf("addr2line", "-e", "program", "1000")
    assert done.returncode == 0
    assert "warning: corrupt compressed section in program" in done.stderr
