"""Readable names for mangled symbols, C++ and Rust in the form perf prints them.

C++ is read by :mod:`undwarf.symbols.itanium.demangling`, of our own, for two reasons. The spelling is that of binutils,
as perf prints it: of 227,845 names of one machine 56 differ. And each name ends: libstdc++'s and LLVM's demanglers
(cxxfilt, pydemumble, pycxxfilt) have no bound on steps or on output, so that a name of 200 bytes can stand for
gigabytes; itanium-demangler is Python and knows half of the grammar; multi-demangle is bounded, but loses parameters of
packs and of constructors. For Rust multi-demangle is the best of them: bounded, and it drops the hash of symbols as
perf does.

Other languages are in `other_demanglers.py`; names that could also be C are demangled only in images of the language
(`language_detection.py`).
"""

import re
from collections.abc import Callable, Sequence

from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.language_detection import Language, shapes

_MARKS = ("_D", "_T")
_PREFIXES = ("_Z", "_R", "__Z")
_NESTED_RUST = 4
"""Maximum start marks of further names inside a Rust name; thousands of them take long to reject."""
_OVERLONG = 64
"""After so many names that are too long once demangled, the rest of a batch stays mangled: the input is hostile."""
_COSTLY = 64
"""How many C++ names of a batch may use the full budget; after that each has the budget of a common name."""
_FRUGAL = 250
"""Steps: 99 of 100 names of real programs take less, their mean is 40."""
_BATCH = 512
_LEGACY_RUST = re.compile(r"17h[0-9a-f]{16}E(?=\.|\Z)")


def demangle(name: str, limits: Limits = DEFAULT) -> str:
    """The demangled name of a symbol; the symbol itself if it is not mangled, or too long."""
    return demangle_all([name], limits)[0]


def demangle_all(names: Sequence[str], limits: Limits = DEFAULT) -> list[str]:
    """As :func:`demangle` for many names, at once."""
    found = list(names)
    _of_cpp_and_rust(found, limits)
    # Only names with a mark of some language are checked further.
    marked = [i for i, name in enumerate(names) if "$" in name or name[:2] in _MARKS or name[:4] == "caml"]
    if marked:
        from undwarf.symbols.other_demanglers import demangle_marked

        demangle_marked(marked, found, limits)
    return found


def demangle_own(names: Sequence[str], has: Callable[[Language], bool], limits: Limits = DEFAULT) -> list[str]:
    """Demangle the names of one image, of languages that C names may look like only if the image ``has`` them."""
    found = list(names)
    shaped: dict[Language, list[int]] = {}
    for i, name in enumerate(names):
        for language in shapes(name) if len(name) <= limits.demangle_input else ():
            shaped.setdefault(language, []).append(i)
    if shaped:
        from undwarf.symbols.other_demanglers import demangle_of

        for language, numbers in shaped.items():
            left = [i for i in numbers if found[i] is names[i]]
            if left and has(language):
                demangle_of(language, left, found, limits)
    return found


def _of_cpp_and_rust(found: list[str], limits: Limits) -> None:
    mangled = [i for i, name in enumerate(found) if name[:1] == "_" and _worth_trying(name, limits)]
    if not mangled:
        return
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


def _from_rust(rust: list[tuple[int, str]], found: list[str], limits: Limits) -> None:
    from multi_demangle import demangle_symbols

    overlong = 0
    for start in range(0, len(rust), _BATCH):
        part = rust[start : start + _BATCH]
        # Of any other language its demangler may end the process.
        texts = demangle_symbols([name for _, name in part], language="rust")
        for (i, name), text in zip(part, texts, strict=True):
            if len(text) > limits.demangle_output:
                overlong += 1
            elif text and text != name:
                found[i] = text
        if overlong > _OVERLONG:
            break


def _worth_trying(name: str, limits: Limits) -> bool:
    return (
        name.startswith(_PREFIXES)
        and len(name) <= limits.demangle_input
        and not (name.startswith("_R") and name.count("_R") > _NESTED_RUST)
    )
