"""The program to profile: started once the events are open, watched until it exits."""

import errno
import os
import shutil
import signal
import struct
from collections.abc import Sequence
from contextlib import suppress

from undwarf.errors import UsageError


class Workload:
    """A child process that waits to execute a program. ``status``: its exit code once it has ended (128 + signal
    number).

    ``stdout_to_stderr``: its standard output is our standard error.
    """

    def __init__(self, command: Sequence[str], stdout_to_stderr: bool = False) -> None:
        """Raises UsageError if there is no such program, before anything is written."""
        self.command = list(command)
        self._stdout_to_stderr = stdout_to_stderr
        if shutil.which(self.command[0]) is None:
            exists = "/" in self.command[0] and os.path.exists(self.command[0])
            raise self._cannot_run(errno.EACCES if exists else errno.ENOENT)
        self.status: int | None = None
        wait_read, self._go = os.pipe()
        self._failed, failed_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(wait_read, failed_write)
        os.close(wait_read)
        os.close(failed_write)
        self.watch = os.pidfd_open(self.pid)
        """Readable when the program has ended."""

    def _child(self, wait: int, failed: int) -> None:
        """In the child: wait, then execute the program."""
        try:
            os.close(self._go)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            if self._stdout_to_stderr:
                os.dup2(2, 1)
            if os.read(wait, 1):
                os.execvp(self.command[0], self.command)
        except OSError as error:
            with suppress(OSError):
                os.write(failed, struct.pack("=i", error.errno or 0))
        finally:
            os._exit(127)

    def start(self) -> None:
        """Let it execute the program. Raises UsageError if that fails."""
        # Ctrl-C goes to both processes: it may be gone.
        with suppress(BrokenPipeError):
            os.write(self._go, b"x")
        os.close(self._go)
        self._go = -1
        answer = os.read(self._failed, 4)
        os.close(self._failed)
        self._failed = -1
        if answer:
            (number,) = struct.unpack("=i", answer)
            self.wait()
            raise self._cannot_run(number)

    def _cannot_run(self, number: int) -> UsageError:
        return UsageError(f"cannot run {self.command[0]}", os.strerror(number), "give the program after --")

    def ended(self) -> bool:
        """Whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._note(status)
        return self.status is not None

    def finish(self) -> int:
        """Its exit code; SIGTERM is sent if it still runs, as by perf."""
        if not self.ended():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; its exit code."""
        if self.status is None:
            self._note(os.waitpid(self.pid, 0)[1])
        return self.status or 0

    def _note(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        self.status = code if code >= 0 else 128 - code

    def close(self) -> None:
        """Release it: a child that never executed exits, a running program gets SIGTERM."""
        for descriptor in (self._go, self._failed, self.watch):
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)
        if self._go >= 0:
            self.wait()
        elif self.status is None:
            self.finish()
        self._go = self._failed = self.watch = -1
