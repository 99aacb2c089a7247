# cython: language_level=3
"""Names and encodings: what a mangled name is at its outside (Itanium C++ ABI, "General Structure")."""

import cython

from undwarf.symbols.itanium.expressions import Expressions
from undwarf.symbols.itanium.tree import Malformed, Node

if not cython.compiled:
    from undwarf.symbols.itanium.kinds import (
        BRACED,
        CAST,
        CONSTRUCTOR,
        CONVERSION,
        CV,
        ENCODING,
        FUNCTION,
        JOINED,
        LAMBDA,
        LIST,
        LOCAL,
        NAME,
        OPERATOR,
        PREFIXED,
        QUALIFIED,
        TAGGED,
        TEMPLATE,
    )
    from undwarf.symbols.itanium.tree import is_this, made

OPERATORS: dict[str, tuple[str, int]] = {
    "aN": ("&=", 2), "aS": ("=", 2), "aa": ("&&", 2), "ad": ("&", 1), "an": ("&", 2), "at": ("alignof ", 1),
    "aw": ("co_await ", 1), "az": ("alignof ", 1), "cc": ("const_cast", 2), "cl": ("()", 2), "cm": (",", 2),
    "co": ("~", 1), "dV": ("/=", 2), "dX": ("[...]=", 3), "da": ("delete[] ", 1), "dc": ("dynamic_cast", 2),
    "de": ("*", 1), "di": ("=", 2), "dl": ("delete ", 1), "ds": (".*", 2), "dt": (".", 2), "dv": ("/", 2),
    "dx": ("]=", 2), "eO": ("^=", 2), "eo": ("^", 2), "eq": ("==", 2), "fL": ("...", 3), "fR": ("...", 3),
    "fl": ("...", 2), "fr": ("...", 2), "ge": (">=", 2), "gs": ("::", 1), "gt": (">", 2), "ix": ("[]", 2),
    "lS": ("<<=", 2), "le": ("<=", 2), "li": ('operator"" ', 1), "ls": ("<<", 2), "lt": ("<", 2), "mI": ("-=", 2),
    "mL": ("*=", 2), "mi": ("-", 2), "ml": ("*", 2), "mm": ("--", 1), "na": ("new[]", 3), "ne": ("!=", 2),
    "ng": ("-", 1), "nt": ("!", 1), "nw": ("new", 3), "nx": ("noexcept", 1), "oR": ("|=", 2), "oo": ("||", 2),
    "or": ("|", 2), "pL": ("+=", 2), "pl": ("+", 2), "pm": ("->*", 2), "pp": ("++", 1), "ps": ("+", 1),
    "pt": ("->", 2), "qu": ("?", 3), "rM": ("%=", 2), "rS": (">>=", 2), "rc": ("reinterpret_cast", 2), "rm": ("%", 2),
    "rs": (">>", 2), "sP": ("sizeof...", 1), "sZ": ("sizeof...", 1), "sc": ("static_cast", 2), "ss": ("<=>", 2),
    "st": ("sizeof ", 1), "sz": ("sizeof ", 1), "te": ("typeid ", 1), "ti": ("typeid ", 1), "tr": ("throw", 0),
    "tw": ("throw ", 1),
}  # fmt: skip
_SPECIAL: dict[str, str] = {
    "TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ", "TS": "typeinfo name for ", "TF": "typeinfo fn for ",
}  # fmt: skip
_OF_NAMES: dict[str, str] = {
    "TH": "TLS init function for ", "TW": "TLS wrapper function for ", "GV": "guard variable for ",
}  # fmt: skip


@cython.final
@cython.cclass
class Names(Expressions):
    """Reads one mangled name."""

    @cython.cfunc
    def parse(self) -> Node:
        """The whole name; raises Malformed."""
        if not self.text.startswith("_Z"):
            raise Malformed
        self.at = 2
        node = self.encoding(True)
        clones = ""
        while self.peek() == "." and (
            self.peek_behind().islower() or self.peek_behind().isdigit() or self.peek_behind() == "_"
        ):
            self.step()
            end = self.at + 2
            while end < self.size and (self.text[end].islower() or self.text[end].isdigit() or self.text[end] == "_"):
                end += 1
            while end + 1 < self.size and self.text[end] == "." and self.text[end + 1].isdigit():
                end += 2
                while end < self.size and self.text[end].isdigit():
                    end += 1
            clones += f" [clone {self.text[self.at : end]}]"
            self.at = end
        if self.at != self.size:
            raise Malformed
        return made(JOINED, "", node, made(NAME, clones)) if clones else node

    @cython.cfunc
    def encoding(self, outermost: cython.bint) -> Node:
        """A function, a variable, or something special about one."""
        self.deeper()
        outer, waiting = self.arguments, self.waiting
        self.arguments, self.waiting = None, []
        node = self._encoding(outermost)
        self.resolve()
        self.arguments, self.waiting = outer, waiting
        self.depth -= 1
        return node

    @cython.cfunc
    def _encoding(self, outermost: cython.bint) -> Node:
        c = self.peek()
        if c == "G" or c == "T":
            return self.special()
        name = self.name(True)
        self.resolve()
        c = self.peek()
        if c == "\0" or c == "E":
            return name
        returns = _returns(name)
        if self.take("J"):
            returns = True
        kind = self.type() if returns else None
        function = made(FUNCTION, "", kind if outermost else None, self.parameters())
        return made(ENCODING, "", name, function)

    @cython.cfunc
    def special(self) -> Node:
        """Tables, thunks, guards."""
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code in _SPECIAL:
            return made(PREFIXED, _SPECIAL[code], self.type())
        if code in _OF_NAMES:
            return made(PREFIXED, _OF_NAMES[code], self.name(False))
        if code == "Th" or code == "Tv":
            self.at -= 1
            self.call_offset()
            return made(
                PREFIXED, "non-virtual thunk to " if code == "Th" else "virtual thunk to ", self.encoding(False)
            )
        if code == "Tc":
            self.call_offset()
            self.call_offset()
            return made(PREFIXED, "covariant return thunk to ", self.encoding(False))
        if code == "TC":
            derived = self.type()
            self.number()
            self.need("_")
            return made(PREFIXED, "construction vtable for ", made(JOINED, "-in-", self.type(), derived))
        if code == "TA":
            return made(PREFIXED, "template parameter object for ", self.argument())
        if code == "GR":
            name = self.name(False)
            number = 0 if self.peek() == "\0" else self.compact()
            return made(PREFIXED, f"reference temporary #{number} for ", name)
        if code == "GA":
            return made(PREFIXED, "hidden alias for ", self.encoding(False))
        if code == "GT":
            kind = self.peek()
            self.at += 1
            return made(
                PREFIXED,
                "non-transaction clone for " if kind == "n" else "transaction clone for ",
                self.encoding(False),
            )
        raise Malformed

    @cython.cfunc
    def call_offset(self) -> None:
        """What a thunk adds to `this`."""
        if self.take("h"):
            self.number()
        else:
            self.need("v")
            self.number()
            self.need("_")
            self.number()
        self.need("_")

    # -- names --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def name(self, own: cython.bint) -> Node:
        """A name; ``own``: the arguments of its last template are those that parameters stand for."""
        self.deeper()
        c = self.peek()
        if c == "N":
            node = self.nested(own)
        elif c == "Z":
            node = self.local(own)
        else:
            substituted = False
            if c == "S" and self.peek_behind() != "t":
                node = self.substitution(False)
                substituted = True
            elif c == "S":
                self.at += 2
                node = made(QUALIFIED, "", made(NAME, "std"), self.unqualified())
            else:
                node = self.unqualified()
            if self.peek() == "I":
                if not substituted:
                    self.known.append(node)
                node = made(TEMPLATE, "", node, self.template_arguments(own))
        self.depth -= 1
        return node

    @cython.cfunc
    def nested(self, own: cython.bint) -> Node:
        """`N` ... `E`."""
        self.need("N")
        qualifiers: list[str] = []
        while self.peek() in ("r", "V", "K"):
            self.step()
            qualifiers.append({"r": " restrict", "V": " volatile", "K": " const"}[self.peek()])
            self.at += 1
        if self.take("H"):
            pass
        reference = " &" if self.take("R") else " &&" if self.take("O") else ""
        node: Node | None = None
        while not self.take("E"):
            self.step()
            c = self.peek()
            substituted = c == "S" and self.peek_behind() != "t"
            if c == "I":
                if node is None:
                    raise Malformed
                node = made(TEMPLATE, "", node, self.template_arguments(own))
            elif c == "M" and node is not None:
                # A lambda in the initialiser of a member stands in the member's scope.
                self.at += 1
                continue
            else:
                if substituted:
                    part = self.substitution(True)
                elif c == "S":
                    self.at += 2
                    part = made(NAME, "std")
                elif c == "T":
                    part = self.parameter()
                elif c == "D" and self.peek_behind() in ("t", "T"):
                    part = self.type()
                    node = part
                    continue
                else:
                    part = self.unqualified()
                node = part if node is None else made(QUALIFIED, "", node, part)
                if c == "S" and not substituted:
                    continue
            if not substituted and self.peek() != "E":
                self.known.append(node)
        if node is None:
            raise Malformed
        for qualifier in reversed(qualifiers):
            node = made(CV, qualifier, node, node)
        return made(CV, reference, node, node) if reference else node

    @cython.cfunc
    def local(self, own: cython.bint) -> Node:
        """An entity inside of a function."""
        self.need("Z")
        self.several_functions = True
        function = self.encoding(False)
        self.need("E")
        if self.take("s"):
            self.discriminator()
            return made(LOCAL, "", function, made(NAME, "string literal"))
        default = ""
        if self.take("d"):
            default = f"{{default arg#{self.compact() + 1}}}::"
        node = self.name(own)
        if node.kind != LAMBDA:
            self.discriminator()
        return made(LOCAL, default, function, node)

    @cython.cfunc
    def discriminator(self) -> None:
        """Which of several entities of a name it is."""
        if self.peek() != "_":
            return
        self.at += 1
        if self.take("_"):
            self.number()
            self.need("_")
        elif self.peek().isdigit():
            self.number()

    @cython.cfunc
    def unqualified(self) -> Node:
        """A name without scopes."""
        c = self.peek()
        if "0" <= c <= "9":
            node = self.source_name()
        elif "a" <= c <= "z":
            self.take("on")
            node = self.operator()
            if node.kind == OPERATOR and node.b == "li":
                node = made(NAME, 'operator"" ' + self.source_name().text)
        elif c == "C" or (c == "D" and self.peek_behind() != "C"):
            node = self.constructor()
        elif c == "D":
            self.at += 2
            parts = []
            while not self.take("E"):
                parts.append(self.source_name())
            node = made(BRACED, "[]", None, made(LIST, "", parts))
        elif c == "L":
            self.at += 1
            node = self.source_name()
            self.discriminator()
        elif c == "U":
            node = self.unnamed()
        else:
            raise Malformed
        while self.peek() == "B":
            self.at += 1
            last = self.last
            node = made(TAGGED, self.source_name().text, node)
            self.last = last
        return node

    @cython.cfunc
    def constructor(self) -> Node:
        """A constructor or destructor: the name before it once more."""
        kind, variant = self.peek(), self.peek_behind()
        self.at += 2
        if kind == "C" and variant == "I":
            # An inherited constructor: the name is that of the class it is of.
            self.at += 1
            self.type()
        elif variant not in ("1", "2", "3", "4", "5", "0"):
            raise Malformed
        return made(CONSTRUCTOR, self.last if kind == "C" else "~" + self.last)

    @cython.cfunc
    def unnamed(self) -> Node:
        """A lambda or a type without a name."""
        if self.take("Ul"):
            self.in_lambda += 1
            parameters = self.parameters()
            self.in_lambda -= 1
            self.need("E")
            return made(LAMBDA, f"#{self.compact() + 1}}}", None, parameters)
        self.need("Ut")
        return made(LAMBDA, f"{{unnamed type#{self.compact() + 1}}}")

    @cython.cfunc
    def operator(self) -> Node:
        """An operator; the code is in b."""
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code == "cv":
            if self.in_expression:
                return made(CAST, "", self.type())
            was = self.in_conversion
            self.in_conversion = True
            last = self.last
            kind = self.type()
            self.last = last
            self.in_conversion = was
            return made(CONVERSION, "", kind)
        if code[:1] == "v" and "0" <= code[1:] <= "9":
            return made(OPERATOR, self.source_name().text, int(code[1:]), code)
        found = OPERATORS.get(code)
        if found is None:
            raise Malformed
        return made(OPERATOR, found[0], found[1], code)


@cython.cfunc
def _returns(name: Node) -> cython.bint:
    """Whether a function's mangled type begins with what it returns: templates do, but for constructors and
    conversions."""
    while is_this(name):
        name = name.a
    if name.kind == LOCAL:
        return _returns(name.b)
    if name.kind != TEMPLATE:
        return False
    inner = name.a
    while inner.kind in (QUALIFIED, LOCAL, TAGGED):
        inner = inner.a if inner.kind == TAGGED else inner.b
    return inner.kind not in (CONSTRUCTOR, CONVERSION)
