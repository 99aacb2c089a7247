"""Runs the commands over every ELF file of a distribution: no crash, no hang, no defect, bounded memory.

    sweep.py [--sample N] [--seconds 20] [--memory 400] [--code-bytes N] [--jobs N] [--json FILE] [PATH...]

Each file is dumped (``tables dump``, from its unwind sections and from its code), measured, and asked for functions,
lines and types at addresses of its own functions. It is also the only image of a recording that is made for it: samples
at those addresses with a stack dump full of them, so that the walk meets many of its rules. Each command runs in a
process of its own. Counted are: ``ok``; ``refused``, a clean error; and what must not happen: ``defect``, ``signal``,
``slow`` (more CPU seconds than allowed) and ``large`` (more memory than allowed beyond the size of the file). Ends with
1 if any did.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import resource
import struct
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path

from undwarf.cli.main import run as run_undwarf
from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.errors import UndwarfError
from undwarf.limits import DEFAULT
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.tables.function_starts import described_functions

USUAL = (Path("/usr/bin"), Path("/usr/sbin"), Path("/usr/lib"), Path("/usr/libexec"))
ADDRESSES = 24
BASE = 0x5555_0000_0000
PID = 4242
STACK_TOP = 0x7FFC_0000_0000
DEFECT = "this is a defect of undwarf"
BAD = ("defect", "signal", "slow", "large")


@dataclass(frozen=True)
class Outcome:
    """What one command did with one file."""

    path: str
    command: str
    kind: str
    detail: str
    seconds: float
    megabytes: float
    """Peak memory beyond the size of the file."""


def elf_files(roots: list[Path]) -> Iterator[Path]:
    """All ELF files below some folders, each file once."""
    seen: set[tuple[int, int]] = set()
    for root in roots:
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            try:
                status = path.stat()
                if path.is_symlink() or not path.is_file() or (status.st_dev, status.st_ino) in seen:
                    continue
                with path.open("rb") as file:
                    if file.read(4) != b"\x7fELF":
                        continue
            except OSError:
                continue
            seen.add((status.st_dev, status.st_ino))
            yield path


def addresses_of(path: Path, count: int) -> list[int]:
    """Addresses in functions of a file, at their starts and within, chosen by its name."""
    try:
        elf = ElfFile.open(path)
        table = symbols_of_elf(elf)
        starts = [int(start) for start in (table.ranges()[0] if table is not None else ())]
        starts += described_functions(elf, DEFAULT)[0].tolist()
        if not starts:
            starts = [segment.address for segment in elf.segments if segment.flags & PF_X]
    except UndwarfError:
        return [0x1000]
    chosen = random.Random(path.name).sample(starts, min(count, len(starts)))
    return sorted({(address + offset) & (1 << 64) - 1 for address in chosen for offset in (0, 9)}) or [0x1000]


def write_recording(target: Path, path: Path, addresses: list[int]) -> None:
    """A recording of one process that maps the file, with a sample at each address and a dump of such addresses."""
    try:
        elf = ElfFile.open(path)
        loads = [segment for segment in elf.segments if segment.type == 1 and segment.flags & PF_X]
    except UndwarfError:
        loads = []
    name = os.fsencode(path)
    name += b"\0" * (8 - len(name) % 8)
    records = [struct.pack("<IHHII8s", 3, 0, 24, PID, PID, b"sweep\0\0\0")]
    records += [
        struct.pack("<IHHIIQQQ", 1, 0, 40 + len(name), PID, PID, BASE + segment.offset // 4096 * 4096,
                    (segment.file_size + segment.offset % 4096 + 4095) // 4096 * 4096, segment.offset // 4096 * 4096)
        + name
        for segment in loads
    ]  # fmt: skip  # rows of fields

    def runtime(address: int) -> int:
        for segment in loads:
            if segment.address <= address < segment.address + segment.file_size:
                return int(BASE + segment.offset + address - segment.address)
        return address

    words = [runtime(address) + 1 for address in addresses] * 12
    stack = struct.pack(f"<{len(words)}Q", *((word & (1 << 64) - 1) for word in words))
    for number, address in enumerate(addresses):
        registers = [STACK_TOP + 8 * k for k in range(17)]
        registers[6:9] = STACK_TOP + 64, STACK_TOP, runtime(address) & (1 << 64) - 1
        body = (
            struct.pack(
                "<QIIQQ17QQ", runtime(address) & (1 << 64) - 1, PID, PID, 1000 + number, 2, *registers, len(stack)
            )
            + stack
            + struct.pack("<Q", len(stack))
        )
        records.append(struct.pack("<IHH", 9, 2, 8 + len(body)) + body)
    data = b"".join(records)
    # cpu-clock; ip, tid, time, user registers and stack; mmap, comm, sample_id_all is off.
    attr = bytearray(128)
    struct.pack_into("<IIQQQQQ", attr, 0, 1, 128, 0, 1000, 1 | 2 | 4 | 1 << 12 | 1 << 13, 0, 1 << 8 | 1 << 9)
    struct.pack_into("<QIi", attr, 80, 0xFF01FF, len(stack), 0)
    attrs = bytes(attr) + struct.pack("<QQ", 0, 0)
    header = b"PERFILE2" + struct.pack("<8Q", 104, len(attrs), 104, len(attrs), 104 + len(attrs), len(data), 0, 0)
    target.write_bytes(header + b"\0" * 32 + attrs + data)


def commands(path: Path, folder: Path, code_bytes: int) -> dict[str, list[str]]:
    """The commands for one file, by a short name; files of more than ``code_bytes`` are not dumped from their code."""
    elf = str(path)
    addresses = addresses_of(path, ADDRESSES)
    texts = [f"{address:x}" for address in addresses]
    recording = folder / "perf.data"
    write_recording(recording, path, addresses)
    whole = {"dump code": ["tables", "dump", "--json", "--source", "code", elf]}
    return {
        "dump": ["tables", "dump", elf],
        **(whole if path.stat().st_size <= code_bytes else {}),
        "sizes": ["tables", "sizes", elf],
        "addr2line": ["addr2line", "-e", elf, "-f", "-i", "-C", *texts],
        "types": ["types", "--binary", elf, "--at", ",".join(texts)],
        "script": ["script", "--no-cache", str(recording)],
        "report": ["report", "--no-cache", str(recording)],
        "types of it": ["types", "--no-cache", "--code", str(recording)],
    }


def run(arguments: list[str], seconds: float) -> tuple[int, str, float, float]:
    """(wait status, standard error, CPU seconds, peak megabytes) of one command in a process of its own."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(errors.fileno(), 2)
            try:
                code = run_undwarf(arguments)
            except Exception as error:  # noqa: BLE001 - with UNDWARF_TRACEBACK it comes through, and is the finding
                print(f"{DEFECT}: {type(error).__name__}: {error}", file=sys.stderr)
                code = 1
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)
        _pid, status, usage = os.wait4(child, 0)
        errors.seek(0)
        text = errors.read(1 << 16).decode("utf-8", "replace")
    return status, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def outcome(path: Path, name: str, arguments: list[str], seconds: float, memory: float) -> Outcome:
    """Run one command and say what came of it."""
    status, errors, used, peak = run(arguments, seconds)
    beyond = peak - path.stat().st_size / (1 << 20)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if used > seconds:
        kind, detail = "slow", f"{used:.1f} s"
    elif killed:
        kind, detail = "signal", f"signal {killed}"
    elif DEFECT in errors:
        kind, detail = "defect", errors[errors.index(DEFECT) :].replace("\n", " ")[:300]
    elif beyond > memory:
        kind, detail = "large", f"{beyond:.0f} MB beyond the file"
    else:
        kind, detail = ("ok", "") if status == 0 else ("refused", errors.strip().replace("\n", " ")[:200])
    return Outcome(str(path), name, kind, detail, round(used, 2), round(beyond, 1))


def sweep(path: Path, seconds: float, memory: float, code_bytes: int) -> list[Outcome]:
    """All commands over one file."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            wanted = commands(path, Path(folder), code_bytes)
        except Exception as error:  # noqa: BLE001 - what fails while a file is looked at is a finding
            return [Outcome(str(path), "open", "defect", f"{type(error).__name__}: {error}", 0, 0)]
        return [outcome(path, name, arguments, seconds, memory) for name, arguments in wanted.items()]


def main() -> int:
    """1 if a command did what none may do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="this many files, chosen at random but always the same")
    parser.add_argument("--seconds", type=float, default=20, help="CPU seconds that one command may take")
    parser.add_argument("--memory", type=float, default=400, help="megabytes beyond the file that one may take")
    parser.add_argument("--code-bytes", type=int, default=2 << 20, help="largest file dumped from its code: 1 s a MB")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path, help="write every outcome there, one a line")
    parser.add_argument("paths", nargs="*", type=Path, default=list(USUAL))
    options = parser.parse_args()
    files = list(elf_files(options.paths))
    if options.sample is not None and options.sample < len(files):
        files = sorted(random.Random(1).sample(files, options.sample))
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    bad: list[Outcome] = []
    log = options.json.open("w") if options.json is not None else None
    os.environ["UNDWARF_TRACEBACK"] = "1"
    os.environ["XDG_CACHE_HOME"] = cache = tempfile.mkdtemp(prefix="undwarf-sweep-")
    with ProcessPoolExecutor(options.jobs) as pool:
        every = pool.map(sweep, files, *map(repeat, (options.seconds, options.memory, options.code_bytes)))
        for done, found in enumerate(every, 1):
            for one in found:
                counts[one.command, one.kind] += 1
                if log is not None:
                    print(json.dumps(asdict(one)), file=log, flush=True)
                if one.kind in BAD:
                    bad.append(one)
                    print(f"{one.kind}: {one.command}: {one.path}: {one.detail}", flush=True)
            if done % 500 == 0:
                print(f"{done:,} of {len(files):,} files", file=sys.stderr, flush=True)
    print(f"{len(files):,} files; kept tables are in {cache}")
    names = sorted({name for name, _kind in counts})
    kinds = [kind for kind in ("ok", "refused", *BAD) if any(counts[name, kind] for name in names)]
    print(f"{'':12}" + "".join(f"{kind:>9}" for kind in kinds))
    for name in names:
        print(f"{name:12}" + "".join(f"{counts[name, kind]:>9,}" for kind in kinds))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
