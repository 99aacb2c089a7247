"""undwarf view: the page as a file, and served."""

import json
import re
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.support.commands import Run
from tests.support.page_parts import decode, parts_of, rows_of

SHIPPED = Path(__file__).parents[2] / "examples" / "recording"
OPTIONS = [SHIPPED / "particles.data", "--symfs", SHIPPED]


def test_a_page_is_written_and_described(undwarf: Run, tmp_path: Path) -> None:
    done = undwarf("view", *OPTIONS, "-o", "page.html", "--json")
    written = json.loads(done.stdout)
    page = (tmp_path / "page.html").read_text()
    assert written["size_bytes"] == len(page.encode())
    assert written["parts"] == ["code", "profile", "types"] == sorted(parts_of(page))
    assert [one["event"] for one in written["measures"]] == ["cpu-clock:u"]
    assert "wrote page.html" in done.stderr


def test_standard_output_has_the_same_page(undwarf: Run, tmp_path: Path) -> None:
    undwarf("view", *OPTIONS, "-o", "page.html")
    assert undwarf("view", *OPTIONS, "-o", "-").stdout == (tmp_path / "page.html").read_text()


def test_the_policy_permits_the_page_s_own_script_and_style_alone(undwarf: Run) -> None:
    page = undwarf("view", *OPTIONS, "-o", "-").stdout
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", rules["style-src"])
    assert rules["connect-src"] == "'none'"
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)
    assert len(re.findall("<script", page)) == len(re.findall("</script>", page))


def test_types_are_left_out_if_asked_for(undwarf: Run) -> None:
    parts = parts_of(undwarf("view", "--no-types", *OPTIONS, "-o", "-").stdout)
    assert sorted(parts) == ["code", "profile"]
    assert all(not insn[4] for one in parts["code"].functions.values() for insn in one["instructions"])


def test_filters_select_what_is_shown(undwarf: Run) -> None:
    part = parts_of(undwarf("view", *OPTIONS, "--symbols", "move_all", "-o", "-").stdout)["profile"]
    rows = rows_of(part, ("sym",))
    assert rows["move_all",][0] == rows["move_all",][1] == rows["run",][1]
    assert ("count_all",) not in rows


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--json"], "--json needs -o FILE"),
        (["--json", "-o", "-"], "--json needs -o FILE"),
        (["-o", "x.html", OPTIONS[0]], "-o writes the page of one recording"),
        (["--open", "-o", "-"], "--open cannot be used with -o -"),
        (["-o", "gone/x.html"], "cannot write gone/x.html"),
        (["--port", "70000"], "70000"),
    ],
)
def test_what_cannot_be_done_is_said(undwarf: Run, arguments: list[str], reason: str) -> None:
    done = undwarf("view", *OPTIONS, *arguments)
    assert done.returncode == 2
    assert reason in done.stderr


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return bytes(answer.read())


def test_a_served_page_has_parts_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "undwarf", "view", *map(str, OPTIONS), str(SHIPPED / "words.data")]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Shells start what runs in the background with interrupts ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as server:
        try:
            assert server.stdout is not None and select.select([server.stdout], [], [], 60)[0]
            address = server.stdout.readline().decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/[A-Za-z0-9_-]{32}/", address)
            listed = fetch(address).decode()
            assert ">particles.data</a>" in listed and ">words.data</a>" in listed
            page = fetch(f"{address}0/").decode()
            assert 'data-served="true"' in page
            assert "connect-src 'self'" in page
            assert parts_of(page) == {}
            profile = decode(fetch(f"{address}0/part/profile"))
            assert profile.served is True
            number = profile.functions.index("move_all")
            code = decode(fetch(f"{address}0/part/code?function={number}"))
            assert list(code.functions) == [str(number)]
            assert any(insn[4] for insn in code.functions[str(number)]["instructions"])
            assert decode(fetch(f"{address}0/part/types")).types[0]["name"] == "struct particle"
            assert decode(fetch(f"{address}1/part/profile")).title == "words.data"
            for wrong in ("0/part/code?function=99", "0/part/code?function=-1", "2/", "0/part/x", "0"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    fetch(address + wrong)
            server.send_signal(signal.SIGINT)
            out, errors = server.communicate(timeout=20)
            assert (server.returncode, out) == (0, b"")
            assert b"Traceback" not in errors
        finally:
            server.kill()
