"""Stacks of threads, in the format of debuggers or as JSON."""

import signal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from undwarf.outputs.json_lines import dumps
from undwarf.outputs.json_values import address, known
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.model import Profile, Sample
from undwarf.unwind.stop_reason import DESCRIPTIONS, StopReason

if TYPE_CHECKING:
    from undwarf.outputs.schemas.stack import Stack


def _ending(sample: Sample) -> str:
    """Why a stack is not whole; empty if it is."""
    reason = StopReason(sample.stop)
    if reason is StopReason.DEPTH:
        return f"{DESCRIPTIONS[reason]} (--max-stack)"
    return "" if reason in (StopReason.ROOT, StopReason.FIBER_ROOT) else DESCRIPTIONS.get(reason, "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def lines(profile: Profile, process: str, source: bool = True, ended_by: int = 0) -> Iterator[str]:
    """The text, line by line: the process, then each thread with its frames, innermost first.

    ``ended_by``: the signal that ended the process, 0 for none. A stack that is not whole ends with the reason.
    """
    samples = list(profile.samples)
    if samples:
        yield printable(f"{samples[0].pid} {process}" + (f", ended by {_signal_name(ended_by)}" if ended_by else ""))
    for sample in samples:
        yield printable(f"TID {sample.tid} {sample.comm}:")
        for number, frame in enumerate(sample.stack):
            text = f"#{number:<3} 0x{frame.runtime or frame.address:016x} {frame.name}"
            if frame.inline_depth:
                text += " [inlined]"
            if source and frame.file:
                text += f" at {frame.file}:{frame.line}" if frame.line else f" at {frame.file}"
            yield printable(f"{text} ({frame.dso})")
        ending = _ending(sample)
        if ending:
            yield f"     ... {printable(ending)}"


def to_json(profile: Profile, process: str, stopped_ns: Sequence[int], ended_by: int = 0) -> str:
    """The stacks as one JSON object; ``stopped_ns``: how long each thread was stopped, 0 if it was not."""
    samples = list(profile.samples)
    document: Stack = {
        "schema": "undwarf/stack",
        "version": 1,
        "pid": samples[0].pid if samples else None,
        "comm": process,
        "signal": _signal_name(ended_by) if ended_by else None,
        "threads": [
            {
                "tid": sample.tid,
                "comm": known(sample.comm),
                "frames": [
                    {
                        "ip": address(frame.runtime or frame.address.value),
                        "sym": known(frame.name),
                        "dso": known(frame.dso),
                        "file": known(frame.file),
                        "line": frame.line or None,
                        "inlined": bool(frame.inline_depth),
                    }
                    for frame in sample.stack
                ],
                "incomplete": known(_ending(sample)),
                "stopped_ns": stopped or None,
            }
            for sample, stopped in zip(samples, stopped_ns, strict=True)
        ],
    }
    return dumps(document)
