"""Abstract interpretation of a function: control-flow graph, values of registers and memory, and their fixed point."""
