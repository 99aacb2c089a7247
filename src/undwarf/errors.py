"""What is raised when the work cannot go on; each error says what happened, why, and what to try."""


class UndwarfError(Exception):
    """Base of all errors undwarf raises on purpose.

    ``what`` is one sentence about what failed, ``why`` the reason, ``hint`` what to try; the last two may be
    empty. ``exit_code`` is what the command line exits with.
    """

    exit_code = 1
    usual_hint = ""
    """What to try where whoever raises the error knows nothing better."""

    def __init__(self, what: str, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint or self.usual_hint

    def __str__(self) -> str:
        return ": ".join(part for part in (self.what, self.why) if part)


class NothingUsable(UndwarfError):
    """The input was read, but holds nothing that the command can show."""

    exit_code = 1


class UsageError(UndwarfError):
    """An option or argument cannot be used."""

    exit_code = 2


class UnreadableInput(UndwarfError):
    """The input is not what it should be, or cannot be opened."""

    exit_code = 3


class ElfError(UnreadableInput):
    """A file is not an ELF file that can be read; callers fall back to what they know without it."""

    usual_hint = "name a program, a library or an object file that is there and can be read"
