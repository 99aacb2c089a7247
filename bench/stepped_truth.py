"""Makes programs of which it is known what each memory access touches, by stepping through them.

Usage: python bench/stepped_truth.py bench/stepped/*.{c,cpp,rs} --out FOLDER [--variants gcc-O0,...,rustc-O2]
       python bench/types_truth.py FOLDER [--btf] [--perf PERF] [-v]

A source is a C or C++ program that includes `stepped.h` and says where it has allocated what, or a Rust program that
uses the crate `stepped` for that. Each is built by each compiler at each level, run, and stepped through: of every
memory operand that was executed the address is computed, and looked for among what the program said, its global
variables, and those of its functions' frames; DWARF's layouts then say what may be named there. FOLDER/PROGRAM-VARIANT
gets the binary, `truth.json`, and for C a detached BTF, if there is a pahole that writes one; if not, its line
ends with why, and the last line counts such programs. Nothing of undwarf is used for it:
pyelftools reads DWARF, capstone decodes. Needs both (`pip install pyelftools capstone`), compilers, and leave to trace.
"""

from __future__ import annotations

import argparse
import bisect
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import capstone
from capstone import x86
from elftools.elf.elffile import ELFFile
from stepped_btf import write_btf
from stepped_layouts import Accepted, Function, Program, Type, Variable, accepted
from stepped_tracer import Ended, Tracer, Walk

HERE = Path(__file__).parent / "stepped"
OFTEN, RARELY = 512, 16
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
SCALARS = (
    "char", "short", "int", "long", "float", "double", "bool", "_Bool", "unsigned", "signed", "__int128",
    *(f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64, 128, "size")), "f32", "f64",
)  # fmt: skip  # a table
LEFT_OUT = ("stepped_here", "stepped_gone")


@dataclass
class Operand:
    """A memory operand: registers' names, and how it is used."""

    base: str
    index: str
    scale: int
    displacement: int
    size: int
    access: str


@dataclass(frozen=True)
class Seen:
    """What an operand touched: a type in memory and the byte in it; `also`: other variables in the same place."""

    kind: str
    object: str
    type: Type
    offset: int
    count: int
    stride: int
    also: tuple[tuple[Type, int], ...] = ()


class Objects:
    """Ranges of addresses and what is in them; what is put over others ends those."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._held: dict[int, tuple[int, str, Type, int, int]] = {}

    def put(self, start: int, end: int, name: str, kind: Type, count: int, stride: int) -> None:
        """Something of a type is at the addresses from here on."""
        self.remove(start, end)
        bisect.insort(self._starts, start)
        self._held[start] = (end, name, kind, count, stride)

    def remove(self, start: int, end: int) -> None:
        """Nothing that touches the addresses is there any more."""
        n = max(bisect.bisect_right(self._starts, start) - 1, 0)
        while n < len(self._starts) and self._starts[n] < end:
            if self._held[self._starts[n]][0] > start:
                del self._held[self._starts.pop(n)]
            else:
                n += 1

    def at(self, address: int, kind: str) -> Seen | None:
        """What holds an address."""
        n = bisect.bisect_right(self._starts, address) - 1
        if n < 0:
            return None
        start = self._starts[n]
        end, name, type_, count, stride = self._held[start]
        return Seen(kind, name, type_, address - start, count, stride) if address < end else None


class Truth:
    """One program being stepped through."""

    def __init__(self, path: Path) -> None:
        self.program = Program(path)
        self.path = path
        self.tracer = Tracer([str(path)])
        self.heap, self.globals = Objects(), Objects()
        self.seen: dict[int, list[set[Seen]]] = {}
        self.often: dict[int, int] = {}
        # (CFA, object, its end, its type) of functions that are called for objects in a frame
        self._called_for: list[tuple[int, int, int, Type]] = []
        self.unknown_names: set[str] = set()
        self._kinds: dict[str, Type | None] = {}
        self._operands: dict[int, list[Operand]] = {}
        self._decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._decoder.detail = True

    def run(self, seconds: float) -> str:
        """Step through it; returns how it ended."""
        tracer = self.tracer
        elf = self.program.elf
        symbols = self._symbols = {
            one.name: one["st_value"] for one in elf.get_section_by_name(".symtab").iter_symbols() if one["st_value"]
        }
        self.bias = bias = (tracer.base(self.path) or 0) if elf.header["e_type"] == "ET_DYN" else 0
        for one in self.program.globals:
            if one.type.size:
                at = one.offset + bias
                self.globals.put(at, at + one.type.size, one.name, one.type, 1, one.type.size)
        tracer.set(bias + symbols["main"])
        tracer.go()
        tracer.clear(bias + symbols["main"])
        always: dict[int, Callable[[], None]] = {
            bias + symbols["stepped_here"]: self._here,
            bias + symbols["stepped_gone"]: self._gone,
        }
        libc = tracer.mapped("libc.so")
        if libc is not None:
            base = tracer.base(libc) or 0
            with libc.open("rb") as opened:
                table = ELFFile(opened).get_section_by_name(".dynsym")
                for one in table.iter_symbols():
                    if one.name in ("free", "realloc"):
                        always[base + one["st_value"]] = self._gone
        entries = [bias + one.start for one in self.program.functions if one.name not in LEFT_OUT]
        own = self._own()
        self.walk = Walk(tracer, own, entries, self._look, always, seconds)
        self.walk._enter()
        try:
            self.walk.run()
            return "main returned"
        except Ended as ended:
            return str(ended)
        finally:
            tracer.end()

    def _own(self) -> Callable[[int], int]:
        cache: dict[int, int] = {}

        def own(address: int) -> int:
            known = cache.get(address)
            if known is None:
                at = self.program.function_at(address - self.bias)
                known = cache[address] = at.start + self.bias if at is not None and at.name not in LEFT_OUT else 0
            return known

        return own

    def _here(self) -> None:
        registers = self.tracer.registers
        name = self.tracer.text(registers.rdi)
        where, stride, count = registers.rsi, registers.rdx, registers.rcx
        kinds = [kind for each in name.split("|") if (kind := self._named(each)) is not None and kind.size]
        if not stride:
            # So many bytes, of what is as large where it may be several.
            kinds = [kind for kind in kinds if kind.size == count] if "|" in name else kinds
            stride = kinds[0].size if kinds else 1
            count //= stride
        if not kinds:
            self.unknown_names.add(name)
            return
        kind = kinds[0]
        if where and stride * count:
            self.heap.put(where, where + stride * count, kind.names[0] if kind.names else name, kind, count, stride)

    def _named(self, name: str) -> Type | None:
        """A type as the program names it, with the virtual bases that an object of just this type has."""
        if name not in self._kinds:
            kind = self.program.named(name)
            self._kinds[name] = self._whole(kind, name) if kind is not None else None
        return self._kinds[name]

    def _whole(self, kind: Type, mangled: str) -> Type:
        told = list(virtual_bases(kind))
        table, info = self._symbols.get(f"_ZTV{mangled}"), self._symbols.get(f"_ZTI{mangled}")
        if not told or table is None or info is None:
            return kind
        words = [self.tracer.word(self.bias + table + 8 * n) for n in range(64)]
        if self.bias + info not in words:
            return kind
        # A vtable pointer points after the word with the type's information.
        begins = words.index(self.bias + info) + 1
        members = list(kind.members)
        for before, base in told:
            members.append((words[begins - before // 8], base.size, "", base))
        return Type(kind.names, kind.size, members)

    def _gone(self) -> None:
        where = self.tracer.registers.rdi
        if where:
            self.heap.remove(where, where + 1)

    # What an instruction touches

    def _decoded(self, address: int) -> list[Operand]:
        one = next(self._decoder.disasm(self.tracer.read(address, 16), address), None)
        if (
            one is None
            or one.id in (x86.X86_INS_LEA, x86.X86_INS_NOP)
            or one.prefix[0]
            or one.mnemonic.startswith("prefetch")
        ):
            return []
        found = []
        for n, operand in enumerate(one.operands):
            if operand.type != x86.X86_OP_MEM or operand.mem.segment in (x86.X86_REG_FS, x86.X86_REG_GS):
                continue
            base = one.reg_name(operand.mem.base) or ""
            index = one.reg_name(operand.mem.index) or ""
            if base[:1] in ("e", "x", "y") or index[:1] in ("e", "x", "y", "z"):
                return []
            displacement = operand.mem.disp
            if base == "rip":
                base, displacement = "", displacement + address + one.size
            reads = operand.access & capstone.CS_AC_READ or (not operand.access and n > 0)
            writes = operand.access & capstone.CS_AC_WRITE or (not operand.access and n == 0)
            access = "r" * bool(reads) + "w" * bool(writes)
            found.append(Operand(base, index, operand.mem.scale, displacement, operand.size, access))
        if one.mnemonic.startswith(("movs", "stos", "cmps", "scas", "lods")) and len(found) > 1:
            return []
        return found

    def _look(self, address: int) -> None:
        registers = self.tracer.registers
        while self._called_for and self._called_for[-1][0] <= registers.rsp:
            self._called_for.pop()
        function = self.program.function_at(address - self.bias)
        own = function.own if function is not None and function.start == address - self.bias else None
        if own is not None and registers.rsp < registers.rdi:
            self._called_for.append((registers.rsp + 8, registers.rdi, registers.rdi + own.size, own))
        operands = self._operands.get(address)
        if operands is None:
            operands = self._operands[address] = self._decoded(address)
            self.seen[address] = [set() for _ in operands]
        if not operands:
            return
        times = self.often[address] = self.often.get(address, 0) + 1
        if times > OFTEN and times % RARELY:
            return
        for operand, into in zip(operands, self.seen[address], strict=True):
            at = operand.displacement
            if operand.base:
                at += getattr(registers, operand.base)
            if operand.index:
                at += getattr(registers, operand.index) * operand.scale
            at &= (1 << 64) - 1
            found = self.heap.at(at, "heap") or self.globals.at(at, "global") or self._on_stack(at, address)
            if len(into) < 64:
                into.add(found or Seen("none", "", NOTHING, 0, 1, 0))

    def _on_stack(self, at: int, address: int) -> Seen | None:
        frames = self.walk.frames
        registers = self.tracer.registers
        if not frames or at < registers.rsp - 128 or at >= frames[0][1]:
            return None
        n = len(frames) - 1
        while n > 0 and frames[n][1] <= at:
            n -= 1
        entry, cfa, _ = frames[n]
        inner = n == len(frames) - 1
        pc = address if inner else frames[n + 1][2] - 1
        function = self.program.function_at(entry - self.bias)
        if function is None:
            return None
        bases = {"cfa": cfa, "rsp": registers.rsp if inner else frames[n + 1][1]}
        bases["rbp"] = registers.rbp if inner else cfa - 16
        found = self._variable(function, bases, at, pc - self.bias)
        return found if found is None or not self._is_another(at, found) else None

    def _is_another(self, at: int, found: Seen) -> bool:
        """Whether functions run for an object there that the variable has no part in, as one without a name.

        Such an object and a variable that does not live yet may share a place of which only the variable is described.
        """
        objects = [(kind, at - low) for _cfa, low, high, kind in self._called_for if low <= at < high]
        names = accepted(found.type, found.offset, found.count, found.stride)
        names += [one for kind, offset in found.also for one in accepted(kind, offset, 1, kind.size)]
        # Numbers, and what has no name, look the same in all places.
        shared = {one for one in names if not is_leaf(one.type) and not one.type.endswith("(anonymous)")}
        return any(shared.isdisjoint(accepted(kind, offset, 1, kind.size)) for kind, offset in objects)

    def _variable(self, function: Function, bases: dict[str, int], at: int, pc: int) -> Seen | None:
        found: list[tuple[Variable, int]] = []
        for one in function.variables:
            base = bases.get(function.frame_base if one.base == "frame" else one.base)
            if base is None:
                continue
            offset = at - base - one.offset
            low, high = one.part
            if low <= offset < min(high, one.type.size) and any(low <= pc < high for low, high in one.ranges):
                found.append((one, offset))
        if not found:
            return None
        # In Rust, where others' code is put into a function before it is compiled, their variables are its own.
        shared = self.program.in_rust
        best, offset = max(found, key=lambda each: each[0].depth)
        others = [each for each in found if each[0].type is not best.type or each[1] != offset]
        if any(one.depth == best.depth and not (shared or one.listed or best.listed) for one, _ in others):
            return None
        # What an optimised program keeps there is all of them.
        also = tuple((one.type, offset) for one, offset in others if shared or one.listed or best.listed)
        return Seen("stackvar", f"{function.name}:{best.name}", best.type, offset, 1, best.type.size, also)

    # Results

    def entries(self) -> list[dict[str, object]]:
        """One for each operand that was executed."""
        told = []
        # Bytes read as a wider type are a buffer for an object that nothing names.
        self.laid_over = {
            one.object
            for address, operands in self.seen.items()
            for operand, seen in zip(self._operands[address], operands, strict=True)
            for one in seen
            if operand.size > 1 and is_bytes(one.type)
        }
        for address, operands in sorted(self.seen.items()):
            for operand, seen in zip(self._operands[address], operands, strict=True):
                entry = self._entry(address, operand, seen)
                if entry is not None:
                    told.append(entry)
        return told

    def _entry(self, address: int, operand: Operand, seen: set[Seen]) -> dict[str, object] | None:
        if not seen or any(one.kind == "none" for one in seen):
            return None
        common: list[Accepted] | None = None
        widest = 0
        for one in seen:
            all_of_it = accepted(one.type, one.offset, one.count, one.stride)
            for kind, offset in one.also:
                all_of_it += accepted(kind, offset, 1, kind.size)
            widest = max(widest, len(all_of_it) and int(not is_leaf(all_of_it[0].type)))
            common = all_of_it if common is None else [each for each in common if each in all_of_it]
        common = common or []
        # Where only scalars are in common, it was different fields.
        ambiguous = not common or bool(widest and is_leaf(common[0].type) and len(seen) > 1)
        ambiguous = ambiguous or any(is_bytes(one.type) and one.object in self.laid_over for one in seen)
        # What is kept in a std::function is of types of its own.
        ambiguous = ambiguous or any("std::_Any_data" in one.type for one in common)
        first = min(seen, key=lambda one: (one.object, one.offset))
        function = self.program.function_at(address - self.bias)
        return {
            "addr": hex(address - self.bias),
            "sym": function.name if function else "",
            "insn": self._text(address),
            "size": operand.size,
            "rw": operand.access,
            "kind": first.kind,
            "ambiguous": ambiguous,
            "type": common[0].type if common else "",
            "offset": common[0].low if common else 0,
            "field": common[0].field if common else "",
            "accept": [{"type": one.type, "offset": one.low, "range": [one.low, one.high]} for one in common],
            "object": sorted({f"{one.kind}:{one.object}" for one in seen})[:4],
        }

    def _text(self, address: int) -> str:
        if not hasattr(self, "_image"):
            self._image = self.path.read_bytes()
        for segment in self.program.elf.iter_segments("PT_LOAD"):
            start = segment["p_vaddr"]
            if start <= address - self.bias < start + segment["p_filesz"]:
                at = address - self.bias - start + segment["p_offset"]
                one = next(self._decoder.disasm(self._image[at : at + 16], address - self.bias), None)
                return f"{one.mnemonic} {one.op_str}" if one else ""
        return ""


NOTHING = Type([], 0)


def is_leaf(name: str) -> bool:
    """A scalar's or pointer's name."""
    return name.endswith(("*", "&")) or name.split(" ")[0] in SCALARS


def is_bytes(kind: Type) -> bool:
    """Characters, or a row of them."""
    while kind.element is not None:
        kind = kind.element
    return kind.size == 1 and any("char" in name or name in ("u8", "i8") for name in kind.names)


def virtual_bases(kind: Type) -> Iterator[tuple[int, Type]]:
    """Those of a class, and of its first members."""
    yield from kind.virtual
    for at, _size, name, member in kind.members:
        if not at and not name:
            yield from virtual_bases(member)


def is_pointer(kind: Type) -> bool:
    """A pointer or reference."""
    return any(name.endswith(("*", "&")) for name in kind.names)


def build(source: Path, variant: str, folder: Path, flags: list[str]) -> Path:
    """Compile one program with one set of options."""
    compiler, level = variant.rsplit("-", 1)
    program = folder / folder.name
    helper = folder / "stepped.o"
    named = COMPILERS.get(compiler, COMPILERS["gcc"])
    run = [named[0], "-g", "-O1", "-c", "-I", str(HERE), str(HERE / "stepped.c"), "-o", str(helper)]
    subprocess.run(run, check=True)
    if source.suffix == ".rs":
        build_rust(source, level, program, helper, flags)
        helper.unlink()
        return program
    plus = source.suffix in (".cc", ".cpp", ".cxx")
    chosen = named[plus]
    run = [
        chosen,
        "-g",
        f"-{level}",
        "-w",
        "-I",
        str(HERE),
        *(["-std=c++17"] if plus else []),
        *flags,
        str(source),
        str(helper),
        "-o",
        str(program),
        "-lm",
    ]
    subprocess.run(run, check=True)
    helper.unlink()
    return program


def build_rust(source: Path, level: str, program: Path, helper: Path, flags: list[str]) -> None:
    """The same for Rust; allocations are reported by a crate without debugging information."""
    crate = helper.with_name("libstepped.rlib")
    run = ["rustc", "--edition", "2021", "-A", "warnings"]
    subprocess.run([*run, "-O", "--crate-type", "rlib", str(HERE / "stepped.rs"), "-o", str(crate)], check=True)
    told = [f"opt-level={level.removeprefix('O')}", f"link-arg={helper}"]
    run += ["-g", *(f"-C{one}" for one in told), "--extern", f"stepped={crate}", *flags]
    subprocess.run([*run, str(source), "-o", str(program)], check=True)
    crate.unlink()


def make(source: Path, variant: str, options: argparse.Namespace) -> bool:
    """Build, step, write the result; returns whether the BTF that was asked for is there."""
    folder = options.out / f"{source.stem}-{variant}"
    folder.mkdir(parents=True, exist_ok=True)
    program = build(source, variant, folder, options.flags.split())
    truth = Truth(program.resolve())
    ended = truth.run(options.seconds)
    entries = truth.entries()
    told = {"program": source.stem, "variant": variant, "binary": program.name, "entries": entries}
    (folder / "truth.json").write_text(json.dumps(told, indent=0) + "\n")
    lacking = write_btf(program, options.pahole or shutil.which("pahole")) if source.suffix == ".c" else ""
    lacking = lacking and f"; no BTF: {lacking}"
    unknown = f"; unknown: {', '.join(sorted(truth.unknown_names))}" if truth.unknown_names else ""
    print(
        f"{folder.name:28} {truth.tracer.steps:9} steps {len(entries):6} operands, {ended}{unknown}{lacking}",
        flush=True,
    )
    return not lacking


def main() -> int:
    """Every source in every variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", default="gcc-O0,gcc-O2,clang-O0,clang-O2,rustc-O0,rustc-O2")
    parser.add_argument("--flags", default="", help="more for the compiler, as one word")
    parser.add_argument("--seconds", type=float, default=60, help="how long one may be stepped through")
    parser.add_argument("--pahole", help="one that writes detached BTF")
    options = parser.parse_args()
    without = 0
    for source in options.sources:
        if source.stem == "stepped":
            continue
        for variant in options.variants.split(","):
            if (source.suffix == ".rs") != variant.startswith("rustc"):
                continue
            without += not make(source, variant, options)
    if without:
        print(f"{without} of these C programs are without BTF: types_truth.py --btf finds none there", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
