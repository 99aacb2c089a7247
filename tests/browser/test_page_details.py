"""The page of a profile in real browsers: header, table, code, types, quality."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.page_browsers import Browser, PageUnderTest
from tests.support.page_profiles import Frame, PagePart, ProfileBuilder, encode, particles

from undwarf.outputs.page.html import write

pytestmark = pytest.mark.browser

RECORDINGS = Path(__file__).parents[2] / "examples" / "recording"
ROWS = "#table .grid-row"
NAMES = f"{ROWS} .at-name"
HOSTILE = [
    "<script>document.title='ran'</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "left\u202eright",
    "red \x1b[31m text\x00\u200b",
    "javascript:alert(1)",
    "n" * 20000,
]


def written(path: Path, parts: dict[str, PagePart]) -> Path:
    """A page with these parts."""
    with path.open("wb") as sink:
        write({name: encode(part) for name, part in parts.items()}, sink)
    return path


def hostile() -> dict[str, PagePart]:
    """Names, paths, source text and types that try to run a script or to change what is seen."""
    builder = ProfileBuilder(title="</title><script>alert(1)</script>")
    builder.command = HOSTILE[0]
    builder.notes = [HOSTILE[1]]
    builder.gaps[0]["description"] = HOSTILE[1]
    builder.gaps.append({"reason": "no_file", "description": HOSTILE[0], "image": 0, "advice": HOSTILE[2]})
    image = builder.image(HOSTILE[1], path=HOSTILE[2])
    builder.files = [HOSTILE[0]]
    builder.threads = [{"tid": 1, "process": 0, "name": HOSTILE[0], "idle": False}]
    builder.processes = [{"pid": 1, "name": HOSTILE[3]}]
    functions = [builder.function(name, image, 0x1000 * (i + 1)) for i, name in enumerate(HOSTILE)]
    for i, function in enumerate(functions):
        builder.row(
            i,
            builder.node([Frame(functions[0], 0x1001, 0, 1, caller=True), Frame(function, 0x1000 * (i + 1), 0, 1)]),
            gap=i % 2,
        )
    code: dict[str, Any] = {
        str(functions[0]): {
            "start": "0x1000",
            "end": "0x1010",
            "image": image,
            "file": 0,
            "first_line": 1,
            "instructions": [
                [0, HOSTILE[0], 0, None, [[0, 7, HOSTILE[1], HOSTILE[2], 0]]],
                [1, HOSTILE[4], 0, 0, None],
            ],
            "problem": None,
        }
    }
    member = {
        "name": HOSTILE[0],
        "path": HOSTILE[0],
        "type": HOSTILE[1],
        "offset": 0,
        "size": 8,
        "bits": None,
        "depth": 0,
        "repeat": 1,
        "elements": [],
        "within_array": False,
    }
    types = {
        "problem": None,
        "line_size": 64,
        "types": [
            {
                "name": HOSTILE[2],
                "size": 8,
                "kind": "struct",
                "members": [member],
                "holes": [],
                "drawn": True,
                "one_object": False,
            }
        ],
        "accesses": [{"type": 0, "offset": 0, "member": HOSTILE[0], "kind": "load", "reason": None}],
        "sharing": {
            "weighted_by": "period",
            "weight": 10,
            "found": [
                {
                    "kind": "false sharing",
                    "type": HOSTILE[0],
                    "weight": 5,
                    "place": HOSTILE[1],
                    "parties": [HOSTILE[2]],
                    "advice": [HOSTILE[3]],
                }
            ],
        },
        "advice": [],
    }
    return {
        "profile": builder.part(),
        "code": PagePart(
            {
                "problem": None,
                "functions": code,
                "files": [],
                "left_out": 0,
                "lines": [[0, 1, [HOSTILE[0]]]],
                "sources": {"0": {"first": 1, "text": [*HOSTILE[:6], "x" * 30000], "problem": HOSTILE[1]}},
            }
        ),
        "types": PagePart(types, {"row_access": ("u32", [0] * len(HOSTILE))}),
    }


@pytest.fixture(scope="module")
def particles_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page") / "particles.html", particles())


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page") / "hostile.html", hostile())


@pytest.fixture
def page(page_browser: Browser, particles_file: Path) -> PageUnderTest:
    page_browser.resize(1300, 850)
    return PageUnderTest(page_browser, particles_file)


def command(*words: str) -> Any:
    """What a command of undwarf prints as JSON, or nothing."""
    run = subprocess.run([sys.executable, "-m", "undwarf", *words], capture_output=True, text=True, check=True)
    return json.loads(run.stdout) if run.stdout.startswith("{") else None


def test_the_table_has_the_numbers_of_the_report(page_browser: Browser, tmp_path: Path) -> None:
    recording = str(RECORDINGS / "words-sum.data")
    options = ["--symfs", str(RECORDINGS), "--no-cache"]
    out = tmp_path / "words.html"
    command("view", recording, *options, "-o", str(out))
    report = command("report", recording, *options, "--json", "--sort", "dso,sym", "--percent-limit", "0")
    rows = report["events"][0]["rows"]
    assert len(rows) > 5
    wanted = {(row["sym"], row["self"], row["total"], row["samples"]) for row in rows if row["sym"] is not None}
    page = PageUnderTest(page_browser, out).open("view=table")
    shown = page.browser.call(
        "(s) => Array.from(document.querySelectorAll(s), (r) => [r.querySelector('.at-name').innerText,"
        " ...['self', 'total', 'samples'].map((c) => Number(r.querySelector(`.at-${c}`).dataset.value))])",
        ROWS,
    )
    assert wanted - {tuple(row) for row in shown} == set()


@pytest.mark.parametrize(("table", "keys", "name"), [("images", "dso", "where"), ("threads", "comm,tid", "place")])
def test_other_tables_have_the_numbers_of_the_report(
    page_browser: Browser, tmp_path: Path, table: str, keys: str, name: str
) -> None:
    recording = str(RECORDINGS / "requests.data")
    options = ["--symfs", str(RECORDINGS), "--no-cache"]
    command("view", recording, *options, "-o", str(tmp_path / "page.html"))
    report = command("report", recording, *options, "--json", "--sort", keys, "--percent-limit", "0")
    rows = report["events"][1]["rows"]
    wanted = {(str(row[keys.split(",")[-1]]), row["self"], row["samples"]) for row in rows}
    assert len(wanted) > 1
    # Measure 0 is both events together.
    page = PageUnderTest(page_browser, tmp_path / "page.html").open(f"view=table&table={table}&measure=2")
    assert (
        page.browser.call("() => document.querySelector('#measure').selectedOptions[0].text")
        == report["events"][1]["event"]
    )
    shown = page.browser.call(
        "(s, name) => Array.from(document.querySelectorAll(s), (r) => [r.querySelector(`.at-${name}`).innerText,"
        " ...['self', 'samples'].map((c) => Number(r.querySelector(`.at-${c}`).dataset.value))])",
        ROWS,
        name,
    )
    assert {tuple(row) for row in shown} == wanted


def test_types_have_the_numbers_of_the_types_command(page_browser: Browser, tmp_path: Path) -> None:
    recording = str(RECORDINGS / "particles.data")
    options = ["--symfs", str(RECORDINGS), "--no-cache"]
    command("view", recording, *options, "--types", "-o", str(tmp_path / "page.html"))
    report = command("types", recording, *options, "--json", "--percent-limit", "0")
    types = report["events"][0]["types"]
    assert len(types) > 1
    page = PageUnderTest(page_browser, tmp_path / "page.html").open("view=types")
    page.wait("() => document.querySelector('#members')")
    assert page.values(".type-item") == [str(one["weight"]) for one in types]
    for field in types[0]["fields"]:
        assert page.values(f"tr[data-path='{field['field']}'] [data-value]") == [str(field["weight"])]
    assert "false sharing" in page.text("#sharing")
    assert f"({100 * report['sharing']['found'][0]['weight'] / report['sharing']['weight']:.1f}\u00a0%)" in page.text(
        "#sharing"
    )


def test_a_click_on_a_heading_sorts_and_a_second_one_reverses(page: PageUnderTest) -> None:
    page.open("view=table")
    assert page.texts(NAMES)[0] == "move"
    page.click("[data-sort=total]")
    assert page.texts(NAMES)[:2] == ["_start", "main"] or page.texts(NAMES)[:2] == ["main", "_start"]
    page.click("[data-sort=total]")
    assert page.values(f"{ROWS} .at-total") == sorted(page.values(f"{ROWS} .at-total"), key=int)
    assert page.browser.call("() => document.querySelector('.at-total').getAttribute('aria-sort')") == "ascending"


def test_the_search_filters_rows_and_counts_them(page: PageUnderTest) -> None:
    page.open("view=table")
    page.type("#search", "^m")
    page.wait("(s) => document.querySelectorAll(s).length === 2", ROWS)
    assert sorted(page.texts(NAMES)) == ["main", "move"]
    assert page.text("#search-count") == "2 functions"
    page.press("Enter")
    assert page.texts(f"{ROWS}.chosen .at-name") == ["move"]
    page.press("Enter")
    assert page.texts(f"{ROWS}.chosen .at-name") == ["main"] or page.address.find("view=code") > 0


def test_an_invalid_expression_is_said(page: PageUnderTest) -> None:
    page.open("view=table")
    page.type("#hide", "(")
    assert page.text("#hide-problem")
    assert page.browser.call("() => document.querySelector('#hide').getAttribute('aria-invalid')") == "true"


def test_a_row_shows_callers_and_callees(page: PageUnderTest) -> None:
    page.open("view=table")
    page.click(f"{ROWS}[data-position='0']")
    assert page.texts("[data-relatives=callers] .link") == ["main"]
    assert page.texts("[data-relatives=callees] .link") == ["clamp"]
    assert page.values("[data-relatives=callees] td:first-child") == ["20000000"]
    page.click("[data-relatives=callees] .link")
    assert page.texts(f"{ROWS}.chosen .at-name") == ["clamp"]


def test_the_keyboard_does_it_all(page: PageUnderTest) -> None:
    page.open()
    page.press("2", "j", "j")
    assert page.texts(f"{ROWS}.chosen .at-name") == ["clamp"]
    page.press("k", "Enter")
    page.wait("() => document.querySelector('#view-code .code-row')")
    assert page.text("#view-code .code-row.chosen code")
    page.press("4")
    page.wait("() => document.querySelector('#members')")
    page.press("n")
    assert page.text("tr.chosen .member-name")
    page.press("5", "j", "Enter")
    page.wait("() => !document.querySelector('#view-flame').hidden")
    assert "gaps=%5B1%5D" in page.address
    page.press("?")
    assert page.browser.call("() => document.querySelector('#help').open")
    assert "Search" in page.text("#help")
    page.press("Escape")
    assert not page.browser.call("() => document.querySelector('#help').open")


def test_escape_goes_back(page: PageUnderTest) -> None:
    page.open("view=table")
    page.press("5")
    page.wait("() => !document.querySelector('#view-quality').hidden")
    page.press("Escape")
    page.wait("() => !document.querySelector('#view-table').hidden")


def test_a_link_restores_what_was_shown(page: PageUnderTest) -> None:
    page.open("view=table")
    page.click("[data-table=images]")
    page.click("[data-sort=name]")
    page.type("#focus", "clamp")
    page.click("[data-weight=samples]")
    page.wait("() => location.hash.includes('weight=samples') && document.querySelector('.chip')")
    assert "table=images" in page.address
    address = page.address
    shown = page.texts(ROWS)
    page.open()
    page.open(address.lstrip("#"))
    assert page.texts(ROWS) == shown
    assert page.texts(".chip-text") == ["focus: clamp"]
    assert page.values(f"{ROWS} .at-self") == ["20"]


def test_filters_are_removed_one_by_one_and_together(page: PageUnderTest) -> None:
    page.open("view=table&focus=clamp&hide=main&threads=%5B0%5D")
    assert len(page.texts(".chip")) == 3
    page.click(".chip:nth-child(2) button")
    page.wait("() => document.querySelectorAll('.chip').length === 2")
    page.press("X")
    page.wait("() => document.querySelectorAll('.chip').length === 0")
    assert page.address == "#view=table"


def test_code_has_the_weight_of_each_instruction_and_line(page: PageUnderTest) -> None:
    page.open("view=code&chosen=move%40particles")
    page.wait("() => document.querySelectorAll('#code-assembly .code-row').length > 10")
    weights = page.browser.call(
        "() => Object.fromEntries(Array.from(document.querySelectorAll('#code-assembly .code-row[data-row]'),"
        " (r) => [r.querySelector('.offset').innerText, Number(r.querySelector('.self').dataset.value)]))"
    )
    assert weights["c"] == 30000000
    assert weights["14"] == 12000000
    assert sum(weights.values()) == 90000000
    lines = page.browser.call(
        "() => Object.fromEntries(Array.from(document.querySelectorAll('#code-source .code-row[data-row]'),"
        " (r) => [r.querySelector('.line-number').innerText, Number(r.querySelector('.self').dataset.value)]))"
    )
    assert lines["12"] == 62000000
    assert lines["14"] == 10000000
    assert page.texts(".inline-head") == ["↳ inlined: clamp"]


def test_pointing_at_an_instruction_shows_the_types_of_its_operands_and_its_line(page: PageUnderTest) -> None:
    page.open("view=code&chosen=move%40particles")
    page.wait("() => document.querySelectorAll('#code-assembly .code-row').length > 10")
    page.hover("#code-assembly .code-row[data-row='3'] code")
    assert "struct particle: vx (offset 16)" in page.text("#code-status")
    assert page.texts("#code-source .lit .line-number") == ["12"]


def test_inlined_functions_lead_to_the_code_that_has_them(page: PageUnderTest) -> None:
    page.open("view=code&chosen=clamp%40particles")
    page.wait("() => document.querySelector('.code-message h2')?.checkVisibility()")
    assert "inlined" in page.text(".code-message h2")
    page.click(".code-message button")
    page.wait("() => document.querySelectorAll('#code-assembly .code-row').length > 10")


def test_missing_code_is_explained(page: PageUnderTest) -> None:
    page.open("view=code&chosen=report%40libc.so.6")
    page.wait("() => document.querySelector('.code-message h2')?.checkVisibility()")
    assert "/lib/libc.so.6 is not here" in page.text(".code-message")
    assert "--symfs" in page.text(".code-message")


def test_a_function_is_chosen_from_the_list(page: PageUnderTest) -> None:
    page.open("view=code&chosen=report%40libc.so.6")
    page.type("#function-choice", "mov")
    page.wait("() => document.querySelectorAll('#function-list [role=option]').length === 1")
    page.press("Enter")
    page.wait("() => document.querySelectorAll('#code-assembly .code-row').length > 10")
    assert "chosen=move%40particles" in page.address


def test_types_have_weights_holes_and_equal_members_once(page: PageUnderTest) -> None:
    page.open("view=types")
    page.wait("() => document.querySelector('#members')")
    assert page.values("tr[data-path=x] [data-value]") == ["12000000"]
    assert page.values("tr[data-path=steps] [data-value]") == ["10000000"]
    assert "trace1 \u00d75" in page.texts("#members .member-name")
    assert page.texts("#members .hole-row td:first-child") == ["9", "24"]
    assert len(page.texts(".line-strip")) == 1
    page.click("tr[data-path=steps]")
    assert page.texts("#accessors .link") == ["move"]


def test_types_follow_the_selection(page: PageUnderTest) -> None:
    page.open("view=types&range=%5B0%2C9%5D")
    # The list is there before it is filled.
    page.wait("() => document.querySelector('.type-list')?.innerText.trim()")
    assert "No typed access" in page.text(".type-list") or page.values("tr[data-path=steps] [data-value]") == ["0"]


def test_quality_counts_reasons_and_leads_to_their_stacks(page: PageUnderTest) -> None:
    page.open("view=quality")
    assert page.text("#whole-share") == "94.0\u00a0%"
    assert page.values("tr[data-gap='1'] [data-value]") == ["6"]
    assert "--call-graph dwarf,16384" in page.text("tr[data-gap='1']")
    assert page.text("#whole") == "✓ 94.0\u00a0% whole stacks"
    page.click("tr[data-gap='1'] button")
    page.wait("() => !document.querySelector('#view-flame').hidden")
    assert page.text(".chip-text").startswith("stacks cut short")


def test_few_whole_stacks_are_warned_of(page: PageUnderTest) -> None:
    page.open("view=table&focus=report")
    assert "⚠ only 40.0\u00a0% whole stacks" in page.text("#whole")


@pytest.mark.parametrize("view", ["flame", "table", "code", "types", "quality"])
def test_hostile_names_are_text(page_browser: Browser, hostile_file: Path, view: str) -> None:
    page_browser.resize(1300, 850)
    page = PageUnderTest(page_browser, hostile_file).open(f"view={view}")
    page.wait(
        "(v) => { const e = document.querySelector(`#view-${v}`); return e.innerText || e.querySelector('canvas'); }",
        view,
    )
    page.browser.call("() => { for (const details of document.querySelectorAll('details')) details.open = true; }")
    assert page.violations() == []
    assert page.browser.call("() => document.title") == "</title><script>alert(1)</script> - undwarf"
    assert page.browser.call("() => document.querySelectorAll('img').length") == 0
    text = page.text("body")
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert page.browser.call("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_policy_refuses_scripts_that_are_put_into_the_page(page: PageUnderTest) -> None:
    page.open()
    policy = page.browser.call("() => document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert page.violations() == []
    page.browser.call(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    page.wait("() => window.violations.length > 0")
    assert page.browser.call("() => window.ran ?? null") is None


@pytest.mark.parametrize("view", ["flame", "table", "code", "types", "quality"])
@pytest.mark.parametrize("width", [360, 640])
def test_narrow_screens_need_no_sideways_scrolling(page: PageUnderTest, view: str, width: int) -> None:
    # 640 px are 1280 at 200 %.
    page.browser.resize(width, 740)
    page.open(f"view={view}")
    page.wait("(v) => document.querySelector(`#view-${v}`).children.length > 0", view)
    wide = page.browser.call(
        "() => document.documentElement.scrollWidth > innerWidth ? Array.from(document.querySelectorAll('body *'))"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map((e) => `${e.tagName}.${e.className}`).slice(0, 5) : []"
    )
    page.browser.resize(1300, 850)
    assert wide == []


def test_the_theme_is_kept(page: PageUnderTest) -> None:
    page.open("view=table")
    page.press("t", "t")
    assert page.browser.call("() => document.documentElement.dataset.theme") == "dark"
    page.open("view=table")
    assert page.browser.call("() => document.documentElement.dataset.theme") == "dark"
    page.press("t")
    assert page.text("#theme") == "Auto"


def test_a_hundred_thousand_rows_are_quick_and_few_elements(page_browser: Browser, tmp_path: Path) -> None:
    builder = ProfileBuilder()
    image = builder.image("large")
    for i in range(100_000):
        builder.row(i // 1000, builder.node([Frame(builder.function(f"f{i}", image, 16 * i), 16 * i)]), weight=i + 1)
    page = PageUnderTest(page_browser, written(tmp_path / "large.html", {"profile": builder.part()})).open("view=table")
    assert page.text("#table-count") == "100,000 functions"
    assert page.browser.call("(s) => document.querySelectorAll(s).length", ROWS) < 100
    page.press("End")
    assert page.texts(f"{ROWS}.chosen .at-name") == ["f0"]
    took = page.browser.call(
        "() => { const start = performance.now(); document.querySelector('[data-sort=name]').click();"
        " return performance.now() - start; }"
    )
    assert took < 3000


def test_a_served_page_asks_for_other_code_and_says_when_the_server_is_gone(page_browser: Browser) -> None:
    words = ["view", str(RECORDINGS / "words-sum.data"), "--symfs", str(RECORDINGS)]
    server = subprocess.Popen(
        [sys.executable, "-m", "undwarf", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert server.stdout is not None
    try:
        address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        page = PageUnderTest(page_browser, RECORDINGS)
        page_browser.load(f"{address}#view=code&chosen=compare%40words-sum")
        page.wait("() => document.querySelector('#code-assembly .code-row.chosen')")
        assert page.violations() == []
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()
    page.press("4")
    page.wait("() => !document.querySelector('#problem').hidden")
    assert "was undwarf ended?" in page.text("#problem")


def test_csv_has_the_rows_as_they_are_shown(page: PageUnderTest) -> None:
    page.open("view=table&search=%5Em&sort=name")
    page.browser.call(
        "() => { URL.createObjectURL = (blob) => {"
        " blob.text().then((text) => { window.saved = text; }); return 'blob:x'; }; }"
    )
    page.press("c")
    page.wait("() => window.saved")
    assert page.browser.call("() => window.saved").splitlines() == [
        "Function,Image,File,self (ns),total (ns),samples",
        "main,particles,particles.c,0,94000000,0",
        "move,particles,particles.c,70000000,90000000,70",
    ]


def test_the_list_of_keys_has_what_each_view_does(page: PageUnderTest) -> None:
    page.open("view=code")
    page.press("?")
    text = page.text("#help")
    for group in ("Code", "Table", "Types", "Quality", "Views", "Filters", "Everywhere"):
        assert group in page.texts("#help h3"), text
    assert page.texts("#help h3")[0] == "Code"


def test_every_control_has_a_name(page: PageUnderTest) -> None:
    for view in ("flame", "table", "code", "types", "quality"):
        page.open(f"view={view}")
        page.wait("(v) => document.querySelector(`#view-${v}`).children.length > 0", view)
        unnamed = page.browser.call(
            "() => Array.from(document.querySelectorAll('button, input, select, [role=grid], [role=listbox]'))"
            ".filter((e) => e.checkVisibility() && !(e.innerText || e.ariaLabel || e.labels?.length || e.title))"
            ".map((e) => e.outerHTML.slice(0, 200))"
        )
        assert unnamed == [], view
