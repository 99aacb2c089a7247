"""Files of running processes that are searched for templates of copied code."""

import os
import sys
from pathlib import Path

from undwarf.defects import Defects
from undwarf.images import Finder
from undwarf.limits import DEFAULT, Limits
from undwarf.live import copied_code
from undwarf.live.copied_code import LiveCopies
from undwarf.tables.rule_set import RuleSet


def looked_at(monkeypatch, limits: Limits) -> list[str]:
    """The paths whose template is looked for to unwind private code of this process."""
    copies = LiveCopies(Finder(), lambda: [os.getpid()], limits, Defects())
    found: list[str] = []
    monkeypatch.setattr(copies, "_template", found.append)
    assert copies.table(0, RuleSet()) is None
    return found


def test_executable_files_of_a_process_are_looked_at(monkeypatch) -> None:
    found = looked_at(monkeypatch, DEFAULT)
    assert any(Path(path).samefile(sys.executable) for path in found)


def test_a_longer_list_of_mappings_is_not_read(monkeypatch) -> None:
    assert looked_at(monkeypatch, DEFAULT._replace(process_maps_bytes=100)) == []


def test_the_number_of_remembered_files_is_limited(monkeypatch, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(3)]
    opened: list[str] = []

    def no_template(elf: str, _limits: Limits) -> None:
        opened.append(elf)

    monkeypatch.setattr(copied_code, "template_of", no_template)
    finder = Finder()
    monkeypatch.setattr(finder, "open", str)
    for path in paths:
        path.write_bytes(b"")
    copies = LiveCopies(finder, lambda: [os.getpid()], DEFAULT._replace(template_files=2), Defects())
    monkeypatch.setattr(copied_code, "_files", lambda _pid, _most: map(str, paths[:2]))
    for _ in range(2):
        copies.table(0, RuleSet())
    assert opened == [str(path) for path in paths[:2]]
    monkeypatch.setattr(copied_code, "_files", lambda _pid, _most: map(str, paths))
    copies.table(0, RuleSet())
    monkeypatch.setattr(copied_code, "_files", lambda _pid, _most: map(str, paths[:1]))
    copies.table(0, RuleSet())
    assert opened == [str(path) for path in (*paths, paths[0])]
