"""JIT runtimes: the options with which they write symbols, and those with which their code can be unwound."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Runtime(NamedTuple):
    """One runtime: a pattern of its files' names, and how to start it for names and for unwinding."""

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
"""V8's JavaScript code always has frame pointers; its WebAssembly code may lack them."""


def naming(paths: Iterable[str]) -> list[str]:
    """How to start the runtimes that a recording has files of (else all) so that they name their code."""
    return [runtime.naming for runtime in _runtimes_of(paths) or RUNTIMES]


def walking(paths: Iterable[str], dumps: Collection[str] = (), *, followed: bool = False) -> str:
    """What to do if stacks end in JIT-compiled code. ``dumps``: missing jitdump files of the recording. ``followed``:
    other stacks continue from this code by frame pointers."""
    if dumps:
        return f"provide the jitdump: put a copy of {min(dumps)} below DIR and use --symfs DIR"
    commands = [runtime.walking for runtime in _runtimes_of(paths)]
    if commands:
        return f"nothing describes the code compiled at run time there: {', or '.join(commands)}"
    if followed:
        return (
            "its frame pointers are followed, but not set up at every address: have the runtime write a jitdump with "
            "unwinding information under perf record -k mono"
        )
    return (
        "nothing describes the code compiled at run time there: let the runtime keep frame pointers, or write a "
        "jitdump with unwinding information under perf record -k mono"
    )


def _runtimes_of(paths: Iterable[str]) -> list[Runtime]:
    names = {path.removesuffix(" (deleted)").rsplit("/", 1)[-1] for path in paths}
    return [runtime for runtime in RUNTIMES if any(re.fullmatch(runtime.files, name) for name in names)]
