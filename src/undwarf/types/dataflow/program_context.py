"""The binary a function is in, as the data flow asks about it."""

from collections.abc import Callable, Iterable

from undwarf.disasm import Machine
from undwarf.types.dataflow.abstract_values import ADDRESS, PERCPU, Value
from undwarf.types.dataflow.value_interner import Values
from undwarf.types.layouts.containers import Embedders
from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.types.layouts.type_records import AGGREGATES
from undwarf.types.sources.got import OffsetTable
from undwarf.types.sources.type_source import GlobalVariable, Prototype, TypeSource

__all__ = ["Program"]


class Program:
    """What the tracker asks about the binary a function is in.

    `frame_rules(pcs)` gives for each (register, offset) such that the call frame address is their sum, or None;
    `callee(address)` the prototype of what is called there, by address or by the name of its symbol. `complete`: every
    type of the program is in the graph from the start, as with BTF; else `embedders_at(pc)` says what has what as a
    member, as far as a function may mean it.
    """

    def __init__(
        self,
        source: TypeSource,
        machine: Machine,
        *,
        frame_rules: Callable[[Iterable[int]], list[tuple[int, int] | None]] | None = None,
        callee: Callable[[int], Prototype | None] | None = None,
        changed_by: Callable[[int], frozenset[int] | None] | None = None,
        given_back: Callable[[int], tuple[int, int] | None] | None = None,
        is_data: Callable[[int], bool] | None = None,
        elsewhere: Callable[[int], int] | None = None,
        constant_at: Callable[[int], int | None] | None = None,
        indirections: OffsetTable | dict[int, int] | None = None,
        complete: bool = False,
        embedders_at: Callable[[int], Embedders] | None = None,
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
        """General registers that a function may leave changed, of those a caller does not count on; None for all."""
        self.given_back = given_back or (lambda _address: None)
        """(register, distance) where a function returns what it is given in a register, and so much."""
        self.is_data = is_data
        """Whether a number is the address of a variable; None where the code's addresses are not fixed."""
        self.constant_at = constant_at or (lambda _address: None)
        """The word at an address that nobody writes to, if it is no address."""
        self.values: Values | None = None
        """The values of the data flow, those of all functions so far."""
        self.elsewhere = elsewhere or (lambda _slot: 0)
        """The type of another file's variable whose address is in a slot of the global offset table; void for none."""
        self.indirections = {} if indirections is None else indirections
        """Addresses in the global offset table -> what they lead to."""
        self.complete = complete
        """Whether every type is known, as in BTF, which says nothing of a function's own variables."""
        whole = Embedders(self.graph, (lambda: self.graph.of_kinds(AGGREGATES)) if complete else None, lonely=kernel)
        self.embedders_at: Callable[[int], Embedders] = embedders_at or (lambda _pc: whole)
        self.kernel = kernel
        self._per_cpu_bases: tuple[int, int, int] | None = None
        self.allocators: dict[int, tuple[int, ...]] = {}
        """By what is called, as far as it was asked, the registers that say how much it allocates."""
        self.own_allocators: dict[int, tuple[int, ...]] = {}
        """The same of the program's own."""
        self.symbol_at = symbol_at or (lambda _address: None)
        """(name, address, size) of the variable's symbol that holds an address."""
        self.thread_block = thread_block
        """Bytes from the begin of the module's thread-local block to the thread pointer (x86-64)."""

    def undescribed(self, address: int, t: int) -> GlobalVariable | None:
        """The variable that somebody takes for an object, if nothing describes it, as BTF does not those inside of
        functions, and its symbol has the object's size."""
        symbol = self.symbol_at(address) if self.source.global_at(address) is None else None
        if symbol is None or symbol[1] != address or symbol[2] != self.graph.size(t):
            return None
        return GlobalVariable(symbol[0], t, address, symbol[2])

    def is_per_cpu_base(self, where: Value) -> bool:
        """Whether at an address is where a cpu's per-cpu area lies.

        An entry of the array of all cpus', or the per-cpu variable that has the own one (asm-generic/percpu.h, and
        asm/percpu.h of x86).
        """
        if where[0] not in (ADDRESS, PERCPU):
            return False
        if self._per_cpu_bases is None:
            all_cpus, own = self.source.symbol_named("__per_cpu_offset"), self.source.symbol_named("this_cpu_off")
            self._per_cpu_bases = (all_cpus[0], sum(all_cpus), own[0])
        low, high, one = self._per_cpu_bases
        if where[0] == PERCPU:
            return one > 0 and where[4] == one and not where[2]
        return low > 0 and low <= where[4] & 0xFFFFFFFFFFFFFFFF < high
