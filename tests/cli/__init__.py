"""Tests of undwarf.cli."""
