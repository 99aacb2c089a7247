"""Checks this machine for recording and reading profiles: perf events, symbols, debug files, caches."""

import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; ``state`` is good, note (works, with limits) or bad; ``advice`` what to do."""

    state: Literal["good", "note", "bad"]
    what: str
    fact: str
    advice: str = ""


LIBRARIES = ("click", "rich", "zstandard", "multi_demangle", "demangle", "httpx")


def examine() -> list[Finding]:
    """All findings, most basic first. Never accesses a network."""
    return [
        _kernels(),
        _libraries(),
        _python(),
        _perf(),
        _paranoid(),
        _frequency(),
        _kptr(),
        _machine(),
        *_directories(),
        _tables(),
        _debuginfod(),
    ]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def kernels() -> list[str]:
    """Names, without the package's, of the modules to be compiled: their first line is a ``# cython:`` directive."""
    root = Path(__file__).parent.parent
    found = []
    for path in sorted(root.rglob("*.py")):
        with path.open("rb") as file:
            if file.readline().startswith(b"# cython:"):
                found.append(".".join(path.relative_to(root).with_suffix("").parts))
    return found


def _kernels() -> Finding:
    names = kernels()
    missing = []
    for name in names:
        try:
            module = importlib.import_module(f"undwarf.{name}")
        except ImportError as error:
            missing.append(f"{name} ({error})")
            continue
        if not str(module.__file__).endswith(".so"):
            missing.append(name)
    if missing:
        return Finding("bad", "compiled code", f"not compiled: {', '.join(missing)}", "make build, or pip install .")
    return Finding("good", "compiled code", f"all {len(names)} kernels are compiled")


def _libraries() -> Finding:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return Finding("bad", "libraries", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return Finding("good", "libraries", ", ".join(LIBRARIES))


def _python() -> Finding:
    return Finding("good", "python", f"{platform.python_version()} on {platform.system()} {platform.release()}")


def _perf() -> Finding:
    path = shutil.which("perf")
    if path is None:
        return Finding("note", "perf", "not installed", "to record here, install your distribution's perf (linux-perf)")
    try:
        out = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("note", "perf", f"{path} does not run: {error}")
    return Finding("good", "perf", f"{out.stdout.strip() or 'unknown version'} at {path}")


def _paranoid() -> Finding:
    value = _read("/proc/sys/kernel/perf_event_paranoid")
    if not value:
        return Finding("bad", "perf events", "this kernel has none", "recordings from elsewhere can be read")
    root = os.geteuid() == 0
    level = int(value) if value.lstrip("-").isdigit() else 2
    if root or level < 1:
        return Finding(
            "good", "perf events", f"perf_event_paranoid is {value}" + (", and you are root" if root else "")
        )
    fact = {1: "your own processes, with the kernel", 2: "your own processes, without the kernel"}.get(
        level, "not allowed"
    )
    return Finding(
        "note",
        "perf events",
        f"perf_event_paranoid is {value}: {fact}",
        "sysctl kernel.perf_event_paranoid=-1 allows all",
    )


def _frequency() -> Finding:
    rate = _read("/proc/sys/kernel/perf_event_max_sample_rate") or "unknown"
    depth = _read("/proc/sys/kernel/perf_event_max_stack") or "unknown"
    fact = f"at most {rate} samples a second, {depth} frames in a chain"
    if rate.isdigit() and int(rate) < 1000:
        return Finding("note", "sampling", fact, "sysctl kernel.perf_event_max_sample_rate=100000")
    return Finding("good", "sampling", fact)


def _kptr() -> Finding:
    try:
        with open("/proc/kallsyms", encoding="ascii", errors="replace") as file:
            first = file.readline()
    except OSError:
        first = ""
    if not first:
        return Finding("note", "kernel symbols", "/proc/kallsyms cannot be read", "use --kallsyms or --vmlinux")
    if first.startswith("0000000000000000"):
        return Finding(
            "note", "kernel symbols", "hidden (kptr_restrict)", "sysctl kernel.kptr_restrict=0, or read as root"
        )
    return Finding("good", "kernel symbols", "/proc/kallsyms shows addresses")


def _machine() -> Finding:
    machine = platform.machine()
    if machine == "x86_64":
        return Finding("good", "architecture", machine)
    return Finding("note", "architecture", f"{machine}: recordings of x86-64 can be read, its own are not unwound yet")


def _directories() -> list[Finding]:
    found = []
    for what, place, advice in (
        ("debug files", "/usr/lib/debug", "your distribution's debug packages put files there"),
        ("perf's cache", "~/.debug", "perf record and perf buildid-cache fill it"),
    ):
        full = Path(place).expanduser()
        if full.is_dir():
            found.append(Finding("good", what, str(full)))
        else:
            found.append(Finding("note", what, f"{place} does not exist", advice))
    return found


def _tables() -> Finding:
    from undwarf.tables.disk.cache import Store

    store = Store.from_environment()
    if store is None:
        return Finding("note", "unwind tables", "not cached on disk: UNDWARF_CACHE_DIR is off")
    count, size = store.usage()
    return Finding("good", "unwind tables", f"{count:,} cached, {size / 1e6:,.1f} MB, in {store.directory}")


def _debuginfod() -> Finding:
    urls = os.environ.get("DEBUGINFOD_URLS", "")
    if not urls:
        return Finding("note", "debuginfod", "DEBUGINFOD_URLS is not set: --debuginfod has no server to ask")
    return Finding("good", "debuginfod", f"--debuginfod asks {urls}; without it, nothing is fetched")
