"""The machines whose stacks can be walked: one package each, with modules of the same names."""

from collections.abc import Callable
from types import ModuleType
from typing import Protocol, cast

from undwarf.lazy_dataclasses import dataclass
from undwarf.unwind.aarch64 import calls as aarch64_calls
from undwarf.unwind.aarch64 import registers as aarch64_registers
from undwarf.unwind.aarch64.rules import PlacedRules
from undwarf.unwind.x86_64 import calls as x86_64_calls
from undwarf.unwind.x86_64 import registers as x86_64_registers


class Registers(Protocol):
    """Which registers are sampled and kept."""

    ELF_MACHINE: int
    MACHINES: tuple[str, ...]

    def slots(self, mask: int) -> bytes:
        """Where in a sample's register words the register of each of the walk's 17 places stands; 255: nowhere."""


class Calls(Protocol):
    """Instructions that call and return."""

    LONGEST: int
    RETURN_LONGEST: int

    def ends_with_call(self, code: bytes) -> bool:
        """Whether a call instruction ends where these bytes do."""

    def is_return(self, code: bytes) -> bool:
        """Whether code starts with a return instruction that takes its address from the stack."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine."""

    registers: Registers
    calls: Calls
    placed_rules: Callable[[], PlacedRules] | None = None
    """Makes what gives rules by the walk's places; None where these are the DWARF numbers."""

    @property
    def elf_machine(self) -> int:
        """Its number in ELF headers."""
        return self.registers.ELF_MACHINE


def _machine(registers: ModuleType, calls: ModuleType, rules: Callable[[], PlacedRules] | None = None) -> Machine:
    return Machine(cast(Registers, registers), cast(Calls, calls), rules)


X86_64 = _machine(x86_64_registers, x86_64_calls)
AARCH64 = _machine(aarch64_registers, aarch64_calls, PlacedRules)


def machine_of(architecture: str | None) -> Machine:
    """The machine that a recording's header names; x86-64 if it names none, or one that cannot be walked."""
    return next((one for one in (X86_64, AARCH64) if architecture in one.registers.MACHINES), X86_64)
