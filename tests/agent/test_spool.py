"""The spool holds complete recordings, evicts the oldest first, and recovers unfinished ones after a kill."""

import json
import os
from pathlib import Path

import pytest
from tests.agent.conftest import finish_one, write_recording

import undwarf
from undwarf.agent.spool import DESCRIPTION_PART, Spool, whole_bytes
from undwarf.errors import UndwarfError
from undwarf.live import perf_event as pe
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.writer import PerfWriter


def names(spool: Spool) -> list[str]:
    return sorted(path.name for path in spool.folder.iterdir())


def reopened(spool: Spool) -> Spool:
    """The spool as the next agent finds it."""
    spool.close()
    return Spool(spool.folder, spool.most_bytes)


def test_a_finished_recording_is_there_with_its_description(spool: Spool) -> None:
    name = finish_one(spool)
    about = spool.describe(name)
    assert about["recording"] == f"{name}.data"
    assert about["bytes"] == spool.files(name)[0].stat().st_size
    assert spool.whole(name, about)
    assert len(spool) == 1


def test_a_changed_recording_is_not_whole(spool: Spool) -> None:
    name = finish_one(spool)
    with spool.files(name)[0].open("r+b") as file:
        file.seek(100)
        file.write(b"?")
    assert not spool.whole(name, spool.describe(name))


def test_the_oldest_are_dropped_above_the_limit(spool: Spool) -> None:
    first = finish_one(spool)
    size = spool.size
    spool.most_bytes = 3 * size + 10
    others = [finish_one(spool) for _ in range(3)]
    assert [path.stem for path in sorted(spool.folder.glob("*.data"))] == others
    assert first not in others


def test_numbers_rise_from_one_agent_to_the_next(spool: Spool) -> None:
    first = finish_one(spool)
    again = reopened(spool)
    assert finish_one(again) > first
    os.unlink(again.folder / "sequence")
    last = reopened(again)
    assert last.number() > int(first.rpartition("-")[2])
    last.close()


def test_the_next_agent_finds_what_waits_in_order(spool: Spool) -> None:
    waiting = [finish_one(spool) for _ in range(3)]
    again = reopened(spool)
    found = []
    while (one := again.oldest()) is not None:
        assert again.whole(one.name, again.describe(one.name))
        found.append(one.name)
        again.remove(one.name)
    assert found == waiting
    again.close()


def test_two_agents_do_not_share_a_folder(spool: Spool) -> None:
    with pytest.raises(UndwarfError, match="another agent uses it"):
        Spool(spool.folder, 1 << 20)


@pytest.mark.parametrize("cut", [1, 7, 23, 1000])
def test_an_unfinished_recording_is_kept_up_to_its_last_record(spool: Spool, tmp_path: Path, cut: int) -> None:
    part = write_recording(spool, 400)
    part.truncate(os.fstat(part.fileno()).st_size - cut)
    part.close()
    (path,) = spool.unfinished()
    assert spool.recover(path, {"samples": None})
    with undwarf.open(spool.files(path.stem)[0]) as recording:
        comms = len(recording.processes)
        assert not list(recording.defects)
    assert 400 - cut // 24 - 1 <= comms < 400
    assert not spool.unfinished()


def test_an_unfinished_recording_without_records_is_removed(spool: Spool) -> None:
    write_recording(spool, 1).close()
    (path,) = spool.unfinished()
    assert not spool.recover(path, {})
    assert not names(spool) or names(spool) == ["sequence"]


def test_what_is_no_recording_has_no_whole_bytes(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w+b") as file:
        file.write(b"x" * 5000)
        assert whole_bytes(file) == 0


def test_a_kill_between_the_two_names_loses_nothing(spool: Spool) -> None:
    name = finish_one(spool)
    spool.files(name)[1].rename(spool.folder / DESCRIPTION_PART)
    again = reopened(spool)
    assert len(again) == 1
    assert again.whole(name, again.describe(name))
    again.close()


def test_a_description_of_another_recording_is_not_used(spool: Spool) -> None:
    name = finish_one(spool)
    about = {**spool.describe(name), "sha256": "0" * 64}
    spool.files(name)[1].unlink()
    (spool.folder / DESCRIPTION_PART).write_text(json.dumps(about))
    again = reopened(spool)
    assert len(again) == 0
    assert names(again) == ["sequence"]
    again.close()


def test_a_path_in_a_description_stays_in_the_spool(spool: Spool, tmp_path: Path) -> None:
    outside = tmp_path / "outside.data"
    outside.write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (spool.folder / DESCRIPTION_PART).write_text(json.dumps({"recording": "../outside.data", "sha256": empty}))
    again = reopened(spool)
    assert not outside.with_suffix(".json").exists()
    assert names(again) == []
    again.close()


def test_a_compressed_recording_is_cut_where_its_last_record_ends(spool: Spool) -> None:
    event = pe.parse_event("cpu-clock")
    encoder = RecordEncoder(event)
    part = spool.begin("20251128T205200Z-00000000")
    writer = PerfWriter(part, [event], form="pipe", zstd_level=1)  # type: ignore[arg-type]
    writer.write(b"".join(encoder.comm(os.urandom(7).hex().encode(), number, number) for number in range(1, 20000)))
    # The last part that was compressed ends within a record.
    assert writer._pending
    part.close()
    (path,) = spool.unfinished()
    assert spool.recover(path, {"samples": None})
    with undwarf.open(spool.files(path.stem)[0]) as recording:
        assert 5000 < len(recording.processes) < 20000
        assert not list(recording.defects)
