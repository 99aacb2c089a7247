"""How many instructions later than its sampled address the registers of a sample are.

Source: ``setup_pebs_fixed_sample_data``, ``setup_pebs_adaptive_sample_data`` (arch/x86/events/intel/ds.c) and
``perf_ibs_handle_irq`` (arch/x86/events/amd/ibs.c); docs/explanation/precise.md has a table.
"""

import re

from undwarf.perfdata.events import BREAKPOINT, SOFTWARE, TRACEPOINT, EventAttr

__all__ = ["LATEST", "lateness", "unmarked_is_late"]

LATEST = 12
"""Instructions that an interrupt comes late at most, as far as it is looked for; measured with ``bench/``'s programs
only, since no processor states it."""
_NOT_COUNTERS = (SOFTWARE, TRACEPOINT, BREAKPOINT)
_INTEL = "GenuineIntel"
_REGISTERS_REACH_USERS = (6, 15)
"""The kernel with commit 71dcc11c2cd9."""
_STACK_POINTER_REACHES_USERS = (5, 0)
_BEFORE_ADAPTIVE_PEBS = frozenset(
    {
        0x0F, 0x16, 0x17, 0x1A, 0x1C, 0x1D, 0x1E, 0x1F, 0x25, 0x26, 0x27, 0x2A, 0x2C, 0x2D, 0x2E, 0x2F,
        0x35, 0x36, 0x37, 0x3A, 0x3C, 0x3D, 0x3E, 0x3F, 0x45, 0x46, 0x47, 0x4A, 0x4C, 0x4D, 0x4E, 0x4F,
        0x55, 0x56, 0x57, 0x5A, 0x5C, 0x5D, 0x5E, 0x5F, 0x66, 0x75, 0x7A, 0x85, 0x8E, 0x9E, 0xA5, 0xA6,
    }
)  # fmt: skip  # a table
"""Models of family 6 up to Cannon Lake, Comet Lake, Goldmont Plus and Knights Mill
(arch/x86/include/asm/intel-family.h). There will be no more of them."""


def lateness(event: EventAttr, cpuid: str | None, release: str | None) -> int:
    """Of a marked sample (``MISC_EXACT_IP``): 1 where the registers are known to be those right after the instruction,
    else LATEST. ``cpuid`` and ``release`` are the header's, None if it has none."""
    vendor, family, model = _processor(cpuid)
    kernel = _version(release)
    if vendor != _INTEL:
        return LATEST
    if event.sample_regs_intr and kernel >= _STACK_POINTER_REACHES_USERS:
        return 1
    adaptive = family > 6 or (family == 6 and model not in _BEFORE_ADAPTIVE_PEBS)
    return 1 if adaptive and kernel >= _REGISTERS_REACH_USERS else LATEST


def unmarked_is_late(event: EventAttr, cpuid: str | None, release: str | None) -> bool:
    """Whether the registers of a sample that is not marked may be later than its address, and nothing in it says so:
    those of ``precise_ip`` 1, on processors that do not mark them. AMD marks them, and what it does not mark is as
    interrupted; so is any event that no hardware counts."""
    if event.type in _NOT_COUNTERS or event.precise_ip != 1:
        return False
    vendor, _family, _model = _processor(cpuid)
    return (not cpuid or vendor == _INTEL) and lateness(event, cpuid, release) != 1


def _processor(cpuid: str | None) -> tuple[str, int, int]:
    """(vendor, family, model) of the header's ``vendor,family,model,stepping``; empty and 0 if unknown."""
    match = re.fullmatch(r"(\w+),(\d{1,4}),(\d{1,4}),\d{1,4}", cpuid or "")
    return (match[1], int(match[2]), int(match[3])) if match else ("", 0, 0)


def _version(release: str | None) -> tuple[int, int]:
    """(major, minor) of a kernel's release; 0 if unknown."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", release or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)
