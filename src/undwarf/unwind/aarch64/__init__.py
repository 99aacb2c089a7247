"""What the walk has to know of AArch64."""
