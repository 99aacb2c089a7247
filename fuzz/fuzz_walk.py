"""The walk on any registers, stack bytes and mappings: the example's own records, unpacked, then damaged.

The example's program is there, so its unwind rules are used; in a packed recording nearly all damage would end in the
unpacking.
"""

import io
import struct
from pathlib import Path

from mutate import main

from undwarf.api import open_recording
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.perfdata import open_perf_data

LIMITS = Limits(stream_bytes=8 << 20, compression_ratio=100, max_frames=256)
RECORDING = Path(__file__).parent.parent / "examples" / "recording"
SAMPLES = 12
PERF_RECORD_SAMPLE = 9


def one_input(data: bytes) -> None:
    """Anything but an UndwarfError is a defect."""
    try:
        with open_recording(io.BytesIO(data), format="perf.data", symfs=str(RECORDING), limits=LIMITS) as recording:
            profile = recording.profile(by_time=True, runtime=True, jobs=1)
            for sample in profile.samples:
                assert len(sample.stack) <= LIMITS.max_frames + LIMITS.max_chain
    except UndwarfError:
        return


def unpacked(path: Path, skip: int) -> bytes:
    """A plain file with the recording's first event, all its other records, and SAMPLES samples after ``skip``."""
    with open(path, "rb") as file:
        header = file.read(104)
        attr_size, attrs_offset = struct.unpack_from("<QQ", header, 16)
        file.seek(attrs_offset)
        attr = bytearray(file.read(attr_size))
    struct.pack_into("<QQ", attr, attr_size - 16, 0, 0)
    with open_perf_data(path) as data:
        records = data.records()
        kept = b""
        seen = 0
        position = 0
        end = max(records.samples.position[-1], records.sideband.position[-1])
        while position <= end:
            with data.window(position, 8) as view:
                kind, _misc, size = struct.unpack("<IHH", view)
            if kind == PERF_RECORD_SAMPLE:
                seen += 1
            if kind < 64 and (kind != PERF_RECORD_SAMPLE or skip < seen <= skip + SAMPLES):
                with data.window(position, size) as view:
                    kept += bytes(view)
            position += size
    start = 104 + len(attr)
    words = (104, attr_size, 104, len(attr), start, len(kept), 0, 0, 0, 0, 0, 0)
    return b"PERFILE2" + struct.pack("<12Q", *words) + bytes(attr) + kept


def seeds() -> list[bytes]:
    """Samples from several places of the example."""
    return [unpacked(RECORDING / "words.data", skip) for skip in (0, 300, 700)]


if __name__ == "__main__":
    main(one_input, seeds())
