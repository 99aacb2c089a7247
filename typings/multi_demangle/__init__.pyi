"""The part of multi-demangle that undwarf uses; the package ships its types without a py.typed marker."""

from collections.abc import Iterable

def demangle_symbols(symbols: Iterable[str], *, language: str | None = ...) -> list[str]: ...
