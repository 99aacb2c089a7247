"""The types that the data flow gives memory operands, on code of a few instructions."""

from collections.abc import Callable
from pathlib import Path

from tests.support.types.fakes import Fake, assemble

from undwarf.disasm import Memory
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import FRAME
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.evidence.member_access import accessed_member as what_is_touched
from undwarf.types.layouts.containers import Containers

__all__ = ["RAX", "RBP", "RBX", "RCX", "RDI", "RDX", "RSI", "RSP", "Touched", "touches"]

RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)

Touched = Callable[..., list[str]]


def touches(fake: Fake, tmp_path: Path) -> Touched:
    """The operands of a piece of code in order: `node.key`, `frame-16`, or `?`."""

    def run(
        text: str,
        *,
        complete: bool = False,
        changes: dict[int, frozenset[int]] | None = None,
        containers: Containers | None = None,
        fixed: bool = False,
        constant_at: Callable[[int], int | None] | None = None,
        rule: Callable[[int], tuple[int, int]] | None = None,
    ) -> list[str]:
        code = assemble(text, tmp_path)
        flow = FunctionFlow(MACHINE.listing(code, 0), MACHINE)
        changed_by = changes.get if changes is not None else None
        is_data = (lambda address: fake.global_at(address) is not None) if fixed else None
        program = ProgramContext(
            fake, MACHINE, complete=complete, changed_by=changed_by, is_data=is_data, constant_at=constant_at
        )
        if rule is not None:
            program.frame_rules = lambda pcs: [rule(pc) for pc in pcs]
        if containers is not None:
            program.containers_at = lambda _pc: containers
        tracker = Tracker(program, flow, 0, len(code))
        assert tracker.converged
        found: dict[int, str] = {}
        for number in range(len(flow.blocks)):
            for k in tracker.states(number):
                for at, operand in enumerate(flow.instructions[k].memory):
                    if operand.access and not operand.implicit:
                        where = tracker.address_of(k, at)
                        found[k] = say(fake, tracker, k, operand, where)
        return [found[k] for k in sorted(found)]

    return run


def say(fake: Fake, tracker: Tracker, k: int, operand: Memory, where: object) -> str:
    if where is None:
        return "?"
    assert isinstance(where, tuple)
    if where[0] == FRAME:
        return f"frame{where[4]:+d}"
    located = what_is_touched(tracker, k, operand, where, operand.size)
    if isinstance(located, str):
        return "?"
    return f"{fake.graph.name(located.type) or fake.graph.canonical_name(located.type)}.{located.field.path}"
