"""Symbols: the names of functions, for ELF files, the kernel, BPF and just-in-time compiled code."""

from undwarf.symbols.demangle import demangle
from undwarf.symbols.resolver import Functions, Resolver, ResolverOptions, dso_name

__all__ = ["Functions", "Resolver", "ResolverOptions", "demangle", "dso_name"]
