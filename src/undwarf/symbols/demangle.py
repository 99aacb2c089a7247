"""Readable names for mangled C++ and Rust symbols, in the form perf prints them.

C++ is read by :mod:`undwarf.symbols.itanium.demangling`, of our own, for two reasons. The spelling is that of binutils,
as perf prints it: of 227,845 names of one machine 56 differ. And each name ends: libstdc++'s and LLVM's demanglers
(cxxfilt, pydemumble, pycxxfilt) have no bound on steps or on output, so that a name of 200 bytes can stand for
gigabytes; itanium-demangler is Python, 100 times as slow, and knows half of the grammar; multi-demangle is bounded, but
loses parameters of packs and of constructors. For Rust multi-demangle is the best of them: bounded, and it drops the
hash of symbols as perf does.
"""

import re
from collections.abc import Sequence

from undwarf.limits import DEFAULT, Limits

_PREFIXES = ("_Z", "_R", "__Z")
_NESTED_RUST = 4
"""A Rust name holds the start mark of another one at most this often; thousands of them take long to refuse."""
_OVERLONG = 64
"""After so many names that were too long once demangled, the rest of a batch stays mangled: someone plays tricks."""
_COSTLY = 64
"""As many names of C++ of a batch may cost all that one may; then each may cost as much as common ones do."""
_FRUGAL = 250
"""Steps: 99 of 100 names of real programs take less, their mean is 40."""
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
    from undwarf.symbols.itanium.demangling import Demangler

    steps = limits.demangle_steps
    cpp = Demangler(limits.demangle_output, steps, _COSTLY * steps + _FRUGAL * len(mangled), _FRUGAL)
    rust = []
    for i in mangled:
        name = found[i]
        legacy = _LEGACY_RUST.search(name)
        if legacy is not None:
            # Only the compiler's own marks come behind the hash.
            rust.append((i, name[: legacy.end()]))
        elif name.startswith("_Z"):
            found[i] = cpp.name(name) or name
        elif name.startswith("__Z"):
            found[i] = cpp.name(name[1:]) or name
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
