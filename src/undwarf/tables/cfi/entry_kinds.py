# constants of kernels: the build writes the .pxd beside this file
"""Numbers of entries of call frame information: lengths, kinds, flags of CIEs, and why a scan of a section ends."""

from enum import IntEnum

WIDE_LENGTH = 0xFFFFFFFF
"""Announces a 64-bit length; as an id in `.debug_frame` it marks a CIE."""
RESERVED_LENGTH = 0xFFFFFFF0
"""Lengths from this one on are reserved."""


class EntryKind(IntEnum):
    """What an entry is; OTHER is a CIE or padding."""

    OTHER = 0
    FUNCTION = 1
    DAMAGED = 2
    NO_CODE = 3


class CieFlag(IntEnum):
    """Bits above a CIE's pointer encoding: it can be used; its functions are signal frames; its entries have
    augmentation data; ids of entries with a 64-bit length have 8 bytes."""

    USABLE = 0x100
    SIGNAL_FRAMES = 0x200
    AUGMENTED = 0x400
    WIDE_IDS = 0x800


class ScanEnd(IntEnum):
    """Why a scan stopped: at the section's end, at a zero word, at damage that hides where the next entry is, at the
    limit on entries."""

    END = 0
    ZERO = 1
    DAMAGE = 2
    FULL = 3
