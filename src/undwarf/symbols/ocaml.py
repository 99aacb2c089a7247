"""Names of OCaml's functions: `camlStdlib__List__map_123` is `Stdlib.List.map_123`, as perf prints it.

A symbol is `caml`, the module, a separator and the name with a number that distinguishes functions of one name.
The separator is `__`, of OCaml 5.1 and later `.` or `$`; other characters are `$` and two hexadecimal digits, or `$$`
and these. Source: OCaml's asmcomp/compilenv.ml and middle_end/symbol.ml, `symbol_separator` and `escape_prefix`.
"""

import re

SURE = re.compile(r"caml[A-Z](?=\w*?(?:__|\.|\$)).*_\d+\Z")
"""Names that only OCaml has: a module, something in it, and a number."""
_PARTS = re.compile(r"\$?\$([2-7][0-9a-f])|__|\$(?=[A-Za-z_]|\$\$)")


def demangled(symbol: str) -> str | None:
    """The OCaml name of a symbol of an OCaml image; None if it has none."""
    if not (symbol.startswith("caml") and symbol[4:5].isupper() and symbol.isascii()):
        return None
    return _PARTS.sub(lambda part: chr(int(part[1], 16)) if part[1] else ".", symbol[4:])
