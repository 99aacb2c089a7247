"""``undwarf script``"""

import sys

import click

from undwarf.cli.common import Job, recording_command
from undwarf.outputs.script import ScriptOptions, choose_fields, write
from undwarf.perfdata import SampleField


@recording_command(
    "script",
    epilog="""\b
Examples:
  undwarf script perf.data | head -40
  undwarf script -F comm,pid,tid,time,event,ip,sym --pid 4711 perf.data
  undwarf script -F +addr,-period perf.data""",
)
@click.option("-F", "--fields", metavar="LIST", default=None, help="Fields as perf names them, or changes as in +cpu,-dso.")
def command(job: Job, fields: str | None) -> None:
    """Every sample as text, in the shape of perf script."""
    events = job.recording.events
    with_cpu = any(event.sample_type & SampleField.CPU for event in events)
    options = ScriptOptions(choose_fields(fields, with_cpu))
    profile = job.profile(by_time=True, runtime=True)
    write(profile, sys.stdout.buffer, options)
