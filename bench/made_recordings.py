"""Recordings made of chosen addresses, so that other tools can be asked about code that was not recorded."""

import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata import feature_writer as encode
from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.features import BuildId, Feature
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import name_bytes, record
from undwarf.perfdata.writer import PerfWriter

EVENT = EventAttr(
    name="cpu-clock", type=1, config=0, sample_period=1000, freq=False,
    sample_type=SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.PERIOD, read_format=0, flags=0,
    sample_id_all=False, config1=0, config2=0, branch_sample_type=0, sample_regs_user=0, sample_stack_user=0,
    clockid=None, sample_regs_intr=0, sample_max_stack=0, ids=(),
)  # fmt: skip  # a table
PROGRAM_AT, PROCESS, PAGE = 0x5555_5555_0000, 1, 4096


def write_samples(out: Path, elf: ElfFile, at: Iterable[int], *, kernel: bool = False) -> None:
    """A sample at each address of a file (as its symbols have it), in order, a microsecond apart.

    A program lies where it was linked to be, or at ``PROGRAM_AT`` if that is anywhere; a kernel where it was linked to
    be. Exits if nothing of the file is executable.
    """
    text = min((one for one in elf.loads if one.flags & PF_X), key=lambda one: one.address, default=None)
    if text is None:
        sys.exit(f"{elf.path}: nothing executable in it")
    mode = int(CpuMode.KERNEL if kernel else CpuMode.USER)
    bias = 0 if kernel or min(one.address for one in elf.loads) else PROGRAM_AT
    features = {Feature.OSRELEASE: encode.string("0"), Feature.ARCH: encode.string("x86_64")}
    if kernel:
        name, process, thread = b"[kernel.kallsyms]_text", -1, 0xFFFFFFFF
        low, size, offset = text.address, text.memory_size, text.address
        features[Feature.BUILD_ID] = encode.build_ids([BuildId(-1, bytes(elf.build_id), "[kernel.kallsyms]", mode)])
    else:
        name, process, thread = bytes(Path(elf.path).resolve()), PROCESS, PROCESS
        before = text.address % PAGE
        low, size, offset = bias + text.address - before, text.memory_size + before, text.offset - before
    with out.open("wb") as sink, PerfWriter(sink, [EVENT], features=features) as writer:
        mapped = struct.pack("=iIQQQ", process, thread, low, size, offset)
        writer.write(record(RecordType.MMAP, mapped + name_bytes(name), mode))
        for number, one in enumerate(at):
            body = struct.pack("=QIIQQ", bias + one, PROCESS, PROCESS, 1000 * number, 1000)
            writer.write(record(RecordType.SAMPLE, body, mode))
