"""``undwarf shrink``"""

import sys
from pathlib import Path
from typing import Any, Literal

import click

from undwarf.cli.common import ZSTD, Job, notify, recording_command
from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

LEVEL = 1
"""The level of zstd, as in perf record -z. Level 3 saves a sixth more, but takes longer than reading the recording."""


@recording_command(
    "shrink",
    epilog="""\b
Examples:
  undwarf shrink perf.data -o small.data && perf report -i small.data
  undwarf shrink --no-zstd --comm 'postgres*' perf.data -o postgres.data
  undwarf shrink perf.data -o - | perf script -i -""",
)
@click.option("-o", "--output", metavar="FILE", required=True, help="The recording to write; - for standard output.")
@click.option("--zstd/--no-zstd", default=True, show_default=True, help=ZSTD)
@click.option("--json", "as_json", is_flag=True, help="Also print what was written and left out as JSON.")
def command(job: Job, output: str, zstd: bool, as_json: bool) -> None:
    """Replace stack dumps by whole call chains: a small recording that every perf tool opens."""
    from undwarf.outputs.atomic_file import replaceable, whole_file

    recording = job.recording
    if as_json and output == "-":
        raise UsageError("--json cannot be used with -o -", "standard output has the recording", "give -o FILE")
    if output == "-":
        if sys.stdout.isatty():
            raise UsageError(
                "cannot write a recording to a terminal", "recordings are binary", "give -o FILE, or pipe the output"
            )
        result = recording.shrink(sys.stdout.buffer, form="pipe", zstd_level=LEVEL if zstd else 0, **_options(job))
        sys.stdout.buffer.flush()
        _warn(job, result.shortened, result.dropped)
        return
    target = Path(output)
    if _same(recording.path, target):
        raise UsageError(f"{output} is the recording itself", "", "choose another -o")
    try:
        form: Literal["file", "pipe"] = "file" if replaceable(target) else "pipe"
        with whole_file(target) as sink:
            result = recording.shrink(sink, form=form, zstd_level=LEVEL if zstd else 0, **_options(job))
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    _warn(job, result.shortened, result.dropped)
    if target.is_file():
        before, after = _size(recording.path), target.stat().st_size
        times = f", {before / after:,.0f} times smaller" if before > after else ""
        click.echo(f"wrote {printable(output)} ({after / 1e6:,.1f} MB{times})", err=True)
    if as_json:
        from undwarf.outputs.summaries import WrittenFile, write_shrink

        write_shrink(WrittenFile(recording.path, output), result.shortened, result.dropped, sys.stdout)


def _options(job: Job) -> dict[str, Any]:
    return {"filters": job.filters, "jobs": job.jobs, "max_stack": job.max_stack, "progress": job.progress}


def _warn(job: Job, shortened: int, dropped: int) -> None:
    job.warn()
    if shortened:
        notify("warning", f"{shortened:,} chains were cut to 8,000 addresses, the maximum of a record")
    if dropped:
        notify("warning", f"{dropped:,} damaged samples were left out")


def _same(source: str, target: Path) -> bool:
    """Whether writing the target would destroy the source, or a file in it if that is a directory."""
    try:
        return Path(source).samefile(target) or Path(source).resolve() in target.resolve().parents
    except OSError:
        return False


def _size(path: str) -> int:
    try:
        source = Path(path)
        return sum(file.stat().st_size for file in source.iterdir()) if source.is_dir() else source.stat().st_size
    except OSError:
        return 0
