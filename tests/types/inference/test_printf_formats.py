"""Signs and sizes of integers from the formats they are printed with."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import accesses, built

from undwarf.types.sources.printf_formats import general_arguments, unsigned_size

SOURCE = r"""
int printf(const char *format, ...); int snprintf(char *to, unsigned long n, const char *format, ...);
#define NOINLINE __attribute__((noipa))
unsigned kept; unsigned long more;
NOINLINE void totals(int n)
{ unsigned long all = 0, hash = 1; unsigned few = 3; int other = 4;
  while (n--) { all += 3; hash = hash * 31; few += 1; other += 5; }
  printf("%-4s %*.3f %lu of %llx\n", "all", 2, 0.5, all, hash); printf("%% %u %d\n", few, other); }
NOINLINE void to_text(char *to, int n)
{ unsigned few = 3; while (n--) few *= 5; snprintf(to, 4, "%u", few); }
int main(int argc, char **argv) { char text[8]; totals(argc); to_text(text, argc); return text[0] + kept + more; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("printed"), "-O0", SOURCE)


def frame(program: Path, function: str) -> list[str | None]:
    """Types of variables in a function's frame."""
    return [one.type for one in accesses(program, function) if one.how == "frame"]


def test_a_value_printed_as_unsigned_is_unsigned(program: Path) -> None:
    found = frame(program, "totals")
    assert found.count("long unsigned int") >= 6
    assert found.count("unsigned int") >= 3


def test_a_format_may_be_any_parameter(program: Path) -> None:
    assert "unsigned int" in frame(program, "to_text")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (b"%d%%%lu", [(b"d", 4), (b"u", 8)]),
        (b"%-08.*x %5.2f %s", [(b"d", 4), (b"x", 4), (b"s", 8)]),
        (b"%zu %hhu %c %p", [(b"u", 8), (b"u", 4), (b"c", 4), (b"p", 8)]),
        (b"%u %Lf %u", [(b"u", 4)]),
        (b"%u %K %u", [(b"u", 4)]),
        (b"%u %", [(b"u", 4)]),
    ],
)
def test_a_format_gives_its_arguments_sizes(text: bytes, printed: list[tuple[bytes, int]]) -> None:
    assert general_arguments(text) == printed


def test_small_signed_integers_are_printed_in_hexadecimal_too() -> None:
    assert [unsigned_size(b"x", 4), unsigned_size(b"x", 8), unsigned_size(b"u", 4), unsigned_size(b"d", 8)] == [
        0,
        8,
        4,
        0,
    ]
