"""Control groups of samples."""

import os
from pathlib import Path

import pytest
from tests.agent.conftest import perf_events  # noqa: F401

from undwarf.agent.cgroups import CgroupIds, CgroupsOfProcesses, path_of_process, recorded_by_kernel
from undwarf.column import zeros
from undwarf.live import perf_event as pe
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import RecordEncoder


class Rows:
    """Samples with these ids of control groups."""

    def __init__(self, *ids: int) -> None:
        self.cgroup = ids


class NoSideband:
    """An empty side band."""

    kind = zeros("B", 0)


def before(ids: CgroupIds, *samples: int) -> bytes:
    return ids.before(Rows(*samples), NoSideband(), [])  # type: ignore[arg-type]


@pytest.fixture
def ids(tmp_path: Path) -> CgroupIds:
    (tmp_path / "a" / "b").mkdir(parents=True)
    return CgroupIds(RecordEncoder(pe.parse_event("cpu-clock")), tmp_path)


def test_an_id_is_the_inode_of_its_folder(ids: CgroupIds, tmp_path: Path) -> None:
    inode = os.stat(tmp_path / "a" / "b").st_ino
    records = before(ids, inode)
    assert int.from_bytes(records[:4], "little") == RecordType.CGROUP
    assert b"/a/b\0" in records
    assert ids.path(inode) == "/a/b"


def test_each_file_has_a_group_once(ids: CgroupIds, tmp_path: Path) -> None:
    inode = os.stat(tmp_path / "a").st_ino
    assert before(ids, inode, inode)
    assert before(ids, inode) == b""
    ids.restart()
    assert before(ids, inode)


def test_an_id_that_is_gone_has_no_record(ids: CgroupIds) -> None:
    assert before(ids, 1 << 40) == b""
    assert ids.path(1 << 40) == ""


def test_a_process_has_its_most_specific_path() -> None:
    assert path_of_process(os.getpid()).startswith("/")
    assert path_of_process(1 << 22) == ""


def test_a_process_is_read_once() -> None:
    known = CgroupsOfProcesses()
    known.see({os.getpid()}, NoSideband())  # type: ignore[arg-type]
    assert known.path(os.getpid()) == path_of_process(os.getpid())


@pytest.mark.usefixtures("perf_events")
def test_whether_the_kernel_has_ids_is_found_out() -> None:
    assert recorded_by_kernel() in (True, False)
