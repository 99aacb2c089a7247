"""Lets the tests here use the ELF builder of tests/elf."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "elf"))
