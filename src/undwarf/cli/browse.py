"""``undwarf browse``"""

import os
import sys
from typing import TYPE_CHECKING

from undwarf.cli.common import Job, recording_command
from undwarf.errors import UsageError

if TYPE_CHECKING:
    from undwarf.profile.model import Profile


@recording_command(
    "browse",
    by_frame=True,
    profiles=True,
    epilog="""\b
Examples:
  undwarf browse perf.data
  undwarf browse --comm cc1plus --time 10%-20% perf.data
  undwarf browse cpu.pb.gz                 profiles of other tools too
  ssh host undwarf record -o - -- ./program | undwarf browse -

? shows all keys; they are in the last line too. Everything can be done with the mouse as well.""",
)
def command(job: Job) -> int:
    """Look around in a profile in the terminal: calls, functions, source, types, threads, time.

    FILE is a recording (perf.data), or a profile of another tool: folded stacks, pprof, the text of perf script, or
    speedscope's JSON.
    """
    if not sys.stdout.isatty():
        raise UsageError("browse needs a terminal", "its output is not one", "undwarf report prints the same numbers")
    from undwarf.terminal_ui.opened_file import OpenedFile, opened_recording

    def unwind(lines: bool) -> "Profile":
        return job.unwind(lines=lines)

    if job.is_recording:
        opened = opened_recording(job.recording, unwind, job.symfs)
    else:
        opened = OpenedFile(job.source.path, unwind, fields=job.fields)
    if not sys.stdin.isatty():
        # The recording came through a pipe: all of it is read before keys are.
        opened.start().shutdown(wait=True)
        _keys_of_terminal()
    job.progress.redirect(opened.show_progress)
    worker = opened.start()
    # Meanwhile: its imports take as long as unwinding a small recording.
    from undwarf.terminal_ui.browse_app import BrowseApp

    app = BrowseApp(opened, worker)
    code = app.run()
    if app.is_working:
        # Memory that is still read cannot be unmapped: the process ends as it is.
        sys.stdout.flush()
        os._exit(code or 0)
    job.progress.redirect(None)
    if app.failure is not None:
        raise app.failure
    if not len(opened.profile.samples):
        job.profile()
    job.warn()
    return code or 0


def _keys_of_terminal() -> None:
    """Read standard input from the terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        why = "its input is a pipe, and there is no other one"
        raise UsageError("browse needs a terminal", why, "write the recording to a file") from error
    os.dup2(terminal, 0)
    os.close(terminal)
