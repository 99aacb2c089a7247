"""The x86-64 part of the walk."""
