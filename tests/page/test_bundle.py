"""The page's modules as one script."""

import re

import pytest

from undwarf.outputs.page.bundle import CannotBundle, bundle, script_of

MAIN = 'import { twice } from "./b.js";\nimport {\n  one,\n} from "./a.js";\n\nconst two = twice(one);\n'
A = "export const one = 1;\n"
B = 'import { one } from "./a.js";\n\n/** Twice. */\nexport function twice(x) {\n  return x + x - one + one;\n}\n'


def test_modules_come_after_those_that_they_import() -> None:
    script = script_of({"main.js": MAIN, "a.js": A, "b.js": B, "unused.js": "export const never = 0;\n"})
    assert script.index("const one") < script.index("function twice") < script.index("const two")
    assert "import" not in script
    assert "export" not in script
    assert "never" not in script


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"a.js": "export const one = 1;\nconst two = 2;\n"}, "two is declared in a.js and in main.js"),
        ({"a.js": "const one = 1;\n"}, "imports one, which a.js does not export"),
        ({"a.js": 'import { twice } from "./b.js";\nexport const one = twice;\n'}, "in a circle: a.js, b.js"),
        ({"a.js": "export default 1;\n"}, "a line that cannot be bundled: export default 1;"),
        ({"a.js": 'import x from "./b.js";\n' + A}, "a line that cannot be bundled: import x"),
        ({"a.js": "export const { one } = {};\n"}, "a line that cannot be bundled"),
        ({"b.js": B.replace("{ one }", "{ one as uno }")}, "renames what it imports"),
        ({"main.js": 'import { x } from "./gone.js";\n'}, "there is no module gone.js"),
    ],
)
def test_other_forms_are_refused(change: dict[str, str], reason: str) -> None:
    modules = {"main.js": MAIN, "a.js": A, "b.js": B}
    assert script_of(modules)
    with pytest.raises(CannotBundle, match=re.escape(reason)):
        script_of(modules | change)


def test_the_page_is_bundled() -> None:
    page = bundle()
    assert "function decodePart" in page.script
    assert not re.search(r"^(import|export)\b", page.script, re.MULTILINE)
    assert "</script" not in page.script.lower()
    assert "</style" not in page.style.lower()
