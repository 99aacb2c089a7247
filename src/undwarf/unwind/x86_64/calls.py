"""Call, return and system call instructions of x86-64, as evidence that a word on the stack is a return address.

Source: Intel SDM volume 2, CALL: ``E8 rel32`` and ``FF /2`` with its addressing forms; RET: ``C3`` and ``C2 iw``.
"""

LONGEST = 7
"""Bytes of the longest call instruction without needless prefixes."""

RETURN_LONGEST = 2
"""Bytes that identify a return instruction."""

FIBER_ROOT_LONGEST = 16
"""Bytes of code that identify the root of a fiber."""

STACK_CHANGE_LONGEST = 3
"""Bytes that identify a load of the stack pointer: prefix, opcode, operands."""

SYSTEM_CALL_LENGTH = 7
"""Bytes of a system call instruction and the one before, which loads its number."""

SYSTEM_CALL_REACH = 64
"""Bytes of code that are searched for a system call's number: musl's `clone` sets it 36 bytes before."""

SIGNAL_RETURNS: tuple[bytes, ...] = (b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05", b"\xb8\x0f\0\0\0\x0f\x05")
"""`mov $15,%rax; syscall`, or the same with eax: `rt_sigreturn`."""

_SHORT_JUMPS = range(0x70, 0x80)


def ends_with_call(code: bytes) -> bool:
    """Whether the bytes before a return address can be a call instruction that ends there.

    A call of the function right after it does not count: it would have to return into itself, and compilers emit such
    calls only where it never returns (in glibc, of `abort`, which libcoro uses as the return address of its
    coroutines).
    """
    return (len(code) >= 5 and code[-5] == 0xE8 and any(code[-4:])) or ends_with_indirect_call(code)


def ends_with_indirect_call(code: bytes) -> bool:
    """Whether the bytes before a return address can be a call through a register or memory that ends there."""
    for length in (2, 3, 4, 6, 7):
        if len(code) < length or code[-length] != 0xFF:
            continue
        form = code[-length + 1]
        if form >> 3 & 7 != 2:
            continue
        mode, base = form >> 6, form & 7
        scaled = mode != 3 and base == 4
        size = 2 + scaled + (0, 1, 4, 0)[mode]
        if mode == 0 and (base == 5 or (scaled and length > 3 and code[-length + 2] & 7 == 5)):
            size += 4
        if size == length:
            return True
    return False


def call_target(code: bytes, address: int) -> int | None:
    """The target of the direct call that the bytes before ``address`` end with; None if they do not."""
    if len(code) < 5 or code[-5] != 0xE8:
        return None
    return address + int.from_bytes(code[-4:], "little", signed=True)


def slot_called(code: bytes, address: int) -> int | None:
    """The slot that ``call *offset(%rip)`` reads, if the bytes before ``address`` end with that; None if not."""
    if code[-6:-4] != b"\xff\x15":
        return None
    return address + int.from_bytes(code[-4:], "little", signed=True)


def is_stack_change(code: bytes) -> bool:
    """Whether code starts with ``mov N(%reg),%rsp``, whose register is neither rsp nor rbp.

    Erlang's code continues like this when a function on the C stack returns. Source: Intel SDM volume 2, MOV: REX.W
    ``8B /r``.
    """
    if len(code) < STACK_CHANGE_LONGEST or code[0] not in (0x48, 0x49) or code[1] != 0x8B:
        return False
    mode, to, base = code[2] >> 6, code[2] >> 3 & 7, code[2] & 7
    return to == 4 and mode in (1, 2) and base != 4 and (code[0] == 0x49 or base != 5)


def is_return(code: bytes) -> bool:
    """Whether code starts with a near return, with or without the prefixes that compilers pad it with."""
    return code[:1] in (b"\xc3", b"\xc2") or code[:2] in (b"\xf3\xc3", b"\xf2\xc3")


def is_fiber_root(code: bytes) -> bool:
    """Whether code is one that new fibers' stacks have as the return address of their first function.

    Boost (make_x86_64_sysv_elf_gas.S, since 1.60) exits with 0 and halts; glibc (`__start_context`) takes the stack
    pointer from rbx, where `makecontext` has put the next context. Neither follows a call, which callers must check.
    """
    for clear in (b"\x48\x31\xff", b"\x31\xff"):
        rest = code[len(clear) :]
        if code.startswith(clear) and (
            (rest[:1] == b"\xe8" and rest[5:6] == b"\xf4") or (rest[:2] == b"\xff\x15" and rest[6:7] == b"\xf4")
        ):
            return True
    # mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi
    return code.startswith(b"\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff")


def returns_from_signal(code: bytes) -> bool:
    """Whether code starts with `rt_sigreturn`, to which signal handlers return though nothing called them."""
    return code.startswith(SIGNAL_RETURNS)


def is_after_system_call(code: bytes) -> bool:
    """Whether code is `mov $NUMBER,%eax; syscall`, then only a test of rax and short jumps, not taken."""
    if code[:1] != b"\xb8" or code[5:7] != b"\x0f\x05":
        return False
    rest = code[7:]
    if rest.startswith(b"\x48\x85\xc0"):
        rest = rest[3:]
    while len(rest) >= 2 and rest[0] in _SHORT_JUMPS:
        rest = rest[2:]
    return not rest


def system_call_number(code: bytes) -> int:
    """The number of the `syscall` that these bytes end with, from the last `mov $NUMBER` to eax or al; -1 without."""
    if code[-2:] != b"\x0f\x05":
        return -1
    for at in range(len(code) - 4, -1, -1):
        if code[at] == 0xB8 and code[at + 3 : at + 5] == b"\0\0" and at + 5 <= len(code) - 2:
            return int.from_bytes(code[at + 1 : at + 3], "little")
        if code[at : at + 1] == b"\xb0" and code[at - 2 : at] == b"\x31\xc0":
            return code[at + 1]
    return -1


def follows_system_call(code: bytes) -> int:
    """Never: on this machine rcx has the address after a system call."""
    return 0
