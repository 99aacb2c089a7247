"""Programs of assembly without a C library, and where their labels are."""

import shutil
import subprocess
from pathlib import Path

import pytest


def assemble(folder: Path, code: str, prefix: str = "", *flags: str) -> Path:
    """The linked program of this assembly. ``prefix``: that of the compiler's name, as in ``aarch64-linux-gnu-``.
    Skips the test where there is no such compiler, or where it is one of another machine."""
    compiler = f"{prefix}gcc"
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (folder / "code.S").write_text(code)
    line = [compiler, "-nostdlib", "-static", "-Wl,--eh-frame-hdr", *flags, str(folder / "code.S")]
    done = subprocess.run([*line, "-o", str(folder / "program")], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} cannot assemble this here: {done.stderr.splitlines()[-1]}")
    return folder / "program"


def labels(program: Path, prefix: str = "") -> dict[str, int]:
    """Addresses by name. The labels inside of functions (``at_``, ``in_``, ``behind_``) are no symbols afterwards."""
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    inside = [f"--strip-symbol={start}_*" for start in ("at", "in", "behind")]
    subprocess.run([f"{prefix}objcopy", "--wildcard", *inside, str(program)], check=True)
    return {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}
