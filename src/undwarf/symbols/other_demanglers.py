"""Demangles names of D, Swift, Pascal, Ada, Nim, OCaml and Haskell.

The package demangle handles the first five: it is Python, so that no name crashes the process, bounded, and spells D
and Ada as binutils does. Of 27,841 D names it reads 25,097, binutils 24,479, with the same results; multi-demangle
spells 5,000 differently, and its Swift crashes on some damaged names. OCaml and Haskell are demangled here.
"""

import re

from undwarf.limits import Limits
from undwarf.symbols import haskell, ocaml
from undwarf.symbols.language_detection import Language

_REFUSED = 1 << 20
"""Characters of rejected names after which the rest of a batch stays mangled; 4096 take up to 10 ms."""
_CLONES = re.compile(r"(?:\.[a-z_][a-z0-9_]*(?:\.[0-9]+)*)+\Z")
"""Suffixes of GCC and LLVM for copies and parts of functions."""
_CLONE = re.compile(r"\.[a-z_][a-z0-9_]*(?:\.[0-9]+)*")
_DEPTH = 100
_MARKED = {
    "d": re.compile(r"_D(?:[0-9]|main\Z)"),
    "swift": re.compile(r"_?\$[sS]|_T0"),
    "pascal": re.compile(r"[A-Z][A-Z0-9_$]*\$_\$|[A-Z][A-Z0-9_$]*_\$\$_"),
}
"""Marks of names that only one language has, by the package demangle's name for it."""


def demangle_marked(numbers: list[int], found: list[str], limits: Limits) -> None:
    """Demangle, in place, names by index that only one language has."""
    marked: dict[str, list[int]] = {}
    for i in numbers:
        name = found[i]
        for language, mark in _MARKED.items():
            if mark.match(name):
                marked.setdefault(language, []).append(i)
                break
        if name[:4] == "caml" and len(name) <= limits.demangle_input and ocaml.SURE.match(name):
            found[i] = ocaml.demangled(name) or name
    for language, some in marked.items():
        _from_library(language, some, found, limits)


def demangle_of(language: Language, numbers: list[int], found: list[str], limits: Limits) -> None:
    """Demangle, in place, names by index of an image that has code of a language."""
    if language is Language.HASKELL or language is Language.OCAML:
        read = haskell.demangled if language is Language.HASKELL else ocaml.demangled
        for i in numbers:
            found[i] = read(found[i]) or found[i]
    else:
        _from_library(language.value, numbers, found, limits)


def _from_library(language: str, numbers: list[int], found: list[str], limits: Limits) -> None:
    """Demangle names by the package demangle."""
    import demangle as library

    bounds = library.Limits(
        max_depth=_DEPTH,
        max_output=limits.demangle_output,
        max_substitutions=limits.demangle_steps // 10,
        max_input=limits.demangle_input,
    )
    refused = 0
    for i in numbers:
        name = found[i]
        if len(name) > limits.demangle_input:
            continue
        clones = _CLONES.match(name, name.find(".")) if "." in name else None
        plain = name[: clones.start()] if clones is not None else name
        try:
            text = library.demangle_strict(plain, language=language, limits=bounds)
        except (library.DemanglingError, RecursionError):
            refused += len(name)
            if refused > _REFUSED:
                return
            continue
        if clones is not None:
            text += "".join(f" [clone {clone}]" for clone in _CLONE.findall(clones.group()))
        # Names of a Pascal program's own functions; units' have no such word.
        found[i] = text.removeprefix("program ")
