"""Answers that are cached from run to run."""

import json
import marshal
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.types.programs import LIST, build
from tests.support.types.recordings import place, recording

from undwarf.cli.main import undwarf
from undwarf.defects import Defects
from undwarf.disasm import Memory
from undwarf.disk_cache import DiskCache
from undwarf.limits import Limits
from undwarf.types import answer_cache, open_resolver
from undwarf.types.access import Access, packed, unpacked
from undwarf.types.answer_cache import Answer, AnswerCache, decode, encode

KEY = bytes(range(16))
KEPT_OF_OPERANDS = [name for name in dir(Memory) if not name.startswith("_") and name not in ("pre", "writeback")]
OPERAND = Memory(5, 0, 8, -24, segment="gs", size=4, access="rw", element=2)
SOME = {
    0x1000: Answer(
        Access(0x1000, "addl $1,%gs:-24(%rdi,%rax,8)", "rw", "struct node", 8, "as.whole", 4, "tracking", ("as.half",),
               type_size=48, operand=OPERAND),
        True, False, False,
    ),
    1 << 63: Answer(Access(1 << 63, "ret", "", None, None, "", 0, "none", (), "no memory access"), False, False, True),
}  # fmt: skip  # a table


def same(one: Answer, other: Answer) -> bool:
    """Whether everything that is cached of two answers is equal."""
    mine, theirs = one.access.operand, other.access.operand
    slots = [] if mine is None or theirs is None else KEPT_OF_OPERANDS
    return (
        one == other
        and (mine is None) == (theirs is None)
        and all(getattr(mine, name) == getattr(theirs, name) for name in slots)
    )


def test_cached_answers_come_back() -> None:
    found = decode(memoryview(encode(SOME, KEY)), KEY)
    assert found is not None
    assert found.keys() == SOME.keys()
    assert all(same(found[address], one) for address, one in SOME.items())


def test_an_answer_survives_another_process_except_its_type_number() -> None:
    for one in SOME.values():
        plain = marshal.loads(marshal.dumps(packed(replace(one.access, type_number=7))))
        assert same(one._replace(access=unpacked(plain)), one)
        assert unpacked(plain).type_number == 0


def test_every_flipped_byte_and_every_cut_is_a_miss() -> None:
    data = encode(SOME, KEY)
    assert decode(memoryview(data), KEY) == SOME
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x41
        assert decode(memoryview(changed), KEY) is None
        assert decode(memoryview(data[:at]), KEY) is None
    assert decode(memoryview(data), bytes(16)) is None


def test_an_entry_that_unpacks_to_too_much_is_a_miss() -> None:
    data = memoryview(encode(SOME, KEY))
    assert decode(data, KEY, Limits()) == SOME
    assert decode(data, KEY, Limits(answer_bytes=64)) is None


def kept(folder: Path, limits: Limits | None = None, defects: Defects | None = None) -> AnswerCache:
    return AnswerCache(
        DiskCache(folder, answer_cache.SUFFIX, 1 << 20), f"a{answer_cache.SUFFIX}", KEY, limits or Limits(), defects
    )


def test_answers_of_several_runs_add_up(tmp_path: Path) -> None:
    first, second = ({address: SOME[address]} for address in SOME)
    assert kept(tmp_path).keep(first)
    assert kept(tmp_path).keep(second)
    assert kept(tmp_path).cached.keys() == SOME.keys()
    assert not kept(tmp_path).keep(second)


def test_no_more_answers_are_cached_than_the_limit(tmp_path: Path) -> None:
    first, second = ({address: SOME[address]} for address in SOME)
    few = Limits(kept_answers=1)
    assert kept(tmp_path, few).keep(first)
    assert kept(tmp_path, few).keep(second)
    assert kept(tmp_path, few).cached.keys() == second.keys()


def test_with_defects_nothing_is_cached(tmp_path: Path) -> None:
    defects = Defects()
    defects.add("lost samples")
    one = kept(tmp_path, defects=defects)
    defects.add("split debugging information not found", "/program")
    assert not one.keep(SOME)
    assert kept(tmp_path, defects=defects).keep(SOME)


Types = Callable[..., tuple[list[Any], int]]


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Types:
    """Runs `undwarf types --json`: its events, and how many binaries it read types of."""
    monkeypatch.setenv("UNDWARF_CACHE_DIR", str(tmp_path / "cache"))
    opened = []
    really = open_resolver.open_resolver

    def counting(*arguments: Any, **options: Any) -> Any:
        opened.append(arguments)
        return really(*arguments, **options)

    monkeypatch.setattr(open_resolver, "open_resolver", counting)

    def run(*arguments: object) -> tuple[list[Any], int]:
        opened.clear()
        result = CliRunner().invoke(undwarf, ["types", "--json", *map(str, arguments)])
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        return found["layouts" if found["schema"] == "undwarf/types-layout" else "events"], len(opened)

    return run


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    return recording(tmp_path, binary, [(place(binary, "walk", "struct node", "key", "r"), 0, 3)])


def test_a_second_run_reads_no_types(types: Types, sampled: Path) -> None:
    first, opened = types("--code", sampled)
    assert opened == 1
    again, opened = types("--code", sampled)
    assert (again, opened) == (first, 0)
    assert first[0]["typed"] == 3000


def test_a_cached_type_is_drawn_from_the_binary(types: Types, sampled: Path) -> None:
    first, _opened = types("--type", "struct node", sampled)
    again, opened = types("--type", "struct node", sampled)
    assert (again, opened) == (first, 1)
    assert any(line["name"] == "next" for line in first[0]["layout"])


def test_other_addresses_are_resolved_again(types: Types, sampled: Path) -> None:
    types(sampled)
    assert types("--skid", sampled)[1] == 1


def test_without_the_cache_nothing_is_stored_or_used(types: Types, sampled: Path, tmp_path: Path) -> None:
    assert types("--no-cache", sampled)[1] == 1
    assert not (tmp_path / "cache" / "types").exists()
    types(sampled)
    assert types("--no-cache", sampled)[1] == 1


def test_a_binary_that_changed_is_read_again(types: Types, sampled: Path, tmp_path: Path) -> None:
    types(sampled)
    os.utime(tmp_path / "program", (1, 1))
    assert types(sampled)[1] == 1


def test_another_build_of_undwarf_ignores_the_cache(
    types: Types, sampled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(sampled)
    monkeypatch.setattr(answer_cache, "build_identity", lambda *_parts: b"another")
    assert types(sampled)[1] == 1


def test_the_cache_shows_its_size_and_can_be_emptied(types: Types, sampled: Path, tmp_path: Path) -> None:
    types(sampled)
    found = json.loads(CliRunner().invoke(undwarf, ["tables", "cache", "--json"]).stdout)["types"]
    assert found["entries"] == 1
    assert found["directory"] == str(tmp_path / "cache" / "types")
    assert found["size_bytes"] == sum(path.stat().st_size for path in (tmp_path / "cache" / "types").iterdir())
    shown = CliRunner().invoke(undwarf, ["tables", "cache"]).stdout
    assert "data types of 1 file," in shown
    assert CliRunner().invoke(undwarf, ["tables", "cache", "--clear"]).exit_code == 0
    assert not list((tmp_path / "cache" / "types").iterdir())
    assert types(sampled)[1] == 1
