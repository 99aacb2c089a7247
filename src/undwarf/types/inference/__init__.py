"""Type inference for values without declarations, from their uses, calls and callers; mainly for programs with BTF
only."""
