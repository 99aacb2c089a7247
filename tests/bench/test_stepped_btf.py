"""What makes programs of known accesses says when their BTF cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepped_btf import write_btf

WRITES = 'for each; do case $each in --btf_encode_detached=*) echo btf > "${each#*=}";; esac; done'
OLDER = """echo "pahole: unrecognized option '$1'" >&2; exit 64"""


def tool(folder: Path, does: str) -> str:
    """A pahole that does just that."""
    path = folder / "pahole"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return str(path)


def test_no_message_if_the_btf_is_written(tmp_path: Path) -> None:
    assert write_btf(tmp_path / "program", tool(tmp_path, WRITES)) == ""
    assert (tmp_path / "program.btf").read_text() == "btf\n"


@pytest.mark.parametrize("does", [OLDER, "exit 0", "echo no DWARF here >&2; exit 1"])
def test_a_pahole_that_writes_no_btf_is_named(tmp_path: Path, does: str) -> None:
    (tmp_path / "program.btf").write_text("of an earlier run")
    told = write_btf(tmp_path / "program", tool(tmp_path, does))
    assert "wrote none" in told
    assert ("--pahole" in told) == (does is OLDER)
    assert not (tmp_path / "program.btf").exists()


def test_a_missing_pahole_is_named(tmp_path: Path) -> None:
    assert write_btf(tmp_path / "program", None) == "there is no pahole"
    assert "cannot be run" in write_btf(tmp_path / "program", str(tmp_path / "none"))
