"""Readers of DWARF, BTF and symbol tables: types, variables and their locations, prototypes, globals."""
