"""The kind of an image (file, kernel, module, vdso, JIT code, ...), from the name of its mapping."""

import re
from enum import IntEnum


class ImageKind(IntEnum):
    """Where an image's code comes from; it decides who can name and unwind it."""

    UNKNOWN = 0
    """Nobody here can: guest code, names that are no path."""
    FILE = 1
    KERNEL = 2
    MODULE = 3
    VDSO = 4
    BPF = 5
    """Code the kernel made: BPF programs and trampolines, announced by KSYMBOL records."""
    ANON = 6
    """Memory without a file; where it is executable, a just-in-time compiler wrote it."""
    JIT = 7
    """A map of just-in-time compiled code, ``perf-PID.map``."""
    JITDUMP = 8
    """Just-in-time compiled code that its runtime wrote to a ``jit-PID.dump``."""


ADDRESSED_AS_RUN = frozenset(
    {ImageKind.KERNEL, ImageKind.MODULE, ImageKind.BPF, ImageKind.ANON, ImageKind.JIT, ImageKind.UNKNOWN}
)
"""Kinds whose addresses are those of the running system, since no ELF file gives others."""

_ANONYMOUS = ("//anon", "/anon_hugepage", "/memfd:", "/SYSV", "/dev/zero", "[heap]", "[stack", "[anon", "[vvar")
_MODULE_FILE = re.compile(rb"\.ko(\.(gz|xz|zst|bz2|lzma))?( \(deleted\))?\Z")
_MODULE_NAME = re.compile(rb"\[[A-Za-z0-9_.-]+\]\Z")
_JITDUMP = re.compile(rb"/jit-[0-9]+\.dump\Z")
_ANONYMOUS_BYTES = tuple(text.encode() for text in _ANONYMOUS)


_KERNEL_MAPPING = re.compile(rb"(\[(?:guest\.)?kernel\.kallsyms(?:\.[0-9]+)?\])")


def without_reference(name: bytes) -> bytes:
    """The name of a kernel's mapping without the symbol that perf appends: ``[kernel.kallsyms]`` for ``..._text`` and
    ``..._stext``, which mean the same image (perf, ``machine__mmap_name``). Other names as they are."""
    found = _KERNEL_MAPPING.match(name)
    return found[1] if found else name


PRIVATE, VDSO, UNASKED, MAPPED_FILE = 1, 2, 4, 8
"""Bits of :func:`bits_of_name`."""


_BITS_OF_KIND = {ImageKind.ANON: PRIVATE, ImageKind.VDSO: VDSO, ImageKind.FILE: MAPPED_FILE}


def bits_of_name(name: bytes) -> int:
    """What the replay of address spaces must know of a mapping's name: memory without a file, whose code is each
    process's own; the vdso; what the kernel maps unasked; a file."""
    bits = _BITS_OF_KIND.get(kind_of_name(name), 0)
    return bits | (UNASKED if name.startswith(b"[") else 0)


def kind_of_name(name: bytes) -> ImageKind:
    """The kind of the image that a mapping of this name holds.

    Names as the kernel writes them (fs/proc, ``perf_event_mmap_event``) and as perf synthesizes them
    (``[kernel.kallsyms]_text``, ``[module]``).
    """
    if name.startswith(b"[kernel.kallsyms]") or name == b"[kernel]":
        return ImageKind.KERNEL
    if name.startswith(b"[guest."):
        return ImageKind.UNKNOWN
    if name in (b"[vdso]", b"[vdso32]", b"[vdsox32]"):
        return ImageKind.VDSO
    if not name or name.startswith(_ANONYMOUS_BYTES):
        return ImageKind.ANON
    if name.startswith((b"bpf_prog_", b"bpf_trampoline_", b"bpf_dispatcher_", b"bpf_struct_ops_")):
        return ImageKind.BPF
    if name in (b"ftrace_trampoline", b"kprobe_insn_page", b"kprobe_optinsn_page"):
        return ImageKind.BPF
    if name.startswith(b"["):
        if name in (b"[vsyscall]", b"[uprobes]") or not _MODULE_NAME.match(name):
            return ImageKind.UNKNOWN
        return ImageKind.MODULE
    if _MODULE_FILE.search(name):
        return ImageKind.MODULE
    if name.startswith(b"/tmp/perf-") and name.endswith(b".map"):
        return ImageKind.JIT
    if name.endswith(b".dump") and _JITDUMP.search(name):
        return ImageKind.JITDUMP
    return ImageKind.FILE
