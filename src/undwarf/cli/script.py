"""``undwarf script``"""

import sys

import click

from undwarf.cli.common import Job, recording_command, talk


@recording_command(
    "script",
    by_frame=True,
    epilog="""\b
Examples:
  undwarf script perf.data | head -40
  undwarf script -F comm,pid,tid,time,event,ip,sym --pid 4711 perf.data
  undwarf script -F +addr,-period --ns perf.data""",
)
@click.option(
    "-F", "--fields", metavar="LIST", default=None, help="Fields as perf names them, or changes as in +cpu,-dso."
)
@click.option("--ns", "nanoseconds", is_flag=True, help="Times with nine digits after the point.")
@click.option("--why", is_flag=True, help="After a stack that is not whole, a line that says why it ends there.")
@click.option(
    "--perf-names", is_flag=True, help="Functions without a symbol are [unknown], as in perf, not FILE+0xSTART."
)
def command(job: Job, fields: str | None, nanoseconds: bool, why: bool, perf_names: bool) -> None:
    """Every sample as text, in the shape of perf script."""
    from undwarf.outputs.script import ScriptOptions, fields_of_event, has_chain, parse_fields, write

    parse_fields(fields)
    events = job.recording.events
    chosen = [fields_of_event(event, fields) for event in events]
    lines = any("srcline" in shown for shown, _missing in chosen)
    profile = job.profile(by_time=True, runtime=True, lines=lines, starts=not perf_names)
    absent = sorted(set().union(*(missing for _shown, missing in chosen)))
    if absent:
        talk("note", f"not recorded, so not shown: {', '.join(absent)}")
    options = ScriptOptions(
        [shown for shown, _missing in chosen],
        [has_chain(event) for event in events],
        dumped=not job.recording.data.stitched,
        max_stack=job.max_stack or 1 << 30,
        nanoseconds=nanoseconds,
        why=why,
    )
    write(profile, sys.stdout.buffer, options)
