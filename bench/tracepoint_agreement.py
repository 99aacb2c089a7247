"""Whether perf prints records of tracepoints as undwarf does: ``bench/tracepoint_agreement.py [--perf PERF]``.

Takes the descriptions of all of this machine's tracepoints (tracefs; as root), makes random records of each and writes
them as a recording, which both print. Lines are compared one by one; differences are shown by example.
"""

import argparse
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from undwarf.defects import Defects
from undwarf.perfdata import EventAttr, SampleField, feature_writer
from undwarf.perfdata.features import Feature
from undwarf.perfdata.print_format import PrintFormat
from undwarf.perfdata.record_writer import RecordEncoder, finished_round, record
from undwarf.perfdata.tracing import TraceFormat, Tracing, parse_tracing
from undwarf.perfdata.writer import PerfWriter

EVENTS = Path("/sys/kernel/tracing/events")
FIELDS = int(
    SampleField.IDENTIFIER | SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.CPU | SampleField.RAW
)


def event(name: str, number: int) -> EventAttr:
    """A tracepoint's attributes."""
    return EventAttr(name, 2, number, 1, False, FIELDS, 4, 1 << 18, True, 0, 0, 0, 0, 0, None, 0, 127, (number,))


def random_number(draw: random.Random, size: int) -> bytes:
    """Some number of a size; small ones are likely, as flags and states are."""
    bits = draw.choice((0, 1, 2, 4, 8, 16, 31, 32, 63, 64))
    value = draw.getrandbits(bits) if bits else 0
    if draw.random() < 0.1:
        value = -draw.randrange(1, 200)
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def random_text(draw: random.Random, most: int) -> bytes:
    return bytes(draw.choice(b"abcdefgh/._-XYZ0189") for _ in range(draw.randrange(most)))


def random_record(draw: random.Random, described: TraceFormat, strings: list[int]) -> bytes:
    """A record as the kernel might write it."""
    fields = described.fields
    size = max([8, *(one.offset + one.size for one in fields)])
    raw = bytearray(struct.pack("<HBBi", described.id, 0, 0, 42).ljust(size, b"\0"))
    for one in fields:
        end = one.offset + one.size
        if one.dynamic:
            if one.string:
                value = random_text(draw, 20) + b"\0"
            else:
                value = bytes(draw.getrandbits(8) for _ in range(8 * draw.randrange(1, 4)))
            place = len(raw) - (end if one.relative else 0)
            raw[one.offset : end] = struct.pack("<I", place | len(value) << 16)
            raw += value + bytes(-len(value) % 4)
        elif one.string:
            raw[one.offset : end] = random_text(draw, max(1, one.size)).ljust(one.size, b"\0")[: one.size]
        elif one.array and one.size > 8:
            raw[one.offset : end] = bytes(draw.getrandbits(8) for _ in range(one.size))
        elif one.size in (1, 2, 4, 8):
            raw[one.offset : end] = random_number(draw, one.size)
            if one.pointer and strings and draw.random() < 0.5:
                raw[one.offset : end] = struct.pack("<Q", draw.choice(strings))
        else:
            raw[one.offset : end] = random_number(draw, one.size)
    return bytes(raw)


def write(path: Path, tracing_data: bytes, events: list[EventAttr], records: list[tuple[int, int, bytes]]) -> None:
    features = {
        Feature.ARCH: feature_writer.string("x86_64"),
        Feature.EVENT_DESC: feature_writer.event_desc(events),
        Feature.TRACING_DATA: tracing_data,
    }
    with path.open("wb") as sink, PerfWriter(sink, events, features=features) as writer:
        writer.write(RecordEncoder(events[0]).comm(b"prog", 10, 10, exec_=True, time=1))
        for time, number, raw in records:
            # The kernel fills raw data so that the record is a multiple of 8 bytes.
            raw += bytes(-(len(raw) + 4) % 8)
            body = struct.pack("=QQIIQII", number, 0x1000, 10, 10, time * 1000, 0, 0)
            writer.write(record(9, body + struct.pack("=I", len(raw)) + raw, 2))
        writer.write(finished_round())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--records", type=int, default=4, help="Records of each tracepoint.")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", type=Path, default=EVENTS, help="Where systems have folders of tracepoints.")
    parser.add_argument("--keep", type=Path, help="Leave the recording here.")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    texts: dict[str, list[bytes]] = {}
    for path in sorted(options.formats.glob("*/*/format")):
        if path.parts[-3] != "ftrace":
            texts.setdefault(path.parts[-3], []).append(path.read_bytes())
    printk = Path("/sys/kernel/tracing/printk_formats")
    strings = printk.read_bytes() if printk.exists() else b""
    head = [
        path.read_bytes() if (path := options.formats / name).exists() else b""
        for name in ("header_page", "header_event")
    ]
    data = feature_writer.tracing(texts, strings, header_page=head[0], header_event=head[1])
    defects = Defects()
    tracing = parse_tracing(data, defects)
    kept = [address for address in tracing.strings if address]
    formats = list(tracing.formats.values())
    events = [event(f"{one.system}:{one.name}", one.id) for one in formats]
    records = [(one.id, random_record(draw, one, kept)) for one in formats for _ in range(options.records)]
    print(f"{len(formats):,} formats, {len(records):,} records; {len(list(defects))} kinds of defects")
    printed: dict[int, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for system in texts:
            own = [event for event in events if event.name.startswith(system + ":")]
            numbers = {one.config for one in own}
            wanted = [(time, *made) for time, made in enumerate(records, 1000) if made[0] in numbers]
            path = options.keep or Path(folder, "trace.data")
            write(path, data, own, wanted)
            printed |= lines_of([options.perf, "script", "-i", str(path), "--ns", "-F", "time,event,trace"], system)
    print(f"perf printed {len(printed):,} records")
    return compare(tracing, records, printed, options.examples)


def lines_of(command: list[str], system: str) -> dict[int, bytes]:
    """What perf prints, by the times of the samples."""
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode:
        print(f"{system}: perf ended with {run.returncode}")
    parts = re.split(rb"(?m)^ +0\.(\d{9}): +\S+: ", run.stdout)
    return {int(time) // 1000: text.removesuffix(b"\n") for time, text in zip(parts[1::2], parts[2::2], strict=True)}


def compare(tracing: Tracing, records: list[tuple[int, bytes]], printed: dict[int, bytes], examples: int) -> int:
    function = re.compile(rb"\b[\w.]+\+0x[0-9a-f]+")
    shown: dict[int, PrintFormat] = {}
    wrong: Counter[str] = Counter()
    same = 0
    for time, (number, raw) in enumerate(records, 1000):
        described = tracing.formats[number]
        if number not in shown:
            shown[number] = PrintFormat(described, tracing, lambda _address: None)
        if time not in printed:
            continue
        theirs = printed[time]
        try:
            ours = shown[number](raw + bytes(-(len(raw) + 4) % 8))
        except ValueError as error:
            ours = repr(error).encode()
        # Functions of the running kernel are perf's to know here.
        if ours == theirs or function.sub(b"", ours) == function.sub(b"", theirs):
            same += 1
            continue
        name = f"{described.system}:{described.name}"
        wrong[name] += 1
        if wrong[name] == 1 and len(wrong) <= examples:
            print(f"{name}\n   ours {ours!r}\n   perf {theirs!r}\n   {described.print_format!r}")
    print(f"{same:,} of {len(printed):,} equal; {len(wrong)} formats differ")
    return int(same != len(printed))


if __name__ == "__main__":
    sys.exit(main())
