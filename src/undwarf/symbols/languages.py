"""Languages whose symbols look like those of C: what an image itself has to show before its names are taken for them.

`my__name` is a name of C as well as what GNAT makes of `My.Name`. So not the name decides, but whether the image has
what every program or library of the language has: its runtime's entry, or its runtime among the libraries it needs.
Sources: GNAT's exp_dbug.ads and bindgen.adb, GHC's RTS API, OCaml's asmlink.ml, Nim's cgen.nim.
"""

import enum
import re
from collections.abc import Iterator
from functools import cache

from undwarf.elf import ElfFile
from undwarf.elf.headers import SHT_STRTAB
from undwarf.images import Image, ImageKind


class Language(enum.Enum):
    """A language whose names only its own images have."""

    ADA = "ada"
    HASKELL = "haskell"
    NIM = "nim"
    OCAML = "ocaml"


_MARKS: dict[Language, tuple[bytes, ...]] = {
    Language.ADA: (b"\0libgnat-", b"\0adainit\0", b"\0__gnat_runtime_initialize\0"),
    Language.HASKELL: (b"\0libHS", b"\0hs_main\0"),
    Language.NIM: (b"\0NimMain\0",),
    Language.OCAML: (b"\0caml_startup\0", b"\0caml_call_gc\0", b"\0caml_plugin_header\0"),
}
"""Of each language, what stands in the string tables of its images: a symbol, or the begin of a library's name."""
KINDS = (
    "info", "closure", "entry", "slow", "fast", "ret", "alt", "dflt", "srt", "bytes", "btm", "str", "cc", "ccs", "tbl",
    "itable",
)  # fmt: skip  # a table
"""What GHC's labels end in, behind the last `_`."""
_ENDS = tuple(f"_{kind}" for kind in KINDS)
_PART = 1 << 20


def shapes(name: str) -> list[Language]:
    """The languages that a name could be of, if its image is."""
    if "__" in name or name.startswith(("caml", "_ada_")) or name.endswith(_ENDS):
        return [language for language, shape in _shapes().items() if shape.match(name)]
    return []


@cache
def _shapes() -> dict[Language, re.Pattern[str]]:
    """What names of each language look like; compilers append `.part.0` and the like to names of functions."""
    return {
        Language.ADA: re.compile(r"_ada_[a-z]|[a-z][a-z0-9_]*?__[A-Za-z]"),
        Language.HASKELL: re.compile(rf"(?=\w*[A-Z])[A-Za-z]\w*_(?:{'|'.join(KINDS)})\Z"),
        Language.NIM: re.compile(r"(?=[A-Za-z]\w*?__)\w+_u?\d+(?:\.[a-z0-9_.]+)?\Z"),
        Language.OCAML: re.compile(r"caml[A-Z]"),
    }


def has_code_of(image: Image, language: Language) -> bool:
    """Whether an image has what all images of a language have, by the string tables of its files."""
    known: dict[Language, bool] = image.languages
    if language not in known:
        elf = image.elf if image.kind is ImageKind.FILE else None
        files = [elf, image.debug_elf, elf.mini_debug] if elf is not None else []
        known[language] = any(
            _holds(data, _MARKS[language]) for one in files if one is not None for data in _string_tables(one)
        )
    return known[language]


def _string_tables(elf: ElfFile) -> Iterator[memoryview]:
    for section in elf.sections:
        if section.type == SHT_STRTAB:
            data = elf.section_data(section)
            if data is not None:
                yield data


def _holds(data: memoryview, marks: tuple[bytes, ...]) -> bool:
    """Whether one of the marks is in a text, which may be large."""
    over = max(map(len, marks)) - 1
    for at in range(0, len(data), _PART):
        part = bytes(data[at : at + _PART + over])
        if any(mark in part for mark in marks):
            return True
    return False
