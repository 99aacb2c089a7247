"""A busy little machine: compilers, Python programs, compressors, sorting and many short processes, side by side.

Run as `workload.py SECONDS DIRECTORY`; builds its programs in DIRECTORY first. What is not installed is left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "tests" / "workloads"

PYTHON_PROGRAM = """
import ast, collections, hashlib, json, pickle, random, re
random.seed(1)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def tree(d): return {f"k{i}": tree(d - 1) for i in range(4)} if d else [random.random() for _ in range(5)]
source = open(collections.__file__).read()
for _ in range(4):
    fib(19)
    text = json.dumps(tree(5))
    json.loads(text)
    re.findall(r"(\\d+)\\.(\\d*?)5(\\d+)", text)
    compile(ast.parse(source), "x", "exec")
    sorted((str(random.random()) for _ in range(20000)), key=lambda x: x[::-1])
    pickle.loads(pickle.dumps(text)), hashlib.sha256(text.encode())
"""


def programs(directory: Path) -> list[list[str]]:
    """Build what can be built; give the commands to be run over and over."""
    directory.mkdir(parents=True, exist_ok=True)
    numbers = directory / "numbers"
    numbers.write_text("\n".join(str(i * 2654435761 % 1000003) for i in range(200000)))
    script = directory / "program.py"
    script.write_text(PYTHON_PROGRAM)
    commands = [[sys.executable, str(script)]]
    builds = {
        "library": ["g++", "-O2", "-g", str(SOURCES / "library.cpp")],
        "chain_rs": ["rustc", "-O", str(SOURCES / "chain.rs")],
        "threads": ["gcc", "-O2", str(SOURCES / "threads.c"), "-pthread"],
        "forks": ["gcc", "-O2", str(SOURCES / "forks.c")],
    }
    for name, command in builds.items():
        if not shutil.which(command[0]):
            continue
        program = directory / name
        if subprocess.run([*command, "-o", str(program)], capture_output=True).returncode == 0:
            commands.append([str(program), "1000", "50"] if name == "forks" else [str(program), "1000", "2"])
            commands.append([*command, "-o", str(directory / f"{name}.again")])
    tools = [
        ["sort", str(numbers)],
        ["xz", "-2", "-c", str(numbers)],
        ["gzip", "-c", str(numbers)],
        ["openssl", "speed", "-seconds", "1", "sha256"],
        ["ls", "-l", "/usr/bin"],
    ]
    commands.extend(tool for tool in tools if shutil.which(tool[0]))
    return commands


def main(arguments: list[str]) -> int:
    seconds, directory = float(arguments[0]), Path(arguments[1])
    commands = programs(directory)
    end = time.monotonic() + seconds

    def repeat(command: list[str]) -> None:
        while time.monotonic() < end:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    threads = [threading.Thread(target=repeat, args=(command,)) for command in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0


if __name__ == "__main__":
    # perf puts its own directories first in PATH of what it runs
    os.environ["PATH"] = os.environ.get("WORKLOAD_PATH", os.environ["PATH"])
    sys.exit(main(sys.argv[1:]))
