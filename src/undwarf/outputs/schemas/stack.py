"""What ``undwarf stack --json`` prints."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import COMM, DSO, FILE, INLINED, IP, LINE, SYM, Address, Count


class Frame(TypedDict):
    """A frame of a stack."""

    ip: Annotated[Address, IP]
    sym: Annotated[str | None, SYM]
    dso: Annotated[str | None, DSO]
    file: Annotated[str | None, FILE]
    line: Annotated[Count | None, LINE]
    inlined: Annotated[bool, INLINED]


class Thread(TypedDict):
    """A thread with its stack."""

    tid: Annotated[int, "Thread id."]
    comm: Annotated[str | None, COMM]
    frames: Annotated[list[Frame], "The frames, innermost first."]
    incomplete: Annotated[str | None, "Why callers are missing; null for a whole stack."]
    stopped_ns: Annotated[Count | None, "For how long the thread was stopped, in ns; null for a core file."]


class Stack(TypedDict):
    """The stacks of all threads of a process or a core file."""

    schema: Annotated[Literal["undwarf/stack"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    pid: Annotated[int | None, "Process id; null if no thread has a stack."]
    comm: Annotated[str, "Name of the process."]
    signal: Annotated[str | None, 'The signal that ended the process ("SIGSEGV"); null for a running one.']
    threads: Annotated[list[Thread], "The threads."]
