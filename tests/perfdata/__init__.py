"""Tests of reading perf.data."""
