"""Writes a program's BTF beside it with pahole, or returns why there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

FEATURES = "encode_force,var,float,decl_tag,type_tag,enum64,optimized_func,consistent_func,global_var"


def write_btf(program: Path, pahole: str | None) -> str:
    """Write a program's detached BTF beside it; returns why there is none, else an empty string."""
    if pahole is None:
        return "there is no pahole"
    written = program.with_name(f"{program.name}.btf")
    written.unlink(missing_ok=True)
    run = [pahole, f"--btf_features={FEATURES}", f"--btf_encode_detached={written}", str(program)]
    try:
        ran = subprocess.run(run, check=False, capture_output=True, text=True, errors="replace")
    except OSError as error:
        return f"{pahole} cannot be run: {error.strerror}"
    if not ran.returncode and written.is_file() and written.stat().st_size:
        return ""
    said = next((line for line in ran.stderr.splitlines() if line.strip()), "it says nothing")
    older = "; one from 1.26 on is needed (--pahole)" if "btf_features" in ran.stderr else ""
    return f"{pahole} wrote none: {said}{older}"
