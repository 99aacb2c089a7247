"""Precise samples: how far the stack pointer is below the call frame address, by what code has pushed."""

from collections import namedtuple
from pathlib import Path

import pytest
from tests.support.assembled import assemble, labels

from undwarf.disasm.x86_flows import FlowDecoder
from undwarf.images import ImageStore
from undwarf.profile.call_proof import CodeProof
from undwarf.symbols.resolver import Resolver
from undwarf.unwind.arch import X86_64
from undwarf.unwind.exact_paths import ExactPaths
from undwarf.unwind.frame_depths import MAX_STEPS, UNKNOWN, FrameDepths

Identity = namedtuple("Identity", "build_id major minor inode generation", defaults=(b"", 0, 0, 0, 0))
CODE = f"""
    .globl _start
_start: hlt
pushes: push %rbp
pushed: mov %rsp, %rbp
    push %rbx
    sub $24, %rsp
    test %edi, %edi
    jz ready
    call _start
called: nop
ready: lea -8(%rbp), %rsp
shrunk: pop %rbx
    leave
left: ret
allocates: push %rbp
    mov %rsp, %rbp
    sub %rdi, %rsp
allocated: leave
restored: ret
grows: push %rax
grown: jmp grows
switches: push %rbp
    jmp *%rax
jumps: push %rax
    pop %rax
    jmp *%rax
long: .rept {MAX_STEPS + 1}
    nop
    .endr
    ret
end:
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return assemble(tmp_path_factory.mktemp("depths"), CODE, "", "-no-pie")


@pytest.fixture(scope="module")
def at(program: Path) -> dict[str, int]:
    return labels(program)


@pytest.fixture(scope="module")
def depths(program: Path) -> FrameDepths:
    images = ImageStore([str(program).encode()], [Identity()])
    paths = ExactPaths(images.image((0, 0)), CodeProof(images, X86_64.calls, Resolver(images)), FlowDecoder())
    return FrameDepths(lambda _image: paths.flows, lambda _image, address: paths.instruction(address))


@pytest.mark.parametrize(
    ("function", "end", "place", "expected"),
    [
        ("pushes", "allocates", "pushes", 8),
        ("pushes", "allocates", "pushed", 16),
        ("pushes", "allocates", "called", 48),
        ("pushes", "allocates", "ready", 48),
        ("pushes", "allocates", "shrunk", 24),
        ("pushes", "allocates", "left", 8),
        ("allocates", "grows", "allocated", UNKNOWN),
        ("allocates", "grows", "restored", 8),
        ("grows", "switches", "grown", UNKNOWN),
        ("switches", "jumps", "switches", UNKNOWN),
        ("jumps", "long", "jumps", 8),
        ("long", "end", "long", UNKNOWN),
        ("pushes", "allocates", "allocated", UNKNOWN),
    ],
)
def test_the_depth_is_what_was_pushed(
    depths: FrameDepths, at: dict[str, int], function: str, end: str, place: str, expected: int
) -> None:
    assert depths.depth(0, at[function], at[end], at[place]) == expected
