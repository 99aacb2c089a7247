"""Registers and stack slots of parameters."""

from tests.support.types.fakes import Fake
from tests.support.types.tracked import RDI, RSI

from undwarf.types.sources.parameter_registers import argument_registers, stack_arguments


def test_parameter_registers_depend_on_the_return_type(fake: Fake) -> None:
    graph = fake.graph
    to_node = graph.pointer_to(fake.node)
    parameters = (("n", to_node),)
    assert argument_registers(graph, parameters, fake.int) == ((RDI, to_node, 0),)
    # The caller says where an item of 40 bytes is wanted.
    said = (RDI, graph.pointer_to(fake.item), 0)
    assert argument_registers(graph, parameters, fake.item) == (said, (RSI, to_node, 0))
    assert argument_registers(graph, parameters, fake.int) == ((RDI, to_node, 0),)


def test_the_seventh_integer_and_large_objects_are_on_the_stack(fake: Fake) -> None:
    graph = fake.graph
    numbers = tuple((f"n{k}", fake.long) for k in range(7))
    assert stack_arguments(graph, numbers, fake.int) == ((0, fake.long),)
    assert stack_arguments(graph, numbers[:6], fake.int) == ()
    assert stack_arguments(graph, numbers[:6], fake.item) == ((0, fake.long),)
    assert stack_arguments(graph, (("item", fake.item), *numbers), fake.int) == ((0, fake.item), (40, fake.long))
    assert len(argument_registers(graph, numbers, fake.int)) == 6
