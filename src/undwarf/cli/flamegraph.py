"""``undwarf flamegraph``"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from undwarf.cli.common import BY, Job, recording_command
from undwarf.errors import UsageError
from undwarf.outputs.escape import printable


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file that appears whole under its name, or not at all; the permissions are those of any new file."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".undwarf-", suffix=target.suffix)
    try:
        with os.fdopen(handle, "wb") as sink:
            yield sink
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@recording_command(
    "flamegraph",
    epilog="""\b
Examples:
  undwarf flamegraph perf.data -o flames.html
  undwarf flamegraph --by type perf.data -o data.html
  undwarf flamegraph --comm 'cc1*' --event cycles perf.data -o compile.html""",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="flamegraph.html",
    show_default=True,
    help="The page to write; - for standard output.",
)
@click.option("--title", metavar="TEXT", default=None, help="The page's title; the recording's name if not given.")
@BY
def command(job: Job, output: str, title: str | None, by: str) -> None:
    """A flame graph as one self-contained page."""
    from undwarf.outputs.flamegraph import FlamegraphOptions, write

    profile = job.grouped(by)
    options = FlamegraphOptions(title=title or Path(job.recording.path).name, dump=job.stack_dump)
    if output == "-":
        write(profile, sys.stdout.buffer, options)
        return
    target = Path(output)
    try:
        with whole_file(target) as sink:
            write(profile, sink, options)
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    size = target.stat().st_size / 1024
    click.echo(f"wrote {printable(output)} ({size:,.0f} KiB): open it in a browser", err=True)
