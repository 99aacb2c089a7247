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
  undwarf info --verify perf.data              # false or missing frames, found without knowing the truth
  undwarf info --comm postgres --symfs /mnt/image perf.data
  undwarf info --missing perf.data             # files to get, with the commands that fetch them
  undwarf info --missing --debuginfod perf.data""",
)
@click.option("--missing", "only_missing", is_flag=True, help="Only list missing files, and how to get them.")
@click.option(
    "--verify", is_flag=True, help="Check each caller against the code: does the call there enter the callee?"
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(job: Job, only_missing: bool, verify: bool, as_json: bool) -> None:
    """Show what a recording contains, and how many of its stacks are whole."""
    from undwarf.outputs.terminal.style import wants_colour
    from undwarf.views.overview import overview

    profile = job.unwind(inline=False)
    if only_missing:
        from undwarf.outputs import missing as missing_output
        from undwarf.views.missing_files import missing_files

        files = missing_files(job.recording, profile)
        job.warn()
        options = missing_output.MissingOptions(
            job.recording.path, len(profile.samples), job.fetches, as_json, colour=wants_colour(sys.stdout)
        )
        missing_output.write(files, sys.stdout, options)
        return
    job.note_downloads()
    found = overview(job.recording, profile)
    if verify:
        found["calls"] = job.recording.verify_calls(profile)
    if as_json:
        from undwarf.outputs.info_json import write as write_json

        write_json(found, sys.stdout)
    else:
        from undwarf.outputs.info import InfoOptions, write

        write(found, sys.stdout, InfoOptions(colour=wants_colour(sys.stdout)))
