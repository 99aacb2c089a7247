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
