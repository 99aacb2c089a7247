"""``undwarf info``"""

import sys

import click

from undwarf.cli.common import Job, recording_command


@recording_command(
    "info",
    epilog="""\b
Examples:
  undwarf info perf.data
  undwarf info --json perf.data | jq .wholeness.share
  undwarf info --comm postgres --symfs /mnt/image perf.data""",
)
@click.option("--json", "as_json", is_flag=True, help="Everything, for machines.")
def command(job: Job, as_json: bool) -> None:
    """What a recording holds, how whole its stacks are and why not."""
    from undwarf.outputs.info import InfoOptions, write
    from undwarf.outputs.paint import wants_colour
    from undwarf.views.overview import overview

    profile = job.unwind(inline=False)
    write(overview(job.recording, profile), sys.stdout, InfoOptions(json=as_json, colour=wants_colour(sys.stdout)))
