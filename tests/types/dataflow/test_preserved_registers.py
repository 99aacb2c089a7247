"""Kernel code beyond the calling convention: restored registers, paravirtual operations, static branches."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, assemble

from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.access import Access
from undwarf.types.dataflow.preserved_registers import preserved_registers
from undwarf.types.resolver import Resolver

RAX, RDX, RCX, RDI, RSI = 0, 1, 2, 5, 4

KERNEL = """
.text
.globl _start, thunk, back, again, pv_ops
.type thunk,@function
thunk: push %rdi; push %rsi; push %rax; call work; jmp back
.size thunk, . - thunk
.type back,@function
back: pop %rax; pop %rsi; pop %rdi; ret
.size back, . - back
.type again,@function
again: jmp thunk
.size again, . - again
.type marked,@function
marked: endbr64; push %rdi; xor %edi,%edi; xor %esi,%esi; pop %rdi; jmp gone
.size marked, . - marked
.type gone,@function
gone: ret; int3
.size gone, . - gone
.type work,@function
work: xor %edi,%edi; jmp *%rax
.size work, . - work
.type native,@function
native: mov %rdi,%rax; ret
.size native, . - native

.type through,@function
through: call again; mov 8(%rdi),%rcx; ret
.size through, . - through
.type plain,@function
plain: call work; mov 8(%rdi),%rcx; ret
.size plain, . - plain
.type operation,@function
operation: call *pv_ops+8(%rip); mov 8(%rdi),%rcx; ret
.size operation, . - operation
.type other,@function
other: call *ops+8(%rip); mov 8(%rdi),%rcx; ret
.size other, . - other
.type asks,@function
asks: jmp question; 1: mov 8(%rdi),%rcx; 2: ret
.size asks, . - asks
.type writes,@function
writes: jmp answer; 1: mov 8(%rdi),%rcx; 2: ret
.size writes, . - writes
.type beyond,@function
beyond: call marked; mov 8(%rdi),%rcx; ret
.size beyond, . - beyond
_start: ret

.section .altinstr_aux,"awx"
question: testb $1,flags(%rip); jne asks + 5; jmp asks + 9
answer: xor %edi,%edi; testb $1,flags(%rip); jne writes + 5; jmp writes + 9

.data
.type pv_ops,@object
pv_ops: .quad 0, native
.size pv_ops, . - pv_ops
.type ops,@object
ops: .quad 0, native
.size ops, . - ops
flags: .quad 0
"""


@pytest.fixture
def answer(tmp_path: Path) -> "Answer":
    if shutil.which("as") is None or shutil.which("ld") is None:
        pytest.skip("no assembler or linker")
    (tmp_path / "k.s").write_text(KERNEL)
    subprocess.run(["as", "--64", "-o", tmp_path / "k.o", tmp_path / "k.s"], check=True, capture_output=True)
    subprocess.run(["ld", "-o", tmp_path / "k", tmp_path / "k.o"], check=True, capture_output=True)
    return Answer(ElfFile.open(tmp_path / "k"))


class Answer:
    """What the only access of a function with a node in its first register touches."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        self.symbols = symbols_of_elf(elf)

    def address(self, name: str) -> int:
        assert self.symbols is not None
        found = self.symbols.address_of_name(name.encode())
        assert found is not None
        return found

    def __call__(self, name: str) -> Access:
        fake, at = Fake(), self.address(name)
        fake.takes((RDI, fake.node), at=at)
        data = self.elf.section(".data")
        assert data is not None
        fake.symbols["pv_ops"] = data.address, 16
        resolver = Resolver(self.elf, fake, kernel=True)
        place = resolver.instruction(at)
        assert place is not None
        types = [resolver.at(place[0].address_of(k))[0] for k in range(len(place[0]))]
        (found,) = [one for one in types if one.insn.startswith("mov 8(%rdi)")]
        return found


def test_restored_registers_keep_their_values(answer: Answer) -> None:
    assert answer("through").field == "key"
    assert answer("beyond").field == "key"
    assert answer("plain").type is None


def test_a_restored_register_does_not_clobber_the_others(answer: Answer) -> None:
    resolver = Resolver(answer.elf, Fake(), kernel=True)
    assert resolver.binary.changed_by(answer.address("marked")) == {RSI}
    assert RSI not in (resolver.binary.changed_by(answer.address("thunk")) or set())


def test_paravirtual_operations_are_their_initial_targets(answer: Answer) -> None:
    assert answer("operation").field == "key"
    assert answer("other").type is None


def test_a_static_branch_returns_into_the_function(answer: Answer) -> None:
    assert answer("asks").field == "key"
    assert answer("writes").type is None


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("push %rdi; push %rsi; call .; pop %rsi; pop %rdi; ret", {RDI, RSI}),
        ("push %rdi; jmp 1f; int3; 1: call .; pop %rdi; ret", {RDI}),
        ("push %rdi; push %rsi; call .; pop %rdi; pop %rsi; ret", set()),
        ("push %rdi; xor %esi,%esi; push %rsi; pop %rsi; pop %rdi; ret", {RDI}),
        ("push %rdi; call .; pop %rdi; mov %rax,%rdi; ret", set()),
        ("push %rdi; push %rsi; call .; pop %rsi; ret", set()),
        ("push %rdi; mov %rax,(%rsp); pop %rdi; ret", set()),
        ("push %rdi; sub $8,%rsp; pop %rdi; ret", set()),
        ("push %rdi; je 1f; nop; 1: pop %rdi; ret", set()),
        ("1: push %rdi; pop %rdi; jmp 1b", set()),
        ("pop %rdi; ret", set()),
    ],
)
def test_registers_popped_in_reverse_order_are_preserved(tmp_path: Path, code: str, kept: set[int]) -> None:
    binary = assemble(code, tmp_path)

    def read(address: int, size: int) -> bytes | None:
        return binary[address : address + size] + bytes(size)

    assert preserved_registers(MACHINE, read, 0) == kept


def test_unreadable_code_preserves_no_registers() -> None:
    code = b"\x57\x5f\xc3"  # push %rdi; pop %rdi; ret
    assert preserved_registers(MACHINE, lambda address, size: code[address:] + bytes(size), 0) == {RDI}
    assert preserved_registers(MACHINE, lambda _address, _size: None, 0) == frozenset()
