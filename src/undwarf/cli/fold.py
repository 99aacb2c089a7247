"""``undwarf fold``"""

import sys
from typing import Literal

import click

from undwarf.cli.common import BY, SKID, Job, recording_command, talk


@recording_command(
    "fold",
    by_frame=True,
    epilog="""\b
Examples:
  undwarf fold perf.data > stacks.txt
  undwarf fold --by type --skid perf.data > data.txt
  undwarf fold --weight period --comm 'python*' perf.data | flamegraph.pl > flames.svg""",
)
@click.option(
    "--weight",
    type=click.Choice(["samples", "period"]),
    default=None,
    help="What the number at the end of a line counts. Default: samples; periods (ns, faults ...) where samples have "
    "very different weights: waits, page faults, several events.",
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
    weight: Literal["samples", "period"] | None,
    root: Literal["comm", "pid", "tid", "none"],
    by: str,
    skid: bool,
    mark_kernel: bool,
) -> None:
    """Print folded stacks, root first, for flame-graph tools."""
    from undwarf.outputs.folded import write
    from undwarf.views.event_units import measures_of, samples_differ
    from undwarf.views.folded_stacks import fold

    profile = job.grouped(by, skid)
    job.note_inferred(profile)
    # Different units have no sum. Who asks for the number of samples has named what is added.
    found = measures_of(profile) if weight != "samples" else []
    if len(found) > 1:
        left = ", ".join(one.name for one in found[1:])
        talk("note", f"only {found[0].name}: its unit differs from that of {left} (choose with --event)")
    if weight is None:
        weight = "period" if samples_differ(profile, found[0].events) else "samples"
    events = found[0].events if len(found) > 1 else None
    write(fold(profile, weight, root=root, annotate_kernel=mark_kernel, events=events), sys.stdout.buffer)
