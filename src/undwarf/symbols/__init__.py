"""Symbols: the names of functions, for ELF files, the kernel, BPF and just-in-time compiled code."""

from undwarf.symbols.demangle import demangle
from undwarf.symbols.resolver import Functions, Resolver, ResolverOptions

__all__ = ["Functions", "Resolver", "ResolverOptions", "demangle"]
