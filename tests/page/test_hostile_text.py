"""The page's modules make neither elements nor code from text: names, paths and source come from recordings."""

import re

import pytest

from undwarf.outputs.page.bundle import web

MODULES = sorted(entry.name for entry in web().iterdir() if entry.name.endswith(".js"))


@pytest.mark.parametrize("module", MODULES)
def test_modules_make_no_elements_or_code_from_text(module: str) -> None:
    text = (web() / module).read_text(encoding="utf-8")
    code = re.sub(r"//.*|/\*.*?\*/", "", text)
    assert not re.search(
        r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function\(|srcdoc|setAttribute\(.(style|on)",
        code,
    )
