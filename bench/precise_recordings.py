"""Recordings of precise events as each kind of machine would make them, with every sample's true call chain.

Usage: python bench/precise_recordings.py PROGRAM --out FOLDER [--samples N] [--branches] [-- ARGUMENT ...]

A program is stepped instruction by instruction (`precise_stepper.py`). At instructions taken at random, the samples
have that exact instruction's address, that of the data it accesses, and the registers and the stack that a machine
would give for it (`KINDS`); as the kernel does, the exact address is put into the registers too. FOLDER gets one
perf.data a kind, `truth.jsonl` with a line for each sample (`Truth`), and `mappings.json`: what was mapped where.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from compiled import compiled
from iced_x86 import Decoder, FlowControl, Instruction, OpAccess, Register, RegisterExt, UsedMemory
from iced_x86 import InstructionInfoFactory as InfoFactory

from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata import feature_writer as encode
from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.features import Feature
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import RecordEncoder, record
from undwarf.perfdata.writer import PerfWriter

stepper = compiled("precise_stepper")

MOST_LATE = 12
"""Instructions that an interrupt comes late at most; any number from 1 on is as frequent."""
EXACT_IP = 1 << 14
"""PERF_RECORD_MISC_EXACT_IP."""
REGISTERS = 0xFF0FFF
"""Those that perf asks for with ``--call-graph dwarf``."""
BP, SP, IP, FLAGS, CS, SS = range(6, 12)
"""Their places among those."""
DUMP = 16384
PERIOD = 10007
FIELDS = (
    SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.ADDR | SampleField.PERIOD
    | SampleField.CALLCHAIN | SampleField.REGS_USER | SampleField.STACK_USER
)  # fmt: skip
START, STEP = 1_000_000_000, 1000
"""Times of the first sample and between samples, in ns: a sample's number can be read from its time in any output."""
AT_ENTRY = 9
"""The program's first instruction in the auxiliary vector (include/uapi/linux/auxvec.h)."""
LARGEST_STACK = 8 << 20
LONGEST_BLOCK = 256
DIRECT = (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CALL)
FROM_EXEC = -1
OTHER_STACK, IN_KERNEL = -1, -2
KERNEL_SP, KERNEL_BP, KERNEL_OTHER = 0xFFFF_C900_0012_3E58, 0xFFFF_C900_0012_3F48, 0xFFFF_8881_0000_0000
"""Registers of a kernel."""


BRANCHES = 32
"""Branches that a processor keeps."""
TRACED = 96
"""Instructions before the exact one whose branches are noted."""
USER_BRANCHES = 1 | 8
"""PERF_SAMPLE_BRANCH_USER and _ANY."""
NO_BRANCHES = -1
BASES = ("RAX", "RBX", "RCX", "RDX", "RSI", "RDI", "RBP", "RSP", "", "", "", "", *(f"R{k}" for k in range(8, 16)))
"""Names of the recorded registers that operands may have as base or index."""


@dataclass(frozen=True)
class Kind:
    """A kind of machine. ``registers``, ``stack`` and ``branches``: how many instructions after the exact one they are
    taken; None for as many as the interrupt is late, NO_BRANCHES for none. ``intr``: also as
    those of the interrupt (``perf record -I``). ``release``: of the kernel, this one's if empty; with another one no
    vDSO is known."""

    cpuid: str
    registers: int | None
    stack: int | None
    branches: int | None = NO_BRANCHES
    intr: bool = False
    release: str = ""


KINDS = {
    "on-time": Kind("GenuineIntel,6,143,8", 0, 0),
    "late": Kind("GenuineIntel,6,143,8", 1, 1, intr=True),
    "skid": Kind("AuthenticAMD,25,17,1", None, None),
    "mixed": Kind("GenuineIntel,6,143,8", 1, None, intr=True),
}
"""on-time: a control, as of an event that is not precise. late: PEBS whose interrupt comes at once. skid: the
interrupt's registers, as of AMD's IBS and of PEBS before Ice Lake. mixed: PEBS's registers, with the stack at the
interrupt."""

BRANCH_KINDS = {
    "late-lbr": Kind("GenuineIntel,6,143,8", 1, 1, 1, intr=True),
    "skid-lbr": Kind("GenuineIntel,6,94,3", None, None, None),
    "stale-lbr": Kind("GenuineIntel,6,143,8", None, None, 1, release="6.1.0"),
}
"""The same with the branches before, as of PEBS that writes them itself (late), of PEBS before Ice Lake (skid), and of
Ice Lake and later before Linux 6.15: the branches are of PEBS's record, the registers the interrupt's (stale)."""
ALL_KINDS = KINDS | BRANCH_KINDS


@dataclass
class Truth:
    """One sample. ``chain``: the exact instruction's address and those that its callers are looked up by, a return
    address less one, or what a signal has interrupted. ``reachable``: how many of them this stack has; the others are
    on the one that a signal interrupted. ``complete``: the chain ends where the stack begins; else the thread had begun
    before it was stepped. ``late``: how late the interrupt is.

    ``after_one`` and ``after_all``: the state that many instructions later, as (its ip, frames of the chain that are no
    more, frames that are new); instead of the former OTHER_STACK, or IN_KERNEL where the interrupt comes in a system
    call. ``address``: that of the data which the instruction's operand accesses, 0 for none.
    """

    number: int
    chain: list[int]
    reachable: int
    complete: bool
    late: int
    after_one: tuple[int, int, int]
    after_all: tuple[int, int, int]
    address: int = 0


class Mapping(NamedTuple):
    """Executable memory, and what of a file it is."""

    start: int
    end: int
    offset: int
    name: str


class Block(NamedTuple):
    """Instructions that run one after another: how many, where they may go on, and whether the last is a call."""

    stops: tuple[int, ...]
    length: int
    calls: bool


class Ended(Exception):
    """The program is over."""


class Run:
    """A program being stepped, on which of its stacks it is, and what of it is mapped."""

    def __init__(self, command: list[str], environment: dict[str, str], start_at: int | None) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        variables = [f"{name}={value}".encode() for name, value in environment.items()]
        self.pid: int = stepper.start([os.fsencode(one) for one in command], variables, null)
        os.close(null)
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        self.stepper = stepper.Stepper(self.pid)
        self.blocks: dict[int, Block] = {}
        self.mapped: list[Mapping] = []
        self.new: list[Mapping] = []
        self.is_go = "GODEBUG" in environment
        """Whether stacks are those of goroutines."""
        self.is_complete = start_at is None or start_at == FROM_EXEC
        """Whether the shadow stack goes down to where the thread began."""
        if start_at != FROM_EXEC:
            with self._breakpoints((start_at or self._entry(),)):
                self._handle(self.stepper.go(0, False))
        high = next(end for _start, end, _offset, name in self._maps("rw") if name == "[stack]")
        self.stepper.low, self.stepper.high = high - LARGEST_STACK, high
        # (its bounds, depth of the shadow stack when it was entered), outermost first.
        self.stacks = [(high - LARGEST_STACK, high, 0)]
        # Of Go, the shadow stacks that are left, by the end of their stack.
        self.left: dict[int, list[tuple[int, int, int]]] = {}
        self.signals = 0
        self.instructions: dict[int, Instruction] = {}
        self.branches: deque[tuple[int, int]] = deque(maxlen=BRANCHES)
        """The branches of the steps that were traced, (from, to), the newest last."""
        self.system_calls = -1
        self.is_alone = True
        self.ended = ""
        """Why it ended before all samples were taken."""
        if not self.stepper.low <= self.stepper.sp < high:
            self._change_stack()

    def advance(self, count: int) -> None:
        """Do this many steps. Raises Ended."""
        last = self.stepper.steps + count
        while (status := self.stepper.run_to(last)) != stepper.DONE:
            self._handle(status)

    def skip(self, count: int) -> None:
        """Do this many steps, more or less where signals come, without stops between branches. Raises Ended."""
        last = self.stepper.steps + count
        while (left := last - self.stepper.steps) > 0:
            block = self.blocks.get(self.stepper.ip) or self._block(self.stepper.ip)
            if self.system_calls != self.stepper.system_calls:
                # Other threads, which nobody traces, would meet the breakpoints.
                self.system_calls = self.stepper.system_calls
                self.is_alone = len(os.listdir(f"/proc/{self.pid}/task")) == 1
            if not self.is_alone or not 0 < block.length <= left:
                self.advance(1)
                continue
            with self._breakpoints(block.stops):
                status = self.stepper.go(block.length, block.calls)
            self._handle(status)

    def trace(self, count: int) -> None:
        """Do this many steps and note the branches they take. Raises Ended."""
        for _step in range(count):
            at = self.stepper.ip
            made = self.instruction(at)
            self.advance(1)
            if made.flow_control not in (FlowControl.NEXT, FlowControl.INTERRUPT) and self.stepper.ip != made.next_ip:
                # `syscall` comes back to the next instruction, which a filter for user space leaves out.
                self.branches.append((at, self.stepper.ip))

    def instruction(self, address: int) -> Instruction:
        """The instruction at an address."""
        if address not in self.instructions:
            self.instructions[address] = Decoder(64, os.pread(self.memory, 15, address), ip=address).decode()
        return self.instructions[address]

    def data_address(self, registers: list[int]) -> int:
        """The address of the data that the next instruction's own memory operand accesses; 0 for none."""
        made = self.instruction(self.stepper.ip)
        if not made.memory_size or made.is_vsib:
            return 0
        used = [one for one in InfoFactory().info(made).used_memory() if one.access != OpAccess.NO_MEM_ACCESS]
        explicit = [one for one in used if one.base == made.memory_base or made.is_ip_rel_memory_operand]
        return self._effective(explicit[0], registers) if explicit and made.memory_base + made.memory_index else 0

    def _effective(self, used: UsedMemory, registers: list[int]) -> int:
        """The address of an operand."""
        names = {getattr(Register, name): registers[k] for k, name in enumerate(BASES) if name}
        address = used.displacement
        if used.base and used.base != Register.RIP:
            address += names[RegisterExt.full_register(used.base)]
        if used.index:
            address += names[RegisterExt.full_register(used.index)] * used.scale
        if used.segment == Register.FS:
            address += self.stepper.thread_base
        return address & (1 << 64) - 1

    def _block(self, address: int) -> Block:
        """What runs from an address on until it cannot be said where it goes on, or could be here again."""
        at, length, stops, calls = address, 0, (address,), False
        for one in Decoder(64, os.pread(self.memory, LONGEST_BLOCK, address), ip=address):
            flow = one.flow_control
            # `syscall` counts as a call, without a target.
            if flow in DIRECT and one.near_branch_target:
                stops = (one.near_branch_target, *([one.next_ip] if flow == FlowControl.CONDITIONAL_BRANCH else []))
                calls = flow == FlowControl.CALL
                length += 1
                if any(address <= stop <= at for stop in stops):
                    stops, length, calls = (at,), length - 1, False
                break
            if flow != FlowControl.NEXT or one.next_ip > address + LONGEST_BLOCK - 15:
                break
            at, length = one.next_ip, length + 1
            stops = (at,)
        self.blocks[address] = Block(stops, length, calls)
        return self.blocks[address]

    def _handle(self, status: int) -> None:
        """Do what is to be done before the next step."""
        if status == stepper.NEW_TEXT:
            self.read_text()
        elif status == stepper.SIGNAL:
            self._deliver()
        elif status == stepper.OTHER_STACK:
            self._change_stack()
        elif status == stepper.ENDED:
            raise Ended(f"status {self.stepper.status:#x}")

    @contextmanager
    def _breakpoints(self, addresses: tuple[int, ...]) -> Iterator[None]:
        was = [os.pread(self.memory, 1, address) for address in addresses]
        for address in addresses:
            os.pwrite(self.memory, b"\xcc", address)
        yield
        with suppress(OSError):
            for address, byte in zip(addresses, was, strict=True):
                os.pwrite(self.memory, byte, address)

    def read_text(self) -> None:
        """Read all executable memory of files, which is taken to stay as it is, and the vDSO. Raises Ended if the next
        instruction is in none of it: in code that the program has made."""
        ranges = [one for one in self._maps("x") if one.end < 1 << 63 and one.name != "//anon"]
        if not any(start <= self.stepper.ip < end for start, end, _offset, _name in ranges):
            raise Ended(f"no known code at {self.stepper.ip:#x}")
        self.new += [one for one in ranges if one not in self.mapped]
        self.mapped = ranges
        self.stepper.set_text([(start, os.pread(self.memory, end - start, start)) for start, end, *_ in ranges])

    def end(self) -> None:
        """End the program, if it has not."""
        try:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.memory)

    def _maps(self, wanted: str) -> list[Mapping]:
        found = []
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if wanted in fields[1]:
                start, end = (int(one, 16) for one in fields[0].split("-"))
                found.append(Mapping(start, end, int(fields[2], 16), fields[5] if len(fields) > 5 else "//anon"))
        return found

    def _entry(self) -> int:
        words = Path(f"/proc/{self.pid}/auxv").read_bytes()
        return dict(struct.iter_unpack("=QQ", words))[AT_ENTRY]

    def _deliver(self) -> None:
        """Deliver a signal. A handler's frame is called by the restorer, and that by what was interrupted."""
        ip, sp = self.stepper.ip, self.stepper.sp
        while (status := self.stepper.deliver()) == stepper.SIGNAL:
            pass
        if status == stepper.ENDED:
            raise Ended(f"status {self.stepper.status:#x}")
        # A return address, then struct ucontext (arch/x86/include/uapi/asm/sigcontext.h).
        frame = self.stepper.read(self.stepper.sp, 8 + 40 + 8 * 17)
        if len(frame) < 8 + 40 + 8 * 17:
            return
        words = struct.unpack("=23Q", frame)
        if words[6 + 15] != sp or words[6 + 16] != ip:
            if status == stepper.OTHER_STACK:
                self._change_stack()
            return
        self.signals += 1
        if status == stepper.OTHER_STACK:
            low, size = words[3], words[5]
            self.stacks.append((low, low + size, self.stepper.depth))
            self.stepper.low, self.stepper.high = low, low + size
        # What is no return address is looked up as it is.
        self.stepper.push(self.stepper.sp + 8, ip + 1)
        self.stepper.push(self.stepper.sp, words[0] + 1)

    def _change_stack(self) -> None:
        """Go on with the shadow stack of the stack that the stack pointer is in."""
        if self.is_go:
            self._change_goroutine()
            return
        sp = self.stepper.sp
        depth = self.stepper.depth
        while len(self.stacks) > 1 and not self.stacks[-1][0] <= sp < self.stacks[-1][1]:
            depth = self.stacks.pop()[2]
        self.stepper.low, self.stepper.high, _ = self.stacks[-1]
        if not self.stepper.low <= sp < self.stepper.high:
            raise Ended(f"on an unknown stack at {sp:#x}")
        self.stepper.pop(depth)

    def _change_goroutine(self) -> None:
        """Take the stack's bounds from Go's current g, which the thread's control block refers to (runtime.g)."""
        (g,) = struct.unpack("=Q", self.stepper.read(self.stepper.thread_base - 8, 8))
        low, high = struct.unpack("=QQ", self.stepper.read(g, 16))
        self.is_complete = False
        if not low <= self.stepper.sp <= high:
            raise Ended(f"on an unknown stack at {self.stepper.sp:#x}, where the goroutine's is {low:#x} to {high:#x}")
        self.left[self.stepper.high] = self.stepper.entries()
        self.stepper.low, self.stepper.high = low, high
        # It may also be a larger copy of one that was left in `morestack`: what is on it is as far from its end.
        for end in (high, *self.left):
            moved = [(slot + high - end, address, serial) for slot, address, serial in self.left.get(end, [])]
            while moved and moved[-1][0] < self.stepper.sp:
                moved.pop()
            if moved and all(self.stepper.read(slot, 8) == struct.pack("=Q", address) for slot, address, _ in moved):
                break
        else:
            moved = []
        self.stepper.restore(moved)


_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _MMAP, _COMM, _TASK = (1 << k for k in (0, 5, 6, 8, 9, 13))
_SAMPLE_ID_ALL, _EXCLUDE_CALLCHAIN_USER, _MMAP2, _COMM_EXEC = (1 << k for k in (18, 22, 23, 24))
_PRECISE_IP = 15
"""Bits of the attribute's flags, and the first of the two of ``precise_ip``."""


def event(kind: Kind) -> EventAttr:
    """``cycles:Pu`` as ``perf record -d --call-graph dwarf`` asks for it, ``cycles:u`` where nothing is late; with
    ``-j any,u`` where there are branches."""
    fields, branches = FIELDS, 0
    if kind.branches != NO_BRANCHES:
        fields, branches = fields | SampleField.BRANCH_STACK, USER_BRANCHES
    if kind.intr:
        fields |= SampleField.REGS_INTR
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _MMAP | _COMM | _TASK | _MMAP2 | _COMM_EXEC
    flags |= (0 if kind.registers == 0 else 2) << _PRECISE_IP | _SAMPLE_ID_ALL | _EXCLUDE_CALLCHAIN_USER
    name = "cycles:Pu" if kind.registers != 0 else "cycles:u"
    intr = REGISTERS if kind.intr else 0
    return EventAttr(
        name=name, type=0, config=0, sample_period=PERIOD, freq=False, sample_type=int(fields), read_format=0,
        flags=flags, sample_id_all=True, config1=0, config2=0, branch_sample_type=branches, sample_regs_user=REGISTERS,
        sample_stack_user=DUMP, clockid=None, sample_regs_intr=intr, sample_max_stack=0, ids=(1,),
    )  # fmt: skip


class Recording:
    """One perf.data being written."""

    def __init__(self, sink: BinaryIO, kind: Kind, pid: int, name: str) -> None:
        self.marks = 0 if kind.registers == 0 else EXACT_IP
        self.event = event(kind)
        self.has_branches = kind.branches != NO_BRANCHES
        self.has_intr = kind.intr
        self.pid = pid
        host = os.uname()
        features = {
            Feature.HOSTNAME: encode.string(host.nodename),
            Feature.OSRELEASE: encode.string(kind.release or host.release),
            Feature.ARCH: encode.string(host.machine),
            Feature.CPUID: encode.string(kind.cpuid),
            Feature.EVENT_DESC: encode.event_desc([self.event]),
        }
        self.writer = PerfWriter(sink, [self.event], features=features)
        self.encoder = RecordEncoder(self.event)
        self.writer.write(self.encoder.comm(name.encode(), pid, pid, exec_=True, time=START - STEP))

    def map(self, mapped: list[Mapping], now: int) -> None:
        """Executable mappings."""
        for start, end, offset, name in mapped:
            inode = Path(name).stat().st_ino if name.startswith("/") and Path(name).exists() else 0
            self.writer.write(
                self.encoder.mmap2(
                    os.fsencode(name), self.pid, self.pid, start, end - start, offset, inode=(inode, 0), time=now
                )
            )

    def sample(
        self,
        ip: int,
        address: int,
        registers: list[int],
        stack: bytes,
        branches: list[tuple[int, int]],
        now: int,
    ) -> None:
        """A sample of an exact instruction; the kernel's own chain is empty, as it leaves out what is of user space.
        ``branches``: the newest last."""
        registers = registers.copy()
        registers[IP] = ip
        stack = stack[: len(stack) & ~7]
        body = struct.pack("=QIIQQQQ", ip, self.pid, self.pid, now, address, PERIOD, 0)
        if self.has_branches:
            body += struct.pack("=Q", len(branches))
            body += b"".join(struct.pack("=QQQ", *one, 0) for one in reversed(branches))
        body += struct.pack("=Q20QQ", 2, *registers, len(stack))
        body += stack + (struct.pack("=Q", len(stack)) if stack else b"")
        if self.has_intr:
            body += struct.pack("=Q20Q", 2, *registers)
        self.writer.write(record(RecordType.SAMPLE, body, CpuMode.USER | self.marks))


def in_kernel(registers: list[int]) -> list[int]:
    """What registers are where the interrupt comes in the kernel: those of the kernel, but for the segments, which the
    kernel sets by the exact instruction's address (`set_linear_ip` in arch/x86/events/perf_event.h). It takes them for
    the program's then, and copies no stack."""
    made = [KERNEL_OTHER + 64 * k for k in range(len(registers))]
    made[BP], made[SP] = KERNEL_BP, KERNEL_SP
    made[FLAGS], made[CS], made[SS] = registers[FLAGS], registers[CS], registers[SS]
    return made


def samples(run: Run, kinds: dict[str, Recording], count: int, gap: int, seed: int) -> Iterator[Truth]:
    """Step through a program, write a sample of each kind at about every ``gap`` + 7th instruction, and give what is
    true of it. Ends with the program, or after ``count``."""
    chance = random.Random(seed)
    state = run.stepper
    traces = any(one.has_branches for one in kinds.values())

    def here() -> tuple[list[int], bytes]:
        return state.recorded_registers(), state.read(state.sp, DUMP)

    def since(before: list[int], stack: int) -> tuple[int, int, int]:
        after = [serial for _slot, _address, serial in state.entries()]
        if state.high != stack and run.is_go:
            return state.ip, OTHER_STACK, 0
        same = 0
        for one, other in zip(before, after, strict=False):
            if one != other:
                break
            same += 1
        return state.ip, len(before) - same, len(after) - same

    for number in range(count):
        now = START + STEP * number
        late = chance.randint(1, MOST_LATE)
        try:
            run.skip(chance.randint(1, 2 * gap))
            if traces:
                run.branches.clear()
                run.trace(TRACED)
            entries, ip, stack_end, complete = state.entries(), state.ip, state.high, run.is_complete
            reachable = 1 + len(entries) - run.stacks[-1][2]
            first = here()
            serials = [serial for _slot, _address, serial in entries]
            system_calls = state.system_calls
            address = run.data_address(first[0])
            run.trace(1)
            second, branches = here(), list(run.branches)
            after_one = since(serials, stack_end)
            run.trace(late - 1)
            last = here()
            after_all = since(serials, stack_end)
            if state.system_calls > system_calls:
                after_all = state.ip, IN_KERNEL, 0
                last = in_kernel(last[0]), b""
        except Ended as end:
            run.ended = str(end)
            return
        mixed = state.read(second[0][SP], DUMP)
        for one in kinds.values():
            one.map(run.new, now - 1)
        run.new.clear()
        for name, recording in kinds.items():
            kind = ALL_KINDS[name]
            registers, stack = last if kind.registers is None else (first, second)[kind.registers]
            stack = stack if kind.registers == kind.stack else mixed
            taken = list(run.branches) if kind.branches is None else branches
            recording.sample(ip, address, registers, stack, taken, now)
        chain = [ip, *(address - 1 for _slot, address, _serial in reversed(entries))]
        yield Truth(number, chain, reachable, complete, late, after_one, after_all, address)


def make(command: list[str], out: Path, count: int, *, gap: int = 100, seed: int = 1, start_at: int | None = None,
         environment: dict[str, str] | None = None, branches: bool = False) -> str:  # fmt: skip
    """Step through a program and write its recordings and their truth to a folder; a line about what was done. With
    ``branches`` also those of machines that record them (BRANCH_KINDS), which takes more steps.

    Stepping begins at the program's entry, or ``start_at`` an address in it, where the callers are not known, or
    ``FROM_EXEC``: in the dynamic linker.
    """
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    run = Run(command, environment or {}, start_at)
    before = run.stepper.steps
    written = 0
    try:
        with ExitStack() as files, (out / "truth.jsonl").open("w") as truth:
            recordings = {}
            for name, kind in (ALL_KINDS if branches else KINDS).items():
                sink = files.enter_context((out / f"{name}.data").open("wb"))
                recordings[name] = Recording(sink, kind, run.pid, Path(command[0]).name)
            for one in samples(run, recordings, count, gap, seed):
                truth.write(json.dumps(asdict(one)) + "\n")
                written += 1
            for recording in recordings.values():
                recording.writer.finish()
            (out / "mappings.json").write_text(json.dumps(run.mapped))
    finally:
        run.end()
    took = time.monotonic() - began
    steps = run.stepper.steps - before
    ended = f"; ended: {run.ended}" if run.ended else ""
    return f"{written} samples, {run.signals} signals, {steps} steps, {steps / took:,.0f} a second{ended}"


def main() -> int:
    """One program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--gap", type=int, default=100, help="steps between samples, besides the lateness of the last")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--branches", action="store_true", help="recordings with the branches before, too")
    parser.add_argument("--from-exec", action="store_true", help="step through the dynamic linker too")
    options = parser.parse_args()
    command = [str(Path(options.program).resolve()), *options.arguments]
    print(make(command, options.out, options.samples, gap=options.gap, seed=options.seed,
               start_at=FROM_EXEC if options.from_exec else None, branches=options.branches))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
