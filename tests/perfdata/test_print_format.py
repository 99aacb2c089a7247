"""Records of tracepoints as text: what is expected is what perf 7 prints, but where that is said to be wrong."""

import pytest
from tests.support.perfdata.tracepoints import format_file, raw

from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata.print_format import PrintFormat
from undwarf.perfdata.tracing import Tracing, parse_format

FUNCTIONS = {0xFFFFFFFF81000010: (b"do_it", 16)}


def made(shown: str, limits: Limits = DEFAULT) -> PrintFormat:
    described = parse_format(format_file(shown), "system")
    assert described is not None
    return PrintFormat(described, Tracing(strings={0x1000: b"Start"}), FUNCTIONS.get, limits)


@pytest.mark.parametrize(
    ("shown", "values", "text"),
    [
        ('"a=%d b=%u c=%lx", REC->a, REC->b, REC->c', {"a": -3, "b": 7, "c": 255}, "a=-3 b=7 c=ff"),
        ('"%08lx|%-4d|%4d|%#x|%#x", REC->c, REC->a, REC->a, REC->b, REC->a', {"c": 10, "a": 0, "b": 7},
         "0000000a|0   |   0|0x7|0"),
        ('"%d%%", REC->a', {"a": 5}, "5%"),
        ('"%hu %hhd %lld", REC->d, REC->d, REC->c', {"d": 511, "c": (1 << 64) - 2}, "511 -1 -2"),
        ('"%.3d|%*d", REC->a, 4, REC->a', {"a": 7}, "007|   7"),
        ('"%c", REC->d', {"d": 65}, "A"),
        ('"%s/%s/%s", REC->comm, __get_str(name), __get_rel_str(near)', {}, "prog/file/by"),
        ('"%.*s|%-6s|%6s", 2, __get_str(name), REC->comm, REC->comm', {}, "fi|prog  |  prog"),
        ('"%s", REC->a ? "yes" : "no"', {"a": 1}, "yes"),
        ('"%s", REC->a == 2 && !(REC->b & 1) ? "yes" : "no"', {"a": 2, "b": 1}, "no"),
        ('"%d", REC->a * 2 + REC->b % 4 - 1', {"a": 5, "b": 7}, "12"),
        ('"%d:%d", ((unsigned int) ((REC->b) >> 20)), ((unsigned int) ((REC->b) & ((1U << 20) - 1)))',
         {"b": 254 << 20 | 3}, "254:3"),
        ('"%x", (u8)REC->b', {"b": 0x1FF}, "ff"),
        ('"%s", __print_flags(REC->b, "|", { 0x01, "A" }, { (1UL << 1), "B" }, { 4, "C" })', {"b": 3}, "A|B"),
        ('"%s", __print_flags(REC->b, "|", { 1, "A" })', {"b": 9}, "A|0x8"),
        ('"%s", __print_flags(REC->b, "|", { 1, "A" })', {"b": 0}, ""),
        ('"%s", REC->b ? __print_flags(REC->b, "|", { 1, "A" }, { 0, ((void *)0) }) : "none"', {"b": 1}, "A"),
        ('"%s", __print_symbolic(REC->a, { 0, "ZERO" }, { -1, "MINUS" })', {"a": 0}, "ZERO"),
        ('"%s", __print_symbolic(REC->a, { 0, "ZERO" })', {"a": 9}, "0x9"),
        ('"%s", __print_symbolic(REC->a, { HRTIMER_SOFTIRQ, "H" "I" })', {"a": 8}, "HI"),
        ('"%s %s", __print_hex(REC->mac, 3), __print_hex_str(REC->mac, 3)', {}, "01 02 03 010203"),
        ('"%s", __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / sizeof(u32), sizeof(u32))',
         {"items": (1, 16)}, "{0x1,0x10}"),
        ('"%u", ((u32 *)__get_dynamic_array(list))[1]', {"items": (1, 16)}, "16"),
        ('"%u", REC->mac[5]', {}, "255"),
        ('"%pM %pm", REC->mac, REC->mac', {}, "01:02:03:04:05:ff 0102030405ff"),
        ('"%pI4", REC->mac', {}, "1.2.3.4"),
        ('"%p %p", (void *)REC->c, (void *)0', {"c": 0x10}, "0x10 (nil)"),
        ('"%pS %ps", (void *)REC->c, (void *)REC->c', {"c": 0xFFFFFFFF81000010}, "do_it+0x10 do_it"),
        ('"%pS", (void *)REC->c', {"c": 0x20}, "0x20"),
        ('"%s %s", REC->text, REC->text', {"text": 0x1000}, "Start Start"),
        ('"%s", REC->text', {"text": 0x2000}, "2000"),
        ('"%s", __get_bitmask(list)', {"items": (5, 1)}, "00000001,00000005"),
        ('"%s", __get_cpumask(list)', {"items": (0b10111, 0)}, "0-2,4"),
        ('"a\\tb\\n"', {}, "a\tb\n"),
    ],
)  # fmt: skip  # a table
def test_a_record_is_printed_as_perf_prints_it(shown: str, values: dict[str, int], text: str) -> None:
    assert made(shown)(raw(**values)) == text.encode()


def test_operators_of_one_priority_go_from_left_to_right() -> None:
    """libtraceevent takes `a - b + c` for `a - (b + c)`."""
    assert made('"%d", REC->a - REC->b + REC->d')(raw(a=9, b=4, d=1)) == b"6"


def test_bits_of_a_map_are_listed() -> None:
    """libtraceevent takes `%*pbl` for a pointer."""
    assert made('"%*pbl", 16, REC->mac')(raw(mac=b"\x07\x80\0\0\0\0")) == b"0-2,15"


@pytest.mark.parametrize(
    "shown",
    ['"%d"', '"%d", REC->missing', '"%d", jiffies_to_msecs(REC->a)', '"%d", (REC->a', "REC->a", '"%s", "a" "b', ""],
)
def test_a_format_that_is_not_understood_gives_the_fields(shown: str) -> None:
    printer = made(shown)
    text = printer(raw(a=-1, b=2, c=255, d=7))
    assert printer.failed
    assert text.startswith(
        b"[FAILED TO PARSE] a=-1 b=2 c=0xff comm=prog name=file mac=ARRAY[01, 02, 03, 04, 05, ff] d=7"
    )


def test_a_record_that_is_too_short_is_an_error() -> None:
    printer = made('"%d %s", REC->a, __get_str(name)')
    assert printer(raw(a=1)) == b"1 file"
    for size in range(64):
        with pytest.raises(ValueError, match="record of event"):
            printer(raw(a=1)[:size])


def test_division_by_nothing_is_nothing() -> None:
    assert made('"%d %d", REC->a / REC->b, REC->a % REC->b')(raw(a=9)) == b"0 0"


@pytest.mark.parametrize("shown", ['"%d", {}REC->a{}', '"%d", {}REC->a'])
def test_nesting_is_limited(shown: str) -> None:
    few = DEFAULT._replace(print_depth=20)
    part = "(" if shown.count("{}") == 2 else "~"
    assert made(shown.format(part * 6, ")" * 6), few)(raw(a=-1)) != b""
    assert not made(shown.format(part * 6, ")" * 6), few).failed
    assert made(shown.format(part * 30, ")" * 30), few).failed
    assert made(shown.format(part * 100_000, ")" * 100_000)).failed


def test_chains_of_operators_are_limited() -> None:
    assert made('"%d", ' + "+".join(["REC->a"] * 20))(raw(a=2)) == b"40"
    assert made('"%d", ' + "+".join(["REC->a"] * 5000)).failed


def test_widths_and_arrays_are_limited() -> None:
    assert made('"%99999d", REC->a').failed
    assert len(made('"%*d", REC->b, REC->a')(raw(b=0x7FFFFFFF))) <= DEFAULT.print_elements
    assert len(made('"%s", __print_hex_str(REC->comm, REC->b)')(raw(b=1 << 30))) < 200


@pytest.mark.parametrize("kind", ["M", "I4", "I6c", "ISpc", "U"])
def test_addresses_at_the_end_of_a_record_are_whole_or_none(kind: str) -> None:
    printer = made(f'"%p{kind}", REC->comm')
    assert printer(raw(comm=b"\2\0\0\1\2\3\4\5")) != b""
    with pytest.raises(ValueError, match="record of event"):
        printer(raw()[:25])
