"""JIT runtimes: the options that make them write symbols, and those that let stacks be walked through their code."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple


class Runtime(NamedTuple):
    """One runtime: what files of it are called, what has it name its code, and what lets stacks go through that."""

    files: str
    naming: str
    walking: str


RUNTIMES = (
    Runtime(
        r"libjvm\.so",
        "java -agentpath:.../libperf-jvmti.so under perf record -k mono, or "
        "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
        "java -XX:+PreserveFramePointer",
    ),
    Runtime(
        r"(lib)?python3[.0-9]*(\.so[.0-9]*)?",
        "python3 -X perf (3.12), or -X perf_jit (3.13) under perf record -k mono",
        "python3 -X perf (3.12) with its /tmp/perf-PID.map at hand, or -X perf_jit (3.13) under perf record -k mono; "
        "without PYTHON_JIT=1",
    ),
    Runtime(
        r"node|nodejs|libnode\.so[.0-9]*",
        "node --perf-basic-prof, or --perf-prof under perf record -k mono",
        "node --perf-prof --perf-prof-unwinding-info under perf record -k mono",
    ),
    Runtime(r"ruby[.0-9]*|libruby.*\.so[.0-9]*", "ruby --yjit-perf (3.3)", "ruby --yjit-perf (3.3)"),
    Runtime(r"mono(-sgen|-boehm)?|libmono.*\.so[.0-9]*", "mono --jitmap", "MONO_DEBUG=disable_omit_fp mono"),
    Runtime(r"beam\.smp", "erl +JPperf true (25)", "erl +JPperf true (25)"),
)
"""V8's own code has frame pointers whatever its options; what it generates for WebAssembly may lack them."""


def naming(paths: Iterable[str]) -> list[str]:
    """What makes runtimes tell of the code they made: those that a recording has files of, else all."""
    found = list(_those(paths))
    return [one.naming for one in found or RUNTIMES]


def walking(paths: Iterable[str], dumps: Collection[str] = (), *, followed: bool = False) -> str:
    """What to do where stacks end in code made at run time. ``dumps`` are the recording's jitdump files that are not
    here. ``followed``: other stacks go on from this code by frame pointers, so that it keeps them."""
    if dumps:
        return f"provide the jitdump: put a copy of {min(dumps)} below DIR and use --symfs DIR"
    found = [one.walking for one in _those(paths)]
    if found:
        return f"nothing describes the code compiled at run time there: {', or '.join(found)}"
    if followed:
        return (
            "its frame pointers are followed, but not set up at every address: have the runtime write a jitdump with "
            "unwinding information under perf record -k mono"
        )
    return (
        "nothing describes the code compiled at run time there: let the runtime keep frame pointers, or write a "
        "jitdump with unwinding information under perf record -k mono"
    )


def _those(paths: Iterable[str]) -> Iterator[Runtime]:
    names = {path.removesuffix(" (deleted)").rsplit("/", 1)[-1] for path in paths}
    for one in RUNTIMES:
        if any(re.fullmatch(one.files, name) for name in names):
            yield one
