"""Programs with debugging information, and what `undwarf types` answers for their functions."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.documents import document

from undwarf.cli.main import undwarf

WIDE = """
struct wide { long hot; char gap[120]; long far; struct { int in; } inner; };
struct wide one; int done;
__attribute__((noinline)) void work(struct wide *w, long k) { w->hot += k; w->far += w->inner.in; done = 1; }
int main(int argc, char **argv) { work(&one, argc); return 0; }
"""


LIST = """
#include <stdlib.h>
struct tail { unsigned low : 3, high : 5; };
struct node { long key; union { int whole; short half; } as; struct node *next; struct tail tail[4]; };
struct node *head; static int counts[8];
__attribute__((noinline)) long walk(struct node *n, int k)
{
	long s = 0;
	for (; n; n = n->next) { s += n->key; counts[k & 7]++; n->tail[k & 3].high = 1; }
	return s;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) { struct node *n = calloc(1, sizeof *n); n->next = head; head = n; }
	return (int)walk(head, argc);
}
"""


def build(folder: Path, source: str, name: str, *flags: str, compiler: str = "gcc") -> Path:
    """Compile a program; the test is skipped where there is no such compiler."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (folder / name).write_text(source)
    made = folder / "program"
    subprocess.run([compiler, "-g", *flags, "-o", made, folder / name], check=True, capture_output=True)
    return made


def function_of(binary: Path, name: str) -> tuple[int, int]:
    """Address and size of a function."""
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    text = subprocess.run(["nm", "-S", binary], check=True, capture_output=True, text=True).stdout
    row = next(line.split() for line in text.splitlines() if line.endswith(f" {name}"))
    return int(row[0], 16), int(row[1], 16)


def answers(binary: Path, name: str) -> list[dict[str, Any]]:
    """The answers for every instruction of a function."""
    start, size = function_of(binary, name)
    addresses = ",".join(f"{at:x}" for at in range(start, start + size))
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", addresses, "--json"])
    assert result.exit_code == 0, result.output
    return [one for one in accesses_of(result.stdout) if one["access"]]


def accesses_of(text: str) -> list[dict[str, Any]]:
    """The accesses in what ``undwarf types --at --json`` prints; texts that are null are empty."""
    found = document(text)["accesses"]
    return [
        {key: "" if value is None and key in ("field", "how", "reason") else value for key, value in one.items()}
        for one in found
    ]


GUARDED = """
struct fixed { char base[40]; unsigned long canary; };
__attribute__((section(".data..percpu"), used)) struct fixed fixed;
char dropped[4096];
__attribute__((noinline)) long guard(void) { long x; __asm__("movq %%gs:40, %0" : "=r"(x)); return x; }
int main(void) { return fixed.canary == 1 ? (int)guard() : 0; }
"""


def guarded(folder: Path) -> Path:
    """A program with a per-cpu section at address 0, as kernels have it, and a variable that the linker dropped."""
    script = folder / "at_zero.ld"
    script.write_text("SECTIONS { .data..percpu 0 : { *(.data..percpu) } .text 0x400000 : { *(.text*) } }")
    flags = ("-O2", "-static", "-nostdlib", "-no-pie", "-fdata-sections")
    linked = f"-Wl,--gc-sections,--build-id=none,-e,main,-T,{script}"
    return build(folder, GUARDED, "kernel.c", *flags, linked)
