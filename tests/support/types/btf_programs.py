"""Programs with BTF and without DWARF, and the types that are found in them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.types.access import Access
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver


def built(folder: Path, level: str, source: str) -> Path:
    """A program of C with BTF, and without DWARF."""
    (folder / "a.c").write_text(source)
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    command = ["gcc", level, "-gbtf", "-o", folder / "a", folder / "a.c"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or ElfFile.open(folder / "a").section_data(".BTF") is None:
        pytest.skip("this gcc makes no BTF")
    if ElfFile.open(folder / "a").machine != 62:
        pytest.skip("for x86-64 only")
    return folder / "a"


def answers(program: Path, function: str, how: str = "") -> set[str]:
    """The types and members that a function's memory accesses touch; "?" for unknown ones. ``how``: only answers from
    that evidence."""
    return set(touched(program, function, how))


def touched(program: Path, function: str, how: str = "") -> list[str]:
    """The same, one for each access."""
    counted = [one for one in accesses(program, function) if one.countable and how in one.how]
    return [f"{one.type}.{one.field}".rstrip(".") if one.typed else "?" for one in counted]


def spilled(program: Path, function: str) -> list[str]:
    """The instructions of a function that access a stack slot of no variable."""
    return [one.insn for one in accesses(program, function) if one.how == "spill"]


def accesses(program: Path, function: str) -> list[Access]:
    """All that the instructions of a function access."""
    resolver = open_resolver(ElfFile.open(program))
    assert isinstance(resolver, Resolver)
    return accesses_of(resolver, function)


def accesses_of(resolver: Resolver, function: str) -> list[Access]:
    """The same of a resolver that may have been asked before."""
    symbols = resolver.source.symbols
    low = next(address for address, name in symbols.functions.items() if name == function)
    flow = resolver.flow_at(low)
    assert flow is not None
    return [one for k in range(len(flow.instructions)) for one in resolver.at(flow.instructions.address_of(k))]
