"""``undwarf stack``"""

from pathlib import Path

import click

from undwarf.cli.common import talk

SHOWN = 5
"""Files named in one warning."""


@click.command(
    "stack",
    epilog="""\b
Examples:
  undwarf stack 4711
  undwarf stack --json $(pidof -s postgres) | jq '.threads[].frames[0].function'
  undwarf stack core.4711
  undwarf stack --symfs /mnt/image --binary ./build/server core

Whose process may be looked at is up to the kernel, as for a debugger: root may look at all, others at their own
programs that did not gain rights, if kernel.yama.ptrace_scope is 0 (or if they have CAP_SYS_PTRACE). Files of
containers are found through /proc/PID/root; deleted and replaced ones through the mapping itself (root), else in
memory.""",
)
@click.argument("target", metavar="PID|CORE")
@click.option("--json", "wants_json", is_flag=True, help="One JSON object in place of text.")
@click.option("--no-inline", is_flag=True, help="Leave inlined functions in those they are inlined in.")
@click.option("--max-stack", metavar="N", type=click.IntRange(1), default=None, help="Frames of a stack at most.")
@click.option("--stats", is_flag=True, help="Say on stderr how long threads were held.")
@click.option("--binary", "binaries", metavar="FILE", multiple=True, help="A file the core's process had mapped.")
@click.option("--symfs", metavar="DIR", default=None, help="Look for the files of a core's machine under DIR.")
@click.option("--debug-dir", "debug_dirs", metavar="DIR", multiple=True, help="A further directory of debug files.")
@click.option("--debuginfod", is_flag=True, help="Fetch files that are not here from $DEBUGINFOD_URLS.")
@click.option("--no-cache", is_flag=True, help="Neither use unwind tables of earlier runs nor keep them for later.")
def command(
    target: str,
    wants_json: bool,
    no_inline: bool,
    max_stack: int | None,
    stats: bool,
    binaries: tuple[str, ...],
    symfs: str | None,
    debug_dirs: tuple[str, ...],
    debuginfod: bool,
    no_cache: bool,
) -> None:
    """The stacks of all threads of a running process, or of a core file.

    Each thread of a process is held only while its registers and its stack are copied; what takes long comes
    afterwards. As with any debugger, a few blocking system calls (epoll_wait, semop, sigtimedwait, recv with a timeout)
    then return EINTR; all others go on. A file whose name is a number is given as ./4711.
    """
    from undwarf.outputs.stack import as_json, lines

    if target.isascii() and target.isdigit() and len(target) < 10:
        from undwarf.live.stack.ptrace_threads import take

        if binaries or symfs is not None:
            raise click.UsageError("--binary and --symfs are for core files: a process shows its files itself")
        snapshot = take(int(target))
    else:
        from undwarf.live.stack.core_file import read_core

        snapshot = read_core(str(Path(target)), binaries)
    for tid, why in snapshot.missed:
        talk("warning", f"thread {tid} is not shown: {why}")
    for remark in snapshot.remarks:
        talk("warning", remark)
    name = snapshot.name.decode("utf-8", "replace")
    profile, defects = snapshot.profile(
        inline=not no_inline,
        max_stack=max_stack,
        symfs=symfs,
        debug_dirs=debug_dirs,
        debuginfod=debuginfod,
        cache=not no_cache,
    )
    held = [thread.stopped for thread in snapshot.threads]
    if wants_json:
        click.echo(as_json(profile, name, held, snapshot.signal))
    else:
        for line in lines(profile, name, ended_by=snapshot.signal):
            click.echo(line)
    if snapshot.lacking:
        more = f" and {len(snapshot.lacking) - SHOWN:,} more" if len(snapshot.lacking) > SHOWN else ""
        talk(
            "warning",
            f"not here as the process had them: {', '.join(snapshot.lacking[:SHOWN])}{more}; "
            "give them with --binary FILE or --symfs DIR",
        )
    for defect in defects:
        talk("warning", str(defect))
    if stats:
        talk(
            "note", f"{len(held)} threads, each held {max(held) / 1e6:.3f} ms at most, {sum(held) / 1e6:.3f} ms in all"
        )
