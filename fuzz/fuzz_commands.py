"""Every command that reads files, as users run it, on damaged recordings, cores, programs, symbol files.

Which command a piece of bytes is given to follows from its kind and its checksum. ``$FUZZ_SEEDS`` may name a directory
of further seeds. A command that takes longer than ``SLOWEST`` seconds ends the run with a traceback.
"""

import faulthandler
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from fuzz_core import seeds as cores
from fuzz_walk import RECORDING, unpacked
from mutate import main

from undwarf.cli.main import run

SLOWEST = 30
LARGEST_SEED = 256 << 10
ET_CORE = 4

C = """
#include <stdlib.h>
struct node { struct node *next; int key; char name[12]; } *head;
static inline int twice(int k) { return 2 * k; }
__attribute__((noinline)) int walk(struct node *n, int k) {
    int s = 0;
    for (; n; n = n->next) s += twice(n->key) + n->name[k & 7];
    return s;
}
int main(int argc, char **argv) { head = calloc(1, sizeof *head); return walk(head, argc); }
"""

OF_RECORDINGS = (
    ("report", "IN"),
    ("report", "--json", "IN"),
    ("report", "--json", "-g", "callee", "-s", "comm,dso,sym,srcline", "IN"),
    ("report", "-s", "cpu,pid,tid", "-g", "none", "--no-children", "-n", "IN"),
    ("report", "-s", "type,typeoff", "--skid", "IN"),
    ("report", "--source", "main", "--asm", "IN"),
    ("report", "--unwind", "code,fp", "IN"),
    ("script", "IN"),
    ("script", "--json", "IN"),
    ("script", "--why", "--ns", "-F", "+addr,+srcline,+data_src,+weight,+phys_addr", "IN"),
    ("fold", "--root", "tid", "IN"),
    ("fold", "--weight", "period", "IN"),
    ("fold", "--json", "--root", "pid", "IN"),
    ("info", "IN"),
    ("info", "--json", "IN"),
    ("info", "--missing", "IN"),
    ("types", "--skid", "IN"),
    ("types", "--json", "--code", "IN"),
    ("flamegraph", "-o", "-", "IN"),
    ("shrink", "-o", "OUT", "IN"),
)
OF_CORES = (("stack", "IN"), ("stack", "--json", "IN"), ("stack", "--binary", "PROGRAM", "IN"))
OF_PROGRAMS = (
    ("tables", "dump", "IN"),
    ("tables", "dump", "--json", "IN"),
    ("tables", "dump", "--source", "code", "IN"),
    ("tables", "sizes", "IN"),
    ("tables", "verify", "--source", "cfi", "--against", "code", "IN"),
    ("tables", "convert", "--to", "sframe", "-o", "OUT", "IN"),
    ("tables", "convert", "--to", "orc", "-o", "OUT", "IN"),
    ("addr2line", "-e", "IN", "-f", "-i", "-C", "0x1000", "0x1139", "0x1160", "0x401139", "0xffffffffffffffff"),
    ("addr2line", "-e", "IN", "--json", "0x1050", "0x1150", "0x401150"),
    ("types", "--binary", "IN", "--at", "0x1139,0x1150,0x1158,0x1160,0x401150", "--json"),
    ("stack", "IN"),
)
OF_EXAMPLE = (
    ("report", "--symfs", "ROOT", "EXAMPLE"),
    ("report", "--source", "main", "--asm", "--symfs", "ROOT", "EXAMPLE"),
    ("script", "-F", "+srcline", "--symfs", "ROOT", "EXAMPLE"),
    ("types", "--skid", "--json", "--symfs", "ROOT", "EXAMPLE"),
    ("info", "--symfs", "ROOT", "EXAMPLE"),
)
OF_SYMBOLS = (("report", "--kallsyms", "IN", "EXAMPLE"), ("info", "--kallsyms", "IN", "EXAMPLE"))


@cache
def place() -> Path:
    """Where the input, the example with a program to be damaged, and output are. What crashed us stays there."""
    faulthandler.enable()
    top = Path(tempfile.mkdtemp(prefix="undwarf-commands-"))
    os.environ["HOME"] = str(top)
    os.environ["DEBUGINFOD_URLS"] = ""
    shutil.copytree(RECORDING, top / "root")
    return top


def one_input(data: bytes) -> None:
    """Anything but an exit code is a defect."""
    top = place()
    number = zlib.crc32(data)
    source = top / "input"
    if data.startswith((b"PERFILE2", b"2ELIFREP")):
        commands: tuple[tuple[str, ...], ...] = OF_RECORDINGS
    elif data.startswith(b"\x7fELF"):
        commands = OF_CORES if data[16:18] == ET_CORE.to_bytes(2, "little") else OF_PROGRAMS + OF_EXAMPLE
    else:
        commands = OF_SYMBOLS
    command = commands[number % len(commands)]
    if command in OF_EXAMPLE:
        source = top / "root" / "demo" / "words"
        source.unlink(missing_ok=True)
    source.write_bytes(data)
    # Some with what earlier runs kept.
    os.environ["UNDWARF_CACHE_DIR"] = str(top / "kept") if number & 0x300 == 0 else "off"
    places = {"IN": str(source), "OUT": str(top / "output"), "ROOT": str(top / "root")}
    places["EXAMPLE"] = str(top / "root" / "words.data")
    places["PROGRAM"] = str(top / "root" / "demo" / "words")
    (top / "output").unlink(missing_ok=True)
    arguments = [places.get(word, word) for word in command]
    if command[0] in ("report", "types") and "IN" in command[-1:]:
        arguments[1:1] = ["--jobs", "1"]
    (top / "command").write_text(" ".join(arguments))
    faulthandler.dump_traceback_later(SLOWEST, exit=True)
    silent(lambda: run(arguments), top)
    faulthandler.cancel_dump_traceback_later()


def silent(action: Callable[[], object], top: Path) -> None:
    """Run something whose output is shown only if it fails; faults of the process still show where."""
    out, error = sys.stdout, sys.stderr
    with (top / "said").open("wb") as said:
        sys.stdout = sys.stderr = io.TextIOWrapper(said, "utf-8", "surrogateescape")
        try:
            action()
            sys.stdout.flush()
        except BaseException:
            print((top / "command").read_text(), file=error)
            raise
        finally:
            sys.stdout, sys.stderr = out, error


def seeds() -> list[bytes]:
    """The example, packed and not, its program, cores, small programs of the compilers here, symbols."""
    found = [(RECORDING / "words.data").read_bytes(), (RECORDING / "demo" / "words").read_bytes(), *cores()]
    # As QEMU writes them, without the names of files.
    found += [one.replace(b"ELIF", b"\0\0\0\1") for one in cores()]
    found += [unpacked(RECORDING / "words.data", skip) for skip in (0, 500)]
    found.append(b"ffffffff81000000 T _stext\nffffffff81000010 t f\t[module]\nffffffff82000000 T _etext\n")
    with tempfile.TemporaryDirectory() as folder:
        for number, flags in enumerate(
            (["-O2"], ["-O1", "-no-pie", "-gz"], ["-O0", "-fno-asynchronous-unwind-tables"])
        ):
            path = Path(folder) / str(number)
            command = ["gcc", "-x", "c", "-g", *flags, "-", "-o", str(path)]
            if shutil.which("gcc") and subprocess.run(command, input=C.encode(), check=False).returncode == 0:
                found.append(path.read_bytes())
    further = os.environ.get("FUZZ_SEEDS")
    for path in sorted(Path(further).rglob("*")) if further else ():
        if path.is_file() and path.stat().st_size <= LARGEST_SEED:
            data = path.read_bytes()
            if data.startswith((b"PERFILE2", b"2ELIFREP", b"\x7fELF")):
                found.append(data)
    return found


if __name__ == "__main__":
    main(one_input, seeds())
