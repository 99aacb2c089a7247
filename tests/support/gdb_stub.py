"""A client of a gdb stub, as much of it as single steps, registers and memory need (GDB manual, appendix E)."""

import socket
import struct
import subprocess
import time
from pathlib import Path
from types import TracebackType


class Stub:
    """An AArch64 program in qemu's user mode emulation, stopped before its first instruction."""

    def __init__(self, qemu: str, program: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._process = subprocess.Popen([qemu, "-g", str(port), *options, str(program)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
                break
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.02)
        self._pending = b""
        # Acknowledgements of single packets wait for each other.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._acknowledge = True
        self._acknowledge = self.ask("QStartNoAckMode") != b"OK"

    def __enter__(self) -> "Stub":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def ask(self, command: str) -> bytes:
        """Send a packet, give the answer's payload."""
        self._socket.sendall(f"${command}#{sum(command.encode()) % 256:02x}".encode())
        while True:
            start = self._pending.find(b"$")
            end = self._pending.find(b"#", start)
            if start >= 0 and 0 <= end <= len(self._pending) - 3:
                payload, self._pending = self._pending[start + 1 : end], self._pending[end + 3 :]
                if self._acknowledge:
                    self._socket.sendall(b"+")
                return payload
            piece = self._socket.recv(65536)
            if not piece:
                raise ConnectionError("the stub went away")
            self._pending += piece

    def run_to(self, address: int) -> None:
        """Go on until an address is reached."""
        assert self.ask(f"Z0,{address:x},4") == b"OK"
        assert self.ask("c").startswith((b"T05", b"S05"))
        assert self.ask(f"z0,{address:x},4") == b"OK"

    def step(self) -> bool:
        """One instruction; False when the program has ended."""
        return self.ask("s").startswith((b"T05", b"S05"))

    def registers(self) -> tuple[int, ...]:
        """x0 to x30, sp, pc."""
        return struct.unpack_from("<33Q", bytes.fromhex(self.ask("g").decode()))

    def memory(self, address: int, size: int) -> bytes:
        """Bytes of memory, fewer where it ends."""
        found = b""
        while len(found) < size:
            answer = self.ask(f"m{address + len(found):x},{min(size - len(found), 1024):x}")
            if not answer or answer.startswith(b"E"):
                break
            found += bytes.fromhex(answer.decode())
        return found
