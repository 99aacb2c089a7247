"""Readable names for mangled C++ and Rust symbols, in the form perf prints them.

multi-demangle was chosen by measurement over pydemumble, cxxfilt, cpp-demangle and pycxxfilt: its output is
bounded (a 200-byte name can stand for gigabytes, which kill a process that uses LLVM's or libstdc++'s demangler),
it drops the hash of Rust symbols as perf does, and what differs from GNU's spelling is regular and mended here.
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

_SUFFIXES = {
    "int": "",
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}
_LITERAL = re.compile(
    r"\((int|unsigned int|long|unsigned long|long long|unsigned long long)\)(-?[0-9]+)(?![0-9A-Za-z_])"
)

_THUNK = re.compile(
    r"\{virtual override thunk\(\{(virtual )?offset\([-0-9, ]*\)\}, (.*)\)\}((?: \[clone [^]]*\])*)\Z", re.DOTALL
)
_LONG_CLONE = re.compile(r"\] \[clone (\.[0-9]{16,})\]")
"""The number behind a suffix like ``.llvm`` that has more digits than a word holds."""
_TYPE_INSIDE_POINTER = re.compile(r"(?<=[\w>])((?: const)?[*&]+)::(?=\w)")
_BRACKET = re.compile(r"<|(?<!-)>|(?<=[\w>])\(")
_CALLED = ("decltype", "noexcept", "sizeof", "alignof", "typeid", "operator")
_PART = re.compile(r"\w+(?:::\w+)*")

_ABBREVIATED = tuple(
    (f"std::{short}", short, f"std::basic_{short}<char, std::char_traits<char>{more} >", f"basic_{short}")
    for short, more in (("string", ", std::allocator<char>"), ("istream", ""), ("ostream", ""), ("iostream", ""))
)

_IN_STD_CLASS = ("_ZNS", "_ZNKS", "_ZTv", "_ZTh")
"""How names inside classes with an abbreviation of their own begin (Ss, Si, So, Sd), and thunks to them."""


def demangle(name: str, limits: Limits = DEFAULT) -> str:
    """The source's name for a symbol; the symbol itself where it is not mangled, or too long to try."""
    return demangle_all([name], limits)[0]


def demangle_all(names: Sequence[str], limits: Limits = DEFAULT) -> list[str]:
    """As :func:`demangle` for many names, at once."""
    found = list(names)
    mangled = [i for i, name in enumerate(found) if name[:1] == "_" and _worth_trying(name, limits)]
    if not mangled:
        return found
    from multi_demangle import demangle_symbols

    overlong = 0
    for start in range(0, len(mangled), _BATCH):
        part = mangled[start : start + _BATCH]
        for i, text in zip(part, demangle_symbols([found[i] for i in part]), strict=True):
            if len(text) > limits.demangle_output:
                overlong += 1
            else:
                found[i] = _as_gnu(text, found[i])
        if overlong > _OVERLONG:
            break
    return found


def _worth_trying(name: str, limits: Limits) -> bool:
    return (
        name.startswith(_PREFIXES)
        and len(name) <= limits.demangle_input
        and not (name.startswith("_R") and name.count("_R") > _NESTED_RUST)
    )


def _as_gnu(text: str, mangled: str) -> str:
    """GNU's spelling of template arguments: no comma before an empty pack, ``8u`` for
    ``(unsigned int)8``; thunks in words."""
    if ", >" in text:
        text = text.replace(", >", ">")
    if "&&)" in text:
        text = text.replace(", &&)", ")").replace("(&&)", "()")
    if "int)" in text or "long)" in text:
        text = _LITERAL.sub(lambda match: match[2] + _SUFFIXES[match[1]], text)
    if mangled.startswith(_IN_STD_CLASS):
        text = _abbreviated(text)
    if text.startswith("{virtual override thunk("):
        text = _THUNK.sub(lambda match: f"{match[1] or 'non-virtual '}thunk to {match[2]}{match[3]}", text)
    if "_GLOBAL__N_1" in text:
        text = text.replace("_GLOBAL__N_1", "(anonymous namespace)")
    if ".llvm]" in text:
        text = _LONG_CLONE.sub(r"\1]", text)
    if "&::" in text or "*::" in text:
        text = _pointers_last(text)
    if "<" in text and "(" in text[text.find("<") : text.rfind(">")]:
        text = _spaced(text)
    return text


def _pointers_last(text: str) -> str:
    """``A&::B`` as ``A::B&``: what points to a type stands behind all of its name."""
    parts = []
    place = 0
    for found in _TYPE_INSIDE_POINTER.finditer(text):
        if found.start() < place:
            continue
        part = _PART.match(text, found.end())
        end = part.end() if part else found.end()
        if text[end : end + 1] == "<":
            end = _behind(text, end, "<", ">")
        parts += [text[place : found.start()], "::", text[found.end() : end], found[1]]
        place = end
    return "".join([*parts, text[place:]])


def _spaced(text: str) -> str:
    """Function types among template arguments, with a blank behind what they return."""
    out = []
    last = depth = 0
    for found in _BRACKET.finditer(text):
        letter = found[0]
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif (
            depth > 0
            and not text.endswith(_CALLED, 0, found.start())
            # Behind the parameters of a function comes what is inside of it; a type ends there.
            and text[_behind(text, found.start(), "(", ")") :][:1] in (",", ">", ")")
        ):
            out.append(text[last : found.start()])
            last = found.start()
    return " ".join([*out, text[last:]])


def _behind(text: str, start: int, opening: str, closing: str) -> int:
    """Where the bracket that opens at ``start`` was closed."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == opening:
            depth += 1
        elif text[at] == closing:
            depth -= 1
            if not depth:
                return at + 1
    return len(text)


def _abbreviated(text: str) -> str:
    """Members of ``std::istream`` and its kin as GNU writes them: short, constructors and destructors in full."""
    for alias, short, full, name in _ABBREVIATED:
        if text.find(f"{alias}::{short}") >= 0 or text.find(f"{alias}::~{short}") >= 0:
            text = text.replace(f"{alias}::{short}", f"{full}::{name}")
            text = text.replace(f"{alias}::~{short}", f"{full}::~{name}")
        elif short.startswith("i") and full in text and f"::{name}(" not in text and f"::~{name}(" not in text:
            text = text.replace(full, alias)
    return text
