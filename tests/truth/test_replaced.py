"""Programs that are built again after they were recorded without build-ids."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import undwarf

from .conftest import MILLISECONDS

pytestmark = pytest.mark.records

Build = Callable[..., Path]
Record = Callable[..., Path]


@pytest.mark.parametrize("change", ["none", "content", "inode"])
def test_a_program_built_after_its_recording_is_not_used(build: Build, record: Record, change: str) -> None:
    program = build("gcc", "chain.c", "-O2")
    path = record([program, str(MILLISECONDS)], "-B", "-N")
    old = program.stat()
    if change == "content":
        program.write_bytes(program.read_bytes())
        os.utime(program, (0, path.stat().st_mtime + 1))
    elif change == "inode":
        # As packages are installed: with the time that they were built at.
        other = program.with_name("other")
        other.write_bytes(program.read_bytes())
        other.chmod(0o755)
        os.utime(other, (0, old.st_mtime - 100))
        other.replace(program)
    with undwarf.open(path) as recording:
        profile = recording.profile()
        problems = [image.problem for image in profile.images if image.path == str(program)]
        kinds = {defect.kind for defect in recording.defects}
    assert len(problems) == 1
    if change == "none":
        assert (problems, kinds) == ([""], set())
    else:
        assert "no build-id was recorded" in problems[0]
        assert kinds == {"file replaced after the recording"}
