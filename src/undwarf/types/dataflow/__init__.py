"""What registers and memory hold: the control-flow graph of a function and its values, followed to a fixed point."""
