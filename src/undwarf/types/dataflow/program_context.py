"""What the data flow needs to know about the binary: types, callees, frames, constants, globals."""

from collections.abc import Callable, Iterable

from undwarf.disasm import Machine
from undwarf.types.dataflow.abstract_values import ADDRESS, PERCPU, Value
from undwarf.types.dataflow.value_interner import ValueInterner
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.types.layouts.type_records import AGGREGATES
from undwarf.types.sources.got import OffsetTable
from undwarf.types.sources.type_source import GlobalVariable, Prototype, TypeSource

__all__ = ["ProgramContext"]


class ProgramContext:
    """The binary that a function is in.

    `frame_rules(pcs)` gives for each (register, offset) whose sum is the call frame address, or None. `callee(address)`
    gives the prototype of a call's target, by address or symbol name. `complete`: the graph has all types from the
    start, as with BTF; else `containers_at(pc)` has the containment relation of the types that a function may use.
    """

    def __init__(
        self,
        source: TypeSource,
        machine: Machine,
        *,
        frame_rules: Callable[[Iterable[int]], list[tuple[int, int] | None]] | None = None,
        callee: Callable[[int], Prototype | None] | None = None,
        changed_by: Callable[[int], frozenset[int] | None] | None = None,
        returned_argument: Callable[[int], tuple[int, int] | None] | None = None,
        is_data: Callable[[int], bool] | None = None,
        elsewhere: Callable[[int], int] | None = None,
        constant_at: Callable[[int], int | None] | None = None,
        indirections: OffsetTable | dict[int, int] | None = None,
        complete: bool = False,
        containers_at: Callable[[int], Containers] | None = None,
        kernel: bool = False,
        thread_block: int = 0,
        symbol_at: Callable[[int], tuple[str, int, int] | None] | None = None,
    ) -> None:
        self.source = source
        self.graph: TypeGraph = source.graph
        self.machine = machine
        self.frame_rules = frame_rules or (lambda pcs: [None for _pc in pcs])
        self.callee = callee or source.prototype_at
        self.changed_by = changed_by or (lambda _address: None)
        """The caller-saved registers that a function clobbers; None for all."""
        self.returned_argument = returned_argument or (lambda _address: None)
        """(register, offset) if a function returns an argument plus an offset."""
        self.is_data = is_data
        """Whether an integer is the address of a variable; None in position-independent code."""
        self.constant_at = constant_at or (lambda _address: None)
        """The word at a read-only address, unless it is an address."""
        self.values: ValueInterner | None = None
        """Interned values, shared by all functions."""
        self.elsewhere = elsewhere or (lambda _slot: 0)
        """The type of another file's variable with its address in a GOT slot; void if none."""
        self.indirections = {} if indirections is None else indirections
        """{GOT slot: target}."""
        self.complete = complete
        """Whether all types are known (BTF, which has no local variables)."""
        whole = Containers(self.graph, (lambda: self.graph.of_kinds(AGGREGATES)) if complete else None, isolated=kernel)
        self.containers_at: Callable[[int], Containers] = containers_at or (lambda _pc: whole)
        self.kernel = kernel
        self._per_cpu_bases: tuple[int, int, int] | None = None
        self.allocators: dict[int, tuple[int, ...]] = {}
        """Cache of allocators: {callee: registers with the allocated size}."""
        self.own_allocators: dict[int, tuple[int, ...]] = {}
        """The same for the program's own functions."""
        self.symbol_at = symbol_at or (lambda _address: None)
        """(name, address, size) of the variable symbol that covers an address."""
        self.thread_block = thread_block
        """Bytes from the start of the module's TLS block to the thread pointer (x86-64)."""

    def undescribed(self, address: int, t: int) -> GlobalVariable | None:
        """A variable at an address that is used as an object of type ``t``, if it is not described (BTF has no static
        locals) and its symbol has the object's size; else None."""
        symbol = self.symbol_at(address) if self.source.global_at(address) is None else None
        if symbol is None or symbol[1] != address or symbol[2] != self.graph.size(t):
            return None
        return GlobalVariable(symbol[0], t, address, symbol[2])

    def is_per_cpu_base(self, where: Value) -> bool:
        """Whether the address holds the base of a CPU's per-CPU area: an entry of `__per_cpu_offset`, or the per-CPU
        variable `this_cpu_off` (asm-generic/percpu.h, and asm/percpu.h of x86)."""
        if where[0] not in (ADDRESS, PERCPU):
            return False
        if self._per_cpu_bases is None:
            all_cpus, own = self.source.symbol_named("__per_cpu_offset"), self.source.symbol_named("this_cpu_off")
            self._per_cpu_bases = (all_cpus[0], sum(all_cpus), own[0])
        low, high, one = self._per_cpu_bases
        if where[0] == PERCPU:
            return one > 0 and where[4] == one and not where[2]
        return low > 0 and low <= where[4] & 0xFFFFFFFFFFFFFFFF < high
