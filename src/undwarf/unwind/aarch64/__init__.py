"""The AArch64 part of the walk."""
