"""Unwind rules from machine code alone: what objtool does for the kernel, for linked x86-64 programs."""
