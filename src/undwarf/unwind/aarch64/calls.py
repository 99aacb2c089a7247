"""Call and system call instructions of AArch64, as evidence that a word on the stack is a return address.

Source: Arm Architecture Reference Manual for A-profile, C6.2: BL, BLR, and BLRAA, BLRAAZ, BLRAB, BLRABZ.
"""

LONGEST = 4
"""Bytes of a call instruction."""

RETURN_LONGEST = 4
"""Bytes that identify a return instruction."""

FIBER_ROOT_LONGEST = 8
"""Bytes of code that identify the root of a fiber."""

STACK_CHANGE_LONGEST = 4
"""Bytes of an instruction."""

SYSTEM_CALL_LENGTH = 4
"""Bytes of a system call instruction."""

SYSTEM_CALL_REACH = 12
"""Bytes of code that are searched for a system call: glibc's `clone` branches twice after it."""

SIGNAL_RETURNS: tuple[bytes, ...] = (b"\x68\x11\x80\xd2\x01\0\0\xd4",)
"""`mov x8, #139; svc #0`: `rt_sigreturn`."""

_SVC = 0xD4000001
_COMPARE_ZERO = 0xF100001F
"""`cmp x0, #0`."""


BRANCH_WITH_LINK = 0b100101
"""The highest six bits of BL; the others are the offset in words."""


def ends_with_call(code: bytes) -> bool:
    """Whether the bytes before a return address are a call instruction."""
    return len(code) >= 4 and (code[-1] >> 2 == BRANCH_WITH_LINK or ends_with_indirect_call(code))


def ends_with_indirect_call(code: bytes) -> bool:
    """Whether the bytes before a return address are a call through a register."""
    if len(code) < 4:
        return False
    word = int.from_bytes(code[-4:], "little")
    # BLR: 1101011 Z 0 01 11111 0000 A M Rn Rm; without A, neither a key nor Rm.
    if word & 0xFEFFF000 != 0xD63F0000:
        return False
    authenticated = word >> 11 & 1
    return bool(authenticated) or (not word >> 24 & 1 and not word >> 10 & 1 and not word & 31)


def call_target(code: bytes, address: int) -> int | None:
    """The target of the direct call that the bytes before ``address`` end with; None if they do not."""
    word = int.from_bytes(code[-4:], "little")
    if len(code) < LONGEST or word >> 26 != BRANCH_WITH_LINK:
        return None
    offset = word & 0x3FFFFFF
    return address - 4 + 4 * (offset - (offset >> 25 << 26))


def slot_called(_code: bytes, _address: int) -> int | None:
    """None: calls go through registers."""
    return None


def is_stack_change(code: bytes) -> bool:
    """Never: the stack pointer cannot be loaded from memory."""
    return False


def is_return(code: bytes) -> bool:
    """Never: a return takes its address from the link register, which no rule gets wrong there."""
    return False


def is_fiber_root(code: bytes) -> bool:
    """Whether code is that which Boost's new contexts have in the link register (make_arm64_aapcs_elf_gas.S): a call of
    `_exit` with 0. It follows no call, which callers must check."""
    return code[:4] in (b"\x00\x00\x80\xd2", b"\xe0\x03\x1f\xaa") and code[7:8] in (b"\x94", b"\x97")


def returns_from_signal(code: bytes) -> bool:
    """Whether code starts with `rt_sigreturn`, `mov x8, #139; svc #0`, to which signal handlers return though nothing
    called them."""
    return code.startswith(SIGNAL_RETURNS)


def is_after_system_call(code: bytes) -> bool:
    """Never: no register has the address after a system call."""
    return False


def system_call_number(code: bytes) -> int:
    """Never known from code: the number is in x8."""
    return -1


def follows_system_call(code: bytes) -> int:
    """Where the first SYSTEM_CALL_REACH bytes of code end: 1 after a system call, 2 after one and the test for the zero
    that a new thread or process on a stack of its own gets (`cmp x0, #0`, `cbz x0`), 0 elsewhere.

    System calls that give the child its parent's stack (`vfork`) are followed by a check for errors only. ``code`` is 8
    bytes longer, for the test may still follow.
    """
    words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) - 3, 4)]
    end = SYSTEM_CALL_REACH // 4
    for at in range(min(end, len(words) - 1) - 1, -1, -1):
        if words[at] != _SVC:
            continue
        tests = words[at + 1] == _COMPARE_ZERO or words[at + 1] & 0xFF00001F == 0xB4000000
        branches = all(word & 0xFF000010 == 0x54000000 for word in words[at + 2 : end])
        return 2 if tests and branches else int(at == end - 1)
    return 0
