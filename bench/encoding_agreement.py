"""Whether `undwarf types` answers alike however a compiler writes debugging information of the same code.

    python bench/encoding_agreement.py [--compiler g++] [--options="-O2 -Iinclude"] SOURCE...

Each source is built with ``-g`` and then once for each way to write it. Where the code is the same, all its
instructions are asked; what is not answered as for ``-g`` is printed. Some of it is the compiler's: older versions of
DWARF say less of where variables are.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

_COMMON = [
    "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -gdwarf64", "-gdwarf-5 -gdwarf64",
    "-gdwarf-4 -fdebug-types-section", "-gdwarf-5 -fdebug-types-section",
    "-gdwarf-4 -gsplit-dwarf", "-gdwarf-5 -gsplit-dwarf",
    "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section",
    "-gdwarf-5 -gz=zlib",
]  # fmt: skip  # a table
_CLANG = ["-gsimple-template-names", "-fstandalone-debug", "-gsplit-dwarf=single", "-gembed-source -gdwarf-5"]
_GCC = ["-gstrict-dwarf", "-gno-variable-location-views", "-g3", "-gz=zlib-gnu", "-gdwarf-5 -gsplit-dwarf -gdwarf64"]
_TIMEOUT = 300


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--options", default="-O2", type=shlex.split)
    parser.add_argument("--show", type=int, default=4, help="differences that are printed of each (default 4)")
    options = parser.parse_args()
    ways = _COMMON + (_CLANG if "clang" in options.compiler else _GCC)
    differing = 0
    for source in options.sources:
        with tempfile.TemporaryDirectory() as directory:
            differing += compare(source.resolve(), ways, options, Path(directory))
    sys.exit(differing > 0)


def compare(source: Path, ways: list[str], options: argparse.Namespace, directory: Path) -> int:
    """How many answers differ for a source, over all encodings."""
    differing = 0
    plain = build(source, "", options, directory / "plain")
    if plain is None:
        sys.exit(f"{source} does not build with -g")
    code = listing(plain)
    expected = answers(plain, code)
    print(
        f"{source.name}: {len(expected)} instructions, {sum(bool(one['type']) for one in expected)} typed", flush=True
    )
    for number, way in enumerate(ways):
        binary = build(source, way, options, directory / str(number))
        if binary is None or listing(binary) != code:
            print(f"  {way}: {'does not build' if binary is None else 'other code'}")
            continue
        pairs = [
            (one, other)
            for one, other in zip(expected, answers(binary, code), strict=True)
            if any(one[key] != other[key] for key in ("type", "offset_bytes", "field"))
        ]
        differing += len(pairs)
        print(f"  {way}: {len(pairs) or 'none'} differ", flush=True)
        for one, other in pairs[: options.show]:
            print(f"    {one['address']} {one['instruction']}: {in_words(one)}; here {in_words(other)}")
    return differing


def build(source: Path, way: str, options: argparse.Namespace, directory: Path) -> Path | None:
    """The program, with its object file beside it, where split units may stay; None if the compiler does not."""
    directory.mkdir()
    compiler, flags = shlex.split(options.compiler), [*options.options, "-g", *way.split()]
    for command in (
        [*compiler, *flags, "-c", source, "-o", "program.o"],
        [*compiler, *options.options, "program.o", "-o", "program", "-lm"],
    ):
        if subprocess.run(command, cwd=directory, capture_output=True, timeout=_TIMEOUT, check=False).returncode:
            return None
    return directory / "program"


def listing(binary: Path) -> str:
    """The program's code as text."""
    command = ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", binary.name]
    return subprocess.run(command, cwd=binary.parent, capture_output=True, text=True, check=True).stdout


def answers(binary: Path, code: str) -> list[dict[str, object]]:
    """What each instruction touches."""
    addresses = binary.with_name("addresses")
    addresses.write_text(",".join(re.findall(r"^ +([0-9a-f]+):\t", code, re.MULTILINE)))
    command = [sys.executable, "-m", "undwarf", "types", "--no-cache", "--json", "--binary", binary.name]
    run = subprocess.run(
        [*command, "--at", f"@{addresses.name}"],
        cwd=binary.parent,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if run.returncode:
        sys.exit(run.stderr)
    found: list[dict[str, object]] = json.loads(run.stdout)["accesses"]
    return found


def in_words(one: dict[str, object]) -> str:
    return f"{one['type']} {one['field']}" if one["type"] else f"{one['reason']}"


if __name__ == "__main__":
    main()
