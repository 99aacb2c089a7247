"""Makes the reference of the public names from the code that defines them: `src/undwarf/__init__.pyi`, which type
checkers and editors read, and `docs/reference/api.md`, for readers.

    python docs/make_api.py

A test fails if they are not current.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "undwarf"
STUB = SOURCE / "__init__.pyi"
PAGE = ROOT / "docs" / "reference" / "api.md"
WIDTH = 120

SECTIONS: dict[str, tuple[str, ...]] = {
    "Recordings": (
        *("open", "Options", "Recording", "ProfileFile", "ProfileOptions", "Filters", "Header", "Event", "Process"),
        *("Mapping", "Shrunk"),
        *("SampleRecord", "MmapRecord", "CommRecord", "ForkRecord", "ExitRecord", "LostRecord", "OtherRecord"),
    ),
    "Profiles": (
        *("Profile", "SampleView", "Sample", "Frame", "CodeAddress", "StopReason", "Provenance"),
        *("CallTree", "TreeNode", "VerifiedCalls", "Tally", "Contradiction"),
        *("SampleColumns", "StackColumns", "FrameColumns", "FunctionTable", "ImageInfo", "EventInfo"),
        *("Table", "Rows"),
    ),
    "Data types": (
        *("TypeResolver", "accesses", "Access", "TypeEvidence", "DataTypes", "TypeRow", "FieldRow", "InstructionRow"),
        *("Counts", "MemoryCounts", "Sharing", "Party"),
    ),
    "Building blocks": (
        *("Unwinder", "UnwoundStack", "UnwoundFrame", "UnwindTable", "Rule", "Symbolizer", "Symbolized", "SourceFrame"),
        *("demangle", "PerfDataWriter"),
    ),
    "Errors, damage and limits": (
        *("UndwarfError", "UsageError", "UnreadableInput", "ElfError", "NothingUsable", "Defects", "Defect", "Limits"),
        "handle_truncation",
    ),
}
"""The public names in the order of the reference."""

CONSTRUCTED_HERE = frozenset(
    (
        *("Access", "Counts", "Defects", "FrameColumns", "FunctionTable", "MemoryCounts", "Profile", "ProfileFile"),
        *("Recording", "Rows", "SampleColumns", "SampleView", "StackColumns", "Table", "TypeRow", "UnwindTable"),
    )
)
"""Classes whose objects undwarf makes: how is no part of the contract."""

MACHINERY = {
    "Access": ("type_number", "layout", "operand", "as_dict"),
    "Counts": ("recorded", "add"),
    "Defects": ("add", "contained"),
    "FrameColumns": ("profile",),
    "FunctionTable": ("profile",),
    "MemoryCounts": ("add_source", "add_page", "add", "as_dict"),
    "Profile": (
        *("derived", "deferred", "later", "precise", "line_size", "unwind_order", "stitched", "recorder"),
        "origin",
        *("frame", "stack", "sample"),
    ),
    "SampleColumns": ("rows", *("space", "position", "regs_at", "regs_intr_at", "raw_at", "branch_at")),
    "StackColumns": ("profile",),
    "Table": ("description", "batches", "fields"),
    "Tally": ("plus",),
    "TypeRow": ("find",),
    "VerifiedCalls": ("as_dict",),
}
"""Members that other modules of undwarf use, and that are no part of the contract."""

ALIASES = {
    "Any": "object",
    "Column": "memoryview",
    "EventName": "int | str",
    "InputFormat": 'Literal["auto", "perf.data", "folded", "pprof", "perf-script", "speedscope"]',
    "Path": "str | os.PathLike[str]",
    "Progress": "Callable[[str, int, int], None]",
    "ReadMemory": "Callable[[int, int], bytes | None]",
    "Record": "SampleRecord | MmapRecord | CommRecord | ForkRecord | ExitRecord | LostRecord | OtherRecord",
    "Registers": "_Mapping",
    "Weight": 'Literal["period", "samples", "latency"]',
    "Row": "_Row",
    "FileKeywords": "_FileKeywords",
    "OptionKeywords": "_OptionKeywords",
    "ProfileKeywords": "_ProfileKeywords",
}
"""Names of types in the code, and what they stand for in the reference."""

HIDDEN = ("FileKeywords", "OptionKeywords", "ProfileKeywords")
"""Types of keywords, which the stub needs and the page does not."""

IMPORTS = {
    "os": "import os",
    "Callable": "from collections.abc import Callable",
    "Collection": "from collections.abc import Collection",
    "Iterable": "from collections.abc import Iterable",
    "Iterator": "from collections.abc import Iterator",
    "Sequence": "from collections.abc import Sequence",
    "_Mapping": "from collections.abc import Mapping as _Mapping",
    "dataclass": "from dataclasses import dataclass",
    "IntEnum": "from enum import IntEnum",
    "StrEnum": "from enum import StrEnum",
    "TracebackType": "from types import TracebackType",
    **{
        name: f"from typing import {name}"
        for name in (
            "BinaryIO",
            "Generic",
            "Literal",
            "NamedTuple",
            "Self",
            "TypedDict",
            "TypeVar",
            "Unpack",
            "final",
            "overload",
            "type_check_only",
        )
    },
}
SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        *("init", "enter", "exit", "len", "iter", "getitem", "contains", "index", "int", "format", "bool"),
        *("arrow_c_schema", "arrow_c_stream"),
    )
)
"""Special methods that the reference has."""
IMPLEMENTATIONS = {"open": "open_for_programs"}


class _Public(ast.NodeTransformer):
    """Writes annotations in public names."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):
            return self.visit(ast.parse(node.value, mode="eval").body)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # The strings of a Literal are values.
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return node
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ALIASES:
            return ast.parse(ALIASES[node.id], mode="eval").body
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "model":
            return ast.Name(node.attr)
        return node


def public(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation in public names."""
    return _Public().visit(ast.parse(ast.unparse(annotation), mode="eval").body) if annotation is not None else None


@cache
def homes() -> dict[str, str]:
    """The module of each public name, as the package has them."""
    for node in module("").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    raise LookupError("_HOMES")


@cache
def module(home: str) -> ast.Module:
    """The code of a module of undwarf."""
    path = SOURCE / home.replace(".", "/")
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())


def definition(name: str, home: str) -> ast.ClassDef | ast.FunctionDef:
    """The class or function that a module defines under a name."""
    for node in module(home).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == IMPLEMENTATIONS.get(name, name):
            return node
    raise LookupError(f"{name} in {home}")


def signatures(name: str, home: str) -> list[ast.FunctionDef]:
    """A function with its signatures: those of its overloads, else its own. All have the docstring."""
    *overloads, implementation = [
        node
        for node in module(home).body
        if isinstance(node, ast.FunctionDef) and node.name == IMPLEMENTATIONS.get(name, name)
    ]
    shown = [function(node) for node in overloads or [implementation]]
    for one in shown:
        one.name = name
        one.body = [ast.Expr(ast.Constant(ast.get_docstring(implementation)))]
    return shown


def hidden_bases(node: ast.ClassDef, home: str) -> Iterator[tuple[ast.ClassDef, str]]:
    """The base classes of a class that are not public, with their modules: their members are its own."""
    imported: dict[str, str] = {}
    for one in module(home).body:
        if isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] == "undwarf":
            imported |= {name.asname or name.name: (one.module or "").partition(".")[2] for name in one.names}
    for base in node.bases:
        path, _dot, name = ast.unparse(base).rpartition(".")
        if path in imported:
            where = f"{imported[path]}.{path}"
        elif name in imported and name not in homes():
            where = imported[name]
        else:
            continue
        found = definition(name, where)
        assert isinstance(found, ast.ClassDef)
        yield found, where


def members(name: str, node: ast.ClassDef, home: str) -> Iterator[ast.stmt]:
    """The public members of a class, each field followed by its docstring."""
    bases = [ast.unparse(base) for base in node.bases]
    own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    for base, where in hidden_bases(node, home):
        yield from (one for one in members(name, base, where) if getattr(one, "name", "") not in own)
    is_enumeration = any(base in ("IntEnum", "StrEnum") for base in bases)
    is_record = "NamedTuple" in bases or any(isinstance(one, ast.Call) for one in decorators(node))
    takes_docstring = False
    overloaded: set[str] = set()
    for one in node.body:
        if isinstance(one, ast.Expr) and takes_docstring:
            yield one
        takes_docstring = False
        if isinstance(one, ast.FunctionDef):
            is_overload = any(ast.unparse(decorator) == "overload" for decorator in one.decorator_list)
            if is_public(name, one.name) and (is_overload or one.name not in overloaded):
                yield function(one)
            if is_overload:
                overloaded.add(one.name)
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and is_public(name, one.target.id):
            annotation = public(one.annotation)
            assert annotation is not None
            value = default(one.value) if one.value is not None and is_record else None
            yield ast.AnnAssign(one.target, annotation, value, 1)
            takes_docstring = True
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            if is_enumeration:
                yield one
                takes_docstring = True
            elif is_public(name, one.targets[0].id):
                yield ast.AnnAssign(one.targets[0], ast.Name(type(ast.literal_eval(one.value)).__name__), None, 1)
                takes_docstring = True


def is_public(owner: str, name: str) -> bool:
    """Whether the reference has a member of a class."""
    if name == "__init__":
        return owner not in CONSTRUCTED_HERE
    return name in SPECIAL or not (name.startswith("_") or name in MACHINERY.get(owner, ()))


def decorators(node: ast.ClassDef) -> list[ast.expr]:
    """The decorators of a class that matter to type checkers; how undwarf makes its own objects does not."""
    if node.name in HIDDEN:
        return [ast.Name("type_check_only")]
    found = [one for one in node.decorator_list if ast.unparse(one).startswith("dataclass")]
    kept = found if node.name not in CONSTRUCTED_HERE else []
    return kept + [ast.Name("final") for one in node.decorator_list if ast.unparse(one) == "cython.final"]


def default(value: ast.expr) -> ast.expr:
    """A default value: literals as they are."""
    text = ast.unparse(value)
    simple = isinstance(value, ast.Constant) or re.fullmatch(r"\(\)|-?\d+(\s*<<\s*\d+)?", text)
    return value if simple else ast.Constant(...)


def function(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function or method: its signature and docstring."""
    arguments = ast.parse(f"def _({ast.unparse(node.args)}): ...").body[0]
    assert isinstance(arguments, ast.FunctionDef)
    found = arguments.args
    for one in (*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg, found.kwarg):
        if one is not None:
            one.annotation = public(one.annotation)
    found.defaults = [default(value) for value in found.defaults]
    found.kw_defaults = [default(value) if value is not None else None for value in found.kw_defaults]
    kept = [one for one in node.decorator_list if ast.unparse(one) in ("property", "classmethod", "overload")]
    if any(ast.unparse(one) == "cached_property" for one in node.decorator_list):
        kept.append(ast.Name("property"))
    text = ast.get_docstring(node)
    body: list[ast.stmt] = [ast.Expr(ast.Constant(text if text is not None else ...))]
    return ast.FunctionDef(
        node.name, found, body, kept, public(node.returns), type_comment=None, type_params=[], lineno=0
    )


def docstring(text: str, indent: str) -> Iterator[str]:
    """A docstring as lines of code."""
    first, *rest = inspect.cleandoc(text).splitlines()
    quote = 'r"""' if "\\" in text else '"""'
    if not rest:
        yield f'{indent}{quote}{first}"""'
        return
    yield f"{indent}{quote}{first}"
    yield from (f"{indent}{line}" if line else "" for line in rest)
    yield f'{indent}"""'


def code(node: ast.stmt, indent: str) -> Iterator[str]:
    """A member or a function as lines of code."""
    if isinstance(node, ast.FunctionDef):
        text = ast.get_docstring(node)
        yield from (f"{indent}@{ast.unparse(one)}" for one in node.decorator_list)
        returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
        tail = "" if text else " ..."
        yield f"{indent}def {node.name}({ast.unparse(node.args)}){returns}:{tail}"
        if text:
            yield from docstring(text, f"{indent}    ")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield from docstring(str(node.value.value), indent)
    else:
        yield f"{indent}{ast.unparse(node)}"


def head(node: ast.ClassDef, home: str, name: str = "") -> str:
    """The line that begins a class."""
    hidden = {base.name for base, _where in hidden_bases(node, home)}
    shown = [base for base in node.bases if ast.unparse(base).rpartition(".")[2] not in hidden]
    bases = ", ".join(ast.unparse(public(base) or base) for base in shown)
    keywords = [f"{one.arg}={ast.unparse(one.value)}" for one in node.keywords]
    inside = ", ".join(filter(None, (bases, *keywords)))
    return f"class {name or node.name}{f'({inside})' if inside else ''}:"


def stub() -> str:
    """The text of `__init__.pyi`."""
    known = homes()
    lines: list[str] = []
    for name in (*HIDDEN, *(name for names in SECTIONS.values() for name in names)):
        hidden = name in HIDDEN
        home = "library.options" if hidden else known[name]
        node = definition(name, home)
        lines.append("")
        if isinstance(node, ast.FunctionDef):
            for one in signatures(name, home):
                lines += code(one, "")
            continue
        lines += (f"@{ast.unparse(one)}" for one in decorators(node))
        lines.append(head(node, home, f"_{name}" if hidden else ""))
        lines += docstring(ast.get_docstring(node) or "", "    ")
        for member in members(name, node, home):
            lines += code(member, "    ")
    body = "\n".join(lines)
    imports = sorted(line for name, line in IMPORTS.items() if re.search(rf"(?<![\w.]){name}\b", body))
    version = "__version__: str\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(known)) + "]\n"
    if "_Row" in body:
        version = f'_Row = TypeVar("_Row")\n\n{version}'
        imports = sorted({*imports, IMPORTS["TypeVar"]})
    top = '"""The public names of undwarf: the reference. Made by docs/make_api.py."""\n\n'
    return formatted(top + "\n".join(imports) + f"\n\n{version}\n{body}\n")


def formatted(text: str) -> str:
    """The text as ruff formats it."""
    command = [str(Path(sys.executable).with_name("ruff"))]
    for arguments in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        done = subprocess.run(
            [*command, *arguments, "--stdin-filename", str(STUB), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def markdown(text: str) -> Iterator[str]:
    """A docstring as Markdown: examples as code, names of code in backticks."""
    example: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        if line.startswith(">>>") or (example and line.strip()):
            example.append(line)
            continue
        if example:
            yield from ("```python", *example, "```")
            example = []
        yield re.sub(r":\w+:`(?:undwarf\.)?([^`]+)`", r"`\1`", line).replace("``", "`")
    if example:
        yield from ("```python", *example, "```")


def signature(node: ast.FunctionDef, name: str) -> str:
    """A function's parameters and result, as a reader calls it."""
    made = function(node)
    arguments = made.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    if arguments.kwarg is not None:
        text = ast.unparse(arguments.kwarg.annotation) if arguments.kwarg.annotation is not None else ""
        keywords = "fields of Options" if "_Option" in text or "_File" in text else "fields of ProfileOptions"
        arguments.kwarg = ast.arg(arguments.kwarg.arg)
        text = f"({ast.unparse(arguments)})".replace(f"**{arguments.kwarg.arg}", f"**{keywords.replace(' ', '_')}")
    else:
        text = f"({ast.unparse(arguments)})"
    returns = f" -> {ast.unparse(made.returns)}" if made.returns is not None and name != "__init__" else ""
    return text + returns


def page_of(name: str, home: str) -> Iterator[str]:
    """The part of the page about one name."""
    node = definition(name, home)
    yield f"### {name}"
    yield ""
    if isinstance(node, ast.FunctionDef):
        shown = signatures(name, home)
        yield from ("```python", *(f"undwarf.{name}{signature(one, name)}" for one in shown), "```", "")
        yield from markdown(ast.get_docstring(shown[0]) or "")
        yield ""
        return
    made = list(members(name, node, home))
    methods = [one for one in made if isinstance(one, ast.FunctionDef)]
    constructor = next((one for one in methods if one.name == "__init__"), None)
    if constructor is not None:
        yield from ("```python", f"undwarf.{name}{signature(constructor, '__init__')}", "```", "")
    yield from markdown(ast.get_docstring(node) or "")
    yield ""
    rows: list[str] = []
    for at, one in enumerate(made):
        following = made[at + 1] if at + 1 < len(made) else None
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        text = spaced(str(following.value.value)) if is_text else ""
        if isinstance(one, ast.AnnAssign):
            value = f" = {ast.unparse(one.value)}" if one.value is not None and ast.unparse(one.value) != "..." else ""
            rows.append(f"- `{ast.unparse(one.target)}: {ast.unparse(one.annotation)}{value}`{text}")
        elif isinstance(one, ast.Assign):
            rows.append(f"- `{ast.unparse(one)}`{text}")
    for one in methods:
        if any(ast.unparse(decorator) == "property" for decorator in one.decorator_list):
            result = f": {ast.unparse(one.returns)}" if one.returns is not None else ""
            text, *example = (ast.get_docstring(one) or "").split(">>>", 1)
            rows.append(f"- `{one.name}{result}`{spaced(text)}")
            if example:
                rows += ["", *(f"  {line}" if line else "" for line in markdown(">>>" + example[0])), ""]
    if rows:
        yield from (*rows, "")
    for one in methods:
        plain = not one.name.startswith("_")
        if plain and not any(ast.unparse(decorator) == "property" for decorator in one.decorator_list):
            yield from (f"#### {name}.{one.name}", "", "```python", f"{one.name}{signature(one, one.name)}", "```", "")
            yield from markdown(ast.get_docstring(one) or "")
            yield ""


def spaced(text: str) -> str:
    """What follows a name in a list."""
    words = " ".join(" ".join(markdown(text)).split()) if text else ""
    return f": {words}" if words else ""


INTRODUCTION = """\
# The Python API

What `import undwarf` offers, and what it promises: names, shapes, units and errors. Everything else is machinery and
may change in any version. `docs/make_api.py` makes this page from the code, and
[`src/undwarf/__init__.pyi`](../../src/undwarf/__init__.pyi), which has the same for editors and type checkers, complete
and without `Any`. The tests run the examples, with the recording in [`examples/recording`](../../examples/recording) as
`words.data`, that recording opened as `recording`, its profile as `profile`, and `examples/words.c` compiled with `-g`
as `words`.

```python
import undwarf

with undwarf.open("words.data", symfs=".") as recording:
    profile = recording.profile()
    for sample in profile.samples[:3]:
        print(sample.comm, sample.stop.name, [frame.name for frame in sample.stack])
```

- **Objects at the edge, columns inside.** `profile.samples[0]` is an object with its whole stack;
  `profile.samples.time` is a column, a `memoryview` of native numbers that numpy and polars use without a copy.
  Programs that look at millions of samples use columns.
- **Tables**: `profile.samples`, `stacks`, `frames`, `events`, ... are tables for pandas, polars, pyarrow and DuckDB as
  well ([their columns](tables.md)); `as_table().rows()` has their rows without any of these.
- **Profiles of other tools** are opened like recordings, and are a `ProfileFile`
  ([which](../how-to/other-tools.md)). With `format="perf.data"` type checkers know that it is a `Recording`.
- **Options** are frozen dataclasses (`Options`, `ProfileOptions`); single ones may be given by keyword, as in
  `undwarf.open(path, symfs=root)`.
- **Addresses** of code are `CodeAddress`: they say whether they are a return address, which is looked up one less.
- **Errors**: every error that undwarf raises on purpose is an `UndwarfError` with `what`, `why` and `hint`. Damage in a
  recording or a file is no error: it is worked around, and counted in `defects`.
- **Building blocks** work without a recording: `Unwinder` walks stacks that a debugger, a minidump reader or a
  BPF profiler reads itself ([a running process](../../examples/unwind_process.py), [a core
  file](../../examples/unwind_core.py)); `Symbolizer`, `TypeResolver` and `UnwindTable` answer for one file,
  `PerfDataWriter` writes recordings.
- **Notebooks** show a profile as a small flame graph and table.
"""


def page() -> str:
    """The text of `docs/reference/api.md`."""
    known = homes()
    lines = [INTRODUCTION]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", "", " · ".join(f"[{name}](#{name.lower()})" for name in names), ""]
        for name in names:
            lines += page_of(name, known[name])
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


if __name__ == "__main__":
    STUB.write_text(stub())
    PAGE.write_text(page())
