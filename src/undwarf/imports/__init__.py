"""Reads profiles of other tools: folded stacks, pprof, text of perf script, speedscope."""
