"""Tests of undwarf.outputs."""
