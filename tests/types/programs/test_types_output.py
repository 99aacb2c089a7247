"""Output of data types: lists, drawings, instructions, pages, and advice where nothing is shown."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result
from tests.support.page_parts import parts_of
from tests.support.types.programs import build
from tests.support.types.recordings import place, recording

from undwarf.cli.main import undwarf
from undwarf.cli.type_names import find_types
from undwarf.errors import UndwarfError, UsageError
from undwarf.outputs.types import advice, drawing
from undwarf.outputs.types import code as types_code
from undwarf.outputs.types import text as listed
from undwarf.outputs.types.columns import TypesOptions
from undwarf.types.access import Access
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.layouts.type_records import Kind, Member, TypeRecord
from undwarf.views.data.false_sharing import Party, Sharing
from undwarf.views.data.layout import draw, spread
from undwarf.views.data.types import Counts, DataTypes, FieldRow, InstructionRow, TypeRow

LONG = "struct std::__detail::_Hash_node<std::pair<long unsigned int const, market::Order*>, false>"
QUEUES = """
struct queue { long head, taken; };
struct server { char name[80]; unsigned open : 1, busy : 1; struct queue queues[3]; short grid[2][5]; };
struct server one;
__attribute__((noinline)) void take(struct server *s, long k) { s->queues[k].taken++; }
__attribute__((noinline)) int open(struct server *s) { return s->open; }
int main(int argc, char **argv) { take(&one, argc); return open(&one); }
"""


def counts(weight: int, *, inferred: int = 0, consumed: int = 0) -> Counts:
    return Counts(weight=weight, samples=weight, loads=weight, inferred=inferred, consumed=consumed)


def data(*rows: TypeRow, instructions: tuple[InstructionRow, ...] = ()) -> DataTypes:
    total = sum(row.counts.weight for row in rows)
    whole = Counts()
    for row in rows:
        whole.add(row.counts)
    return DataTypes(
        total, total, total, whole.inferred, whole.consumed, types=list(rows), instructions=list(instructions)
    )


def row(name: str, made: Counts, **members: Counts) -> TypeRow:
    fields = {(8 * k, field): FieldRow(8 * k, field, 8, one) for k, (field, one) in enumerate(members.items())}
    return TypeRow(name, 24, lambda: (TypeGraph(), VOID), made, fields)


def shown(found: DataTypes, write: Callable[..., None] = listed.write, **options: Any) -> list[str]:
    sink = io.StringIO()
    far_apart = (spread(found),) if write is listed.write else ()
    write(found, "cycles", *far_apart, sink, TypesOptions(path="perf.data", **options))
    return sink.getvalue().splitlines()


def call(*arguments: object) -> Result:
    return CliRunner().invoke(undwarf, ["types", *map(str, arguments)])


@pytest.fixture
def server(tmp_path: Path) -> tuple[Path, Path]:
    """(program, recording) with samples at a member of an array's element and at bit fields."""
    binary = build(tmp_path, QUEUES, "queues.c", "-O1")
    taken = place(binary, "take", "struct server", "queues[].taken", "rw")
    opened = place(binary, "open", "struct server", "open", "r")
    return binary, recording(tmp_path, binary, [(taken, 0, 3), (opened, 0, 1)])


def test_the_share_of_inferred_types_is_summarised() -> None:
    assert advice.inferred_text(counts(100)) == ""
    assert advice.inferred_text(counts(100, inferred=84, consumed=84)) == "84% inferred (high)"
    assert advice.inferred_text(counts(100, inferred=61)) == "61% inferred (low)"
    assert advice.inferred_text(counts(100, inferred=27, consumed=25)) == "27% inferred (high 25%, low 2%)"
    assert advice.inferred_text(counts(9, inferred=9), spelled=True) == "100% inferred (confidence low)"
    found = data(row("struct a", counts(200, inferred=54, consumed=50)))
    assert advice.typed_text(found) == "typed; 27.00% inferred (confidence high 25.00%, low 2.00%)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"percent_limit": 10.0}, "and 2 more types (below 10 %: --percent-limit 0 shows them)"),
        ({"percent_limit": 0.0, "rows": 1}, "and 2 more types (--rows 0 shows them)"),
        ({"percent_limit": 0.0, "rows": 2}, "and 1 more type (--rows 0 shows them)"),
    ],
)
def test_the_option_that_shows_hidden_types_is_named(options: dict[str, object], said: str) -> None:
    found = data(row("struct a", counts(980)), row("struct b", counts(15)), row("struct c", counts(5)))
    assert shown(found, **options)[-1] == said


def test_hidden_members_are_counted() -> None:
    found = data(row("struct a", counts(10_002), hot=counts(10_000), cold=counts(1), never=counts(1)))
    assert shown(found)[-1].strip() == "and 2 more members"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_list_fits_the_terminal(width: int) -> None:
    found = data(row(LONG, counts(100, inferred=98, consumed=41), first=counts(100)))
    lines = shown(found, width=width)
    assert max(map(len, lines)) <= max(width, 85)
    assert any("struct std" in line and "98% inferred (high 41%, low 57%)" in line for line in lines)
    assert any(LONG in line for line in shown(found))


def instruction(field: str) -> InstructionRow:
    access = Access(0x1B79, "mov 8(%r14),%rsi", "r", LONG, 8, field, 8, "tracking", (), "")
    return InstructionRow("market::find(unsigned long) const", "/usr/bin/market", access, counts(100))


def test_a_long_type_name_leaves_space_for_member_and_file() -> None:
    found = data(row(LONG, counts(100)), instructions=(instruction("_M_storage.first"),))
    for width in (None, 120):
        (line,) = (one for one in shown(found, types_code.write_code, width=width) if "0x1b79" in one)
        assert "+8 (_M_storage.first)" in line
        assert line.split()[-1] == "market"
        assert width is None or len(line) <= width


def test_a_drawing_expands_one_element_and_counts_them(server: tuple[Path, Path]) -> None:
    text = call("--type", "server", server[1]).stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["80", "4", "open:1", "or", "busy", "unsigned", "int"] in [line[3:] for line in lines if len(line) > 9]
    assert any(line[-2:] == ["queues", "struct"] or line[-3:] == ["queues", "struct", "queue[3]"] for line in lines)
    (taken,) = (line for line in lines if "taken" in line)
    assert taken[0] == "75.00%"
    assert sum("head" in line for line in lines) == 1
    assert any("char[80]" in line for line in lines)
    assert "; shares below are of that" in text.splitlines()[0]


def test_arrays_without_accesses_are_not_expanded(server: tuple[Path, Path]) -> None:
    lines = call("--binary", server[0], "--type", "server").stdout.splitlines()
    assert any("queues  struct queue[3]" in line for line in lines)
    assert any("[2][5]" in line for line in lines)
    assert not any("taken" in line for line in lines)


def test_a_page_draws_arrays_whole(server: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "types.html"
    done = call("--html", page, server[1])
    assert done.exit_code == 0, done.output
    assert "KiB): open it in a browser" in done.stderr
    types = parts_of(page.read_text())["types"]
    members = {one["path"]: one for one in types.types[0]["members"]}
    assert (members["queues"]["offset"], members["queues"]["size"], members["queues"]["elements"]) == (88, 48, [3])
    assert (members["open"]["bits"], members["busy"]["bits"]) == (1, 1)
    assert members["queues[].taken"]["within_array"]


def test_list_and_page_advise_if_no_sample_has_a_type(tmp_path: Path) -> None:
    binary = build(tmp_path, QUEUES, "queues.c", "-O1")
    taken = place(binary, "take", "struct server", "queues[].taken", "rw")
    said = "events that are not precise stop after the access: see --skid"
    page = tmp_path / "page.html"
    for behind in (False, True):
        after = taken
        while behind and (after == taken or not no_access(binary, after)):
            after += 1
        made = recording(tmp_path, binary, [(after, 0, 2)])
        assert (said in call(made).stdout) == behind
        call("--html", page, made)
        assert (said in advised(page)) == behind
        call("--html", page, "--skid", made)
        assert advised(page) == []


def advised(page: Path) -> list[str]:
    return [one["text"] for one in parts_of(page.read_text())["types"].advice]


def no_access(binary: Path, address: int) -> bool:
    return "no memory access" in call("--binary", binary, "--at", f"{address:x}").stdout


def test_types_in_a_flame_graph_are_no_unknown_code(server: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(undwarf, ["flamegraph", "--by", "type", "-o", str(page), str(server[1])])
    assert done.exit_code == 0, done.output
    part = parts_of(page.read_text())["profile"]
    found = {
        (name, part.images[image]["kind"], part.images[image]["name"])
        for name, image in zip(part.functions, part.function_image, strict=True)
    }
    assert found == {
        ("struct server", "type", "data types"),
        (".queues[].taken", "type", "data types"),
        (".open", "type", "data types"),
        ("take", "program", "program"),
        ("open", "program", "program"),
    }


def completed(*words: str) -> list[str]:
    made = BashComplete(undwarf, {}, "undwarf", "_UNDWARF_COMPLETE")
    return [one.value for one in made.get_completions(["types", *words[:-1]], words[-1])]


def test_a_shell_completes_types_that_an_earlier_run_found(
    server: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(server[1])
    monkeypatch.setenv("UNDWARF_CACHE_DIR", str(tmp_path / "cache"))
    assert completed(data, "--type", "") == []
    call(data)
    assert completed(data, "--type", "") == ["server"]
    assert completed("-i", data, "--type", "s") == ["server"]
    assert completed(data, "--type", "x") == []
    monkeypatch.chdir(tmp_path)
    assert completed("--type", "") == ["server"]
    for broken in ("nothing.data", str(server[0])):
        assert completed(broken, "--type", "") == []
    assert completed("--binary", str(server[0]), "--type", "") == []


def test_an_empty_base_takes_no_space_and_is_no_candidate() -> None:
    graph = TypeGraph()
    number = graph.add(TypeRecord(Kind.INT, "long", 8))
    empty = graph.add(TypeRecord(Kind.STRUCT, "tag", 1))
    members = (Member("", 0, 1, 0, 0, empty, True), Member("first", 0, 8, 0, 0, number))
    t = graph.add(TypeRecord(Kind.STRUCT, "pair", 8, members=members))
    found = graph.member_at(t, 0, 8)
    assert found is not None
    assert (found.path, found.candidates) == ("first", ())
    sink = io.StringIO()
    drawing.write_types(DataTypes(), [draw(TypeRow("struct pair", 8, lambda: (graph, t)))], [], sink, TypesOptions())
    assert [line.split() for line in sink.getvalue().splitlines()[2:]] == [["0", "8", "first", "long"]]


def test_threads_and_cpus_are_counted_in_words() -> None:
    def said(threads: set[int], cpus: set[int]) -> str:
        party = Party("struct a", "b", 0, threads, cpus)
        one = Sharing(True, True, 1, 9, 1, 64, 0, [party], [party], False, False, True, 64)
        (line,) = advice.clash_parties(one)
        return line

    assert said({7}, {1}) == "+0     b written by thread 7 on cpu 1"
    assert said({7, 8}, {0, 1}) == "+0     b written by threads 7, 8 on cpus 0, 1"
    assert said({7, 8}, set()) == "+0     b written by threads 7, 8"


def test_an_array_of_itself_is_drawn() -> None:
    graph = TypeGraph()
    array = graph.add(TypeRecord(Kind.ARRAY, target=VOID, count=2))
    graph.record(array).target = array
    t = graph.add(TypeRecord(Kind.STRUCT, "odd", 16, members=(Member("all", 0, 16, 0, 0, array),)))
    sink = io.StringIO()
    drawing.write_types(DataTypes(), [draw(TypeRow("struct odd", 16, lambda: (graph, t)))], [], sink, TypesOptions())
    assert "all" in sink.getvalue()


def test_a_mistyped_name_gets_similar_names() -> None:
    found = data(row("struct queue", counts(9)), row("struct market::Order", counts(1)))
    with pytest.raises(UsageError) as raised:
        find_types(found, "Odrer")
    assert raised.value.why == "there is struct market::Order"
    nodes = data(row("struct queue", counts(9)), row(LONG, counts(1)))
    with pytest.raises(UsageError) as raised:
        find_types(nodes, "hashnode")
    assert raised.value.why == "there is struct std::__detail::_Hash_node<…>"
    with pytest.raises(UsageError) as raised:
        find_types(found, "nothing of the kind")
    assert raised.value.why == "there is struct queue, struct market::Order"
    with pytest.raises(UsageError) as raised:
        find_types(data(), "queue")
    assert raised.value.why == "nothing that samples touch has a known type"


@pytest.mark.parametrize(("way", "other"), [("--html", "--json"), ("--html", "--code"), ("--type", "--code")])
def test_options_that_would_be_ignored_are_errors(
    server: tuple[Path, Path], tmp_path: Path, way: str, other: str
) -> None:
    page = tmp_path / "page.html"
    done = call(way, page if way == "--html" else "server", other, server[1])
    assert isinstance(done.exception, UsageError)
    assert "do not go together" in done.exception.what
    assert not page.exists()


def test_files_that_are_no_address_or_type_lists_are_errors(server: tuple[Path, Path], tmp_path: Path) -> None:
    program = server[0]
    for arguments, said in (
        (("--binary", program, "--at", f"@{tmp_path}/nothing"), ("cannot read", "No such file", "--at 1500")),
        (("--btf", program, "--type", "server"), ("cannot read types of", "no .BTF section", "--binary")),
        (("--binary", program, "--type", "sever"), ("no type named 'sever'", "namespaces", "undwarf types FILE")),
    ):
        error = call(*arguments).exception
        assert isinstance(error, UndwarfError)
        for text, part in zip((error.what, error.why, error.hint), said, strict=True):
            assert part in text


def test_an_offset_is_a_decimal_number_for_single_instructions_too(server: tuple[Path, Path]) -> None:
    at = place(server[0], "open", "struct server", "open", "r")
    assert "struct server +80 (open) [open, busy]" in call("--binary", server[0], "--at", f"{at:x}").stdout
