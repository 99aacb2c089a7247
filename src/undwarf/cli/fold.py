"""``undwarf fold``"""

import sys
from typing import Literal

import click

from undwarf.cli.common import BY, SKID, Job, notify, recording_command
from undwarf.errors import UsageError


@recording_command(
    "fold",
    by_frame=True,
    profiles=True,
    epilog="""\b
Examples:
  undwarf fold perf.data > stacks.txt
  undwarf fold --by type --skid perf.data > data.txt
  undwarf fold --json perf.data | jq -r 'select(.weight > 100) | .stack[-1]'
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
    default=None,
    help="What each line starts with: comm, comm-pid, comm-pid/tid, or nothing. Default: comm, if it is known.",
)
@BY
@SKID
@click.option("--mark-kernel", is_flag=True, help="Add _[k] to the names of kernel functions.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each stack.")
def command(
    job: Job,
    weight: Literal["samples", "period"] | None,
    root: Literal["comm", "pid", "tid", "none"] | None,
    by: str,
    skid: bool,
    mark_kernel: bool,
    as_json: bool,
) -> None:
    """Print folded stacks, root first, for flame-graph tools.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    from undwarf.views.event_units import measures_of, samples_differ
    from undwarf.views.folded_stacks import fold

    profile = job.grouped(by, skid)
    job.note_inferred(profile)
    # Periods of different units cannot be added; numbers of samples can.
    measures = measures_of(profile) if weight != "samples" else []
    if len(measures) > 1:
        others = ", ".join(measure.name for measure in measures[1:])
        notify("note", f"only {measures[0].name}: its unit differs from that of {others} (choose with --event)")
    if job.fields is not None and root in ("pid", "tid") and root not in job.fields:
        kind = "process" if root == "pid" else "thread"
        raise UsageError(f"{job.source.path} has no {kind} ids", "", "--root none")
    if root is None:
        root = "comm" if job.fields is None or "comm" in job.fields else "none"
    if weight is None:
        weight = "period" if samples_differ(profile, measures[0].events) else "samples"
    events = measures[0].events if len(measures) > 1 else None
    stacks = fold(profile, weight, root=root, annotate_kernel=mark_kernel, events=events)
    if as_json:
        from undwarf.outputs.folded import write_json
        from undwarf.views.report import unit_of_weights

        measures = measures_of(profile)
        event = measures[0].name if len(measures) == 1 or events is not None else None
        unit = "samples" if weight == "samples" else unit_of_weights(profile, events)
        write_json(stacks, sys.stdout.buffer, event, unit)
    else:
        from undwarf.outputs.folded import write

        write(stacks, sys.stdout.buffer)
