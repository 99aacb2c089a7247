"""Tests of undwarf.views."""
