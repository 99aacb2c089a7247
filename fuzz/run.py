"""Runs every fuzz target for a short time: ``fuzz/run.py [--seconds N] [--seed N] [TARGET...]``.

With atheris installed (``pip install atheris``) and ``--guided``, each runs coverage-guided instead.
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """The number of targets that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--guided", action="store_true", help="use atheris")
    parser.add_argument("targets", nargs="*", help="names as in fuzz_NAME.py; default: all")
    arguments = parser.parse_args()
    failed = 0
    paths = sorted(HERE.glob("fuzz_*.py"))
    for path in paths:
        name = path.stem.removeprefix("fuzz_")
        if arguments.targets and name not in arguments.targets:
            continue
        if arguments.guided:
            code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import mutate, {path.stem} as target; "
            code += "mutate.guided(target.one_input, target.seeds())"
            command = [sys.executable, "-c", code, f"-max_total_time={int(arguments.seconds)}", "-timeout=20"]
        else:
            command = [sys.executable, str(path), str(arguments.seconds), str(arguments.seed)]
        # A target that hangs is a failure as well.
        try:
            code_of = subprocess.run(command, timeout=arguments.seconds * 4 + 60, check=False).returncode
        except subprocess.TimeoutExpired:
            code_of = -1
        print(f"fuzz {name}: {'ok' if code_of == 0 else f'FAILED ({code_of})'}", flush=True)
        failed += code_of != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
