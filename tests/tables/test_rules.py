"""The set of distinct rules."""

import threading

import pytest

from undwarf.limits import Limits
from undwarf.tables.cfi.expressions import MOST, Expressions, plain_address, plain_cfa
from undwarf.tables.model import describe
from undwarf.tables.rule_set import RuleSet


def add(rules: RuleSet, offset: int, **more: int) -> int:
    return rules.add(
        (1, 7, offset, 0), {16: (2, -8, 0), **{int(k[1:]): (2, v, 0) for k, v in more.items()}}, column=16, source=5
    )


def test_equal_rules_have_one_number() -> None:
    rules = RuleSet()
    assert [add(rules, 8), add(rules, 16), add(rules, 8), add(rules, 8, r6=-16)] == [0, 1, 0, 2]
    assert len(rules) == 3


def test_many_rules_keep_their_words_as_the_set_grows() -> None:
    rules = RuleSet()
    numbers = [add(rules, 8 * i, r3=-8 * i) for i in range(5000)]
    assert numbers == list(range(5000))
    assert [add(rules, 8 * i, r3=-8 * i) for i in range(5000)] == numbers
    assert all(rules.words(i)[2] == 8 * i and rules.words(i)[14] == -8 * i for i in range(5000))


def test_buffers_handed_out_before_growth_stay_true() -> None:
    rules = RuleSet()
    add(rules, 8)
    before = rules.rules
    for i in range(1000):
        add(rules, 8 * i)
    assert list(before[:3]) == [1, 7, 8]


def test_a_rule_in_words() -> None:
    rules = RuleSet()
    number = rules.add((2, 6, -16, 8), {16: (2, -8, 0), 6: (5, 4, 10), 3: (4, 12, 0)}, column=16, source=4, signal=True)
    rule = describe(rules, number)
    assert rule.cfa == "*(rbp-16)+8"
    assert rule.registers == {"ra": "cfa-8", "rbp": "*(r10+4)", "rbx": "r12"}
    assert (rule.signal, rule.outermost, rule.source) == (True, False, "orc")


def test_a_full_set_says_so() -> None:
    rules = RuleSet(Limits(rules=3))
    for i in range(3):
        add(rules, i)
    with pytest.raises(OverflowError):
        add(rules, 3)
    assert add(rules, 1) == 1


@pytest.mark.parametrize("number", [-1, 1, 1 << 32])
def test_no_such_rule(number: int) -> None:
    rules = RuleSet()
    add(rules, 8)
    with pytest.raises(IndexError):
        rules.words(number)


def test_threads_agree_on_the_numbers() -> None:
    rules = RuleSet()
    found: list[list[int]] = []

    def work() -> None:
        found.append([add(rules, 8 * i) for i in range(3000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rules) == 3000
    assert all(numbers == found[0] for numbers in found)


def test_the_store_of_expressions_grows_and_is_bounded() -> None:
    store = Expressions()
    codes = [bytes((0x08, i & 0xFF, i >> 8)) for i in range(3000)]
    assert [store.add(code) for code in codes] == list(range(3000))
    assert store.add(codes[7]) == 7
    assert [store[i] for i in (0, 7, 2999)] == [codes[0], codes[7], codes[2999]]
    assert store.add(bytes(1 << 25)) == -1
    for i in range(3000, MOST + 5):
        number = store.add(b"\x0c" + i.to_bytes(4, "little"))
    assert number == -1
    assert len(store) == MOST


@pytest.mark.parametrize(
    "code",
    [
        b"\x77",
        b"\x77\x80",
        b"\x80\x08",
        b"\x91\x08",
        b"\x06",
        b"\x77\x08\x06\x06",
        b"\x77\x08\x06\x23",
        b"\x77\x08\x06\x23\x08\x22",
        b"\x77\x08\x06\x38",
        b"\x77\x08\x06\x23\xff\xff\xff\xff\xff\xff\x01",
        b"\x77\xff\xff\xff\xff\xff\xff\x01",
    ],
)
def test_expressions_that_are_no_plain_rule(code: bytes) -> None:
    assert plain_cfa(code, 16, lazy_plt=True) is None
    assert plain_address(code, 16) is None


def test_linkage_tables_are_x86_64_only() -> None:
    code = b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"
    assert plain_cfa(code, 17, lazy_plt=True) == (3, 7, 8, 11)
    assert plain_cfa(code, 17, lazy_plt=False) is None
