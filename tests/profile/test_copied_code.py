"""Which process's files have the template of copied code."""

from types import SimpleNamespace

import pytest

from undwarf.defects import Defects
from undwarf.images import ImageKind
from undwarf.limits import DEFAULT
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.profile.copied_code import CopiedCode
from undwarf.profile.synthetic_mmaps import EXEC, USER
from undwarf.tables.rule_set import RuleSet


@pytest.mark.parametrize(("parents", "found"), [(4, True), (3, False)])
def test_only_so_many_parents_are_gone_through(monkeypatch, parents: int, found: bool) -> None:
    """Process 1 maps a file; each process forks the next one."""
    kind = [SidebandKind.MMAP] + [SidebandKind.FORK] * 3
    side = SimpleNamespace(
        kind=kind,
        pid=[1, 2, 3, 4],
        misc=[USER] * 4,
        name=[0] * 4,
        identity=[0] * 4,
        mmaps=SimpleNamespace(protection=[EXEC, 0, 0, 0]),
        forks=SimpleNamespace(parent_pid=[0, 1, 2, 3]),
    )
    store = SimpleNamespace(image=lambda _key: SimpleNamespace(elf=b"elf", kind=ImageKind.FILE))
    monkeypatch.setattr("undwarf.tables.from_copies.template_of", lambda _elf, _limits: b"template")
    limits = DEFAULT._replace(fork_parents=parents)
    code = CopiedCode(SimpleNamespace(sideband=side), store, lambda: [4], limits, Defects(), lambda _start, _end: b"")
    assert (code.table(0, RuleSet()) is not None) is found
