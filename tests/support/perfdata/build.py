"""Writes perf.data bytes from values: any form, either byte order, so that tests need no checked-in binaries."""

import struct
from dataclasses import dataclass, field

import zstandard

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID = (1 << bit for bit in range(10))
RAW, BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION = (
    1 << bit for bit in range(10, 18)
)
REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE_SIZE, CODE_PAGE_SIZE, WEIGHT_STRUCT = (1 << bit for bit in range(18, 25))
SAMPLE_ID_ALL = 1 << 18
FREQ = 1 << 10
PLAIN = IP | TID | TIME | CPU | PERIOD


@dataclass
class Attr:
    """An event attribute."""

    type: int = 1
    config: int = 0
    sample_type: int = PLAIN
    period: int = 4000
    read_format: int = 0
    flags: int = SAMPLE_ID_ALL
    branch: int = 0
    regs: int = 0
    stack: int = 0
    intr: int = 0
    clockid: int = 0
    ids: list[int] = field(default_factory=list)
    size: int = 144


@dataclass
class Build:
    """Bytes of one byte order: ``"<"`` or ``">"``."""

    order: str = "<"

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def words(self, *values: int) -> bytes:
        return self.pack(f"{len(values)}Q", *values)

    def attr(self, attr: Attr) -> bytes:
        flags = attr.flags.to_bytes(8, "little")
        if self.order == ">":
            # Bit fields start at the top of each byte; precise_ip spans two of them.
            low, high = attr.flags >> 15 & 1, attr.flags >> 16 & 1
            crossed = attr.flags & ~(3 << 15) | high << 15 | low << 16
            flags = bytes(int(f"{byte:08b}"[::-1], 2) for byte in crossed.to_bytes(8, "little"))
        head = self.pack("IIQQQQ", attr.type, attr.size, attr.config, attr.period, attr.sample_type, attr.read_format)
        rest = self.pack("IIQQQQIiQ", 0, 0, 0, 0, attr.branch, attr.regs, attr.stack, attr.clockid, attr.intr)
        return (head + flags + rest).ljust(144, b"\0")[: attr.size or 64]

    def record(self, kind: int, body: bytes = b"", misc: int = 0, size: int | None = None) -> bytes:
        return self.pack("IHH", kind, misc, 8 + len(body) if size is None else size) + body

    def trailer(self, attr: Attr, pid=0, tid=0, time=0, ident=0, stream=0, cpu=0) -> bytes:
        """The sample_id at the end of records that are no samples."""
        if not attr.flags & SAMPLE_ID_ALL:
            return b""
        parts = (
            (TID, "II", (pid, tid)),
            (TIME, "Q", (time,)),
            (ID, "Q", (ident,)),
            (STREAM_ID, "Q", (stream,)),
            (CPU, "II", (cpu, 0)),
            (IDENTIFIER, "Q", (ident,)),
        )
        return b"".join(self.pack(form, *values) for bit, form, values in parts if attr.sample_type & bit)

    def sample(
        self,
        attr: Attr,
        *,
        ip=0x400000,
        pid=10,
        tid=11,
        time=1000,
        addr=0,
        ident=0,
        stream=0,
        cpu=0,
        period=1,
        read=(7,),
        chain=(),
        raw=b"",
        branches=(),
        hw_idx: int | None = None,
        counters=(),
        abi=2,
        regs=(),
        stack=b"",
        dyn: int | None = None,
        weight=0,
        data_src=0,
        transaction=0,
        intr_abi=2,
        intr=(),
        phys=0,
        cgroup=0,
        data_page=0,
        code_page=0,
        aux=b"",
        misc=2,
        extra=b"",
    ) -> bytes:
        """A SAMPLE record; the fields follow the order the kernel writes them in."""
        kind = attr.sample_type
        out = []

        def put(bit: int, data: bytes) -> None:
            if kind & bit:
                out.append(data)

        put(IDENTIFIER, self.words(ident))
        put(IP, self.words(ip))
        put(TID, self.pack("II", pid, tid))
        put(TIME, self.words(time))
        put(ADDR, self.words(addr))
        put(ID, self.words(ident))
        put(STREAM_ID, self.words(stream))
        put(CPU, self.pack("II", cpu, 0))
        put(PERIOD, self.words(period))
        put(READ, self.words(*read))
        put(CALLCHAIN, self.words(len(chain), *chain))
        put(RAW, self.pack("I", len(raw)) + raw)
        branch = self.words(len(branches))
        if hw_idx is not None:
            branch += self.words(hw_idx)
        for source, target, flags in branches:
            branch += self.words(source, target, self.branch_flags(flags))
        put(BRANCH_STACK, branch + self.words(*counters))
        put(REGS_USER, self.words(abi, *(regs if abi else ())))
        dump = self.words(len(stack))
        if stack:
            dump += stack + self.words(len(stack) if dyn is None else dyn)
        put(STACK_USER, dump)
        put(WEIGHT | WEIGHT_STRUCT, self.words(weight))
        put(DATA_SRC, self.words(data_src))
        put(TRANSACTION, self.words(transaction))
        put(REGS_INTR, self.words(intr_abi, *(intr if intr_abi else ())))
        put(PHYS_ADDR, self.words(phys))
        put(CGROUP, self.words(cgroup))
        put(DATA_PAGE_SIZE, self.words(data_page))
        put(CODE_PAGE_SIZE, self.words(code_page))
        put(AUX, self.words(len(aux)) + aux)
        return self.record(9, b"".join(out) + extra, misc)

    def branch_flags(self, flags: int) -> int:
        """Flags given by their little-endian value, as this byte order's compiler lays them out."""
        if self.order == "<":
            return flags
        found = at = 0
        for width in (1, 1, 1, 1, 16, 4, 2, 4, 3):
            found |= (flags >> at & ((1 << width) - 1)) << (64 - at - width)
            at += width
        return found

    def name(self, text: bytes) -> bytes:
        return text + b"\0" * (8 - len(text) % 8)

    def mmap2(
        self, attr: Attr, name: bytes, pid=10, tid=10, start=0x400000, length=0x1000, pgoff=0,
        where=(8, 1, 77, 3), prot=5, build_id: bytes | None = None, misc=2, **trailer: int,
    ) -> bytes:  # fmt: skip  # rows of parameters
        if build_id is None:
            identity = self.pack("IIQQ", *where)
        else:
            identity = bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
            misc |= 1 << 14
        body = self.pack("IIQQQ", pid, tid, start, length, pgoff) + identity + self.pack("II", prot, 2)
        return self.record(10, body + self.name(name) + self.trailer(attr, pid, tid, **trailer), misc)

    def mmap(self, attr: Attr, name: bytes, pid=10, start=0x1000, length=0x1000, pgoff=0, misc=2, **trailer):
        body = self.pack("IIQQQ", pid, pid, start, length, pgoff) + self.name(name)
        return self.record(1, body + self.trailer(attr, pid, pid, **trailer), misc)

    def comm(self, attr: Attr, name: bytes, pid=10, tid=10, misc=0, **trailer: int) -> bytes:
        body = self.pack("II", pid, tid) + self.name(name)
        return self.record(3, body + self.trailer(attr, pid, tid, **trailer), misc)

    def task(self, attr: Attr, kind: int, pid=20, ppid=10, tid=20, ptid=10, time=0, misc=0) -> bytes:
        """FORK (7) or EXIT (4)."""
        body = self.pack("IIIIQ", pid, ppid, tid, ptid, time)
        return self.record(kind, body + self.trailer(attr, pid, tid, time=time), misc)

    def plain(self, attr: Attr, kind: int, body: bytes, misc: int = 0, **trailer: int) -> bytes:
        """Any other record of the kernel."""
        return self.record(kind, body + self.trailer(attr, **trailer), misc)

    def round(self) -> bytes:
        return self.record(68)

    def compressed(self, data: bytes, chunk: int = 1000, kind: int = 83) -> list[bytes]:
        """``data`` as one zstd stream that is flushed after each chunk and never ended."""
        stream = zstandard.ZstdCompressor().compressobj()
        found = []
        for at in range(0, len(data), chunk):
            part = stream.compress(data[at : at + chunk])
            part += stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
            if kind == 83:
                found.append(self.record(83, self.words(len(part)) + part + bytes(-len(part) % 8)))
            else:
                found.append(self.record(81, part))
        return found

    def string(self, text: str) -> bytes:
        raw = text.encode() + b"\0"
        raw += bytes(-len(raw) % 64)
        return self.pack("I", len(raw)) + raw

    def file(
        self,
        attrs: list[Attr],
        records: list[bytes],
        features: dict[int, bytes] | None = None,
        *,
        header: int = 104,
        stride: int = 160,
        data_size: int | None = None,
    ) -> bytes:
        """File form, in the order perf writes: header, ids, attributes, records, feature table, features."""
        features = features or {}
        # A size of 0 would mean that the recorder died.
        records = records or [self.round()]
        ids, places = b"", []
        for attr in attrs:
            places.append((header + len(ids), 8 * len(attr.ids)))
            ids += self.words(*attr.ids)
        entries = b""
        for attr, place in zip(attrs, places, strict=True):
            entries += self.attr(attr).ljust(stride - 16, b"\0") + self.words(*place)
        data = b"".join(records)
        attrs_at = header + len(ids)
        data_at = attrs_at + len(entries)
        bits = sum(1 << number for number in features)
        head = (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.words(
            header, stride, attrs_at, len(entries), data_at, len(data) if data_size is None else data_size, 0, 0
        )
        bitmap = self.words(*(bits >> 64 * number & (1 << 64) - 1 for number in range(4)))
        out = (head + bitmap)[:header] + ids + entries + data
        table, payloads = b"", b""
        start = len(out) + 16 * len(features)
        for number in sorted(features):
            table += self.words(start + len(payloads), len(features[number]))
            payloads += features[number]
        return out + table + payloads

    def pipe_header(self) -> bytes:
        return (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.words(16)

    def header_attr(self, attr: Attr) -> bytes:
        return self.record(64, self.attr(attr) + self.words(*attr.ids))

    def header_feature(self, number: int, payload: bytes) -> bytes:
        return self.record(80, self.words(number) + payload)

    def pipe(self, attrs: list[Attr], records: list[bytes], features: dict[int, bytes] | None = None) -> bytes:
        """Pipe form: everything is a record."""
        out = [self.pipe_header(), *(self.header_attr(attr) for attr in attrs)]
        out += [self.header_feature(number, payload) for number, payload in sorted((features or {}).items())]
        out.append(self.header_feature(35, b""))
        return b"".join(out + records)
