"""Recordings of machines whose stacks cannot be unwound."""

import json
from pathlib import Path

import pytest
from tests.support.commands import Run
from tests.support.perfdata.build import PLAIN, REGS_USER, STACK_USER, Attr, Build

ARCH = 6
"""The header's feature that names the machine."""


def recording(machine: str) -> bytes:
    """One sample at an address of a program, with registers and a stack."""
    build = Build()
    attr = Attr(sample_type=PLAIN | REGS_USER | STACK_USER, regs=(1 << 9) - 1, stack=64)
    records = [
        build.mmap2(attr, b"/nowhere/prog", pid=10, tid=10, time=1),
        build.sample(attr, ip=0x400010, pid=10, tid=10, time=2, regs=[0x7FF0] * 9, stack=bytes(64)),
    ]
    return build.file([attr], records, {ARCH: build.string(machine)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "perf.data"
    made.write_bytes(recording("s390x"))
    return made


@pytest.mark.parametrize("command", ["info", "report", "script"])
def test_that_stacks_cannot_be_unwound_is_said_once(undwarf: Run, path: Path, command: str) -> None:
    done = undwarf(command, path)
    assert done.returncode == 0
    sentence = "recorded on s390x, and only x86-64 and aarch64 are supported so far"
    assert (done.stdout + done.stderr).count(sentence) == 1


def test_the_sampled_address_is_shown(undwarf: Run, path: Path) -> None:
    done = undwarf("script", path)
    assert "400010" in done.stdout
    assert "/nowhere/prog" in done.stdout


def test_the_stack_ends_there_since_the_machine_is_not_supported(undwarf: Run, path: Path) -> None:
    found = json.loads(undwarf("info", "--json", path).stdout)
    assert found["wholeness"]["reasons"] == {"unsupported": 1}


def test_machines_that_are_walked_have_no_such_defect(undwarf: Run, path: Path) -> None:
    path.write_bytes(recording("x86_64"))
    found = json.loads(undwarf("info", "--json", path).stdout)
    assert found["samples"] == 1
    assert not any("unwound" in str(one) for one in found["defects"])
