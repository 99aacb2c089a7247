"""``undwarf flamegraph``"""

import os
import tempfile
from pathlib import Path

import click

from undwarf.cli.common import Job, recording_command
from undwarf.errors import UsageError


@recording_command(
    "flamegraph",
    epilog="""\b
Examples:
  undwarf flamegraph perf.data -o flames.html
  undwarf flamegraph --comm 'cc1*' --event cycles perf.data -o compile.html""",
)
@click.option("-o", "--output", metavar="FILE", default="flamegraph.html", show_default=True, help="The page to write.")
@click.option("--title", default=None, help="The page's title.")
def command(job: Job, output: str, title: str | None) -> None:
    """A flame graph as one self-contained page, without any network."""
    from undwarf.outputs.flamegraph import FlamegraphOptions, write

    profile = job.profile()
    target = Path(output)
    options = FlamegraphOptions(title=title or f"{Path(job.recording.path).name}")
    try:
        # The page appears whole or not at all.
        handle, name = tempfile.mkstemp(dir=target.parent or Path(), prefix=".undwarf-", suffix=".html")
        try:
            with os.fdopen(handle, "wb") as sink:
                write(profile, sink, options)
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {output}", error.strerror or str(error), "choose another -o") from error
    click.echo(f"wrote {output} ({target.stat().st_size / 1024:,.0f} KiB): open it in a browser", err=True)
