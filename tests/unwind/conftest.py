"""Lets the tests here use the builders of ELF files and of ORC sections."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / name) for name in ("tables", "elf")]
