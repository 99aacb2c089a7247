"""``undwarf stack``"""

from pathlib import Path

import click

from undwarf.cli.common import notify

SHOWN = 5
"""Files named in one warning."""


@click.command(
    "stack",
    epilog="""\b
Examples:
  undwarf stack 4711
  undwarf stack --json $(pidof -s postgres) | jq '.threads[].frames[0].sym'
  undwarf stack core.4711
  undwarf stack --symfs /mnt/image --binary ./build/server core

Permissions are those of a debugger: root may trace every process, other users their own (not setuid ones) if
kernel.yama.ptrace_scope is 0 or they have CAP_SYS_PTRACE. Files of containers are opened through /proc/PID/root,
deleted and replaced files through the mapping (as root), else they are read from memory.""",
)
@click.argument("target", metavar="PID|CORE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--no-inline", is_flag=True, help="Do not show inlined functions as frames of their own.")
@click.option(
    "--max-stack", metavar="N", type=click.IntRange(1), default=None, help="Maximum number of frames per stack."
)
@click.option("--stats", is_flag=True, help="Print to stderr how long threads were stopped.")
@click.option(
    "--binary", "binaries", metavar="FILE", multiple=True, help="A file that the process of the core had mapped."
)
@click.option("--symfs", metavar="DIR", default=None, help="Find the files of the core's machine under DIR.")
@click.option("--debug-dir", "debug_dirs", metavar="DIR", multiple=True, help="Another directory with debug files.")
@click.option("--debuginfod", is_flag=True, help="Download missing files from the servers in $DEBUGINFOD_URLS.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of unwind tables.")
def command(
    target: str,
    as_json: bool,
    no_inline: bool,
    max_stack: int | None,
    stats: bool,
    binaries: tuple[str, ...],
    symfs: str | None,
    debug_dirs: tuple[str, ...],
    debuginfod: bool,
    no_cache: bool,
) -> None:
    """Print the stacks of all threads of a running process or a core file.

    Each thread is stopped only while its registers and stack are copied. As with any debugger, a few blocking system
    calls (epoll_wait, semop, sigtimedwait, recv with a timeout) then return EINTR. Write ./4711 for a core file whose
    name is a number.
    """
    from undwarf.outputs.stack import lines, to_json

    if target.isascii() and target.isdigit() and len(target) < 10:
        from undwarf.live.stack.ptrace_threads import take

        if binaries or symfs is not None:
            raise click.UsageError("--binary and --symfs are for core files only")
        snapshot = take(int(target))
    else:
        from undwarf.live.stack.core_file import read_core

        snapshot = read_core(str(Path(target)), binaries)
    for tid, why in snapshot.missed:
        notify("warning", f"thread {tid} is not shown: {why}")
    for remark in snapshot.remarks:
        notify("warning", remark)
    name = snapshot.name.decode("utf-8", "replace")
    profile, defects = snapshot.profile(
        inline=not no_inline,
        max_stack=max_stack,
        symfs=symfs,
        debug_dirs=debug_dirs,
        debuginfod=debuginfod,
        cache=not no_cache,
    )
    stopped_ns = [thread.stopped for thread in snapshot.threads]
    if as_json:
        click.echo(to_json(profile, name, stopped_ns, snapshot.signal))
    else:
        for line in lines(profile, name, ended_by=snapshot.signal):
            click.echo(line)
    if snapshot.lacking:
        more = f" and {len(snapshot.lacking) - SHOWN:,} more" if len(snapshot.lacking) > SHOWN else ""
        notify(
            "warning",
            f"files of the process that were not found: {', '.join(snapshot.lacking[:SHOWN])}{more}; "
            "give them with --binary FILE or --symfs DIR",
        )
    for defect in defects:
        notify("warning", str(defect))
    if stats:
        notify(
            "note",
            f"{len(stopped_ns)} threads, each stopped for at most {max(stopped_ns) / 1e6:.3f} ms, "
            f"{sum(stopped_ns) / 1e6:.3f} ms in all",
        )
