"""`undwarf export`: where it writes, and what it says."""

import gzip
import os
from pathlib import Path

import pytest
from tests.support.commands import Run, two_events

from undwarf.outputs.export.formats import FORMATS
from undwarf.profile.table_descriptions import PROFILE_TABLES

BY_TABLE = sorted(name for name, form in FORMATS.items() if form.by_table)
ONE_UNIT = sorted(name for name, form in FORMATS.items() if not form.every_event)


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - BY_TABLE))
def test_each_format_is_written_beside_the_recording(undwarf: Run, perf_data: Path, name: str) -> None:
    done = undwarf("export", perf_data, "--format", name)
    target = perf_data.with_name(perf_data.name + FORMATS[name].extension)
    assert (done.returncode, target.stat().st_size > 0) == (0, True)
    assert f"wrote {target} (" in done.stderr
    assert f"note: not in {name}: " in done.stderr


@pytest.mark.parametrize("name", BY_TABLE)
def test_tables_are_written_to_a_directory_beside_the_recording(undwarf: Run, perf_data: Path, name: str) -> None:
    done = undwarf("export", perf_data, "--format", name)
    target = perf_data.with_name(f"{perf_data.name}.{name}")
    assert (done.returncode, f"wrote {target} (9 tables)" in done.stderr) == (0, True)
    assert {file.name for file in target.iterdir()} == {f"{table.name}.{name}" for table in PROFILE_TABLES}


@pytest.mark.parametrize("name", BY_TABLE)
def test_one_table_is_written_to_a_file(undwarf: Run, perf_data: Path, name: str) -> None:
    done = undwarf("export", perf_data, "--format", name, "--table", "stacks")
    target = perf_data.with_name(f"{perf_data.name}.stacks.{name}")
    assert (done.returncode, target.stat().st_size > 0) == (0, True)


def test_a_table_on_standard_output(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "csv", "--table", "events", "-o", "-")
    assert done.stdout.startswith("id,name,")


def test_a_table_of_a_format_without_tables_is_an_error(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "pprof", "--table", "samples")
    assert (done.returncode, "--table: pprof has no tables" in done.stderr) == (2, True)


def test_a_table_of_an_unknown_name_is_an_error(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "csv", "--table", "sample")
    assert (done.returncode, "samples" in done.stderr) == (2, True)


def test_standard_output(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "folded", "-o", "-")
    assert (done.stdout, "wrote" in done.stderr) == ("prog;[prog];[prog] 15\n", False)


def test_a_file_of_another_name(undwarf: Run, perf_data: Path, tmp_path: Path) -> None:
    undwarf("export", "--format", "pprof", "-o", "out.pb.gz", perf_data)
    assert gzip.decompress((tmp_path / "out.pb.gz").read_bytes())


def test_standard_input_needs_a_name_for_the_output(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", "-", "--format", "pprof", stdin=perf_data.read_bytes())
    assert (done.returncode, "give one with -o" in done.stderr) == (2, True)


def test_nothing_is_left_of_a_file_that_cannot_be_written(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "pprof", "-o", "nowhere/out")
    assert (done.returncode, "cannot write nowhere/out" in done.stderr) == (2, True)


def test_an_unknown_format_is_named(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("export", perf_data, "--format", "gprof")
    assert (done.returncode, "gprof" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ONE_UNIT)
def test_samples_of_another_unit_are_counted(undwarf: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "perf.data").write_bytes(two_events())
    done = undwarf("export", "--format", name, "-o", "out")
    assert f"not in {name}, which holds one unit (cpu-clock): 1 samples of page-faults" in done.stderr


def test_an_event_is_chosen(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(two_events())
    done = undwarf("export", "--event", "page-faults", "--format", "folded", "-o", "-")
    assert (done.stdout.endswith(" 7\n"), "which holds one unit" in done.stderr) == (True, False)


def test_shells_complete_the_format(undwarf: Run) -> None:
    done = undwarf(
        _UNDWARF_COMPLETE="bash_complete",
        COMP_WORDS="undwarf export --format per",
        COMP_CWORD="3",
        PATH=os.environ["PATH"],
    )
    assert done.stdout.split() == ["plain,perfetto", "plain,perf-script"]
