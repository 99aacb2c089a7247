"""Which histories fit what precise samples hold: whether their true stack could be known at all.

Usage: python bench/precise_oracle.py FOLDER ... [--all] [--most N] [--json FILE]   (needs z3-solver, from PyPI)

A history is a path of at most 12 instructions from the exact instruction to the state, and the calls that functions
which returned on it went back to. For each sample of a folder of `precise_truth.py` with a skid, all histories are
enumerated that the code allows, and kept if

- the unwind rules at their end lead to the root by return addresses, each of which a call precedes that may have
  called the function below it (`CodeEvidence.call_level`), and
- there are registers and memory before the path from which its instructions give the sampled registers, with the
  flags, and the sampled stack: exactly, by z3; what an instruction is not modelled for is unknown after it.

Histories with the same functions in their stacks are one answer. A sample whose answers are more than one is
undecidable: what was recorded is what each of them gives. How probable each is follows from what is not in the sample
only: every lateness from 1 to 12 alike, both ways of a branch whose condition is not known alike, and calls by their
shares in the true stacks of the same program, which no profiler has.

With `--all` it is also shown what the best decision would give: always the most probable answer, if it has at least a
share of the probability, else none.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import z3
from iced_x86 import (
    ConditionCode,
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)  # fmt: skip
from precise_recordings import MOST_LATE, START, STEP
from precise_truth import Functions, is_ambiguous, judge, of_undwarf, place, truths

from undwarf import Mapping, Unwinder
from undwarf.api import open_recording
from undwarf.elf import ElfFile
from undwarf.perfdata import SampleField
from undwarf.unwind.exact_positions import CallLevel
from undwarf.unwind.stop_reason import WHOLE

NAMES = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "flags", "cs", "ss", *(f"r{k}" for k in range(8, 16))
)  # fmt: skip
"""Of the registers in the bed's recordings, in perf's order."""
GENERAL = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{k}" for k in range(8, 16)))
FLAG_BITS = {"c": 0, "p": 2, "z": 6, "s": 7, "o": 11}
PRESERVED = ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15")
MOST_HISTORIES = 6000
NEAR = 16
RESTORER = bytes.fromhex("48c7c00f0000000f05")
"""`rt_sigreturn`: `mov $15, %rax; syscall`."""
CONTEXT = (
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip",
    "flags",
)  # fmt: skip
"""Registers in a signal's frame, behind the return address and 40 bytes (struct sigcontext)."""
INFO = InstructionInfoFactory()
ALLOWED = (CallLevel.POSSIBLE, CallLevel.PROVEN)


@dataclass
class Sample:
    """What a recording has of one sample."""

    number: int
    ip: int
    registers: dict[str, int]
    stack: bytes

    def word(self, address: int) -> int | None:
        at = address - self.registers["rsp"]
        return struct.unpack_from("=Q", self.stack, at)[0] if 0 <= at <= len(self.stack) - 8 else None

    def read(self, address: int, size: int) -> bytes | None:
        at = address - self.registers["rsp"]
        return self.stack[at : at + size] if 0 <= at < len(self.stack) else None


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples of a recording of the bed, as they are."""
    data = path.read_bytes()
    (attributes,) = struct.unpack_from("=Q", data, 24)
    skipped = 8 * bool(struct.unpack_from("=Q", data, attributes + 24)[0] & SampleField.ADDR)
    at, size = struct.unpack_from("=QQ", data, 40)
    end = at + size
    while at < end:
        kind, _misc, size = struct.unpack_from("=IHH", data, at)
        if kind == 9:
            ip, _pid, _tid, now = struct.unpack_from("=QIIQ", data, at + 8)
            words = struct.unpack_from(f"={2 + len(NAMES)}Q", data, at + 48 + skipped)
            begin = at + 48 + skipped + 8 * (2 + len(NAMES))
            yield Sample(
                (now - START) // STEP, ip, dict(zip(NAMES, words[1:], strict=False)), data[begin : begin + words[-1]]
            )
        at += size


class Code:
    """Instructions, files' constant memory, and what calls what, of one program."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.mappings = [tuple(one) for one in json.loads((folder / "mappings.json").read_text())]
        self.functions = Functions(self.mappings)
        self.recording = stack.enter_context(open_recording(folder / "skid.data", format="perf.data"))
        frames = self.recording.profile(names=False, inline=False, runtime=True).frames
        self.evidence = self.recording.sources.code_evidence
        self.biases: dict[str, tuple[int, int]] = {}
        self.images: dict[int, int] = {}
        for image, address, runtime in zip(frames.image, frames.address, frames.runtime, strict=True):
            mapping = self.mapping(runtime)
            if mapping is not None and image != 0xFFFFFFFF:
                self.biases[mapping[3]] = image, runtime - address
                self.images[image] = runtime - address
        self.others = tuple(sorted(self.images))
        self.made: dict[int, Instruction | None] = {}
        self.levels: dict[tuple[int, int], CallLevel] = {}
        self.files: dict[str, tuple[bytes, ElfFile]] = {}
        self.sites: dict[tuple[int, int], list[int]] = {}

    def mapping(self, address: int) -> tuple[int, int, int, str] | None:
        return next((one for one in self.mappings if one[0] <= address < one[1]), None)

    def _file(self, name: str) -> tuple[bytes, ElfFile] | None:
        if name == "[vdso]" and name not in self.files:
            line = next(one for one in Path("/proc/self/maps").read_text().splitlines() if one.endswith(name))
            start, end = (int(one, 16) for one in line.split()[0].split("-"))
            with Path("/proc/self/mem").open("rb") as memory:
                memory.seek(start)
                data = memory.read(end - start)
            self.files[name] = data, ElfFile.from_bytes(data)
        if not name.startswith("/") and name != "[vdso]":
            return None
        if name not in self.files:
            self.files[name] = Path(name).read_bytes(), ElfFile.open(name)
        return self.files[name]

    def instruction(self, address: int) -> Instruction | None:
        if address not in self.made:
            self.made[address] = None
            mapping = self.mapping(address)
            file = self._file(mapping[3]) if mapping else None
            if mapping and file:
                at = address - mapping[0] + mapping[2]
                one = Decoder(64, file[0][at : at + 15], ip=address).decode()
                self.made[address] = one if one.mnemonic != Mnemonic.INVALID else None
        return self.made[address]

    def bytes_at(self, address: int, size: int) -> bytes:
        mapping = self.mapping(address)
        file = self._file(mapping[3]) if mapping else None
        return file[0][address - mapping[0] + mapping[2] :][:size] if mapping and file else b""

    def constant(self, address: int) -> int | None:
        """A byte of memory of a file that nothing writes."""
        for name, (_image, bias) in self.biases.items():
            file = self._file(name)
            for one in file[1].loads if file and file[1] else ():
                if 0 <= address - bias - one.address < one.file_size and not one.flags & 2:
                    return file[0][one.offset + address - bias - one.address]
        return None

    def stated(self, address: int) -> tuple[int, int] | None:
        mapping = self.mapping(address)
        if mapping is None or mapping[3] not in self.biases:
            return None
        image, bias = self.biases[mapping[3]]
        return image, address - bias

    def level(self, back: int, callee: int) -> CallLevel:
        """What the code says of a return address as that of a call of the function that holds ``callee``."""
        key = back, callee
        if key not in self.levels:
            one, other = self.stated(back - 1), self.stated(callee)
            known = one is not None and other is not None
            self.levels[key] = self.evidence.call_level(*one, *other) if known else CallLevel.UNKNOWN
        return self.levels[key]

    def callers(self, address: int, words: tuple[int, ...]) -> list[int]:
        """Return addresses of the calls that may have entered the function that holds an address: those that name it,
        and those by a pointer in the functions that the calls before ``words`` of the stack name."""
        stated = self.stated(address)
        if stated is None:
            return []
        image, start = stated[0], self.evidence.function_start(*stated)
        key = image, start
        if key not in self.sites:
            self.sites[key] = [
                one.return_address + self.images[one.image]
                for one in self.evidence.direct_calls(image, start, self.others)
                if one.image in self.images
            ]
        found = list(self.sites[key])
        for word in words:
            before = self.stated(word - 1)
            called = self.evidence.called_function(*before, self.others) if before else None
            if called is not None and called[0] in self.images:
                found += [
                    one.return_address + self.images[one.image]
                    for one in self.evidence.calls_within(*called, image, start, self.others)
                    if one.image in self.images
                ]
        return list(dict.fromkeys(found))


def sub(value: z3.BitVecRef, size: int, high: bool = False) -> z3.BitVecRef:
    """The low bytes of a value; ``high``: its second byte."""
    return (
        z3.Extract(15, 8, value) if high else value if value.size() == 8 * size else z3.Extract(8 * size - 1, 0, value)
    )


class State:
    """Registers, flags and memory on a path, and what must hold for it. ``known``: initial registers that are known."""

    def __init__(self, known: dict[str, int], sample: Sample, code: Code) -> None:
        self.sample, self.code = sample, code
        self.registers = {
            name: z3.BitVecVal(known[name], 64) if name in known else z3.BitVec(f"{name}_0", 64) for name in GENERAL
        }
        self.flags: dict[str, z3.BoolRef | None] = {name: z3.Bool(f"flag_{name}_0") for name in FLAG_BITS}
        self.before: dict[int, z3.BitVecRef] = {}
        self.memory: dict[int, z3.BitVecRef] = {}
        self.written: set[int] = set()
        self.elsewhere: dict[str, z3.BitVecRef] = {}
        self.needs: list[z3.BoolRef] = []
        self.fresh = 0

    def unknown(self, bits: int) -> z3.BitVecRef:
        self.fresh += 1
        return z3.BitVec(f"unknown_{self.fresh}", bits)

    def doubt(self) -> z3.BoolRef:
        self.fresh += 1
        return z3.Bool(f"doubt_{self.fresh}")

    # Operands.
    def register(self, register: int) -> z3.BitVecRef:
        size = RegisterExt.size(register)
        full = RegisterExt.full_register(register)
        number = full - Register.RAX
        if not 0 <= number < 16:
            return self.unknown(8 * size)
        high = register in (Register.AH, Register.CH, Register.DH, Register.BH)
        return sub(self.registers[GENERAL[number]], size, high)

    def set_register(self, register: int, value: z3.BitVecRef) -> None:
        size = RegisterExt.size(register)
        number = RegisterExt.full_register(register) - Register.RAX
        if not 0 <= number < 16:
            return
        name = GENERAL[number]
        old = self.registers[name]
        if register in (Register.AH, Register.CH, Register.DH, Register.BH):
            value = z3.Concat(z3.Extract(63, 16, old), value, z3.Extract(7, 0, old))
        elif size == 4:
            value = z3.ZeroExt(32, value)
        elif size < 4:
            value = z3.Concat(z3.Extract(63, 8 * size, old), value)
        self.registers[name] = z3.simplify(value)

    def address(self, one: Instruction) -> z3.BitVecRef | None:
        if one.memory_segment in (Register.FS, Register.GS) or one.is_vsib:
            return None
        if one.is_ip_rel_memory_operand:
            return z3.BitVecVal(one.ip_rel_memory_address, 64)
        found = z3.BitVecVal(one.memory_displacement & (1 << 64) - 1, 64)
        if one.memory_base:
            found = found + self.wide(one.memory_base)
        if one.memory_index:
            found = found + self.wide(one.memory_index) * one.memory_index_scale
        return z3.simplify(found)

    def wide(self, register: int) -> z3.BitVecRef:
        value = self.register(register)
        return value if value.size() == 64 else z3.ZeroExt(64 - value.size(), value)

    def load(self, address: z3.BitVecRef | None, size: int) -> z3.BitVecRef:
        if address is None:
            return self.unknown(8 * size)
        if not z3.is_bv_value(address):
            key = f"{address.sexpr()}:{size}"
            if key not in self.elsewhere:
                self.elsewhere[key] = self.unknown(8 * size)
            return self.elsewhere[key]
        at = address.as_long()
        parts = [self.byte((at + k) & (1 << 64) - 1) for k in range(size)]
        return z3.simplify(z3.Concat(*reversed(parts))) if size > 1 else parts[0]

    def byte(self, at: int) -> z3.BitVecRef:
        if at not in self.memory:
            self.memory[at] = self.initial(at)
        return self.memory[at]

    def initial(self, at: int) -> z3.BitVecRef:
        """A byte before the path: as in the dump, unless the path writes there (`finish` says so)."""
        if at not in self.before:
            constant = self.code.constant(at)
            self.before[at] = z3.BitVecVal(constant, 8) if constant is not None else z3.BitVec(f"m_{at:x}", 8)
        return self.before[at]

    def store(self, address: z3.BitVecRef | None, value: z3.BitVecRef) -> None:
        if address is None or not z3.is_bv_value(address):
            # Taken to be elsewhere than what is followed.
            if address is not None:
                self.elsewhere = {f"{address.sexpr()}:{value.size() // 8}": value}
            return
        at = address.as_long()
        for k in range(value.size() // 8):
            self.memory[at + k] = z3.simplify(z3.Extract(8 * k + 7, 8 * k, value))
            self.written.add(at + k)

    def operand(self, one: Instruction, number: int) -> z3.BitVecRef:
        kind = one.op_kind(number)
        if kind == OpKind.REGISTER:
            return self.register(one.op_register(number))
        if kind == OpKind.MEMORY:
            return self.load(self.address(one), self.memory_size(one))
        bits = self.operand_bits(one)
        return z3.BitVecVal(one.immediate(number), bits)

    def memory_size(self, one: Instruction) -> int:
        return {1: 1, 2: 2, 4: 4, 8: 8}.get(memory_bytes(one), 8)

    def operand_bits(self, one: Instruction) -> int:
        if one.op_kind(0) == OpKind.REGISTER:
            return 8 * RegisterExt.size(one.op_register(0))
        return 8 * self.memory_size(one) if one.op_kind(0) == OpKind.MEMORY else 64

    def assign(self, one: Instruction, value: z3.BitVecRef) -> None:
        if one.op_kind(0) == OpKind.REGISTER:
            self.set_register(one.op_register(0), value)
        else:
            self.store(self.address(one), value)

    def push(self, value: z3.BitVecRef) -> None:
        self.registers["rsp"] = z3.simplify(self.registers["rsp"] - 8)
        self.store(self.registers["rsp"], value)

    def pop(self) -> z3.BitVecRef:
        value = self.load(self.registers["rsp"], 8)
        self.registers["rsp"] = z3.simplify(self.registers["rsp"] + 8)
        return value

    # Flags.
    def result_flags(self, value: z3.BitVecRef) -> None:
        self.flags["z"] = value == 0
        self.flags["s"] = z3.Extract(value.size() - 1, value.size() - 1, value) == 1
        low = z3.Extract(7, 0, value)
        parity = z3.BitVecVal(1, 1)
        for k in range(8):
            parity = parity ^ z3.Extract(k, k, low)
        self.flags["p"] = parity == 1

    def logic_flags(self, value: z3.BitVecRef) -> None:
        self.result_flags(value)
        self.flags["c"] = self.flags["o"] = z3.BoolVal(False)

    def sum_flags(self, a: z3.BitVecRef, b: z3.BitVecRef, value: z3.BitVecRef, carry: bool = True) -> None:
        self.result_flags(value)
        top = a.size() - 1
        if carry:
            self.flags["c"] = z3.ULT(value, a)
        self.flags["o"] = z3.Extract(top, top, (a ^ value) & (b ^ value)) == 1

    def difference_flags(self, a: z3.BitVecRef, b: z3.BitVecRef, value: z3.BitVecRef, carry: bool = True) -> None:
        self.result_flags(value)
        top = a.size() - 1
        if carry:
            self.flags["c"] = z3.ULT(a, b)
        self.flags["o"] = z3.Extract(top, top, (a ^ b) & (a ^ value)) == 1

    def doubt_flags(self) -> None:
        self.flags = {name: self.doubt() for name in FLAG_BITS}

    def condition(self, code: int) -> z3.BoolRef:
        f = self.flags
        less = z3.Xor(f["s"], f["o"])
        found = {
            ConditionCode.O: f["o"], ConditionCode.NO: z3.Not(f["o"]),
            ConditionCode.B: f["c"], ConditionCode.AE: z3.Not(f["c"]),
            ConditionCode.E: f["z"], ConditionCode.NE: z3.Not(f["z"]), ConditionCode.BE: z3.Or(f["c"], f["z"]),
            ConditionCode.A: z3.Not(z3.Or(f["c"], f["z"])), ConditionCode.S: f["s"], ConditionCode.NS: z3.Not(f["s"]),
            ConditionCode.P: f["p"], ConditionCode.NP: z3.Not(f["p"]),
            ConditionCode.L: less, ConditionCode.GE: z3.Not(less),
            ConditionCode.LE: z3.Or(f["z"], less), ConditionCode.G: z3.Not(z3.Or(f["z"], less)),
        }  # fmt: skip
        return found.get(code, self.doubt())

    def execute(self, one: Instruction) -> None:
        """An instruction that does not change control flow."""
        m = one.mnemonic
        # Read where it is needed: memory that is read becomes a symbol.
        a = partial(self.operand, one, 0)
        if m in (Mnemonic.NOP, Mnemonic.ENDBR64, Mnemonic.PAUSE, Mnemonic.LFENCE, Mnemonic.MFENCE, Mnemonic.SFENCE) or (
            Mnemonic.PREFETCHNTA <= m <= Mnemonic.PREFETCHWT1
        ):
            return
        if m == Mnemonic.MOV and one.op_kind(0) in (OpKind.REGISTER, OpKind.MEMORY):
            self.assign(one, self.operand(one, 1))
        elif m in (Mnemonic.MOVZX, Mnemonic.MOVSX, Mnemonic.MOVSXD):
            source = self.operand_sized(one, 1)
            extend = z3.ZeroExt if m == Mnemonic.MOVZX else z3.SignExt
            bits = 8 * RegisterExt.size(one.op_register(0))
            self.assign(one, extend(bits - source.size(), source) if bits > source.size() else source)
        elif m == Mnemonic.LEA:
            found = self.address(one)
            self.assign(
                one, sub(found if found is not None else self.unknown(64), RegisterExt.size(one.op_register(0)))
            )
        elif m in (Mnemonic.ADD, Mnemonic.SUB, Mnemonic.CMP):
            x, y = a(), self.operand(one, 1)
            value = z3.simplify(x + y if m == Mnemonic.ADD else x - y)
            (self.sum_flags if m == Mnemonic.ADD else self.difference_flags)(x, y, value)
            if m != Mnemonic.CMP:
                self.assign(one, value)
        elif m in (Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR, Mnemonic.TEST):
            x, y = a(), self.operand(one, 1)
            value = z3.simplify(x | y if m == Mnemonic.OR else x ^ y if m == Mnemonic.XOR else x & y)
            self.logic_flags(value)
            if m != Mnemonic.TEST:
                self.assign(one, value)
        elif m in (Mnemonic.ADC, Mnemonic.SBB):
            x, y = a(), self.operand(one, 1)
            carry = z3.If(self.flags["c"], z3.BitVecVal(1, x.size()), z3.BitVecVal(0, x.size()))
            value = z3.simplify(x + y + carry if m == Mnemonic.ADC else x - y - carry)
            self.result_flags(value)
            self.flags["c"], self.flags["o"] = self.doubt(), self.doubt()
            self.assign(one, value)
        elif m in (Mnemonic.INC, Mnemonic.DEC):
            x = a()
            y = z3.BitVecVal(1, x.size())
            value = z3.simplify(x + y if m == Mnemonic.INC else x - y)
            (self.sum_flags if m == Mnemonic.INC else self.difference_flags)(x, y, value, carry=False)
            self.assign(one, value)
        elif m == Mnemonic.NEG:
            x = a()
            value = z3.simplify(-x)
            self.difference_flags(z3.BitVecVal(0, x.size()), x, value)
            self.assign(one, value)
        elif m == Mnemonic.NOT:
            self.assign(one, z3.simplify(~a()))
        elif m in (Mnemonic.SHL, Mnemonic.SHR, Mnemonic.SAR):
            x = a()
            y = self.operand_count(one, x.size())
            value = z3.simplify(x << y if m == Mnemonic.SHL else z3.LShR(x, y) if m == Mnemonic.SHR else x >> y)
            old = dict(self.flags)
            self.result_flags(value)
            self.flags["c"], self.flags["o"] = self.doubt(), self.doubt()
            if not z3.is_bv_value(y):
                self.flags = {name: z3.If(y == 0, old[name], self.flags[name]) for name in FLAG_BITS}
            elif y.as_long() == 0:
                self.flags = old
            self.assign(one, value)
        elif m in (Mnemonic.ROL, Mnemonic.ROR):
            x = a()
            y = self.operand_count(one, x.size())
            self.assign(one, z3.simplify(z3.RotateLeft(x, y) if m == Mnemonic.ROL else z3.RotateRight(x, y)))
            self.flags["c"], self.flags["o"] = self.doubt(), self.doubt()
        elif m == Mnemonic.IMUL and one.op_count > 1:
            x, y = (self.operand(one, 1), self.operand(one, 2)) if one.op_count == 3 else (a(), self.operand(one, 1))
            self.assign(one, z3.simplify(x * y))
            self.doubt_flags()
        elif m == Mnemonic.PUSH:
            value = self.operand(one, 0)
            self.push(value if value.size() == 64 else z3.SignExt(64 - value.size(), value))
        elif m == Mnemonic.POP:
            self.assign(one, self.pop())
        elif m == Mnemonic.LEAVE:
            self.registers["rsp"] = self.registers["rbp"]
            self.registers["rbp"] = self.pop()
        elif m in (Mnemonic.CDQE, Mnemonic.CWDE, Mnemonic.CDQ, Mnemonic.CQO):
            low = z3.Extract(31, 0, self.registers["rax"])
            if m == Mnemonic.CDQE:
                self.set_register(Register.RAX, z3.SignExt(32, low))
            elif m == Mnemonic.CWDE:
                self.set_register(Register.EAX, z3.SignExt(16, z3.Extract(15, 0, low)))
            elif m == Mnemonic.CDQ:
                self.set_register(Register.EDX, z3.Extract(63, 32, z3.SignExt(32, low)))
            else:
                self.set_register(Register.RDX, z3.Extract(127, 64, z3.SignExt(64, self.registers["rax"])))
        elif m == Mnemonic.XCHG and one.op_kind(1) == OpKind.REGISTER:
            x, y = a(), self.operand(one, 1)
            self.assign(one, y)
            self.set_register(one.op_register(1), x)
        elif one.condition_code != ConditionCode.NONE and one.op_count == 1 and self.operand_bits(one) == 8:
            taken = self.condition(one.condition_code)
            self.assign(one, z3.simplify(z3.If(taken, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8))))
        elif one.condition_code != ConditionCode.NONE and one.op_count == 2:
            taken = self.condition(one.condition_code)
            self.assign(one, z3.simplify(z3.If(taken, self.operand(one, 1), a())))
        else:
            self.forget(one)

    def operand_sized(self, one: Instruction, number: int) -> z3.BitVecRef:
        if one.op_kind(number) == OpKind.MEMORY:
            return self.load(self.address(one), self.memory_size(one))
        return self.register(one.op_register(number))

    def operand_count(self, one: Instruction, bits: int) -> z3.BitVecRef:
        count = self.operand(one, 1) if one.op_count > 1 else z3.BitVecVal(1, bits)
        count = (
            count
            if count.size() == bits
            else z3.ZeroExt(bits - count.size(), count)
            if count.size() < bits
            else sub(count, bits // 8)
        )
        return z3.simplify(count & (63 if bits == 64 else 31))

    def forget(self, one: Instruction) -> None:
        """What an instruction writes that is not modelled is unknown."""
        address = (
            self.address(one)
            if one.op_count and any(one.op_kind(k) == OpKind.MEMORY for k in range(one.op_count))
            else None
        )
        info = INFO.info(one)
        for used in info.used_registers():
            if used.access not in (OpAccess.READ, OpAccess.COND_READ, OpAccess.NONE):
                full = RegisterExt.full_register(used.register)
                if 0 <= full - Register.RAX < 16:
                    self.registers[GENERAL[full - Register.RAX]] = self.unknown(64)
        for memory in info.used_memory():
            if memory.access not in (OpAccess.READ, OpAccess.COND_READ, OpAccess.NONE, OpAccess.NO_MEM_ACCESS):
                self.store(address, self.unknown(8 * max(1, memory_bytes(one))))
        if one.rflags_modified:
            self.doubt_flags()

    def forget_callee(self) -> None:
        for name in GENERAL:
            if name not in PRESERVED:
                self.registers[name] = self.unknown(64)
        self.doubt_flags()
        self.elsewhere = {}

    def finish(self) -> list[z3.BoolRef]:
        """What must hold at the end."""
        needs = [*self.needs, *(self.registers[name] == self.sample.registers[name] for name in GENERAL)]
        for name, bit in FLAG_BITS.items():
            if self.flags[name] is not None:
                needs.append(self.flags[name] == bool(self.sample.registers["flags"] >> bit & 1))
        low = self.sample.registers["rsp"]
        for at in set(self.memory) | set(self.before):
            k = at - low
            if 0 <= k < len(self.sample.stack):
                needs.append(self.byte(at) == self.sample.stack[k])
        return needs


def memory_bytes(one: Instruction) -> int:
    """The bytes of an instruction's memory operand."""
    return MemorySizeExt.size(one.memory_size)


@dataclass
class History:
    """A path: the addresses it executed, where it ended, the call sites it returned to, open calls; ``weak``: it went
    through code that is not followed."""

    path: list[tuple[int, str]]
    end: int
    sites: tuple[int, ...]
    calls: tuple[int, ...]
    weight: float
    late: int
    weak: str = ""
    base: int = 0
    signal: Sample | None = None
    chain: list[int] = field(default_factory=list)


class Oracle:
    """The histories of the samples of one folder."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.code = Code(folder, stack)
        mappings = [
            Mapping(start, end, offset, name if name.startswith("/") or name == "[vdso]" else "")
            for start, end, offset, name in self.code.mappings
        ]
        self.unwinder = stack.enter_context(Unwinder(mappings, lambda _address, _size: None, cache=False))
        self.is_go = folder.name.endswith("-go")
        self._slot_targets: dict[int, int] | None = None
        self.shares: Counter[tuple[int, int]] = Counter()
        self.totals: Counter[int] = Counter()

    def learn(self, chains: list[list[int]]) -> None:
        """Take the calls in true stacks for how frequent calls are."""
        at = self.code.functions.at
        for chain in chains:
            for callee, caller in pairwise(chain):
                self.shares[at(callee)[1], caller + 1] += 1
                self.totals[at(callee)[1]] += 1

    def histories(self, sample: Sample) -> list[History]:
        """All that the code allows, whatever registers and stack are."""
        words = tuple(
            dict.fromkeys(
                w for k in range(64) if (w := sample.word(sample.registers["rsp"] + 8 * k)) and self.code.stated(w)
            )
        )
        found: list[History] = []
        work = [History([], sample.ip, (), (), 1 / MOST_LATE, 0, "", sample.ip)]
        interrupted = self.interrupted(sample)
        while work:
            h = work.pop()
            if h.late and h.weak != "kernel":
                found.append(h)
            if interrupted is not None and interrupted.ip == h.end and h.late < MOST_LATE:
                found.append(replace(h, signal=interrupted, late=h.late + 1))
            if len(found) > MOST_HISTORIES:
                return []
            if h.late >= MOST_LATE or h.weak == "kernel":
                continue
            one = self.code.instruction(h.end)
            if one is None:
                continue
            flow = one.flow_control

            def go(
                end: int,
                how: str,
                *,
                sites: tuple[int, ...] = h.sites,
                calls: tuple[int, ...] = h.calls,
                share: float = 1.0,
                late: int = 1,
                weak: str = h.weak,
                base: int = h.base,
                h: History = h,
            ) -> None:
                if h.late + late <= MOST_LATE:
                    work.append(
                        History([*h.path, (h.end, how)], end, sites, calls, h.weight * share, h.late + late, weak, base)
                    )

            if one.mnemonic in (Mnemonic.SYSCALL, Mnemonic.SYSENTER):
                # The state would be the kernel's, unless it delivers a signal.
                go(one.next_ip, "kernel", weak="kernel")
            elif one.has_rep_prefix or one.has_repne_prefix:
                go(h.end, "repeat", share=0.5)
                go(one.next_ip, "repeat", share=0.5)
            elif flow == FlowControl.NEXT:
                go(one.next_ip, "")
            elif flow == FlowControl.UNCONDITIONAL_BRANCH and one.near_branch_target:
                go(one.near_branch_target, "jump")
            elif flow == FlowControl.CONDITIONAL_BRANCH:
                go(one.near_branch_target, "taken", share=0.5)
                go(one.next_ip, "passed", share=0.5)
            elif flow == FlowControl.CALL and one.near_branch_target:
                go(one.near_branch_target, "call", calls=(*h.calls, one.next_ip))
            elif flow in (FlowControl.INDIRECT_CALL, FlowControl.INDIRECT_BRANCH):
                target = self._target(one)
                calls = (*h.calls, one.next_ip) if flow == FlowControl.INDIRECT_CALL else h.calls
                how = "call" if flow == FlowControl.INDIRECT_CALL else "jump"
                if target:
                    go(target, how, calls=calls)
                elif not h.weak:
                    # In code that is not followed, or back from it.
                    path, weak = [*h.path, (h.end, "unknown")], "callee" if calls else "jump"
                    found += [
                        History(path, 0, h.sites, calls, h.weight * 0.5, late, weak, h.base)
                        for late in range(h.late + 1, MOST_LATE + 1)
                    ]
                    if calls:
                        go(calls[-1], "returned", calls=calls[:-1], share=0.5, late=2, weak="returned")
            elif flow == FlowControl.RETURN and h.calls:
                go(h.calls[-1], "return", calls=h.calls[:-1])
            elif flow == FlowControl.RETURN and len(h.sites) < 3:
                start = self.code.functions.at(h.base)[1]
                backs = self.code.callers(h.base, words)
                if self.code.functions.at(h.end)[1] != start:
                    backs = list(dict.fromkeys([*backs, *self.code.callers(h.end, words)]))
                total = self.totals[start]
                for back in backs:
                    share = (self.shares[start, back] + 0.01) / (total + 0.01 * len(backs))
                    go(back, "left", sites=(*h.sites, back), share=share, base=back)
        return found

    def interrupted(self, sample: Sample) -> Sample | None:
        """What the innermost signal on the stack has interrupted, as if it had been sampled."""
        for k in range(64):
            at = sample.registers["rsp"] + 8 * k
            word = sample.word(at)
            mapping = self.code.mapping(word) if word else None
            if word and mapping and self.code.bytes_at(word, len(RESTORER)) == RESTORER:
                context = [sample.word(at + 8 + 40 + 8 * j) for j in range(len(CONTEXT))]
                if None in context:
                    return None
                values = dict(zip(CONTEXT, context, strict=True))
                offset = values["rsp"] - sample.registers["rsp"]
                stack = sample.stack[offset:] if 0 <= offset < len(sample.stack) else b""
                return Sample(sample.number, values["rip"], {**sample.registers, **values}, stack)
        return None

    def _target(self, one: Instruction) -> int:
        """The target of an indirect call or jump through a linkage table's slot."""
        if not one.is_ip_rel_memory_operand:
            return 0
        return self._slots().get(one.ip_rel_memory_address, 0)

    def _slots(self) -> dict[int, int]:
        """By address the functions that slots of global offset tables have."""
        if self._slot_targets is None:
            defined: dict[str, list[tuple[str, int]]] = {}
            relocations = []
            for name, (_image, bias) in self.code.biases.items():
                if not name.startswith("/"):
                    continue
                for line in subprocess.run(
                    ["readelf", "-W", "--dyn-syms", name], capture_output=True, text=True, check=True
                ).stdout.splitlines():
                    words = line.split()
                    if len(words) == 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND":
                        kind = words[3]
                        defined.setdefault(words[7].split("@")[0], []).append((kind, int(words[1], 16) + bias))
                for line in subprocess.run(
                    ["readelf", "-W", "-r", name], capture_output=True, text=True, check=True
                ).stdout.splitlines():
                    words = line.split()
                    if len(words) >= 5 and words[2] in ("R_X86_64_JUMP_SLOT", "R_X86_64_JUMP_SLO", "R_X86_64_GLOB_DAT"):
                        relocations.append((int(words[0], 16) + bias, words[4].split("@")[0]))
            self._slot_targets = {
                slot: defined[name][0][1]
                for slot, name in relocations
                if name in defined and defined[name][0][0] == "FUNC"
            }
        return self._slot_targets

    def is_possible(self, h: History, sample: Sample) -> bool:
        """Whether the rules at its end lead on by calls that may have been; sets its chain."""
        sample = h.signal or sample
        registers = {name: sample.registers[name] for name in GENERAL}
        if h.weak == "jump":
            return self._past_jump(h, sample, registers)
        if h.weak == "callee":
            return self._in_unknown_callee(h, sample, registers)
        return self._walk(h, sample, registers, h.end, [*reversed(h.calls)])

    def _in_unknown_callee(self, h: History, sample: Sample, registers: dict[str, int]) -> bool:
        for k in range(NEAR):
            above = sample.registers["rsp"] + 8 * k
            if sample.word(above) != h.calls[-1]:
                continue
            bp = registers["rbp"]
            tries = [bp, *([sample.word(above - 8)] if k else [])]
            if bp == above - 8 and k:
                tries.reverse()
            inside = ({**registers, "rsp": above + 8, "rbp": one or 0} for one in tries)
            return any(self._walk(h, sample, one, h.calls[-1], [*reversed(h.calls[:-1])]) for one in inside)
        return False

    def is_deep_enough(self, at: int, sp: int, registers: dict[str, int]) -> bool:
        """Whether a frame pointer is as far from the stack pointer as the code of its function has pushed."""
        stated = self.code.stated(at)
        depth = self.code.evidence.depth(*stated, False) if stated else -1
        one = self.code.functions.at(at)
        cfa = registers["rbp"] + 16
        return depth <= 16 or not self.uses_frame_pointer(one[1], at) or cfa == sp + depth

    def uses_frame_pointer(self, start: int, at: int) -> bool:
        """Whether a function has set up a frame pointer in straight code before an address."""
        found, where = False, start
        while where < at and (one := self.code.instruction(where)) is not None and where - start < 64:
            found = found or (
                one.mnemonic == Mnemonic.MOV and one.op0_register == Register.RBP and one.op1_register == Register.RSP
            )
            where = one.next_ip
        return found

    def _past_jump(self, h: History, sample: Sample, registers: dict[str, int]) -> bool:
        for k in range(NEAR):
            above = sample.registers["rsp"] + 8 * k
            word = sample.word(above)
            if word and self.code.stated(word) and self.code.level(word, h.base) in ALLOWED:
                bp = sample.word(above - 8) if k and registers["rbp"] == above - 8 else registers["rbp"]
                if self._walk(h, sample, {**registers, "rsp": above + 8, "rbp": bp or 0}, word, [], (word,)):
                    return True
        return False

    def _walk(
        self,
        h: History,
        sample: Sample,
        registers: dict[str, int],
        rip: int,
        calls: list[int],
        first: tuple[int, ...] = (),
    ) -> bool:
        if h.signal is not None and not sample.stack:
            h.chain = [h.path[0][0] if h.path else h.end, *(one - 1 for one in h.sites)]
            return True
        stack = self.unwinder.unwind({**registers, "rip": rip}, sample.read)
        addresses = [int(one.address) for one in stack.frames]
        if addresses[1 : 1 + len(calls)] != calls:
            return False
        callers = [*first, *addresses[1 + len(calls) :]]
        callee = h.base if not h.sites else h.sites[-1] - 1
        for k, one in enumerate(callers):
            level = self.code.level(one, callee)
            if level not in ALLOWED and k == 0 and h.end and not h.calls:
                # It jumped to another function, which this call may have entered as well.
                level = self.code.level(one, h.end)
            if level == CallLevel.IMPOSSIBLE or self.code.mapping(one) is None:
                return False
            callee = one - 1
        h.chain = [h.path[0][0] if h.path else h.end, *(one - 1 for one in (*h.sites, *callers))]
        if any(
            not self.is_deep_enough(one, sample.registers["rsp"], registers)
            for one in ([h.end] if h.end and not calls else [])
        ):
            return False
        # The stack that a signal interrupted may be another one.
        other = any(self.code.bytes_at(one, len(RESTORER)) == RESTORER for one in callers)
        return other or stack.stop in WHOLE or self.is_go

    def is_consistent(self, h: History, sample: Sample) -> bool:
        """Whether some registers and memory before the path give those of the sample."""
        sample = h.signal or sample
        known: dict[str, int] = {}
        for _round in range(6):
            state = State(known, sample, self.code)
            for at, how in h.path:
                self._step(state, at, how, h, sample)
            more = dict(known)
            for name in GENERAL:
                self._solve(state.registers[name], sample.registers[name], more)
            if h.weak == "callee":
                more.pop("rsp", None)
                for k in range(NEAR):
                    if sample.word(sample.registers["rsp"] + 8 * k) == h.calls[-1]:
                        self._solve(state.registers["rsp"], sample.registers["rsp"] + 8 * k, more)
                        break
            if more == known:
                break
            known = more
        if h.weak == "callee":
            for name in (
                "rax",
                "rcx",
                "rdx",
                "rsi",
                "rdi",
                "r8",
                "r9",
                "r10",
                "r11",
                "rbx",
                "rbp",
                "rsp",
                "r12",
                "r13",
                "r14",
                "r15",
            ):
                state.registers[name] = z3.BitVecVal(sample.registers[name], 64)
            state.doubt_flags()
        needs = [z3.simplify(one) for one in state.finish()]
        if any(z3.is_false(one) for one in needs):
            return False
        left = [one for one in needs if not z3.is_true(one)]
        if not left:
            return True
        solver = z3.Solver()
        solver.set("timeout", 2000)
        solver.add(*left)
        return solver.check() != z3.unsat

    def _step(self, state: State, at: int, how: str, h: History, sample: Sample) -> None:
        one = self.code.instruction(at)
        assert one is not None
        if how == "":
            state.execute(one)
        elif how in ("taken", "passed"):
            condition = state.condition(one.condition_code)
            state.needs.append(condition if how == "taken" else z3.Not(condition))
        elif how in ("call", "unknown"):
            if one.flow_control in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
                state.push(z3.BitVecVal(one.next_ip, 64))
        elif how == "return":
            state.pop()
        elif how == "left":
            state.needs.append(
                state.pop() == h.sites[sum(1 for a, b in h.path[: h.path.index((at, how))] if b == "left")]
            )
        elif how == "returned":
            if one.flow_control == FlowControl.INDIRECT_BRANCH:
                state.pop()
            state.forget_callee()
        elif how == "repeat":
            state.forget(one)
        elif how == "kernel":
            state.registers["rax"], state.registers["rcx"], state.registers["r11"] = (
                state.unknown(64) for _k in range(3)
            )
            state.doubt_flags()

    @staticmethod
    def _solve(value: z3.BitVecRef, actual: int, known: dict[str, int]) -> None:
        """An initial register that is one of a sum's two parts follows from it."""
        if z3.is_const(value) and not z3.is_bv_value(value) and str(value).endswith("_0"):
            known.setdefault(str(value)[:-2], actual)
        elif value.decl().kind() == z3.Z3_OP_BADD and value.num_args() == 2 and z3.is_bv_value(value.arg(0)):
            part = value.arg(1)
            if z3.is_const(part) and str(part).endswith("_0"):
                known.setdefault(str(part)[:-2], actual - value.arg(0).as_long() & (1 << 64) - 1)

    def answers(self, sample: Sample) -> tuple[list[History], int]:
        """The histories that fit, and how many the code allows."""
        allowed = self.histories(sample)
        return [h for h in allowed if self.is_possible(h, sample) and self.is_consistent(h, sample)], len(allowed)


@dataclass
class Row:
    """What was found for a sample: how many answers there are, and how probable all of them, the true one, and the most
    probable one. ``of``: as how many samples it counts."""

    folder: str
    number: int
    outcome: str
    place: str
    late: int
    answers: int
    all: float
    right: float
    most: float
    of: float
    chain: list[str]
    now: str

    @property
    def kind(self) -> str:
        """Whether the sample can be decided; what is not followed may lose the true history."""
        return "truth lost" if not self.right else "one answer" if self.answers == 1 else "several answers"


def rows_of(folder: Path, places: list[str], most: int, is_any: bool) -> Iterator[Row]:
    """At most so many of a folder's samples with a state at some places; of any, or those whose stack is missed."""
    with ExitStack() as stack:
        oracle = Oracle(folder, stack)
        functions = oracle.code.functions
        known = truths(folder)
        oracle.learn([one.chain for one in known])
        samples = {one.number: one for one in read_samples(folder / "skid.data")}
        chosen = [
            (number, outcome)
            for number, chain, stop in of_undwarf(folder / "skid.data")
            for outcome in (judge(known[number], chain, stop, functions)[0],)
            if (is_any or outcome != "equal")
            and not is_ambiguous(known[number], functions)
            and place(known[number], "skid", functions) in places
        ]
        total = len(chosen)
        random.Random(1).shuffle(chosen)
        del chosen[most:]
        for number, outcome in chosen:
            truth = known[number]
            answers: dict[tuple[tuple[str, int, str], ...], float] = {}
            for one in oracle.answers(samples[number])[0]:
                key = tuple(map(functions.at, one.chain))
                answers[key] = answers.get(key, 0) + one.weight
            true = tuple(map(functions.at, truth.chain[: truth.reachable]))
            right = sum(weight for key, weight in answers.items() if key[: len(true)] == true[: len(key)])
            yield Row(
                folder.name, number, outcome, place(truth, "skid", functions), truth.late, len(answers),
                sum(answers.values()), right, max(answers.values(), default=0), total / len(chosen),
                [name for _image, _start, name in true[:3]], functions.at(truth.after_all[0])[2],
            )  # fmt: skip


def show(rows: list[Row]) -> None:
    """How many samples can be decided."""
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds[row.kind] += row.of
    total = sum(kinds.values())
    shares = (f"{kind} {count:.0f} ({100 * count / total:.1f} %)" for kind, count in kinds.most_common())
    print(f"of {total:.0f}:", ", ".join(shares), flush=True)


def show_decisions(rows: list[Row]) -> None:
    """What always the most probable answer gives, if its share of the probability is large enough."""
    total = sum(row.of for row in rows)
    for share in (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0):
        taken = [row for row in rows if row.all and row.most >= share * row.all]
        right = sum(row.of for row in taken if row.right >= row.most * (1 - 1e-9))
        false = sum(row.of for row in taken) - right
        print(f"  at least {share:.2f}: {100 * right / total:6.2f} % equal, {100 * false / total:5.2f} % false")


def main() -> int:
    """Folders of recordings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--all", action="store_true", help="any sample, not only those whose stack undwarf misses")
    parser.add_argument("--most", type=int, default=100, help="samples of a folder, taken at random")
    parser.add_argument("--places", default="same frame,tail call,callee")
    parser.add_argument("--json", type=Path, help="write what was found for each sample")
    options = parser.parse_args()
    rows: list[Row] = []
    for folder in options.folders:
        found = list(rows_of(folder, options.places.split(","), options.most, options.all))
        print(f"{folder.name:24}", end="")
        show(found) if found else print("none")
        rows += found
    if rows:
        show(rows)
    if rows and options.all:
        show_decisions(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
