"""Recordings from any bytes: opening, decoding, address spaces, the walk, names, tables; shrinking, reading that."""

import io
from pathlib import Path

from mutate import main

from undwarf.api import open_recording
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.profile.table_descriptions import PROFILE_TABLES
from undwarf.profile.tables import named

LIMITS = Limits(stream_bytes=8 << 20, compression_ratio=100, max_frames=64)
EXAMPLES = Path(__file__).parent.parent / "examples"


def one_input(data: bytes) -> None:
    """Anything but an UndwarfError is a defect."""
    try:
        with open_recording(io.BytesIO(data), format="perf.data", symfs="/nonexistent", limits=LIMITS) as recording:
            profile = recording.profile(by_time=True, runtime=True, jobs=1)
            for sample in profile.samples[:20]:
                str(sample)
            for description in PROFILE_TABLES:
                for _row in named(profile, description.name).rows():
                    pass
            small = io.BytesIO()
            recording.shrink(small)
    except UndwarfError:
        return
    # What was written can be read, whatever it was made of.
    with open_recording(io.BytesIO(small.getvalue()), format="perf.data", symfs="/nonexistent") as recording:
        recording.profile(jobs=1)


def seeds() -> list[bytes]:
    """The example recording, whole and its beginning, and the smallest pipe."""
    found = [path.read_bytes() for path in sorted(EXAMPLES.rglob("*.data"))]
    return [*found, *(one[:6000] for one in found), b"PERFILE2" + (16).to_bytes(8, "little")]


if __name__ == "__main__":
    main(one_input, seeds())
