"""``undwarf stack``"""

from pathlib import Path

import click

from undwarf.cli.common import talk


@click.command(
    "stack",
    epilog="""\b
Examples:
  undwarf stack 4711
  undwarf stack --json $(pidof -s postgres) | jq '.threads[].frames[0].function'
  undwarf stack core.4711""",
)
@click.argument("target", metavar="PID|CORE")
@click.option("--json", "wants_json", is_flag=True, help="One JSON object in place of text.")
@click.option("--no-inline", is_flag=True, help="Leave inlined functions in those they are inlined in.")
@click.option("--max-stack", metavar="N", type=click.IntRange(1), default=None, help="Frames of a stack at most.")
@click.option("--debuginfod", is_flag=True, help="Fetch files that are not here from $DEBUGINFOD_URLS.")
@click.option("--no-cache", is_flag=True, help="Neither use unwind tables of earlier runs nor keep them for later.")
def command(
    target: str, wants_json: bool, no_inline: bool, max_stack: int | None, debuginfod: bool, no_cache: bool
) -> None:
    """The stacks of all threads of a running process, or of a core file.

    Each thread of a process is held only while its registers and its stack are copied; what takes long comes
    afterwards. A file whose name is a number is given as ./4711.
    """
    from undwarf.outputs.stack import as_json, lines

    if target.isascii() and target.isdigit() and len(target) < 10:
        from undwarf.live.threads import take

        snapshot = take(int(target))
    else:
        from undwarf.live.core_file import read_core

        snapshot = read_core(str(Path(target)))
    for tid, why in snapshot.missed:
        talk("warning", f"thread {tid} is not shown: {why}")
    name = snapshot.name.decode("utf-8", "replace")
    with snapshot.open(debuginfod=debuginfod, cache=not no_cache) as recording:
        profile = recording.profile(
            by_time=True, runtime=True, inline=not no_inline, lines=True, max_stack=max_stack, jobs=1
        )
        if wants_json:
            click.echo(as_json(profile, name, [thread.stopped for thread in snapshot.threads]))
        else:
            for line in lines(profile, name):
                click.echo(line)
        for defect in recording.defects:
            talk("warning", str(defect))
