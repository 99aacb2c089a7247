"""The machines whose stacks are walked: a package for each, with modules of the same names, imported when needed."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import undwarf.unwind.aarch64.calls
    import undwarf.unwind.aarch64.registers
    import undwarf.unwind.x86_64.calls
    import undwarf.unwind.x86_64.registers
    from undwarf.unwind.aarch64.rules import PlacedRules

    class Registers(Protocol):
        """Which registers are sampled and kept."""

        SLOTS: int

        def slots(self, mask: int) -> bytes:
            """By place of the walk, of which there are 17, the register's word among those of a sample, and after those
            the word of the flags; 255: none."""

    class Calls(Protocol):
        """Instructions that call and return."""

        LONGEST: int
        RETURN_LONGEST: int
        FIBER_ROOT_LONGEST: int
        STACK_CHANGE_LONGEST: int
        SYSTEM_CALL_LENGTH: int
        SYSTEM_CALL_REACH: int
        SIGNAL_RETURNS: tuple[bytes, ...]

        def ends_with_call(self, code: bytes) -> bool:
            """Whether a call instruction ends where these bytes do."""

        def ends_with_indirect_call(self, code: bytes) -> bool:
            """Whether a call through a register or memory ends where these bytes do."""

        def call_target(self, code: bytes, address: int) -> int | None:
            """The target of the direct call that these bytes, before ``address``, end with; None without one."""

        def slot_called(self, code: bytes, address: int) -> int | None:
            """The address of the memory, fixed in the code, through which the call goes that these bytes, before
            ``address``, end with; None for another one."""

        def is_stack_change(self, code: bytes) -> bool:
            """Whether code starts with a load of the stack pointer from memory outside of the stack."""

        def is_return(self, code: bytes) -> bool:
            """Whether code starts with a return instruction that takes its address from the stack."""

        def is_fiber_root(self, code: bytes) -> bool:
            """Whether code is where the first function of a fiber returns to, though nothing has called it."""

        def returns_from_signal(self, code: bytes) -> bool:
            """Whether code starts with the return from a signal."""

        def is_after_system_call(self, code: bytes) -> bool:
            """Whether code is a system call and then only checks of its result."""

        def system_call_number(self, code: bytes) -> int:
            """The number of the system call whose instruction these bytes end with; -1 where they do not show it."""

        def follows_system_call(self, code: bytes) -> int:
            """Where the first SYSTEM_CALL_REACH bytes of code end: 1 after a system call, 2 after one and the code that
            distinguishes a new thread from its parent, 0 elsewhere."""

    # The modules are imported by name: their attributes are checked here.
    _CALLS: tuple[Calls, ...] = (undwarf.unwind.aarch64.calls, undwarf.unwind.x86_64.calls)
    _REGISTERS: tuple[Registers, ...] = (undwarf.unwind.aarch64.registers, undwarf.unwind.x86_64.registers)


@cache
def _module(package: str, name: str) -> Any:
    return import_module(f"undwarf.unwind.{package}.{name}")


class Machine(NamedTuple):
    """A machine: its package here, its number in ELF headers (None: any), and its names in recordings (the ARCH
    feature)."""

    package: str
    elf_machine: int | None
    names: tuple[str, ...]
    places_rules: bool = False
    """Whether rules have its registers by other numbers than the walk's places."""
    is_walked: bool = True
    """If not, stack dumps are ignored; sampled chains and addresses are used."""

    @property
    def registers(self) -> "Registers":
        """Which registers are sampled and kept."""
        found: Registers = _module(self.package, "registers")
        return found

    @property
    def calls(self) -> "Calls":
        """Instructions that call and return."""
        found: Calls = _module(self.package, "calls")
        return found

    @property
    def placed_rules(self) -> "Callable[[], PlacedRules] | None":
        """The class that converts rules to the walk's places; None where these are the DWARF numbers."""
        return _module(self.package, "rules").PlacedRules if self.places_rules else None


X86_64 = Machine("x86_64", 62, ("x86_64", "amd64"))
AARCH64 = Machine("aarch64", 183, ("aarch64", "arm64"), places_rules=True)

UNKNOWN = Machine("x86_64", None, (), is_walked=False)

_OTHERS = ("i386", "i486", "i586", "i686")
"""32-bit machines: each sample states the ABI of its registers."""


def machine_named(architecture: str) -> Machine | None:
    """The machine with this name whose stacks are walked; None if there is none."""
    return next((machine for machine in (X86_64, AARCH64) if architecture in machine.names), None)


def machine_of(architecture: str | None) -> Machine:
    """The machine that a recording's header names, x86-64 by default."""
    if architecture in AARCH64.names:
        return AARCH64
    return X86_64 if not architecture or architecture in (*X86_64.names, *_OTHERS) else UNKNOWN
