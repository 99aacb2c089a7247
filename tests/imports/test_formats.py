"""Which format a file has is recognised by its contents; what has none is refused."""

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.commands import recording
from tests.support.profile_files import FILES, FOLDED, SCRIPT, opened, stacks

import undwarf
from undwarf.errors import UnreadableInput
from undwarf.imports.formats import recognised


@pytest.mark.parametrize("format", FILES)
def test_a_format_is_recognised_by_its_contents(format: str) -> None:
    assert recognised(FILES[format], "x") == format


@pytest.mark.parametrize("format", FILES)
def test_compressed_or_not_a_file_gives_the_same(format: str) -> None:
    plain, packed = opened(FILES[format]), opened(gzip.compress(FILES[format]))
    assert stacks(plain.profile()) == stacks(packed.profile()) != {}


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"{closure};main 3\n", "folded"),
        (b"\n\n# a comment\na 1\n", "folded"),
        (b"a;b 1\n" * 100 + b"what is this\n", "folded"),
        (b'  \n{ "a": 1}', "speedscope"),
        (b"# ========\n# captured on\n#\n" + SCRIPT, "perf-script"),
        (b"\t401126 main (/bin/app)\n", "perf-script"),
        (b"  perf-exec  7 [001] 5.1: PERF_RECORD_COMM exec: app:7/7\n", "perf-script"),
    ],
)
def test_the_rules_of_recognition(data: bytes, format: str) -> None:
    assert recognised(data, "x") == format


@pytest.mark.parametrize(
    "data",
    [
        b"a",
        b"some text\n",
        b"Dear John: this is a letter.\n",
        b"a;b 1\na;c\n",
        b"\0" * 100,
        b"\x7fELF" + bytes(60),
        b"[1, 2]",
        b"\x0b\x01\x02",
        gzip.compress(b"some text\n", mtime=0),
        b"2026-11-28 14:00:01.123: a log: of something\n",
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableInput, match="it is not a perf"):
        opened(data)


def test_what_was_looked_for_is_said() -> None:
    with pytest.raises(UnreadableInput) as refused:
        opened(b"some text\n")
    assert all(word in refused.value.why for word in ("folded", "pprof", "perf script", "speedscope"))


def test_a_format_that_is_given_is_not_guessed_otherwise() -> None:
    with pytest.raises(UnreadableInput, match="cut short or damaged"):
        opened(FOLDED, "pprof")


def test_with_the_format_of_recordings_nothing_else_is_opened() -> None:
    with pytest.raises(UnreadableInput, match=r"it is not a perf\.data file$"):
        undwarf.open(io.BytesIO(FOLDED * 9), format="perf.data")


def test_a_recording_is_opened_as_one_from_a_stream() -> None:
    with undwarf.open(io.BytesIO(recording())) as opened_recording:
        assert isinstance(opened_recording, undwarf.Recording)
        assert len(opened_recording.profile().samples) == 3


@pytest.mark.parametrize("data", [FOLDED, recording(), b"some text\n", b""])
def test_a_named_pipe(tmp_path: Path, data: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    samples = 0
    try:
        with undwarf.open(pipe) as found:
            samples = len(found.profile().samples)
    except UnreadableInput as error:
        assert error.what == f"cannot read {pipe}"
    writer.join()
    assert samples == {FOLDED: 2, recording(): 3}.get(data, 0)


def test_an_input_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="No such file"):
        undwarf.open(tmp_path / "missing")


def test_opening_a_recording_imports_no_reader_of_other_tools(tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(recording())
    code = "import sys, undwarf; undwarf.open('perf.data').profile(); print('undwarf.imports.formats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"
