"""Perf events: parsing of perf's event names, ``perf_event_open``, permissions, and reasons for refusals.

Sources: perf_event_open(2), ``include/uapi/linux/perf_event.h`` and perf-list(1).
"""

import ctypes
import errno
import fcntl
import os
import platform
import re
import resource
import struct
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from undwarf.errors import UndwarfError, UsageError
from undwarf.live import pmu
from undwarf.perfdata import feature_writer
from undwarf.perfdata.events import (
    BREAKPOINT,
    HARDWARE,
    HW_CACHE,
    RAW,
    SOFTWARE,
    TRACEPOINT,
    EventAttr,
    default_name,
    encode_attr,
)

_SYSCALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
"""Numbers of the system call perf_event_open."""
CLOEXEC = 8
ENABLE, DISABLE, REFRESH, SET_OUTPUT, SET_FILTER = 0x2400, 0x2401, 0x2402, 0x2405, 0x40082406
_ID = 0x80082407

DISABLED, INHERIT, EXCLUDE_USER, EXCLUDE_KERNEL, EXCLUDE_HV = 1 << 0, 1 << 1, 1 << 4, 1 << 5, 1 << 6
MMAP, COMM, FREQ, ENABLE_ON_EXEC, TASK, WATERMARK = 1 << 8, 1 << 9, 1 << 10, 1 << 12, 1 << 13, 1 << 14
PRECISE_IP_SHIFT = 15
EXCLUDE_IDLE, EXCLUDE_HOST, EXCLUDE_GUEST = 1 << 7, 1 << 19, 1 << 20
MMAP_DATA, SAMPLE_ID_ALL = 1 << 17, 1 << 18
EXCLUDE_CALLCHAIN_USER, MMAP2, COMM_EXEC, USE_CLOCKID = 1 << 22, 1 << 23, 1 << 24, 1 << 25
CONTEXT_SWITCH, KSYMBOL, BPF_EVENT, CGROUP, BUILD_ID = 1 << 26, 1 << 29, 1 << 30, 1 << 32, 1 << 34
DEFER_CALLCHAIN, DEFER_OUTPUT = 1 << 38, 1 << 39
FORMAT_TIMES = 1 << 0 | 1 << 1
"""Reading an event gives its count, then for how long (ns) it was enabled and for how long it counted."""
FORMAT_LOST = 1 << 4
FORMAT_ID, FORMAT_GROUP = 1 << 2, 1 << 3

CONTEXT_SWITCHES, DUMMY = 3, 9
"""Configs of software events."""

_ALIASES = {
    "cpu-cycles": "cycles",
    "branch-instructions": "branches",
    "idle-cycles-frontend": "stalled-cycles-frontend",
    "idle-cycles-backend": "stalled-cycles-backend",
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
}
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_BREAKPOINT = re.compile(r"mem:(0x[0-9a-fA-F]+|[0-9]+)(?:/([1248]))?(?::([rwx]+))?((?::[ukhpP]+)?)\Z")
_TRACEPOINT = re.compile(r"([A-Za-z0-9_-]+):([A-Za-z0-9_.-]+)((?::[ukh]+)?)\Z")
_GROUP = re.compile(r"\{([^{}]*)\}:?([A-Za-z]*)")
_NAME = re.compile(r"mem:[^,]+|[A-Za-z0-9_.-]+/[^/]*/[A-Za-z]*|[^,]+")
_LETTERS = r"[ukhpPGHI]*"
_NAMES = "as perf names them: cpu-clock, task-clock, cycles, page-faults, sched:sched_switch, mem:0x1234:w"
_ACCESS = {"r": 1, "w": 2, "x": 4}


def _blank(kind: int, config: int) -> EventAttr:
    return EventAttr(
        name="",
        type=kind,
        config=config,
        sample_period=0,
        freq=False,
        sample_type=0,
        read_format=0,
        flags=0,
        sample_id_all=True,
        config1=0,
        config2=0,
        branch_sample_type=0,
        sample_regs_user=0,
        sample_stack_user=0,
        clockid=None,
        sample_regs_intr=0,
        sample_max_stack=0,
        ids=(),
    )


def software(config: int, name: str) -> EventAttr:
    """A software event with a given name."""
    return replace(_blank(SOFTWARE, config), name=name)


def breakpoint_event(address: int, size: int, kinds: int) -> EventAttr:
    """A breakpoint for reading (1), writing (2) or executing (4)."""
    return replace(_blank(BREAKPOINT, 0), bp_type=kinds, config1=address, config2=size, sample_period=1)


def _names() -> dict[str, tuple[int, int]]:
    found = {}
    for kind, count in ((HARDWARE, 10), (SOFTWARE, 12)):
        for config in range(count):
            found[default_name(_blank(kind, config))] = (kind, config)
    for config in ((cache | use << 8 | result << 16) for cache in range(7) for use in range(3) for result in (0, 1)):
        found[default_name(_blank(HW_CACHE, config))] = (HW_CACHE, config)
    return found


def _modified(event: EventAttr, modifiers: str) -> EventAttr:
    """The event for the modes that ``modifiers`` (":u", ":kpp" ...) name."""
    letters = modifiers.removeprefix(":")
    flags = event.flags
    modes = set(letters) & {"u", "k", "h"}
    if modes:
        for letter, bit in (("u", EXCLUDE_USER), ("k", EXCLUDE_KERNEL), ("h", EXCLUDE_HV)):
            if letter not in modes:
                flags |= bit
    for letter, bit in (("I", EXCLUDE_IDLE), ("G", EXCLUDE_HOST), ("H", EXCLUDE_GUEST)):
        if letter in letters:
            flags |= bit
    flags |= min(3, letters.count("p") + 3 * letters.count("P")) << PRECISE_IP_SHIFT
    return replace(event, flags=flags)


def split_groups(text: str) -> list[tuple[list[str], str]]:
    """The groups of a comma-separated list as (names of the events, kind): kind is "" for an event outside of a group,
    "G" for a group, "S" for one whose first event is sampled and the others only read with it.

    Raises UsageError.
    """
    found: list[tuple[list[str], str]] = []
    end = 0
    for group in _GROUP.finditer(text):
        found += [([name], "") for name in _names_in(text[end : group.start()])]
        end = group.end()
        wrong = set(group[2]) & {"W", "e", "D"}
        if wrong:
            raise UsageError(f"no group with :{group[2]}", "", f"give -e '{{{group[1]}}}' or '{{{group[1]}}}:S'")
        letters = group[2].replace("S", "")
        names = _names_in(group[1])
        if letters:
            names = [f"{name}{':' if '/' not in name and ':' not in name else ''}{letters}" for name in names]
        if names:
            found.append((names, "S" if "S" in group[2] else "G"))
    found += [([name], "") for name in _names_in(text[end:])]
    if not found or any(letter in _GROUP.sub("", text) for letter in "{}"):
        raise UsageError(f"no event in {text!r}", "", _NAMES)
    return found


def _names_in(text: str) -> list[str]:
    return [name.strip() for name in _NAME.findall(text) if name.strip()]


def parse_events(text: str) -> list[EventAttr]:
    """The events in a comma-separated list; names of tracepoints may have ``*`` and ``?``. Raises as parse_event."""
    return [event for events, _kind in parse_groups(text) for event in events]


def parse_groups(text: str) -> list[tuple[list[EventAttr], str]]:
    """The events of :func:`parse_events` in groups, with the kinds of :func:`split_groups`."""
    found: list[tuple[list[EventAttr], str]] = []
    for names, kind in split_groups(text):
        events = []
        for name in names:
            system, _colon, rest = name.partition(":")
            if ("*" in name or "?" in name) and rest and system != "mem":
                tracepoint, _colon, modifiers = rest.partition(":")
                matching = matching_tracepoints(system, tracepoint)
                events += [parse_event(f"{match}{_colon}{modifiers}") for match in matching]
            else:
                events.append(parse_event(name))
        found.append((events, kind))
    return found


def parse_event(text: str) -> EventAttr:
    """An event by perf's name: cpu-clock, cycles:u, LLC-load-misses, r1a8, sched:sched_switch, mem:0x1234/8:w.

    Raises UsageError for an unknown name, and UndwarfError if this machine has no such tracepoint.
    """
    found = _BREAKPOINT.match(text)
    if found:
        address, length, access, modes = (part or "" for part in found.groups())
        kinds = sum(_ACCESS[letter] for letter in set(access or "rw"))
        if kinds & 4 and kinds != 4:
            raise UsageError(f"{text}: a breakpoint triggers on execution or on accesses, not both")
        size = int(length) if length else (8 if kinds == 4 else 4)
        return _modified(replace(breakpoint_event(int(address, 0), size, kinds), name=text), modes)
    with_terms = _parse_terms(text)
    if with_terms is not None:
        return with_terms
    plain, _colon, modifiers = text.partition(":")
    known = _names().get(_ALIASES.get(plain, plain))
    if known and re.fullmatch(_LETTERS, modifiers):
        return replace(_modified(_blank(*known), modifiers), name=text)
    raw = re.fullmatch(r"r([0-9a-fA-F]+)", plain)
    if raw and re.fullmatch(_LETTERS, modifiers):
        return replace(_modified(_blank(RAW, int(raw[1], 16)), modifiers), name=text)
    found = _TRACEPOINT.match(text)
    if found and not known and plain != "mem":
        system, name, modifiers = found.groups()
        event = replace(_blank(TRACEPOINT, tracepoint_id(system, name)), name=f"{system}:{name}", sample_period=1)
        return _modified(event, modifiers)
    if known or raw:
        raise UsageError(f"unknown modifier in {text!r}", "", "known are u, k, h, p, P, G, H and I, as in cycles:u")
    raise UsageError(f"unknown event {text!r}", "", _NAMES)


def _parse_terms(text: str) -> EventAttr | None:
    """An event with slashes (:mod:`undwarf.live.pmu`); None of any other name."""
    found = pmu.spelled_out(text)
    if found is None or text.startswith("mem:"):
        return None
    unit, terms, modifiers = found
    if not re.fullmatch(_LETTERS, modifiers):
        raise UsageError(f"unknown modifier in {text!r}", "", "known are u, k, h, p, P, G, H and I, as in cpu/cycles/u")
    known = _names().get(_ALIASES.get(unit, unit))
    if known:
        event = pmu.with_terms(replace(_blank(*known), name=text), terms)
    elif unit == "software" and terms and not terms[0][1]:
        event = pmu.with_terms(replace(parse_event(terms[0][0]), name=text), terms[1:])
    else:
        event = pmu.unit_event(replace(_blank(0, 0), name=text), unit, terms)
    return _modified(event, modifiers)


def tracefs() -> str:
    """The directory of tracefs; empty if it is not mounted or may not be read."""
    return next((path for path in _TRACEFS if os.access(f"{path}/events", os.R_OK | os.X_OK)), "")


def tracepoint_id(system: str, name: str) -> int:
    """The kernel's id of a tracepoint. Raises UndwarfError."""
    root = tracefs()
    what = f"no tracepoint {system}:{name}"
    if not root:
        mounted = next((path for path in _TRACEFS if os.path.ismount(path)), "")
        if mounted:
            raise UndwarfError(what, f"you may not read {mounted}", f"as root: mount -o remount,mode=755 {mounted}")
        why = "tracefs is not mounted at /sys/kernel/tracing"
        raise UndwarfError(what, why, "as root: mount -t tracefs nodev /sys/kernel/tracing")
    try:
        return int(Path(f"{root}/events/{system}/{name}/id").read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "perf probe makes it" if system.startswith("probe") else f"ls {root}/events has those of this kernel"
        raise UndwarfError(what, reason or "", hint) from error


def matching_tracepoints(system: str, name: str) -> list[str]:
    """The tracepoints that match two patterns with ``*`` and ``?``. Raises UndwarfError if there are none."""
    root = tracefs()
    every = sorted(Path(root, "events").glob("*/*/id")) if root else []
    names = [(path.parts[-3], path.parts[-2]) for path in every]
    found = [f"{group}:{event}" for group, event in names if fnmatchcase(group, system) and fnmatchcase(event, name)]
    if not found:
        tracepoint_id(system, name)
        raise UndwarfError(f"no tracepoint {system}:{name}", "nothing matches", f"ls {root}/events")
    return found


def tracing_data(events: list[EventAttr]) -> bytes:
    """The TRACING_DATA section: the fields of the tracepoints among ``events``; empty without tracepoints."""
    wanted: dict[str, list[str]] = {}
    for event in events:
        if event.type == TRACEPOINT:
            system, _colon, name = event.name.partition(":")
            wanted.setdefault(system, []).append(name)
    root = tracefs()
    if not wanted or not root:
        return b""

    def content(path: str) -> bytes:
        try:
            return Path(f"{root}/{path}").read_bytes()
        except OSError:
            return b""

    formats = {
        system: [content(f"events/{system}/{name}/format") for name in names] for system, names in wanted.items()
    }
    return feature_writer.tracing(
        formats,
        content("printk_formats"),
        header_page=content("events/header_page"),
        header_event=content("events/header_event"),
    )


# -- the system call -------------------------------------------------------------------------------------------------


def open_event(
    event: EventAttr, pid: int, cpu: int, *, watermark: int = 0, flags: int = CLOEXEC, group: int = -1
) -> int:
    """The descriptor of an event on a thread (-1: all) and a CPU (-1: all). Raises OSError.

    ``watermark``: bytes in the ring buffer from which poll reports it readable; ``group``: the group leader's
    descriptor.
    """
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "no perf events on this machine's architecture yet")
    raw = bytearray(encode_attr(event))
    if watermark:
        struct.pack_into("=I", raw, 48, watermark)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = (ctypes.c_char * len(raw)).from_buffer(raw)
    result = libc.syscall(
        ctypes.c_long(number), buffer, ctypes.c_int(pid), ctypes.c_int(cpu), ctypes.c_int(group), ctypes.c_ulong(flags)
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def refresh(descriptor: int, count: int) -> None:
    """Enable an event until it has overflowed ``count`` times."""
    fcntl.ioctl(descriptor, REFRESH, count)


def set_filter(descriptor: int, text: str) -> None:
    """Make a tracepoint count only if its fields match the filter ``text``. Raises UsageError."""
    try:
        fcntl.ioctl(descriptor, SET_FILTER, text.encode() + b"\0")
    except OSError as error:
        hint = "as in --filter 'prev_pid == 42 && next_comm != \"swapper\"', with the fields of the tracepoint"
        raise UsageError(f"--filter {text!r} does not fit this tracepoint", error.strerror or "", hint) from error


def event_id(descriptor: int) -> int:
    """The id that samples of the event carry."""
    (number,) = struct.unpack("=Q", fcntl.ioctl(descriptor, _ID, bytes(8)))
    return int(number)


def lost_samples(descriptor: int) -> int:
    """Samples of an event opened with FORMAT_LOST that were lost to a full ring buffer."""
    data = os.read(descriptor, 64)
    return int(struct.unpack_from("=Q", data, 8)[0]) if len(data) >= 16 else 0


# -- branch stacks ---------------------------------------------------------------------------------------------------

_BRANCH_FILTERS = {
    "u": 0, "k": 1, "hv": 2, "any": 3, "any_call": 4, "any_ret": 5, "ind_call": 6, "abort_tx": 7, "in_tx": 8,
    "no_tx": 9, "cond": 10, "stack": 11, "ind_jmp": 12, "call": 13, "no_flags": 14, "no_cycles": 15, "save_type": 16,
    "hw_index": 17, "priv": 18, "counter": 19,
}  # fmt: skip  # a table
"""perf's names, and the bits of ``branch_sample_type`` (``tools/perf/util/parse-branch-options.c``)."""
BRANCH_ANY = 1 << 3
_WHICH_BRANCHES = 0x3FF8 & ~(7 << 7)
"""Bits that select kinds of branches; the others select modes and fields."""


def branch_filter(text: str) -> int:
    """``branch_sample_type`` from perf's names, as in any_call,u. Raises UsageError."""
    bits = 0
    for part in text.split(","):
        name = part.strip().lower()
        if name not in _BRANCH_FILTERS:
            raise UsageError(f"no branches {name!r}", "", f"known are {', '.join(_BRANCH_FILTERS)}")
        bits |= 1 << _BRANCH_FILTERS[name]
    return bits if bits & _WHICH_BRANCHES else bits | BRANCH_ANY


def may_have_branches(event: EventAttr) -> bool:
    """Whether samples of the event may have branch stacks: the CPU counts it, not the kernel."""
    return event.type not in (SOFTWARE, TRACEPOINT, BREAKPOINT)


def has_branches() -> bool:
    """Whether this machine's CPUs record branches, according to sysfs."""
    return any(_number(str(path), 0) > 0 for path in Path(pmu.DEVICES).glob("*/caps/branches"))


# -- permissions -----------------------------------------------------------------------------------------------------


def _number(path: str, default: int) -> int:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return default


def paranoid() -> int:
    """kernel.perf_event_paranoid: from -1 (everything is allowed) to 2, on some distributions 4 (nothing is
    allowed)."""
    return _number("/proc/sys/kernel/perf_event_paranoid", 2)


def _capable(*numbers: int) -> bool:
    """Whether this process has one of these capabilities, and outside of any user namespace."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        inside = Path("/proc/self/uid_map").read_text(encoding="ascii").split() != ["0", "0", "4294967295"]
    except OSError:
        return os.geteuid() == 0
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    mask = int(found[1], 16) if found else 0
    return not inside and any(mask >> number & 1 for number in numbers)


def may_lock() -> bool:
    """Whether ring buffers may have any size: CAP_IPC_LOCK."""
    return _capable(14) or paranoid() < 0


def may_see_kernel() -> bool:
    """Whether samples inside the kernel are allowed."""
    # CAP_PERFMON or CAP_SYS_ADMIN.
    return _capable(38, 21) or paranoid() < 2


def may_see_own() -> bool:
    """Whether user-mode events on this process itself are allowed: if not, no perf events are."""
    try:
        event = replace(software(DUMMY, "dummy:u"), flags=EXCLUDE_KERNEL | EXCLUDE_HV | DISABLED, sample_period=1)
        os.close(open_event(event, 0, -1))
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EPERM)
    return True


def locked_bytes(cpus: int) -> int:
    """Bytes of ring buffer that a process without privileges may have per CPU, with this number of CPUs."""
    # The sysctl's share per CPU is used first, then RLIMIT_MEMLOCK (perf_mmap in kernel/events/core.c).
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
        limit = hard
    except (OSError, ValueError):
        limit = soft
    more = (1 << 40) if limit == resource.RLIM_INFINITY else max(0, limit)
    return _number("/proc/sys/kernel/perf_event_mlock_kb", 516) * 1024 + more // max(1, cpus)


def request_short_slice() -> None:
    """Ask the scheduler for a slice of 0.1 ms, so that this thread runs soon after it wakes.

    Since 6.12 a thread with a shorter slice is due before others: ``sched_setattr(2)`` with a ``sched_runtime``. Needs
    no privileges; older kernels ignore it.
    """
    number = {"x86_64": 314, "s390x": 345, "ppc64le": 355}.get(platform.machine(), 274)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(
        ctypes.c_long(number),
        ctypes.c_int(0),
        ctypes.create_string_buffer(
            struct.pack("=IIQiIQQQ", 48, 0, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, 100_000, 0, 0)
        ),
        ctypes.c_uint(0),
    )


def largest_rate() -> int:
    """The highest sampling rate that the kernel accepts, in Hz."""
    return _number("/proc/sys/kernel/perf_event_max_sample_rate", 100_000)


def online_cpus() -> list[int]:
    """The numbers of the CPUs that are online."""
    try:
        text = Path("/sys/devices/system/cpu/online").read_text(encoding="ascii").strip()
        found: list[int] = []
        for part in text.split(","):
            first, _dash, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
        return found
    except (OSError, ValueError):
        return list(range(os.cpu_count() or 1))


def _forbidden(what: str, event: EventAttr, whom: str) -> UndwarfError:
    """The error for an event that may not be opened: why, and who may."""
    level = paranoid()
    hint = "run as root, or with CAP_PERFMON; or as root: sysctl kernel.perf_event_paranoid=-1"
    if not may_see_own():
        if level > 2:
            return UndwarfError(what, f"kernel.perf_event_paranoid is {level}: only root may use perf events", hint)
        why = "perf_event_open is denied altogether, by a container's seccomp filter or a security module"
        hint = "outside of the container; or docker run --cap-add PERFMON --security-opt seccomp=unconfined"
        return UndwarfError(what, why, hint)
    if whom.startswith("process"):
        why = "it is another user's, or has rights that you do not have; you may sample your own processes"
        return UndwarfError(what, f"{why} (kernel.perf_event_paranoid is {level})", "run as root, or with CAP_PERFMON")
    allowed = "you may sample your own processes"
    if level >= 2:
        allowed += ", outside of the kernel"
    elif level <= 0:
        allowed += ", and whole CPUs"
    if event.type == TRACEPOINT:
        allowed += "; tracepoints need -1"
    return UndwarfError(what, f"the kernel forbids it: kernel.perf_event_paranoid is {level}, {allowed}", hint)


def refusal(error: OSError, event: EventAttr, whom: str) -> UndwarfError:
    """The error for an event that the kernel would not open on ``whom``: why, and what to do about it."""
    what = f"cannot sample {event.name} on {whom}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return _forbidden(what, event, whom)
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        why = "this machine has no such event"
        hint = "virtual machines often have no hardware counters: -e cpu-clock works everywhere"
        if event.type == BREAKPOINT:
            why, hint = "this machine has no such breakpoints", "their address must be a multiple of their size"
        return UndwarfError(what, why, hint)
    if error.errno == errno.EMFILE:
        why = "too many open files: each thread needs one event for each CPU"
        return UndwarfError(what, why, "raise it with ulimit -n, or record with -a")
    if error.errno == errno.ENOSPC:
        return UndwarfError(what, "all breakpoint registers of the CPU are in use", "ask for fewer breakpoints")
    if error.errno == errno.ENOSYS:
        return UndwarfError(what, error.strerror or "the kernel has no perf events", "record on another machine")
    if error.errno == errno.EINVAL:
        why = "the kernel does not accept the event with these options"
        return UndwarfError(what, why, f"the highest rate is {largest_rate()} Hz; try -e cpu-clock")
    return UndwarfError(what, error.strerror or str(error))
