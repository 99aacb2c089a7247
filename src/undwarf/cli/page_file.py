"""What commands that write the page of a profile share."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from undwarf.errors import UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from undwarf.cli.common import Job
    from undwarf.profile.model import Profile
    from undwarf.serve.page_parts import PageParts


def page_parts(
    job: "Job", profile: "Profile", title: str | None = None, *, skid: bool = False, served: bool = False
) -> "PageParts":
    """The parts of the page of a profile whose samples are in order of time, with source lines."""
    from undwarf.serve.page_parts import PageParts

    return PageParts(
        job.source,
        profile,
        title or Path(job.source.path).name,
        served=served,
        symfs=job.symfs,
        skid=skid,
        # A server's threads must not fork.
        touch=None if served else lambda profile: job.touch(profile, skid=skid),
    )


def write_page(parts: "Mapping[str, bytes]", output: str, option: str = "-o") -> None:
    """Write a page with these parts to a file, and say so, or to standard output (``-``). ``option`` names the file."""
    from undwarf.outputs.atomic_file import whole_file
    from undwarf.outputs.page.html import write

    if output == "-":
        write(parts, sys.stdout.buffer)
        return
    target = Path(output)
    try:
        with whole_file(target) as sink:
            write(parts, sink)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"cannot write {output}", why, f"choose another {option}") from error
    size = target.stat().st_size / 1024
    click.echo(f"wrote {printable(output)} ({size:,.0f} KiB): open it in a browser", err=True)
