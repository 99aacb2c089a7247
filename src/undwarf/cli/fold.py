"""``undwarf fold``"""

import sys
from typing import Literal

import click

from undwarf.cli.common import BY, SKID, Job, recording_command


@recording_command(
    "fold",
    epilog="""\b
Examples:
  undwarf fold perf.data > stacks.txt
  undwarf fold --by type --skid perf.data > data.txt
  undwarf fold --weight period --comm 'python*' perf.data | flamegraph.pl > flames.svg""",
)
@click.option(
    "--weight",
    type=click.Choice(["samples", "period"]),
    default="samples",
    show_default=True,
    help="What the number at the end of a line adds up.",
)
@click.option(
    "--root",
    type=click.Choice(["comm", "pid", "tid", "none"]),
    default="comm",
    show_default=True,
    help="What each line starts with: comm, comm-pid, comm-pid/tid, or nothing.",
)
@BY
@SKID
@click.option("--mark-kernel", is_flag=True, help="Add _[k] to the names of kernel functions.")
def command(
    job: Job,
    weight: Literal["samples", "period"],
    root: Literal["comm", "pid", "tid", "none"],
    by: str,
    skid: bool,
    mark_kernel: bool,
) -> None:
    """Folded stacks, root first, for flame-graph tools."""
    from undwarf.outputs.folded import FoldedOptions, write

    write(job.grouped(by, skid), sys.stdout.buffer, FoldedOptions(weight, root, mark_kernel))
