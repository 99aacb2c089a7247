"""perf.data: the recordings that ``perf record`` writes, decoded into columns."""

from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.features import Features
from undwarf.perfdata.reader import PerfData, open_perf_data
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.records import FileIdentity, Records, Samples, Sideband
from undwarf.perfdata.sample_fields import SampleField
from undwarf.perfdata.sideband_kinds import SidebandKind

__all__ = [
    "CpuMode",
    "EventAttr",
    "Features",
    "FileIdentity",
    "PerfData",
    "RecordType",
    "Records",
    "SampleField",
    "Samples",
    "Sideband",
    "SidebandKind",
    "open_perf_data",
]
