"""``undwarf info``"""

import sys

import click

from undwarf.cli.common import Job, recording_command
from undwarf.outputs.info import InfoOptions, collect, write


@recording_command(
    "info",
    epilog="""\b
Examples:
  undwarf info perf.data
  undwarf info --json perf.data | jq .wholeness.share""",
)
@click.option("--json", "as_json", is_flag=True, help="Everything, for machines.")
def command(job: Job, as_json: bool) -> None:
    """What a recording holds, how whole its stacks are and why not."""
    profile = job.recording.profile(filters=job.filters)
    write(collect(job.recording, profile), sys.stdout, InfoOptions(json=as_json))
