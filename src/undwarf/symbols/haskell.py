"""Names of GHC's code: `base_GHCziBase_map_info` is `base:GHC.Base.map_info`.

A symbol is package, module, name and kind of object (code has `info`), separated by `_`; the program's own package is
omitted. In each part `z` and `Z` start a code for a character that C symbols cannot contain.
Source: GHC's compiler/GHC/Utils/Encoding.hs (z-encoding) and GHC/Cmm/CLabel.hs (labels).
"""

import re

_LETTERS = {
    "a": "&", "b": "|", "c": "^", "d": "$", "e": "=", "g": ">", "h": "#", "i": ".", "l": "<", "m": "-", "n": "!",
    "p": "+", "q": "'", "r": "\\", "s": "/", "t": "*", "u": "_", "v": "%", "z": "z",
    "L": "(", "R": ")", "M": "[", "N": "]", "C": ":", "Z": "Z",
}  # fmt: skip  # a table
_CODE = re.compile(r"z(?P<hex>[0-9][0-9a-f]*)U|(?P<boxes>Z[0-9]+H)|(?P<tuple>Z[0-9]+T)|(?P<letter>[zZ].?)")
_KINDS = (
    "info", "closure", "con_info", "con_entry", "static_info", "static_closure", "entry", "slow", "fast", "ret",
    "ret_info", "alt", "dflt", "srt", "bytes", "btm", "str", "cc", "ccs", "closure_tbl", "info_itable",
)  # fmt: skip  # a table
_SYMBOL = re.compile(
    r"(?:(?P<package>[a-zA-Z][A-Za-z0-9]*?)_)?(?P<module>[A-Z][A-Za-z0-9]*|ZCMain)_(?P<name>[A-Za-z0-9][A-Za-z0-9_]*?)"
    rf"_(?P<kind>{'|'.join(sorted(_KINDS, key=len, reverse=True))})\Z"
)
_LARGEST = 0x10FFFF


class _Unknown(Exception):
    """An invalid code."""


def demangled(symbol: str) -> str | None:
    """The Haskell name of a symbol of a Haskell image; None if it has none."""
    found = _SYMBOL.match(symbol)
    if found is None or found["package"] == "stg":
        # GHC's runtime is of C and C--.
        return None
    try:
        package = _CODE.sub(_character, found["package"]) if found["package"] else ""
        module = _CODE.sub(_character, found["module"])
        name = _CODE.sub(_character, found["name"])
    except _Unknown:
        return None
    return f"{package + ':' if package else ''}{module}.{name}_{found['kind']}"


def _character(code: re.Match[str]) -> str:
    """The character of a code."""
    if code["hex"]:
        if len(code["hex"]) > 7 or int(code["hex"], 16) > _LARGEST:
            raise _Unknown
        return chr(int(code["hex"], 16))
    for kind, start, end in (("boxes", "(#", "#)"), ("tuple", "(", ")")):
        if code[kind]:
            size = int(code[kind][1:-1][:4])
            if size > 64:
                raise _Unknown
            return start + "," * max(size - 1, 0) + end
    letter = code["letter"]
    found = _LETTERS.get(letter[1:])
    # Of the capital ones some begin with Z, all others with z.
    if found is None or letter[0] != ("Z" if letter[1] in "LRMNCZ" else "z"):
        raise _Unknown
    return found
