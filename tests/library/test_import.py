"""Importing undwarf loads nothing large: not the packages that tables are for, nor what single commands need."""

import subprocess
import sys

import pytest

LARGE = ("duckdb", "polars", "pyarrow", "nanoarrow", "pandas", "numpy", "rich", "click", "httpx")


@pytest.mark.parametrize("use", ["pass", "undwarf.open", "undwarf.Unwinder, undwarf.Symbolizer, undwarf.TypeResolver"])
def test_nothing_large_is_imported(use: str) -> None:
    code = f"import sys, undwarf\n{use}\nprint([name for name in {LARGE!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
