"""The recording that is shipped: a real one, of a static program, so that its output is the same everywhere."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.commands import Run

FOLDER = Path(__file__).parent.parent.parent / "examples" / "recording"
OPTIONS = [FOLDER / "words.data", "--symfs", FOLDER]


def folded(script: str) -> Counter[str]:
    """Samples of ``script -F comm,ip,sym`` by their stacks, root first."""
    found: Counter[str] = Counter()
    for sample in script.strip("\n").split("\n\n"):
        head, *frames = sample.split("\n")
        found[
            ";".join([head.strip(), *(frame.split(" ", 1)[1].strip().split(" ", 1)[1] for frame in frames[::-1])])
        ] += 1
    return found


def test_script_and_fold_tell_the_same(undwarf: Run) -> None:
    script = folded(undwarf("script", "-F", "comm,ip,sym", *OPTIONS).stdout.replace("\t", " "))
    fold = undwarf("fold", *OPTIONS).stdout
    assert {path: int(count) for path, _blank, count in (line.rpartition(" ") for line in fold.splitlines())} == script


def test_report_of_the_shipped_recording(undwarf: Run, snapshot: Callable[[str], None]) -> None:
    done = undwarf("report", "--percent-limit", "5", *OPTIONS)
    assert done.stderr == ""
    snapshot(done.stdout.replace(f"{FOLDER}/", ""))


def test_all_its_stacks_are_whole(undwarf: Run) -> None:
    assert "100.00 % whole" in undwarf("info", *OPTIONS).stdout


@pytest.mark.parametrize("command", ["fold", "script", "report"])
def test_the_number_of_threads_does_not_show(undwarf: Run, command: str) -> None:
    assert undwarf(command, "--jobs", "1", *OPTIONS).stdout == undwarf(command, "--jobs", "3", *OPTIONS).stdout
