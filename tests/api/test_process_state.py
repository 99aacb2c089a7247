"""undwarf as a library leaves the settings of the process alone."""

import subprocess
import sys
from pathlib import Path

RECORDING = Path(__file__).parent.parent.parent / "examples" / "recording"

PROGRAM = """
import gc, importlib, pathlib, pkgutil, signal, sys, warnings

def state():
    status = pathlib.Path("/proc/self/status").read_text()
    handled = [line for line in status.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    python = [signal.getsignal(number) for number in signal.valid_signals()]
    return handled, python, gc.get_threshold(), gc.isenabled(), gc.get_freeze_count(), sys.meta_path[:]

before = state()
import undwarf
for module in pkgutil.walk_packages(undwarf.__path__, "undwarf."):
    importlib.import_module(module.name)
with undwarf.open(sys.argv[1], symfs=sys.argv[2], cache=False) as recording:
    print(len(recording.profile().samples) > 100)
print(state() == before)
undwarf.handle_truncation()
print(state()[0] == before[0])
"""


def test_importing_all_and_reading_a_recording_sets_nothing() -> None:
    command = [sys.executable, "-c", PROGRAM, str(RECORDING / "words.data"), str(RECORDING)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "True", "False"]
