# constants of kernels: the build writes the .pxd beside this file
"""Kinds of side-band records: what happened to processes, their mappings and the recording itself."""

from enum import IntEnum


class SidebandKind(IntEnum):
    """What a side-band entry is, and what its columns a, b, c, d hold."""

    MMAP = 1
    """a start, b length, c page offset, d protection (without one in the record: 4 for code, 3 for data)"""
    COMM = 2
    """name"""
    FORK = 3
    """a parent pid, b parent tid"""
    EXIT = 4
    """a parent pid, b parent tid"""
    KSYMBOL = 5
    """a address, b length, c type (1 BPF, 2 out of line), d flags (1 unregister), name"""
    TEXT_POKE = 6
    """a address, b old length, c new length; the bytes are in the record"""
    BPF = 7
    """a program id, b tag, c type (1 load, 2 unload), d flags"""
    CGROUP = 8
    """a id, name"""
    NAMESPACES = 9
    """a number of entries; they are in the record, from byte 24 on"""
    SWITCH = 10
    """a pid, b tid of the other task (both 0 where the record has none), c 1 for a CPU-wide record"""
    LOST = 11
    """a how many, b event id, c 1 for lost samples (LOST_SAMPLES), d 1 where a filter dropped them on purpose"""
    DEFERRED = 12
    """a cookie, b number of addresses; they are in the record, from byte 24 on"""
    AUX = 13
    """a offset, b size, d flags"""
    ITRACE_START = 14
    """pid, tid"""
    AUX_OUTPUT_HW_ID = 15
    """a hardware id"""
    THROTTLE = 16
    """a event id, b stream id"""
    UNTHROTTLE = 17
    """as THROTTLE"""
