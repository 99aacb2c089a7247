"""Missing files and the commands that fetch them, as text or JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import known
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.style import Paint

if TYPE_CHECKING:
    from undwarf.outputs.schemas.info import Missing
    from undwarf.views.missing_files import MissingFile


class MissingOptions(NamedTuple):
    """``samples`` of the ``recording``; ``fetched``: debuginfod was asked already; ``entries``: the most that are
    shown."""

    recording: str
    samples: int
    fetched: bool = False
    json: bool = False
    entries: int = 20
    colour: bool = False


def write(files: "Sequence[MissingFile]", sink: TextIO, options: MissingOptions) -> None:
    """Write the files, those that affect most samples first."""
    if options.json:
        document: Missing = {
            "schema": "undwarf/info-missing",
            "version": 1,
            "recording": options.recording,
            "samples": options.samples,
            "missing": [
                {
                    "kind": file.what,
                    "dso": known(file.name),
                    "build_id": known(file.build_id),
                    "problem": file.problem,
                    "samples": file.samples,
                    "unnamed": file.unnamed,
                    "ended": file.ended,
                    "commands": file.commands,
                }
                for file in files
            ],
        }
        dump(document, sink)
        return
    paint = Paint(options.colour)
    if not files:
        sink.write(f"Nothing is missing for the {options.samples:,} samples.\n")
        return
    sink.write(f"{paint.bold('Missing files')}  {paint.dim(f'by what they spoil of {options.samples:,} samples')}\n\n")
    sink.write(paint.dim(f"{'samples':>10}{'unnamed':>10}{'ended':>10}") + "\n")
    for file in files[: options.entries]:
        name = printable(file.name)
        sink.write(f"{file.samples:>10,}{file.unnamed:>10,}{file.ended:>10,}  {paint.warn(file.what)} of {name}\n")
        sink.write(f"{'':32}{printable(file.problem)}\n")
        if file.build_id:
            sink.write(paint.dim(f"{'':32}build-id {file.build_id}") + "\n")
        for command in file.commands:
            sink.write(f"{'':32}→ {printable(command)}\n")
    if len(files) > options.entries:
        sink.write(paint.dim(f"{'':12}and {len(files) - options.entries:,} more files (--json lists all)") + "\n")
    sink.write("\n")
    sink.write(paint.dim("unnamed: samples with a frame there that has no name; ended: stacks that stop there") + "\n")
    if not options.fetched and any(file.build_id for file in files):
        sink.write("→ undwarf info --missing --debuginfod fetches what the servers in $DEBUGINFOD_URLS have\n")
