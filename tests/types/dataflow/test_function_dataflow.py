"""Values of registers: through loads and calls, at joins and in loops."""

import pytest
from tests.support.types.fakes import Fake, in_union
from tests.support.types.tracked import RAX, RCX, RDI, RDX, RSI, Touched

from undwarf.types.layouts.type_graph import Kind, TypeRecord
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind, Prototype


def test_parameters_point_to_members(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 8(%rdi),%rax; mov (%rdi),%rdi; mov 16(%rdi),%eax; ret") == [
        "node.key",
        "node.next",
        "node.hits",
    ]


def test_a_load_uses_the_state_before_it(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 24(%rdi),%rdi; mov 24(%rdi),%rdi; ret") == ["node.owner", "item.value"]


def test_a_loop_keeps_what_all_iterations_agree_on(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("1: mov 8(%rdi),%rax; mov (%rdi),%rdi; test %rdi,%rdi; jne 1b; ret") == ["node.key", "node.next"]


def test_a_loop_that_changes_the_type_is_not_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("1: mov 24(%rdi),%rdi; test %rdi,%rdi; jne 1b; ret") == ["?"]
    assert touched("1: mov (%rdi),%rdi; test %rdi,%rdi; jne 1b; ret") == ["node.next"]


def test_null_on_one_path_does_not_matter(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("xor %eax,%eax; test %esi,%esi; je 1f; mov %rdi,%rax; 1: mov 8(%rax),%rax; ret") == ["node.key"]


@pytest.mark.parametrize(
    ("number", "fixed", "expected"),
    [
        ("mov $-12,%rax", True, "node.key"),
        ("mov $0x404040,%eax", False, "node.key"),
        ("mov $0x404040,%eax", True, "?"),
        ("mov %edx,%eax", False, "?"),
    ],
)
def test_an_integer_that_is_no_address_does_not_matter_on_one_path(
    fake: Fake, touched: Touched, number: str, fixed: bool, expected: str
) -> None:
    fake.takes((RDI, fake.node))
    code = f"{number}; test %esi,%esi; je 1f; mov %rdi,%rax; 1: mov 8(%rax),%rax; ret"
    assert touched(code, fixed=fixed) == [expected]


@pytest.mark.parametrize(("number", "expected"), [(-0x0F0E0D0C0B0A0909, "node.key"), (7, "node.key"), (None, "?")])
def test_constants_stored_over_a_pointer_do_not_matter_on_one_path(
    fake: Fake, touched: Touched, number: int | None, expected: str
) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdi,-24(%rsp); test %esi,%esi; je 1f; movaps 0x1000(%rip),%xmm0; movaps %xmm0,-32(%rsp)"
    code += "; 1: mov -24(%rsp),%rax; mov 8(%rax),%rcx; ret"
    assert touched(code, constant_at=lambda _address: number)[-1] == expected


def test_a_half_register_written_is_no_pointer(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov %edi,%edi; mov 8(%rdi),%rax; ret") == ["?"]
    assert touched("mov $1,%dil; mov 8(%rdi),%rax; ret") == ["?"]
    assert touched("mov $1,%sil; mov 8(%rdi),%rax; ret") == ["node.key"]


@pytest.mark.parametrize("writer", ["bswap %rdi", "not %rdi", "rdtsc; mov %rax,%rdi", "pop %rdi"])
def test_a_destination_of_unknown_effect_is_forgotten(fake: Fake, touched: Touched, writer: str) -> None:
    fake.takes((RDI, fake.node))
    assert touched(f"mov %rdi,%rbx; {writer}; mov 8(%rdi),%rax; mov 8(%rbx),%rax; ret") == ["?", "node.key"]


def pair_of(fake: Fake) -> int:
    graph, member = fake.graph, fake.member
    members = (
        member("of", 0, 8, graph.pointer_to(fake.node)),
        member("other", 8, 8, graph.pointer_to(fake.item)),
    )
    return graph.add(TypeRecord(Kind.STRUCT, "pair", 16, keyword="struct", members=members))


@pytest.mark.parametrize(
    "loading",
    [
        "movdqu (%rdi),%xmm0; movhlps %xmm0,%xmm4; movq %xmm0,%rdx; movq %xmm4,%rax",
        "vmovdqu (%rdi),%xmm0; vmovdqa %xmm0,%xmm2; movq %xmm2,%rdx; punpckhqdq %xmm2,%xmm2; movq %xmm2,%rax",
        "movups (%rdi),%xmm9; movaps %xmm9,%xmm1; movaps %xmm1,-40(%rsp); mov -40(%rsp),%rdx; mov -32(%rsp),%rax",
        "movq (%rdi),%xmm0; movhps 8(%rdi),%xmm0; movups %xmm0,-24(%rsp); mov -24(%rsp),%rdx; mov -16(%rsp),%rax",
        "mov (%rdi),%rdx; mov 8(%rdi),%rax; movq %rdx,%xmm0; movq %rax,%xmm1; punpcklqdq %xmm1,%xmm0; xor %eax,%eax;"
        "movups %xmm0,-24(%rsp); mov -16(%rsp),%rax",
    ],
)
def test_two_pointers_are_moved_at_once(fake: Fake, touched: Touched, loading: str) -> None:
    fake.takes((RDI, pair_of(fake)))
    assert touched(f"{loading}; mov 8(%rdx),%rcx; mov 24(%rax),%rcx; ret")[-2:] == ["node.key", "item.value"]


@pytest.mark.parametrize(
    ("between", "first", "second"),
    [
        ("movq %xmm0,%xmm0", "node.key", "?"),
        ("movhps (%rsi),%xmm0", "node.key", "?"),
        ("paddq %xmm1,%xmm0", "?", "?"),
        ("movsd (%rsi),%xmm0", "?", "?"),
        ("vmovdqu (%rsi),%ymm0", "?", "?"),
        ("call .+0x100", "?", "?"),
    ],
)
def test_words_of_a_vector_register_are_lost_where_it_is_written(
    fake: Fake, touched: Touched, between: str, first: str, second: str
) -> None:
    fake.takes((RDI, pair_of(fake)))
    code = f"movdqu (%rdi),%xmm0; {between}; movq %xmm0,%rdx; movhlps %xmm0,%xmm4; movq %xmm4,%rax"
    assert touched(f"{code}; mov 8(%rdx),%rcx; mov 24(%rax),%rcx; ret")[-2:] == [first, second]


def test_two_integers_loaded_at_once_are_not_equal(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "movups -24(%rsp),%xmm0; movq %xmm0,%rax; movhlps %xmm0,%xmm1; movq %xmm1,%rdx"
    code += "; shl $3,%rax; shl $3,%rdx; sub %rdx,%rax"
    assert touched(f"{code}; mov 8(%rdi,%rax),%rcx; mov 8(%rdi),%rcx; ret")[-2:] == ["?", "node.key"]


def test_calls_clobber_and_return(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node))
    fake.returns(0x1000, fake.item)
    text = "mov %rsi,%rbx; call .+0x1000-3; mov 24(%rax),%rdx; mov 8(%rbx),%rdx; mov 8(%rdi),%rdx; ret"
    assert touched(text) == ["item.value", "node.key", "?"]


def test_indirect_calls_return_by_the_type_of_the_member(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.ops))
    assert touched("call *(%rdi); mov 8(%rax),%rdx; ret") == ["ops.get", "node.key"]
    assert touched("mov (%rdi),%rax; call *%rax; mov 8(%rax),%rdx; ret") == ["ops.get", "node.key"]


def test_a_call_selects_the_function_pointer_of_a_union(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    get = graph.pointer_to(graph.add(TypeRecord(Kind.FUNCTION, target=graph.pointer_to(fake.node))))
    members = (fake.member("get", 0, 8, get), fake.member("item", 0, 8, graph.pointer_to(fake.item)))
    either = graph.add(TypeRecord(Kind.UNION, "either", 8, members=members, keyword="union"))
    fake.takes((RDI, either))
    assert touched("call *(%rdi); mov 8(%rax),%rdx; ret")[-1] == "node.key"
    other = graph.pointer_to(graph.add(TypeRecord(Kind.FUNCTION, target=graph.pointer_to(fake.item))))
    # Of two functions either may be called.
    fake.takes((RDI, graph.add(TypeRecord(Kind.UNION, "other", 8, members=(*members, fake.member("o", 0, 8, other))))))
    assert touched("call *(%rdi); mov 8(%rax),%rdx; ret")[-1] == "?"


def test_globals_by_address(fake: Fake, touched: Touched) -> None:
    fake.globals = [GlobalVariable("g", fake.node, 0x2000, 32)]
    text = "mov 0x2000-7+8(%rip),%rax; lea 0x2000-14(%rip),%rdi; mov 16(%rdi),%eax; mov (%rdi,%rsi),%rax; ret"
    assert touched(text) == ["node.key", "node.hits", "?"]


def test_conditional_moves_keep_what_both_agree_on(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node), (RDX, fake.item))
    assert touched("cmove %rsi,%rdi; mov 8(%rdi),%rax; cmove %rdx,%rdi; mov 8(%rdi),%rax; ret") == ["node.key", "?"]


def test_an_untagged_pointer_joins_with_the_other_selected_one(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    for made, known in (("lea -1(%rax),%rdx", True), ("mov %rax,%rdx", False), ("lea -8(%rax),%rdx", False)):
        for select in ("cmovne %rdx,%rdi; mov 8(%rdi),%rcx", "cmove %rdi,%rdx; mov 8(%rdx),%rcx"):
            code = f"mov (%rsi),%rax; {made}; test $1,%al; {select}; ret"
            assert touched(code)[-1] == ("node.key" if known else "?")
    # A number that something else is known of is an index.
    assert touched("lea (,%rsi,8),%rax; lea -1(%rax),%rdx; test $1,%al; cmovne %rdx,%rdi; mov 8(%rdi),%rcx") == ["?"]


def test_xchg_swaps_what_is_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    assert touched("xchg %rdi,%rsi; mov 24(%rdi),%rax; mov 8(%rsi),%rax; ret") == ["item.value", "node.key"]


def test_the_difference_of_two_pointers_is_no_pointer(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.double))
    code = "mov %rdi,%rbx; sub %rsi,%rdi; mov (%rsi,%rdi),%rax; mov 8(%rbx),%rax; ret"
    assert touched(code) == ["?", "node.key"]


def test_a_difference_counts_elements_whichever_pointer_is_constant(fake: Fake, touched: Touched) -> None:
    constant = fake.graph.add(TypeRecord(Kind.CONST, target=fake.node))
    fake.takes((RDI, fake.node), (RSI, constant), (RDX, fake.node))
    assert touched("sub %rdx,%rsi; mov 8(%rdi,%rsi),%rax; ret") == ["node.key"]


def test_padding_is_no_predecessor_of_the_code_after_it(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "test %esi,%esi; jne 2f; ret; nopw 0(%rax,%rax); 2: mov 8(%rdi),%rax; ret"
    assert touched(text) == ["node.key"]


def test_code_without_predecessors_starts_with_nothing_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("mov 8(%rdi),%rax; ret; mov 8(%rdi),%rax; ret") == ["node.key", "?"]


def test_an_unresolved_jump_may_reach_any_block(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    text = "test %esi,%esi; je 1f; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; {}; 1: mov 8(%rdi),%rax; ret"
    assert touched(text.format("jmp *%rax"))[-1] == "?"
    assert touched(text.format("ret"))[-1] == "node.key"


def test_absurd_arithmetic_stays_bounded(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    lines = ["1: imul $0x7fffffff,%rsi,%rsi; add %rsi,%rdi; shl $31,%rsi; mov 8(%rdi),%rax", "jne 1b", "ret"]
    assert touched("; ".join(lines)) == ["?"]
    assert touched(f"mov 8(%rdi),%rcx; {'; '.join(lines)}") == ["node.key", "?"]


def test_padding_within_a_loop_has_no_successor(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched(
        "jmp 2f\n nopl (%rax)\n 1: mov (%rdi), %rdi\n 2: mov 8(%rdi), %rax\n test %rdi, %rdi\n jne 1b\n ret"
    ) == [
        "node.next",
        "node.key",
    ]


def test_a_pointer_loaded_by_a_conditional_move_is_known(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.node))
    assert touched("mov %rsi, %rax\n cmove (%rdi), %rax\n mov 8(%rax), %rcx\n ret") == ["node.next", "node.key"]


def test_registers_that_a_callee_preserves_keep_their_values(fake: Fake, touched: Touched) -> None:
    fake.variables = [Place("node", fake.graph.pointer_to(fake.node), PlaceKind.REGISTER, RDI, 0, 0, 3)]
    code = "mov %rdi,%rcx; call 1f; mov 8(%rcx),%rax; ret; nop; 1: ret"
    assert touched(code, changes={0xE: frozenset((RAX,))}) == ["node.key"]
    assert touched(code, changes={0xE: frozenset((RAX, RCX))}) == ["?"]
    assert touched(code) == ["?"]


def test_a_register_preserved_by_a_callee_may_be_read_much_later(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdi,%rcx; call 1f; 2: dec %edx; jnz 2b; 3: dec %esi; jnz 3b; mov 8(%rcx),%rax; ret; nop; 1: ret"
    assert touched(code, changes={0x16: frozenset((RAX,))}) == ["node.key"]
    assert touched(code, changes={0x16: frozenset((RAX, RCX))}) == ["?"]


def test_memcpy_returns_its_destination(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "push %rbx; lea 8(%rdi),%rbx; mov %rbx,%rdi; call 1f; mov (%rax),%rcx; ret; nop; 1: ret"
    fake.prototypes[0x12] = Prototype("memcpy", 0, (), 0x12)
    assert touched(code)[-1] == "node.key"
    fake.prototypes[0x12] = Prototype("memcmp", 0, (), 0x12)
    assert touched(code)[-1] == "?"


def test_a_char_pointer_may_point_to_an_unnamed_string(fake: Fake, touched: Touched) -> None:
    character = fake.graph.add(TypeRecord(Kind.INT, "char", 1))
    code = "test %esi,%esi; jz 1f; lea 0x1234(%rip),%rdi; 1: movzbl 2(%rdi,%rcx),%eax; ret"
    fake.takes((RDI, character))
    assert touched(code) == ["char."]
    fake.takes((RDI, fake.node))
    assert touched(code) == ["?"]


def test_a_pointer_may_point_to_one_of_many_types(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    many = [
        graph.add(TypeRecord(Kind.STRUCT, f"s{n}", 8, members=(fake.member("x", 0, 8, fake.long),))) for n in range(20)
    ]
    fake.takes((RDI, in_union(fake, *many, fake.node)))
    assert touched("mov (%rdi),%rax; mov 16(%rax),%ecx; mov (%rax),%rdx; ret")[1:] == ["node.hits", "?"]


def test_rounding_down_keeps_the_member_of_an_aligned_type(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    assert touched("add $8,%rdi; and $-8,%rdi; mov (%rdi),%rax; ret") == ["node.key"]
    assert touched("add $8,%rdi; and $-16,%rdi; mov (%rdi),%rax; ret") == ["?"]


def test_joined_pointers_point_to_what_both_types_share(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.item), (RSI, fake.node))
    head = "lea 8(%rdi),%rax; test %edx,%edx; je 1f; "
    assert touched(head + "lea 8(%rsi),%rax; 1: mov (%rax),%rcx; ret") == ["?"]
    assert touched(head + "lea 24(%rdi),%rax; lea 8(%rsi),%rcx; mov %rcx,%rax; 1: mov (%rax),%rcx; ret") == ["?"]
    assert touched("lea 24(%rdi),%rax; test %edx,%edx; je 1f; lea 8(%rsi),%rax; 1: mov (%rax),%rcx; ret") == [
        "long int."
    ]


def test_an_iterated_element_is_preferred_to_its_base_object(fake: Fake, touched: Touched) -> None:
    """As where an index counts from one: `rows` has a pointer to a `struct link` before them, as `struct link` has."""
    graph, member = fake.graph, fake.member
    to_link = graph.pointer_to(fake.link)
    row = graph.add(TypeRecord(Kind.ARRAY, target=fake.link, count=1))
    members = (member("last", 0, 8, to_link), member("n", 8, 8, fake.long), member("of", 16, 16, row))
    rows = graph.add(TypeRecord(Kind.STRUCT, "rows", 32, keyword="struct", members=members))
    members = (member("links", 0, 16, fake.link), member("n", 16, 8, fake.long))
    fake.takes((RDI, rows), (RSI, graph.add(TypeRecord(Kind.STRUCT, "list", 24, keyword="struct", members=members))))
    code = "imul $16,%rdx,%rdx; lea (%rdi,%rdx),%rax; test %ecx,%ecx; je 1f; mov %rsi,%rax; 1: mov 8(%rax),%rcx; ret"
    assert touched(code) == ["link.prev"]


def test_memory_from_rusts_allocators_has_no_type_yet(fake: Fake, touched: Touched) -> None:
    graph = fake.graph
    character = graph.add(TypeRecord(Kind.INT, "u8", 1))
    room = graph.add(TypeRecord(Kind.POINTER, "*mut u8", 8, character))
    fake.prototypes[0x100] = Prototype("alloc", room, (), 0x100)
    assert touched("call .+0x100; movups %xmm0,(%rax); ret") == ["?"]
    fake.returns(0x100, fake.node)
    assert touched("call .+0x100; mov 8(%rax),%rcx; ret") == ["node.key"]


def test_a_register_tested_as_zero_is_null_on_that_branch(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "test %rdx,%rdx; mov %rdi,%rcx; jne 3f; cmp %rsi,8(%rdi); je 2f; xor %eax,%eax\n"
    code += "1: mov %rax,%rdx; add $32,%rax; cmp %rsi,8(%rdi,%rax); jne 1b\n 2: mov (%rdi,%rdx),%rax; ret"
    assert touched(code + "; 3: ret")[-1] == "node.next"
    # As the other way of the branch.
    assert touched(code.replace("jne 3f", "je 3f") + "; 3: ret")[-1] == "?"
    # Half of it may be 0, and another register.
    assert touched(code.replace("test %rdx,%rdx", "test %edx,%edx") + "; 3: ret")[-1] == "?"
    assert touched(code.replace("mov %rdi,%rcx", "mov 8(%rdi),%rdx") + "; 3: ret")[-1] == "?"
    assert touched(code.replace("mov %rdi,%rcx", "and %rdi,%rcx") + "; 3: ret")[-1] == "?"


def test_a_null_pointer_on_one_path_does_not_matter_at_a_join(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node), (RSI, fake.item))
    code = "mov %rsi,%rcx; test %rcx,%rcx; je 1f; mov %rdi,%rcx; 1: mov 8(%rcx),%rdx; ret"
    assert touched(code) == ["node.key"]
    assert touched(code.replace("je", "jne")) == ["?"]
    assert touched(code.replace("test %rcx,%rcx", "test %ecx,%ecx")) == ["?"]


def test_a_copy_of_a_null_register_is_null_too(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "mov %rdx,%rcx; test %rdx,%rdx; jne 2f; 1: mov (%rdi,%rcx),%rax; add $32,%rcx; dec %rsi; jne 1b; 2: ret"
    assert touched(code) == ["node.next"]
    assert touched(code.replace("mov %rdx,%rcx", "mov %rsi,%rcx")) == ["?"]
    # The other way still has what it had.
    assert touched("mov %rdx,%rcx; test %rdx,%rdx; je 2f; mov (%rdi,%rcx),%rax; 2: ret") == ["?"]


def test_a_value_lost_in_the_first_iteration_only_is_recovered(fake: Fake, touched: Touched) -> None:
    """`calls` has other pointers before an array of what functions go on with. The first one that is called does not
    return, but that is known only where another one was called."""
    graph, member = fake.graph, fake.member
    call = (member("at", 0, 8, graph.pointer_to(fake.node)), member("n", 8, 8, fake.long))
    row = graph.add(
        TypeRecord(Kind.ARRAY, target=graph.add(TypeRecord(Kind.STRUCT, "call", 16, members=call)), count=4)
    )
    before = (member("of", 0, 8, graph.pointer_to(fake.item)), member("n", 8, 8, fake.long))
    calls = TypeRecord(Kind.STRUCT, "calls", 80, keyword="struct", members=(*before, member("row", 16, 64, row)))
    fake.takes((RDI, graph.add(calls)))
    code = "lea 16(%rdi),%rax; mov (%rax),%rcx; 1: mov 8(%rcx),%rdx; test %rsi,%rsi; jne 2f; sub $16,%rax\n"
    code += "{}; jmp 1b; 2: add $16,%rax; mov (%rax),%rcx; dec %rsi; jmp 1b"
    assert touched(code.format("mov (%rax),%rcx"))[1] == "node.key"
    # What each turn takes from there is something else.
    assert touched(code.format("mov (%rdi),%rcx"))[1] == "?"


def test_a_jump_after_restored_registers_leaves_the_function(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    code = "push %rbx; mov %rdi,%rbx; 1: cmp %rsi,8(%rbx); jne 1b; mov (%rsi,%rdx),%rcx; {}; jmp *%rcx"
    assert touched(code.format("pop %rbx"))[0] == "node.key"
    # As a switch, which may go on anywhere.
    assert touched(code.format("nop"))[0] == "?"


def test_a_loaded_small_integer_is_an_index_in_a_sum(fake: Fake, touched: Touched) -> None:
    members = (fake.member("first", 0, 64, fake.doubles), fake.member("second", 64, 64, fake.doubles))
    fake.takes((RDI, fake.graph.add(TypeRecord(Kind.STRUCT, "both", 128, keyword="struct", members=members))))
    for load in ("movzbl 16(%rsi),%edx", "mov 16(%rsi),%edx", "movzwl -8(%rsp,%rcx,2),%edx"):
        code = load + "; movzbl 17(%rsi),%eax; shl $2,%rax; lea 8(%rdx,%rax),%rax; mov (%rdi,%rax,8),%rcx; ret"
        assert touched(code)[-1] == "both.second[]"


def test_a_checked_pointer_is_known_in_a_loop_that_starts_with_null(fake: Fake, touched: Touched) -> None:
    fake.takes((RDI, fake.node))
    # Where two ways meet, what was not known on one of them at first stays unknown.
    code = (
        "xor %ebx,%ebx; 1: test %rbx,%rbx; je 2f; mov (%rbx),%rax; nop; test %esi,%esi; je 3f; nop; 3: mov 8(%rax),%rcx"
    )
    assert touched(f"{code}; 2: mov %rdi,%rbx; dec %esi; jne 1b; ret") == ["node.next", "node.key"]
    # Half of what is nothing is, too; of less of it nothing is said.
    half, byte = (code.replace("test %rbx,%rbx", f"test {one},{one}") for one in ("%ebx", "%bl"))
    assert touched(f"{half}; 2: mov %rdi,%rbx; dec %esi; jne 1b; ret") == ["node.next", "node.key"]
    assert touched(f"{byte}; 2: mov %rdi,%rbx; dec %esi; jne 1b; ret") == ["node.next", "?"]
    # Nothing but nothing: code that nobody comes to.
    assert touched(f"{code}; 2: dec %esi; jne 1b; ret") == ["?", "?"]


@pytest.mark.parametrize(
    ("step", "expected"), [("", "long int."), ("lea (%rsi,%rsi,4),%rsi; lea (%rdi,%rsi,8),%rdi;", "long int.")]
)
def test_text_in_or_behind_a_union_is_text(fake: Fake, touched: Touched, step: str, expected: str) -> None:
    """A first member and its object, the pointees of one pointer, are joined as the first member."""
    graph, member = fake.graph, fake.member
    to_long, to_item = graph.pointer_to(fake.long), graph.pointer_to(fake.item)
    parts = (member("n", 0, 8, fake.long), member("at", 0, 8, to_long), member("item", 0, 8, to_item))
    inner = graph.add(TypeRecord(Kind.UNION, "u", 8, keyword="union", members=parts))
    members = (
        member("u", 0, 8, inner),
        member("rest", 8, 32, graph.add(TypeRecord(Kind.ARRAY, target=fake.int, count=8))),
    )
    fake.takes((RDI, graph.add(TypeRecord(Kind.STRUCT, "value", 40, keyword="struct", members=members))))
    assert touched(f"{step} test %rcx,%rcx; je 1f; mov (%rdi),%rdi; 1: mov (%rdi),%rax; ret")[-1] == expected
    # An item would be as good where the object begins with one.
    assert touched(f"{step} test %rcx,%rcx; je 1f; mov (%rdi),%rdi; 1: mov 8(%rdi),%rax; ret")[-1] != "item.link.next"
