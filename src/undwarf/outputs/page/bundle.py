"""The page's modules as one script: put after each other in the order of their imports.

Modules are ES modules in a form that needs no parser: imports are ``import { a, b } from "./x.js";``, exports are
``export function``, ``class``, ``const`` and ``let`` at the start of a line. Nothing is renamed, and each top-level
name is unique in all modules: without ``import`` and ``export`` they are one program.
"""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from undwarf.errors import UndwarfError

START = "main.js"
"""The module that a page starts with."""
FLEET_START = "fleet.js"
"""The one of the page of a store."""
_SHEETS_OF = {"fleet.css": FLEET_START}
"""Style sheets that only pages with this start have."""
_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([a-z0-9-]+\.js)";[ \t]*\n', re.MULTILINE)
_DECLARED = re.compile(
    r"^(export )?(?:async function\*?|function\*?|class|const|let|var) ([A-Za-z_$][A-Za-z0-9_$]*)", re.MULTILINE
)
_OTHER_FORMS = re.compile(
    r"^(?:import\b|export (?!(?:async function|function|class|const|let)\b)|(?:export )?(?:const|let|var) [\[{]).*$",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


class CannotBundle(UndwarfError):
    """A module of the page is not in the form that can be bundled: a mistake in this package."""


class Bundle(NamedTuple):
    """The page as texts: its document with marks, its style sheets, and its script."""

    document: str
    style: str
    script: str


def web() -> Traversable:
    """The folder of the page's document, style sheets and modules."""
    return files("undwarf.outputs.page") / "web"


def bundle(folder: Traversable | None = None, start: str = START) -> Bundle:
    """The page of this folder that begins with the module ``start``. Raises CannotBundle."""
    folder = folder if folder is not None else web()
    texts = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".js", ".css", ".html"))
    }
    sheets = [texts[name] for name in sorted(texts) if name.endswith(".css") and _SHEETS_OF.get(name, start) == start]
    return Bundle(texts["index.html"], "\n".join(sheets), script_of(texts, start))


def script_of(modules: dict[str, str], start: str = START) -> str:
    """The module ``start`` and all that it imports, each after those that it imports. Raises CannotBundle for modules
    in another form, for imports that nothing exports, in a circle, and for names that two modules have."""
    order = _in_order(modules, start)
    owner: dict[str, str] = {}
    exported: dict[str, set[str]] = {}
    parts = []
    for name in order:
        text = modules[name]
        body = _IMPORT.sub("", text)
        other = _OTHER_FORMS.search(body)
        if other is not None:
            raise CannotBundle(f"{name} has a line that cannot be bundled: {other[0].strip()[:80]}")
        exported[name] = set()
        for export, declared in _DECLARED.findall(body):
            if declared in owner:
                raise CannotBundle(f"{declared} is declared in {owner[declared]} and in {name}")
            owner[declared] = name
            if export:
                exported[name].add(declared)
        for wanted, origin in _imports(name, text):
            missing = [one for one in wanted if one not in exported[origin]]
            if missing:
                raise CannotBundle(f"{name} imports {missing[0]}, which {origin} does not export")
        parts.append(f"// {name}\n" + re.sub(r"^export ", "", body, flags=re.MULTILINE).strip("\n"))
    return "\n\n".join(parts) + "\n"


def _imports(name: str, text: str) -> list[tuple[list[str], str]]:
    """(names, module) of each import of a module."""
    found = []
    for names, origin in _IMPORT.findall(text):
        wanted = [one.strip() for one in names.split(",") if one.strip()]
        renamed = [one for one in wanted if not _NAME.match(one)]
        if renamed:
            raise CannotBundle(f"{name} renames what it imports: {renamed[0]}")
        found.append((wanted, origin))
    return found


def _in_order(modules: dict[str, str], start: str) -> list[str]:
    """The modules that ``start`` needs, those that others import first."""
    order: list[str] = []
    opened: list[str] = []
    waiting = [start]
    while waiting:
        name = waiting[-1]
        if name in order:
            waiting.pop()
            continue
        if name not in modules:
            raise CannotBundle(f"there is no module {name}")
        needed = [origin for _names, origin in _imports(name, modules[name]) if origin not in order]
        if not needed:
            order.append(name)
            waiting.pop()
            if opened and opened[-1] == name:
                opened.pop()
            continue
        if name in opened:
            raise CannotBundle(f"modules import each other in a circle: {', '.join(sorted({name, *needed}))}")
        opened.append(name)
        waiting += reversed(needed)
    return order
