"""Readable names for mangled C++ and Rust symbols, in the form perf prints them.

C++ is read by :mod:`undwarf.symbols.itanium.demangling`. For Rust multi-demangle was chosen by measurement over
pydemumble, cxxfilt, cpp-demangle and pycxxfilt: its output is bounded (a 200-byte name can stand for gigabytes, which
kill a process that uses LLVM's or libstdc++'s demangler), and it drops the hash of Rust symbols as perf does. Its names
of C++ lose parameters of packs and of constructors.
"""

import re
from collections.abc import Sequence

from undwarf.limits import DEFAULT, Limits

_PREFIXES = ("_Z", "_R", "__Z")
_NESTED_RUST = 4
"""A Rust name holds the start mark of another one at most this often; thousands of them take long to refuse."""
_OVERLONG = 64
"""After so many names that were too long once demangled, the rest of a batch stays mangled: someone plays tricks."""
_BATCH = 512
_LEGACY_RUST = re.compile(r"17h[0-9a-f]{16}E(?=\.|\Z)")


def demangle(name: str, limits: Limits = DEFAULT) -> str:
    """The source's name for a symbol; the symbol itself where it is not mangled, or too long to try."""
    return demangle_all([name], limits)[0]


def demangle_all(names: Sequence[str], limits: Limits = DEFAULT) -> list[str]:
    """As :func:`demangle` for many names, at once."""
    found = list(names)
    mangled = [i for i, name in enumerate(found) if name[:1] == "_" and _worth_trying(name, limits)]
    if not mangled:
        return found
    # Programs of C need none of it.
    from undwarf.symbols.itanium.demangling import demangled

    rust = []
    for i in mangled:
        name = found[i]
        legacy = _LEGACY_RUST.search(name)
        if legacy is not None:
            # Only the compiler's own marks come behind the hash.
            rust.append((i, name[: legacy.end()]))
        elif name.startswith("_Z"):
            found[i] = demangled(name, limits.demangle_output) or name
        else:
            rust.append((i, name))
    if rust:
        _from_rust(rust, found, limits)
    return found


def _from_rust(rust: list[tuple[int, str]], found: list[str], limits: Limits) -> None:
    from multi_demangle import demangle_symbols

    overlong = 0
    for start in range(0, len(rust), _BATCH):
        part = rust[start : start + _BATCH]
        texts = demangle_symbols([name for _, name in part])
        for (i, name), text in zip(part, texts, strict=True):
            if len(text) > limits.demangle_output:
                overlong += 1
            elif text != name:
                found[i] = text
        if overlong > _OVERLONG:
            break


def _worth_trying(name: str, limits: Limits) -> bool:
    return (
        name.startswith(_PREFIXES)
        and len(name) <= limits.demangle_input
        and not (name.startswith("_R") and name.count("_R") > _NESTED_RUST)
    )
