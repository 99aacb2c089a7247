"""Parses the expressions of a tracepoint's ``print fmt``: C, over the fields of the record and the kernel's helpers.

Source for the helpers: `include/trace/stages/stage3_trace_output.h`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata.tracing import TraceField, TraceFormat

MASK = (1 << 64) - 1

_TOKEN = re.compile(
    rb"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*")|(?P<char>'(?:[^'\\]|\\.)')|
    (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)|(?P<name>[A-Za-z_]\w*)|
    (?P<operator>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:()\[\]{},.])
    )""",
    re.VERBOSE | re.DOTALL,
)
_PRIORITY = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7, "==": 6, "!=": 6,
    "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1,
}  # fmt: skip  # a table
_TYPE_WORDS = frozenset(
    b"unsigned signed char short int long void struct enum union const volatile bool u8 s8 u16 s16 u32 s32 u64 s64 "
    b"__u8 __s8 __u16 __s16 __u32 __s32 __u64 __s64 __be16 __be32 __be64 __le16 __le32 __le64 size_t ssize_t loff_t "
    b"pid_t uid_t gid_t dev_t ino_t sector_t gfp_t pgoff_t umode_t blkcnt_t uintptr_t".split()
)
_TYPE_SIZES = {
    "char": 1, "u8": 1, "s8": 1, "bool": 1, "__u8": 1, "short": 2, "u16": 2, "s16": 2, "__u16": 2, "int": 4, "u32": 4,
    "s32": 4, "__u32": 4, "unsigned": 4, "u64": 8, "s64": 8, "__u64": 8, "long": 8, "size_t": 8,
}  # fmt: skip  # a table
_CONSTANTS = {
    "HI_SOFTIRQ": 0, "TIMER_SOFTIRQ": 1, "NET_TX_SOFTIRQ": 2, "NET_RX_SOFTIRQ": 3, "BLOCK_SOFTIRQ": 4,
    "IRQ_POLL_SOFTIRQ": 5, "TASKLET_SOFTIRQ": 6, "SCHED_SOFTIRQ": 7, "HRTIMER_SOFTIRQ": 8, "RCU_SOFTIRQ": 9,
    "HRTIMER_NORESTART": 0, "HRTIMER_RESTART": 1, "true": 1, "false": 0,
}  # fmt: skip
"""Constants of the kernel that old formats contain by name."""
_ESCAPES = {ord("n"): 10, ord("t"): 9, ord("r"): 13, ord("0"): 0, ord("a"): 7, ord("b"): 8}


class Unparsed(Exception):
    """A print format that cannot be parsed."""


class Number(NamedTuple):
    """A constant, as 64 unsigned bits."""

    value: int


class Text(NamedTuple):
    """A string constant."""

    value: bytes


class Field(NamedTuple):
    """``REC->name``"""

    field: TraceField


class Operation(NamedTuple):
    """A binary operator, or a unary one without ``left``."""

    operator: str
    left: "Node | None"
    right: "Node"


class Choice(NamedTuple):
    """``condition ? yes : no``"""

    condition: "Node"
    yes: "Node"
    no: "Node"


class Cast(NamedTuple):
    """``(type) item``"""

    type: str
    item: "Node"


class Index(NamedTuple):
    """``item[position]``"""

    item: "Node"
    position: "Node"


class Entries(NamedTuple):
    """``__print_flags`` (with a delimiter) and ``__print_symbolic``: names by value; -1 for impossible values."""

    value: "Node"
    delimiter: bytes | None
    entries: tuple[tuple[int, bytes], ...]


class Bytes(NamedTuple):
    """``__print_hex`` and ``__print_hex_str``: ``length`` bytes of an array, a blank between them or not."""

    array: "Node"
    length: "Node"
    blanks: bool


class Array(NamedTuple):
    """``__print_array``: ``length`` elements of ``size`` bytes."""

    array: "Node"
    length: "Node"
    size: "Node"


class Dynamic(NamedTuple):
    """A value at a dynamic offset of the record. ``what`` is string, array, length or bits."""

    what: str
    field: TraceField


Node = Number | Text | Field | Operation | Choice | Cast | Index | Entries | Bytes | Array | Dynamic


def parse_print_format(described: TraceFormat, limits: Limits = DEFAULT) -> tuple[bytes, list[Node]]:
    """The format string and its arguments. Raises Unparsed."""
    return _Parser(described, limits.print_depth).run()


class _Parser:
    """Recursive descent by operator priority; depth and names are checked, so the nodes need not be again."""

    def __init__(self, described: TraceFormat, max_depth: int) -> None:
        self.described = described
        self.max_depth = max_depth
        self.tokens = list(_tokens(described.print_format))
        self.at = 0
        self.depth = 0

    def run(self) -> tuple[bytes, list[Node]]:
        shown = self._strings()
        arguments: list[Node] = []
        while self._take(","):
            arguments.append(self._expression())
        if self.at < len(self.tokens):
            self._refuse()
        return shown, arguments

    # Tokens -----------------------------------------------------------------------------------------------

    def _kind(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][0] if self.at + ahead < len(self.tokens) else ""

    def _value(self, ahead: int = 0) -> bytes:
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else b""

    def _is(self, operator: str, ahead: int = 0) -> bool:
        return self._kind(ahead) == "operator" and self._value(ahead) == operator.encode()

    def _take(self, operator: str) -> bool:
        found = self._is(operator)
        self.at += found
        return found

    def _expect(self, operator: str) -> None:
        if not self._take(operator):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unparsed(self._value().decode("utf-8", "replace"))

    def _strings(self) -> bytes:
        """Adjacent string constants, concatenated."""
        if self._kind() != "string":
            self._refuse()
        parts = []
        while self._kind() == "string":
            parts.append(_unescaped(self._value()[1:-1]))
            self.at += 1
        return b"".join(parts)

    # Expressions ------------------------------------------------------------------------------------------

    def _expression(self, priority: int = 0) -> Node:
        """Binary operators of more than a priority; the conditional one at 0."""
        self.depth += 1
        if self.depth > self.max_depth:
            raise Unparsed("too deep")
        found = self._unary()
        chained = 0
        while self._kind() == "operator":
            operator = self._value().decode()
            if operator == "?" and priority == 0:
                self.at += 1
                yes = self._expression()
                self._expect(":")
                found = Choice(found, yes, self._expression())
                continue
            own = _PRIORITY.get(operator, 0)
            if own <= priority:
                break
            self.at += 1
            found = _operation(operator, found, self._expression(own))
            # A chain of operators is as deep as it is long, except for constants.
            chained += not isinstance(found, Number)
            if chained + self.depth > self.max_depth:
                raise Unparsed("too deep")
        self.depth -= 1
        return found

    def _unary(self) -> Node:
        self.depth += 1
        if self.depth > self.max_depth:
            raise Unparsed("too deep")
        found: Node
        if self._kind() == "operator" and self._value() in (b"-", b"+", b"~", b"!"):
            operator = self._value().decode()
            self.at += 1
            found = _operation(operator, None, self._unary())
        elif self._is("(") and (type_ := self._type()) is not None:
            item = self._unary()
            found = Number(item.value & narrow(type_)) if isinstance(item, Number) else Cast(type_, item)
        else:
            found = self._postfix()
        self.depth -= 1
        return found

    def _type(self) -> str | None:
        """The type of a cast that starts here, which is consumed; None if there is none."""
        ahead = 1
        words: list[str] = []
        while self._kind(ahead) == "name":
            words.append(self._value(ahead).decode())
            ahead += 1
        stars = 0
        while self._is("*", ahead):
            stars += 1
            ahead += 1
        if not words or not self._is(")", ahead):
            return None
        known = stars or any(word.encode() in _TYPE_WORDS for word in words)
        if not known and self._kind(ahead + 1) == "operator" and not self._is("(", ahead + 1):
            return None
        if not known and not self._kind(ahead + 1):
            return None
        self.at += ahead + 1
        return " ".join(words + ["*"] * bool(stars))

    def _postfix(self) -> Node:
        found = self._primary()
        while self._take("["):
            index = self._expression()
            self._expect("]")
            found = Index(found, index)
        return found

    def _primary(self) -> Node:
        kind, value = self._kind(), self._value()
        if kind == "string":
            return Text(self._strings())
        self.at += 1
        if kind == "number":
            return Number(_integer(value))
        if kind == "char":
            return Number(_unescaped(value[1:-1])[0])
        if kind == "operator" and value == b"(":
            found = self._expression()
            self._expect(")")
            return found
        if kind != "name":
            self.at -= 1
            self._refuse()
        name = value.decode()
        if name == "REC" and self._take("->"):
            return Field(self._field())
        if self._take("("):
            return self._call(name)
        # Other named constants are 0 in libtraceevent.
        return Number(_CONSTANTS.get(name, 0))

    def _field(self) -> TraceField:
        found = self.described.field(self._value().decode()) if self._kind() == "name" else None
        if found is None:
            self._refuse()
        self.at += 1
        return found

    def _call(self, name: str) -> Node:
        """A helper's arguments, including the closing parenthesis."""
        found: Node
        if name in ("__print_flags", "__print_flags_u64", "__print_symbolic", "__print_symbolic_u64"):
            value = self._expression()
            delimiter = None
            if "flags" in name:
                self._expect(",")
                delimiter = self._strings()
            found = Entries(value, delimiter, tuple(self._entries()))
        elif name in ("__print_hex", "__print_hex_str"):
            array, count = self._arguments(2)
            found = Bytes(array, count, name == "__print_hex")
        elif name == "__print_array":
            array, count, size = self._arguments(3)
            found = Array(array, count, size)
        elif (what := _DYNAMIC.get(name)) is not None:
            found = Dynamic(what, self._field())
        elif name == "__builtin_expect":
            found = self._arguments(2)[0]
        elif name == "sizeof":
            found = self._sizeof()
        else:
            raise Unparsed(name)
        self._expect(")")
        return found

    def _arguments(self, count: int) -> list[Node]:
        found = [self._expression()]
        for _ in range(count - 1):
            self._expect(",")
            found.append(self._expression())
        return found

    def _sizeof(self) -> Node:
        if self._kind() == "name" and self._value() == b"REC":
            found = self._primary()
            return Number(found.field.size) if isinstance(found, Field) else Number(0)
        words = []
        while self._kind() == "name":
            words.append(self._value().decode())
            self.at += 1
        stars = self._take("*")
        size = 8 if stars else _TYPE_SIZES.get(words[-1] if words else "", 0)
        if not size:
            self._refuse()
        return Number(size)

    def _entries(self) -> "list[tuple[int, bytes]]":
        """``{ value, "name" }`` after commas."""
        found: list[tuple[int, bytes]] = []
        while self._take(","):
            self._expect("{")
            if self._take("}"):
                continue
            start = self.at
            if self._kind() == "name" and self._is(",", 1) and self._value().decode() not in _CONSTANTS:
                # A name that the kernel did not replace by its number: it matches nothing.
                self.at += 1
                value: Node = Number(MASK)
            else:
                value = self._expression()
            if not isinstance(value, Number):
                self.at = start
                self._refuse()
            if value.value >> 63 and self.at > start + 1:
                # libtraceevent treats all negative values as -1.
                value = Number(MASK)
            self._expect(",")
            if self._kind() == "string":
                found.append((value.value, self._strings()))
            else:
                # The null pointer that ends a list.
                self._expression()
            self._take(",")
            self._expect("}")
        return found


_DYNAMIC = {
    "__get_str": "string", "__get_rel_str": "string", "__get_dynamic_array": "array",
    "__get_rel_dynamic_array": "array", "__get_dynamic_array_len": "length", "__get_rel_dynamic_array_len": "length",
    "__get_bitmask": "bits", "__get_rel_bitmask": "bits", "__get_cpumask": "cpus", "__get_rel_cpumask": "cpus",
    "__get_sockaddr": "array", "__get_rel_sockaddr": "array",
}  # fmt: skip  # a table


def _tokens(text: bytes) -> "list[tuple[str, bytes]]":
    found = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        matched = _TOKEN.match(text, at)
        if matched is None or matched.lastgroup is None:
            raise Unparsed(text[at : at + 10].decode("utf-8", "replace"))
        found.append((matched.lastgroup, matched[matched.lastgroup]))
        at = matched.end()
    return found


def _unescaped(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    return re.sub(rb"\\(.)", lambda found: bytes([_ESCAPES.get(found[1][0], found[1][0])]), text, flags=re.DOTALL)


def _integer(text: bytes) -> int:
    digits = text.rstrip(b"uUlL")
    if digits[:2].lower() == b"0x":
        return int(digits, 16) & MASK
    if len(digits) > 30:
        raise Unparsed("number")
    octal = len(digits) > 1 and digits[:1] == b"0" and not set(digits) & set(b"89")
    return int(digits, 8 if octal else 10) & MASK


def narrow(type_: str) -> int:
    """Mask of the bits that a cast to a type keeps, as in libtraceevent."""
    return _NARROW.get(type_.removeprefix("unsigned "), MASK)


_NARROW = {
    "u8": 0xFF, "s8": 0xFF, "char": 0xFF, "u16": 0xFFFF, "s16": 0xFFFF, "short": 0xFFFF,
    "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "int": 0xFFFFFFFF,
}  # fmt: skip  # a table


def _operation(operator: str, left: Node | None, right: Node) -> Node:
    """An operation, evaluated if both sides are constant."""
    if isinstance(right, Number) and (left is None or isinstance(left, Number)):
        return Number(apply(operator, left.value if left is not None else 0, right.value))
    return Operation(operator, left, right)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "*": lambda a, b: a * b & MASK,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "+": lambda a, b: a + b & MASK,
    "-": lambda a, b: a - b & MASK,
    "<<": lambda a, b: a << (b & 63) & MASK,
    ">>": lambda a, b: a >> (b & 63),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "|": lambda a, b: a | b,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
    "~": lambda _a, b: ~b & MASK,
    "!": lambda _a, b: not b,
}
"""On 64 unsigned bits, as in libtraceevent. Division by 0 gives 0."""


def apply(operator: str, left: int, right: int) -> int:
    """The value of an operation; a unary one has no ``left``, which is 0."""
    return int(OPERATORS[operator](left, right))
