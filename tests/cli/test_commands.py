"""What the commands print, and what they exit with."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.commands import Run, recording, two_events
from tests.support.perfdata.build import IDENTIFIER, PLAIN, Attr, Build

READERS = ["report", "script", "fold", "info"]


@pytest.mark.parametrize("command", READERS)
def test_a_recording_is_read(undwarf: Run, perf_data: Path, command: str) -> None:
    done = undwarf(command, perf_data)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("command", READERS)
def test_a_recording_comes_from_standard_input(undwarf: Run, perf_data: Path, command: str) -> None:
    from_file = undwarf(command, perf_data).stdout.replace(str(perf_data), "-")
    assert undwarf(command, "-", stdin=perf_data.read_bytes()).stdout == from_file


def test_perf_data_is_the_default(undwarf: Run, perf_data: Path) -> None:
    assert undwarf("fold").stdout == undwarf("fold", perf_data).stdout == undwarf("fold", "-i", perf_data).stdout


def test_fold(undwarf: Run, perf_data: Path) -> None:
    assert undwarf("fold", perf_data).stdout == "prog;[prog];[prog] 3\n"


def test_fold_by_thread_and_period(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("fold", "--root", "tid", "--weight", "period", perf_data)
    assert done.stdout == "prog-10/11;[prog];[prog] 15\n"


def test_fold_adds_one_unit_only_and_names_the_rest(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    done = undwarf("fold", "two")
    assert done.stdout == "prog;[prog];[prog] 3\n"
    assert done.stderr == "note: only cpu-clock: its unit differs from that of page-faults (choose with --event)\n"


def test_fold_adds_periods_of_the_event_that_is_chosen(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    done = undwarf("fold", "--weight", "period", "--event", "page-faults", "two")
    assert (done.stdout, done.stderr) == ("prog;[prog];[lib.so] 7\n", "")


def test_fold_adds_all_samples_where_asked_to(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    done = undwarf("fold", "--weight", "samples", "two")
    assert (done.stdout, done.stderr) == ("prog;[prog];[lib.so] 1\nprog;[prog];[prog] 3\n", "")


def test_script(undwarf: Run, perf_data: Path) -> None:
    lines = undwarf("script", perf_data).stdout.splitlines()
    assert lines[0] == "prog      11 [000]     1.500000:          5 cpu-clock: "
    assert lines[1] == "\t          400010 [unknown] (/nowhere/prog)"


def test_script_of_a_plain_file_that_describes_a_further_event(undwarf: Run, perf_data: Path) -> None:
    build = Build()
    first, second = Attr(sample_type=PLAIN | IDENTIFIER, ids=[1]), Attr(sample_type=PLAIN | IDENTIFIER, ids=[2])
    samples = [build.sample(attr, ip=0x400010, time=1_000_000_000, ident=attr.ids[0]) for attr in (first, second)]
    perf_data.write_bytes(build.file([first], [samples[0], build.header_attr(second), samples[1]]))
    done = undwarf("script", "-F", "ip", perf_data)
    assert (done.returncode, done.stdout.split()) == (0, ["400010", "400010"])


def test_script_says_what_was_not_recorded(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("script", "-F", "comm,addr,ip", perf_data)
    assert done.stderr == "note: not shown, since not recorded: addr\n"


def test_report_as_json(undwarf: Run, perf_data: Path) -> None:
    found = json.loads(undwarf("report", "--json", perf_data).stdout)
    assert found["samples"] == 3
    assert found["events"][0]["weight"] == 15


def test_report_groups_events_when_asked_to(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    assert "Group of 2 events\n1: cpu-clock" in undwarf("report", "--group", "two").stdout
    assert "Group" not in undwarf("report", "two").stdout


def test_report_by_event_does_not_add_units(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    shown = undwarf("report", "-s", "event", "-g", "none", "two").stdout.splitlines()
    assert [line.split() for line in shown if "%" in line and "  " in line and "event" not in line][-2:] == [
        ["100.00%", "100.00%", "cpu-clock"],
        ["100.00%", "100.00%", "page-faults"],
    ]


def test_report_groups_events_as_they_were_recorded(undwarf: Run, tmp_path: Path) -> None:
    name = b"{a,b}".ljust(64, b"\0")
    group = struct.pack("<II", 1, len(name)) + name + struct.pack("<II", 0, 2)
    (tmp_path / "two").write_bytes(two_events({17: group}))
    assert "Group of 2 events\n1: cpu-clock" in undwarf("report", "two").stdout
    assert "Group" not in undwarf("report", "--no-group", "two").stdout


@pytest.mark.parametrize("samples_of_first", [0, 1])
def test_info_names_a_process_by_its_first_thread(undwarf: Run, perf_data: Path, samples_of_first: int) -> None:
    build = Build()
    attr = Attr(sample_type=PLAIN, ids=[1])
    records = [
        build.comm(attr, b"prog", pid=10, tid=10, time=1),
        build.comm(attr, b"worker", pid=10, tid=11, time=1),
        *(build.sample(attr, tid=10, time=1_500_000_000) for _ in range(samples_of_first)),
        *(build.sample(attr, tid=11, time=1_500_000_001) for _ in range(3)),
    ]
    perf_data.write_bytes(build.file([attr], records))
    (process,) = json.loads(undwarf("info", "--json", perf_data).stdout)["processes"]
    assert process == {"pid": 10, "comm": "prog", "samples": 3 + samples_of_first}


def test_info_as_json(undwarf: Run, perf_data: Path) -> None:
    found = json.loads(undwarf("info", "--json", perf_data).stdout)
    assert found["processes"] == [{"pid": 10, "comm": "prog", "samples": 3}]
    assert found["bad_images"][0]["dso"] == "/nowhere/prog"
    assert found["records"]["SAMPLE"] == 3


def test_flamegraph_writes_a_page(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("flamegraph", perf_data, "-o", "out.html")
    page = perf_data.parent / "out.html"
    assert (done.returncode, done.stdout) == (0, "")
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    assert done.stderr.startswith("wrote out.html (")


def test_flamegraph_goes_to_standard_output(undwarf: Run, perf_data: Path) -> None:
    assert undwarf("flamegraph", perf_data, "-o", "-").stdout.lstrip().lower().startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_leaves_nothing_behind(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("flamegraph", perf_data, "-o", "nowhere/out.html")
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write nowhere/out.html\n")
    (perf_data.parent / "taken.html").mkdir()
    assert undwarf("flamegraph", perf_data, "-o", "taken.html").returncode == 2
    assert sorted(path.name for path in perf_data.parent.iterdir()) == ["perf.data", "taken.html"]


def test_doctor(undwarf: Run) -> None:
    done = undwarf("doctor", "--json")
    assert done.returncode == 0
    assert {finding["check"] for finding in json.loads(done.stdout)["findings"]} >= {
        "compiled code",
        "perf events",
        "architecture",
    }


@pytest.mark.parametrize(
    ("options", "samples"),
    [
        (["--pid", "10"], 3),
        (["--pid", "9-11"], 3),
        (["--tid", "11"], 3),
        (["--cpu", "0"], 2),
        (["--comm", "pr*"], 3),
        (["--time", "1.500001,"], 2),
        (["--time", ",1.500001"], 2),
        (["--time", "1.5000005,1.5000015"], 1),
        (["--time", "0,0.000001"], 2),
        (["--time", "0%-50%"], 1),
        (["--time", "50%/2"], 2),
        (["--event", "cpu-*"], 3),
        (["--dsos", "prog"], 3),
        (["--caller", "*"], 3),
    ],
)
def test_filters(undwarf: Run, perf_data: Path, options: list[str], samples: int) -> None:
    assert undwarf("fold", *options, perf_data).stdout.split()[-1] == str(samples)


def test_nothing_passes_the_filters(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("report", "--pid", "999", perf_data)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no sample of ")


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--pid", "999", "no process 999; there are: 10 prog"),
        ("--tid", "999", "no thread 999; there are: 11"),
        ("--cpu", "7", "no CPU 7; there are: 0, 1"),
        ("--comm", "porg", "no thread named porg; there are: prog"),
        ("--time", "7,8", "the samples are from 1.500000000 to 1.500002000 s"),
    ],
)
def test_a_filter_that_finds_nothing_says_what_there_is(
    undwarf: Run, perf_data: Path, option: str, value: str, why: str
) -> None:
    done = undwarf("fold", option, value, perf_data)
    assert (done.returncode, done.stderr.splitlines()[1]) == (1, f"  why: {why}")


def test_filters_that_find_something_each_but_nothing_together(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("fold", "--cpu", "1", "--time", "1.500002,", perf_data)
    assert (done.returncode, done.stderr.splitlines()[2]) == (1, "  try: leave one of them out")


@pytest.mark.parametrize("command", ["report", "fold", "script", "flamegraph", "types"])
def test_commands_choose_by_file_and_function(undwarf: Run, perf_data: Path, command: str) -> None:
    assert undwarf(command, "--dsos", "prog", perf_data).returncode == 0
    done = undwarf(command, "-S", "nowhere", perf_data)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "error: no sample was taken in a function named nowhere",
    )


def test_info_says_when_the_recording_begins_and_ends(undwarf: Run, perf_data: Path) -> None:
    lines = undwarf("info", perf_data).stdout.splitlines()
    assert "  begin     1.500000 s, by the recording's clock" in lines
    assert "  end       1.500002 s, by the recording's clock" in lines


def test_a_recording_without_samples(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(recording(samples=0))
    done = undwarf("report", "empty")
    assert (done.returncode, done.stdout) == (1, "")
    assert undwarf("info", "empty").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["report", "--nonsense"],
        ["report", "--sort", "nonsense"],
        ["report", "-g", "nonsense"],
        ["script", "-F", "nonsense"],
        ["fold", "--pid", "x"],
        ["fold", "--pid", "1-999999999999"],
        ["fold", "--time", "x,y"],
        ["fold", "--time", "3,2"],
        ["fold", "--event", "nonsense"],
        ["completion", "tcsh"],
    ],
)
def test_usage_errors_exit_with_2(undwarf: Run, perf_data: Path, arguments: list[str]) -> None:
    done = undwarf(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "rror" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    "content", [b"", b"PERF", b"\x7fELF" + bytes(100), bytes(4096)], ids=["empty", "cut", "elf", "zero"]
)
def test_what_is_no_recording_exits_with_3(undwarf: Run, tmp_path: Path, command: str, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    done = undwarf(command, "x")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) <= 3


def test_a_missing_file_exits_with_3_and_says_what_to_try(undwarf: Run) -> None:
    done = undwarf("report", "nowhere.data")
    assert done.returncode == 3
    assert [line.split(":")[0].strip() for line in done.stderr.splitlines()] == ["error", "why", "try"]


def test_hostile_names_are_escaped(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(recording(comm=b"\x1b]0;x\x07\n"))
    for command in READERS:
        assert "\x1b" not in undwarf(command).stdout, command


def test_a_hostile_file_name_is_escaped(undwarf: Run) -> None:
    assert "\x1b" not in undwarf("report", "\x1b[2J").stderr


def test_output_is_plain_without_a_terminal(undwarf: Run, perf_data: Path) -> None:
    assert "\x1b" not in undwarf("report", perf_data, TERM="xterm-256color").stdout


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(recording(samples=20_000))
    command = subprocess.Popen(
        [sys.executable, "-m", "undwarf", "script"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.stdout.close()
    assert (command.wait(60), command.stderr.read()) == (0, b"")
    command.stderr.close()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_is_written_in_large_pieces(perf_data: Path, unbuffered: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        subprocess.run(
            [sys.executable, "-m", "undwarf", "info", "--json", str(perf_data)],
            stdout=theirs,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            timeout=60,
            check=True,
        )
        # Each write comes as a message of its own.
        assert json.loads(ours.recv(1 << 20))["wholeness"]


@pytest.mark.parametrize("command", ["script", "info"])
def test_a_full_disk_is_an_error(perf_data: Path, command: str) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "undwarf", command, str(perf_data)],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 3
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_an_interrupt_exits_with_130(tmp_path: Path) -> None:
    # Reads from a pipe that never delivers, so that it is surely still busy.
    reader, writer = os.pipe()
    command = subprocess.Popen(
        [sys.executable, "-m", "undwarf", "report", "-"],
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Shells start what runs in the background with interrupts ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(reader)
    for _ in range(100):
        time.sleep(0.05)
        if "pipe" in Path(f"/proc/{command.pid}/wchan").read_text():
            break
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    os.close(writer)
    assert (command.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_filters_that_nothing_passes_with_several_threads(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "many").write_bytes(recording(samples=2500))
    done = undwarf("report", "--jobs", "2", "--comm", "nobody", "many")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: no sample of many passes the filters")


def test_input_without_an_end_is_no_recording(undwarf: Run) -> None:
    done = undwarf("fold", "/dev/zero")
    assert (done.returncode, done.stderr.splitlines()[1][:38]) == (3, "  why: it is not a perf.data file, and")


@pytest.mark.parametrize("option", ["--symfs", "--kallsyms", "--vmlinux", "--debug-dir"])
def test_an_option_that_names_nothing_is_an_error(undwarf: Run, perf_data: Path, option: str) -> None:
    done = undwarf("fold", option, "not-here", perf_data)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {option} not-here does not exist")


def test_any_number_of_frames_may_be_asked_for(undwarf: Run, perf_data: Path) -> None:
    assert undwarf("fold", "--max-stack", "9" * 30, perf_data).stdout == undwarf("fold", perf_data).stdout


def test_a_full_disk_is_told(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("flamegraph", "-o", "/dev/full", perf_data)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: cannot write /dev/full")


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "--percent-limit", "nan"],
        ["report", "-g", "caller,nan"],
        ["report", "-g", "caller,-1"],
        ["record", "-c", str(1 << 63), "--", "true"],
        ["record", "--buffer", "9" * 20, "--", "true"],
        ["record", "--duration", "nan", "--", "true"],
    ],
)
def test_numbers_that_are_none_or_too_large(undwarf: Run, perf_data: Path, arguments: list[str]) -> None:
    done = undwarf(*arguments)
    assert (done.returncode, "Invalid value" in done.stderr) == (2, True)


def test_a_terminal_that_is_not_utf_8_gets_plain_characters(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "named").write_bytes(recording("na\u00efve\u2192".encode()))
    done = undwarf("report", "named", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"na\xefve>" in done.stdout
