"""`undwarf types` on recordings with samples at chosen instructions of a compiled program."""

import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.documents import document
from tests.support.page_parts import parts_of
from tests.support.types.programs import LIST, WIDE, accesses_of, answers, build, guarded
from tests.support.types.recordings import place, recording

from undwarf import fork_pool
from undwarf.cli.main import undwarf
from undwarf.elf.background_inflate import DeferredBytes

Run = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    def call(*arguments: object) -> Any:
        result = CliRunner().invoke(undwarf, ["types", *map(str, arguments)])
        assert result.exit_code == 0, result.output
        return document(result.stdout) if "--json" in arguments else result.stdout

    return call


def test_members_have_the_weight_of_their_instructions(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_key = place(binary, "walk", "struct node", "key", "r")
    at_next = place(binary, "walk", "struct node", "next", "r")
    data = recording(tmp_path, binary, [(at_key, 0, 3), (at_next, 1, 5)])
    (event,) = run("--json", data)["events"]
    assert event["typed"] == event["weight"] == 8000
    (row,) = event["types"]
    assert (row["type"], row["weight"], row["samples"], row["stores"]) == ("struct node", 8000, 8, 0)
    assert [(one["field"], one["weight"]) for one in row["fields"]] == [("next", 5000), ("key", 3000)]


def test_a_kernels_canary_is_no_data_of_its_own(tmp_path: Path, run: Run) -> None:
    binary = guarded(tmp_path)
    at_canary = place(binary, "guard", "struct fixed", "canary", "r")
    data = recording(tmp_path, binary, [(at_canary, 0, 3)])
    (event,) = run("--json", "--code", data)["events"]
    assert (event["typed"], event["types"], event["no_data"]) == (0, [], {"stack canary": 3000})
    assert [one["field"] for one in event["instructions"]] == ["canary"]


def test_two_processes_give_the_same_as_one(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"t{k}" for k in range(12)]
    source = "".join(
        f"struct {name} {{ long a; char gap[{8 * k + 8}]; int b; }};\n"
        f"__attribute__((noinline)) int use_{name}(struct {name} *x) {{ x->a += x->b; return x->b; }}\n"
        for k, name in enumerate(names)
    )
    uses = "".join(f"{{ static struct {name} one; done += use_{name}(&one); }}" for name in names)
    binary = build(tmp_path, f"{source} int main(void) {{ int done = 0; {uses} return done; }}", "many.c", "-O2")
    samples = [
        (int(one["address"], 16), 0, 1)
        for name in (*(f"use_{name}" for name in names), "main")
        for one in answers(binary, name)
    ]
    data = recording(tmp_path, binary, samples)
    forked: list[int] = []
    fork = os.fork
    monkeypatch.setattr(fork_pool, "_WORTH", 20)
    monkeypatch.setattr(fork_pool, "may_fork", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: forked.append(fork()) or forked[-1])
    for options in (["--code"], ["--skid"], ["--type", "t0"], ["--type", "t11"]):
        alone = run("--json", "--jobs", "1", *options, data)
        assert not forked
        assert run("--json", *options, data) == alone
        assert forked
        for child in forked:
            with pytest.raises(ChildProcessError):
                # The second process has been waited for: its time is the command's.
                os.waitpid(child, os.WNOHANG)
        forked.clear()


def test_compressed_sections_are_unpacked_by_a_thread(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2", "-gz=zlib")
    data = recording(tmp_path, binary, [(place(binary, "walk", "struct node", "next", "r"), 0, 5)])
    unpacked: list[str] = []

    def load(one: DeferredBytes) -> None:
        unpacked.append(threading.current_thread().name)
        original(one)

    original = DeferredBytes.load
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(DeferredBytes, "load", load)
    alone = run("--json", "--jobs", "1", data)
    assert not unpacked
    assert run("--json", data) == alone
    assert threading.current_thread().name not in unpacked
    assert len(unpacked) >= 2
    unpacked.clear()
    folded = CliRunner().invoke(undwarf, ["fold", "--jobs", "1", str(data)]).stdout
    assert not unpacked
    assert CliRunner().invoke(undwarf, ["fold", str(data)]).stdout == folded != ""
    assert unpacked
    assert threading.current_thread().name not in unpacked


def test_samples_without_memory_access_are_apart_or_inferred(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_next = place(binary, "walk", "struct node", "next", "r")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--json", "--at", "0"])
    after = at_next
    for step in range(1, 9):
        result = CliRunner().invoke(
            undwarf, ["types", "--binary", str(binary), "--json", "--at", f"{at_next + step:x}"]
        )
        (one, *_rest) = accesses_of(result.stdout)
        if one["reason"] == "no memory access":
            after = at_next + step
            break
    assert after > at_next
    data = recording(tmp_path, binary, [(after, 0, 4)])
    (event,) = run("--json", data)["events"]
    assert event["no_data"] == {"no memory access": 4000}
    (event,) = run("--json", "--skid", "--code", data)["events"]
    assert event["inferred"] == event["typed"] == 4000
    row = event["types"][0]
    assert row["fields"][0]["field"] == "next"
    # Wherever there is a weight, it is told how much of it is a guess, and how good that is.
    for one in (event, row, row["fields"][0], event["instructions"][0]):
        assert one["inferred"] == 4000
        assert one["inferred_with_high_confidence"] in (0, 4000)
    (layout,) = run("--json", "--skid", "--type", "node", data)["layouts"]
    assert layout["counts"]["inferred"] == 4000
    # perf asks for precision of timers too (cpu-clock:ppp is its default without hardware); they have none.
    (event,) = run("--json", "--skid", recording(tmp_path, binary, [(after, 0, 4)], precise=3))["events"]
    assert event["inferred"] == 4000
    # Samples that say that they are exact are.
    (event,) = run("--json", "--skid", recording(tmp_path, binary, [(after, 0, 4)], misc=2 | 1 << 14))["events"]
    assert event["inferred"] == 0
    recording(tmp_path, binary, [(after, 0, 4)])
    for text in (run("--skid", data), run("--skid", "--code", data), run("--skid", "--type", "node", data)):
        assert "inferred" in text
        assert "confidence" in text
    page = tmp_path / "types.html"
    run("--skid", "--html", page, data)
    (typed,) = [one["text"] for one in parts_of(page.read_text())["types"].shares if one["kind"] == "typed"]
    assert "100.00% inferred" in typed
    assert "confidence" in typed


def test_stacks_and_reports_mark_types_that_were_inferred(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_next = place(binary, "walk", "struct node", "next", "r")
    arguments = ["types", "--binary", str(binary), "--json", "--at"]
    for after in range(at_next + 1, at_next + 9):
        (one, *_rest) = accesses_of(CliRunner().invoke(undwarf, [*arguments, f"{after:x}"]).stdout)
        if one["reason"] == "no memory access":
            break
    # Right behind the load, and at it.
    data = str(recording(tmp_path, binary, [(after, 0, 4), (at_next, 0, 1)]))
    invoke = CliRunner().invoke
    plain = invoke(undwarf, ["fold", "--root", "none", "--by", "type", data]).stdout
    assert "(no memory access);walk 4\n" in plain
    skid = invoke(undwarf, ["fold", "--root", "none", "--by", "type", "--skid", data]).stdout
    (line,) = [line for line in skid.splitlines() if line.startswith("struct node [inferred")]
    assert line.endswith(";.next;walk 4")
    page = tmp_path / "page.html"
    assert invoke(undwarf, ["flamegraph", "--by", "type", "--skid", "-o", str(page), data]).exit_code == 0
    assert any(
        (name or "").startswith("struct node [inferred") for name in parts_of(page.read_text())["profile"].functions
    )
    text = invoke(undwarf, ["report", "-g", "none", "--json", "-s", "typeoff", "--skid", data]).stdout
    rows = {row["typeoff"]: row["self"] for event in json.loads(text)["events"] for row in event["rows"]}
    assert sum(weight for name, weight in rows.items() if "[inferred" in name and "(next)" in name) == 4000
    for command in (["fold"], ["flamegraph"], ["report", "-s", "sym"]):
        assert invoke(undwarf, [*command, "--skid", data]).exit_code != 0


def test_a_type_is_drawn_with_holes_and_cache_lines(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, WIDE, "wide.c", "-O2")
    hot = place(binary, "work", "struct wide", "hot", "w")
    far = place(binary, "work", "struct wide", "far", "w")
    data = recording(tmp_path, binary, [(hot, 0, 3), (far, 1, 1), (hot, 1, 1)])
    text = run("--type", "wide", data)
    assert "cache line 0" in text
    assert "cache line 2" in text
    assert "(hole)" in text
    row = next(line for line in text.splitlines() if "  hot" in line)
    assert row.split()[0] == "80.00%"
    (drawn,) = run("--type", "struct wide", "--json", data)["layouts"]
    assert {"kind": "hole", "offset_bytes": 140, "size_bytes": 4} in [
        {key: one[key] for key in ("kind", "offset_bytes", "size_bytes")} for one in drawn["layout"]
    ]
    (event,) = run("--json", data)["events"]
    (far_apart,) = event["spread"]
    assert (far_apart["lines"], far_apart["taken"], far_apart["needed"]) == ([0, 2], 2, 1)
    assert far_apart["functions"] == {"work": 1.0}


def test_advice_on_a_layout_disappears_once_followed(tmp_path: Path, run: Run) -> None:
    source = WIDE.replace("long hot; char gap[120]; long far;", "long hot; long far; char gap[120];")
    binary = build(tmp_path, source, "near.c", "-O1")
    hot = place(binary, "work", "struct wide", "hot", "w")
    far = place(binary, "work", "struct wide", "far", "w")
    (event,) = run("--json", recording(tmp_path, binary, [(hot, 0, 3), (far, 0, 2)]))["events"]
    assert event["typed"] == event["weight"]
    assert event["spread"] == []


def test_members_that_one_line_may_hold_are_not_called_far_apart(tmp_path: Path, run: Run) -> None:
    # Objects of 152 bytes begin anywhere in a line: the type's own lines say little.
    source = WIDE.replace("char gap[120]; long far;", "char gap[48]; long far; char rest[72];").replace(
        "struct wide { long hot", "struct wide { long first, hot"
    )
    binary = build(tmp_path, source, "some.c", "-O1")
    hot = place(binary, "work", "struct wide", "hot", "w")
    far = place(binary, "work", "struct wide", "far", "w")
    (event,) = run("--json", recording(tmp_path, binary, [(hot, 0, 3), (far, 0, 2)]))["events"]
    assert {one["offset_bytes"] // 64 for one in event["types"][0]["fields"]} == {0, 1}
    assert event["types"][0]["size_bytes"] % 64
    assert event["spread"] == []


def test_code_shows_what_each_instruction_accesses(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_key = place(binary, "walk", "struct node", "key", "r")
    text = run("--code", recording(tmp_path, binary, [(at_key, 0, 2)]))
    assert any("struct node (key)" in line and "walk" in line for line in text.splitlines())


def test_a_type_without_accesses_is_an_error(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    data = recording(tmp_path, binary, [(place(binary, "walk", "struct node", "key", "r"), 0, 2)])
    result = CliRunner().invoke(undwarf, ["types", "--type", "no_such", str(data)])
    assert result.exit_code != 0
    assert "no_such" in str(result.exception or result.output)


def test_a_typedef_is_the_type_it_names(tmp_path: Path, run: Run) -> None:
    source = """
    typedef struct node { struct node *next; long key; } Nod;
    struct Nodule { long many; };
    typedef struct { long un; } unused;
    unused u;
    __attribute__((noinline)) long key(Nod *n) { return n->key; }
    __attribute__((noinline)) long many(struct Nodule *n) { return n->many; }
    int main(int argc, char **argv) { Nod n = {0, argc}; struct Nodule m = {argc}; return key(&n) + many(&m) + u.un; }
    """
    binary = build(tmp_path, source, "typedef.c", "-O2")
    hot = place(binary, "many", "struct Nodule", "many", "r")
    data = recording(tmp_path, binary, [(hot, 0, 9), (place(binary, "key", "struct node", "key", "r"), 0, 2)])
    assert run("--type", "Nod", data).startswith("struct node ")
    result = CliRunner().invoke(undwarf, ["types", "--type", "Nodu", str(data)])
    assert result.stdout.startswith("struct Nodule ")
    assert "struct Nodule is the hottest type with 'Nodu' in its name" in result.stderr
    result = CliRunner().invoke(undwarf, ["types", "--type", "unused", str(data)])
    assert result.exit_code != 0
    page = tmp_path / "page.html"
    run("--type", "Nod", "--html", page, data)
    assert parts_of(page.read_text())["profile"].start == "view=types&type=struct+node"


def test_assembly_has_no_types(tmp_path: Path, run: Run) -> None:
    source = """
    asm(".globl quick; .type quick, @function; quick: movq (%rdi), %rax; ret; .size quick, .-quick");
    long quick(long *p);
    int main(int argc, char **argv) { long n = argc; return quick(&n); }
    """
    binary = build(tmp_path, source, "assembler.c", "-O2")
    symbols = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    quick = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" quick"))
    (event,) = run("--json", recording(tmp_path, binary, [(quick, 0, 3)]))["events"]
    assert event["untyped"] == {"no types for this function": 3000}


def test_files_without_types_are_named(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    at_key = place(binary, "walk", "struct node", "key", "r")
    subprocess.run(["strip", "-g", binary], check=True)
    data = recording(tmp_path, binary, [(at_key, 0, 2)])
    (event,) = run("--json", data)["events"]
    assert event["untyped_files"] == {"no DWARF and no BTF": {str(binary): 2000}}
    text = run(data)
    assert f"not typed: no DWARF and no BTF ({binary.name})" in text
    assert "→ install the debug file" in text
    page = tmp_path / "page.html"
    run("--html", page, data)
    types = parts_of(page.read_text())["types"]
    assert [one["text"] for one in types.shares if one["kind"] == "untyped"] == [
        f"not typed: no DWARF and no BTF ({binary.name})"
    ]
    assert types.advice[-1]["text"].startswith("install the debug file")


def test_code_without_types_has_memory_accesses_or_none(tmp_path: Path, run: Run) -> None:
    source = """
    asm(".globl quick; .type quick, @function; quick: movq (%rdi), %rax; addq $1, %rax; push %rax; pop %rax; ret;"
        ".size quick, .-quick");
    long quick(long *p);
    int main(int argc, char **argv) { long n = argc; return quick(&n); }
    """
    binary = build(tmp_path, source, "untyped.c", "-O2")
    symbols = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    quick = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" quick"))
    subprocess.run(["strip", "-g", binary], check=True)
    data = recording(tmp_path, binary, [(quick, 0, 3), (quick + 3, 0, 2), (quick + 7, 0, 1)])
    (event,) = run("--json", data)["events"]
    assert event["untyped"] == {"no DWARF and no BTF": 3000}
    assert event["untyped_files"] == {"no DWARF and no BTF": {str(binary): 3000}}
    assert event["no_data"] == {"no memory access": 2000, "stack operation": 1000}
    assert event["unread"] == {}
    # A late sample stands behind what it is about, and what that is nobody can tell without the function's bounds.
    (event,) = run("--skid", "--json", data)["events"]
    assert event["untyped"] == {"no DWARF and no BTF": 6000}


def test_of_missing_code_nothing_is_claimed(tmp_path: Path, run: Run) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    data = recording(tmp_path, binary, [(place(binary, "walk", "struct node", "key", "r"), 0, 2)])
    binary.unlink()
    (event,) = run("--json", data)["events"]
    assert event["unread"] == {"file not found": 2000}
    assert event["untyped"] == {} and event["no_data"] == {}
    assert event["untyped_files"] == {"file not found": {str(binary): 2000}}
    text = run(data)
    assert "0.00% of the weight is at instructions that touch" in text
    assert f"100.00% in code that cannot be read: file not found ({binary.name})" in text
    assert "--symfs" in text
    page = tmp_path / "page.html"
    run("--html", page, data)
    shares = [one["text"] for one in parts_of(page.read_text())["types"].shares if one["kind"] == "unread"]
    assert shares == [f"in code that cannot be read: file not found ({binary.name})"]


def test_reports_sort_by_type_offset_and_cache_line(tmp_path: Path) -> None:
    binary = build(tmp_path, WIDE, "wide.c", "-O2")
    hot = place(binary, "work", "struct wide", "hot", "w")
    far = place(binary, "work", "struct wide", "far", "w")
    data = recording(tmp_path, binary, [(hot, 0, 3), (far, 1, 1)])
    arguments = ["report", "-g", "none", "--json", "--percent-limit", "0", "-s", "type,typeoff,typecln,sym", str(data)]
    result = CliRunner().invoke(undwarf, arguments)
    assert result.exit_code == 0, result.output
    (event,) = json.loads(result.stdout)["events"]
    found = {(row["type"], row["typeoff"], row["typecln"], row["sym"]): row["self"] for row in event["rows"]}
    assert found == {
        ("struct wide", "struct wide +0 (hot)", "struct wide: cache-line 0", "work"): 3000,
        ("struct wide", "struct wide +128 (far)", "struct wide: cache-line 2", "work"): 1000,
    }


def test_stacks_can_start_with_type_and_member(tmp_path: Path) -> None:
    binary = build(tmp_path, WIDE, "wide.c", "-O2")
    hot = place(binary, "work", "struct wide", "hot", "w")
    data = recording(tmp_path, binary, [(hot, 0, 3)])
    result = CliRunner().invoke(undwarf, ["fold", "--root", "none", "--by", "type", str(data)])
    assert result.stdout == "struct wide;.hot;work 3\n"
    page = tmp_path / "page.html"
    result = CliRunner().invoke(undwarf, ["flamegraph", "--by", "type", "-o", str(page), str(data)])
    assert result.exit_code == 0, result.output
    assert set(parts_of(page.read_text())["profile"].functions) == {"struct wide", ".hot", "work"}


def test_a_page_draws_the_types(tmp_path: Path) -> None:
    binary = build(tmp_path, WIDE, "wide.c", "-O2")
    hot = place(binary, "work", "struct wide", "hot", "w")
    data = recording(tmp_path, binary, [(hot, 0, 3)])
    page = tmp_path / "types.html"
    result = CliRunner().invoke(undwarf, ["types", "--html", str(page), str(data)])
    assert result.exit_code == 0, result.output
    parts = parts_of(page.read_text())
    (drawn,) = parts["types"].types
    assert (drawn["name"], parts["types"].line_size, -(-drawn["size"] // 64)) == ("struct wide", 64, 3)
    assert ("hot", 0, 8) in [(one["name"], one["offset"], one["size"]) for one in drawn["members"]]
    assert parts["profile"].start == "view=types"
