# constants of kernels: the build writes the .pxd beside this file
"""Kinds of side-band records: what happened to processes, their mappings and the recording itself."""

from enum import IntEnum


class SidebandKind(IntEnum):
    """Kinds of side-band entries, with the meaning of their four values; `records.py` has names for them."""

    MMAP = 1
    """start, length, page offset, protection (without one in the record: 4 for code, 3 for data); name"""
    COMM = 2
    """name"""
    FORK = 3
    """parent pid, parent tid"""
    EXIT = 4
    """parent pid, parent tid"""
    KSYMBOL = 5
    """address, length, type (1 BPF, 2 out of line), flags (1 unregister); name"""
    TEXT_POKE = 6
    """address, old length, new length; the bytes are in the record"""
    BPF = 7
    """program id, tag, type (1 load, 2 unload), flags"""
    CGROUP = 8
    """id; name"""
    NAMESPACES = 9
    """number of entries; they are in the record, from byte 24 on"""
    SWITCH = 10
    """pid and tid of the other task (both 0 where the record has none), 1 for a CPU-wide record"""
    LOST = 11
    """count, event id, 1 for lost samples (LOST_SAMPLES), 1 if a filter dropped them on purpose"""
    DEFERRED = 12
    """cookie, number of addresses; they are in the record, from byte 24 on"""
    AUX = 13
    """offset, size, none, flags"""
    ITRACE_START = 14
    """none: pid and tid are all"""
    AUX_OUTPUT_HW_ID = 15
    """hardware id"""
    THROTTLE = 16
    """event id, stream id"""
    UNTHROTTLE = 17
    """event id, stream id"""


class SideWord(IntEnum):
    """Columns of the side band with 64 bits."""

    TIME = 0
    POSITION = 1
    FIRST = 2
    SECOND = 3
    THIRD = 4


class SideInt(IntEnum):
    """Columns of the side band with 32 bits, signed."""

    PID = 0
    TID = 1


class SideNumber(IntEnum):
    """Columns of the side band with 32 bits, unsigned."""

    FOURTH = 0
    NAME = 1
    IDENTITY = 2
