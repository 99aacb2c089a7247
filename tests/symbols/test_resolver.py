"""The resolver: names in batches, and the same names that perf prints."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.elf_builder import BUILD_ID, Symbol, program
from tests.support.symbols.perf_recording import BASE, Mapping, write_recording
from tests.support.symbols.resolving import Identity, names, resolve, store_of

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.images import Finder, ImageStore
from undwarf.symbols import Resolver, ResolverOptions

NONE = 0xFFFFFFFF


@pytest.fixture
def two(tmp_path: Path) -> Resolver:
    (tmp_path / "a").write_bytes(program(symbols=[Symbol("one", 0x1000, 16), Symbol("_Z3twov", 0x1010, 16)]).build())
    (tmp_path / "b").write_bytes(program(symbols=[Symbol("one", 0x1000, 16)]).build())
    return Resolver(store_of(tmp_path / "a", tmp_path / "b"))


def test_frames_of_several_images_in_any_order(two: Resolver) -> None:
    frames = [(1, 0x1004), (0, 0x1010), (0, 0x1000), (1, 0x1000), (0, 0x101F)]
    found = resolve(two, frames)
    assert names(found) == ["one", "two()", "one", "one", "two()"]
    assert [found.image[number] for number in found.number] == [1, 0, 0, 1, 0]
    assert [found.address[number] for number in found.number] == [0x1000, 0x1010, 0x1000, 0x1000, 0x1010]


VERSIONED = [
    ("spin@@V_2", "spin"),
    ("malloc@GLIBC_2.2.5", "malloc"),
    ("_ZNSo3putEc@@GLIBCXX_3.4", "std::ostream::put(char)"),
    ("mail@", "mail@"),
    ("@@A", "@@A"),
    ("a@plt", "a@plt"),
]


@pytest.mark.parametrize(("symbol", "name"), VERSIONED)
def test_version_of_a_symbol_is_not_shown(symbol: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program(symbols=[Symbol(symbol, 0x1000, 16)]).build())
    found = resolve(Resolver(store_of(tmp_path / "a")), [(0, 0x1000)])
    assert (names(found), found.symbol) == ([name], [symbol])


def test_version_of_a_symbol_is_kept_where_it_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program(symbols=[Symbol("_ZNSo3putEc@@GLIBCXX_3.4", 0x1000, 16)]).build())
    found = resolve(Resolver(store_of(tmp_path / "a"), ResolverOptions(versions=True)), [(0, 0x1000)])
    assert names(found) == ["std::ostream::put(char)@@GLIBCXX_3.4"]


@pytest.mark.parametrize(("mark", "name"), [("adainit", "my.name"), ("main", "my__name")])
def test_ada_where_the_image_has_its_runtime(mark: str, name: str, tmp_path: Path) -> None:
    symbols = [Symbol("my__name", 0x1000, 16), Symbol(mark, 0x1010, 16)]
    (tmp_path / "a").write_bytes(program(symbols=symbols).build())
    found = resolve(Resolver(store_of(tmp_path / "a")), [(0, 0x1000)])
    assert names(found) == [name]


def test_runtime_is_found_wherever_its_symbol_lies_in_the_text(tmp_path: Path) -> None:
    filler = Symbol("f" * (1 << 20), 0x1010, 16)
    symbols = [Symbol("my__name", 0x1000, 16), filler, Symbol("adainit", 0x1020, 16)]
    (tmp_path / "a").write_bytes(program(symbols=symbols).build())
    found = resolve(Resolver(store_of(tmp_path / "a")), [(0, 0x1000)])
    assert names(found) == ["my.name"]


def test_each_function_once(two: Resolver) -> None:
    found = resolve(two, [(0, 0x1000 + i % 32) for i in range(1000)])
    assert sorted(found.name) == ["one", "two()"]


def test_symbol_is_kept_as_in_the_file(two: Resolver) -> None:
    assert resolve(two, [(0, 0x1010)]).symbol == ["_Z3twov"]


def test_without_demangling(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program(symbols=[Symbol("_Z3twov", 0x1000, 16)]).build())
    resolver = Resolver(store_of(tmp_path / "a"), options=ResolverOptions(demangle=False))
    assert resolve(resolver, [(0, 0x1000)]).name == ["_Z3twov"]


def test_what_nothing_names_is_one_function_for_each_image(two: Resolver) -> None:
    found = resolve(two, [(0, 0x9000), (0, 0x9001), (1, 0x9000), (NONE, 5), (77, 5)])
    assert names(found) == ["[unknown]"] * 5
    assert list(found.number) == [0, 0, 1, 2, 2]
    assert list(found.image) == [0, 1, NONE]


def test_second_batch_gives_the_same(two: Resolver) -> None:
    frames = [(0, 0x1000), (1, 0x1004), (0, 0x9000)]
    first, second = resolve(two, frames), resolve(two, frames)
    assert (list(first.number), first.name) == (list(second.number), second.name)


def test_no_frames(two: Resolver) -> None:
    found = resolve(two, [])
    assert len(found) == 0
    assert len(found.number) == 0


def test_columns_must_have_one_length(two: Resolver) -> None:
    with pytest.raises(ValueError, match="lengths"):
        two.resolve(zeros("I", 2), zeros("Q", 3))


def test_missing_file_has_a_problem() -> None:
    resolver = Resolver(store_of("/nowhere/a"))
    assert names(resolve(resolver, [(0, 0x1000)])) == ["[unknown]"]
    assert resolver.problems == {0: "No such file or directory"}


def test_file_without_symbols_has_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    resolver = Resolver(store_of(tmp_path / "a"))
    resolve(resolver, [(0, 0x1000)])
    assert resolver.problems == {0: "no symbols"}


@pytest.mark.parametrize(
    ("aliases", "shown"),
    [
        (["_under", "plain"], "plain"),
        (["__two", "_one"], "_one"),
        (["ab", "abc"], "abc"),
        (["abc", "xyz"], "abc"),
        (["_ZN1AC2Ev", "_ZN1AC1Ev"], "A::A()"),
        (["plain_but_long", "_Z1fv"], "plain_but_long"),
        (["f", "_Z3abcv"], "abc()"),
    ],
)
def test_alias_by_name(tmp_path: Path, aliases: list[str], shown: str) -> None:
    (tmp_path / "a").write_bytes(program(symbols=[Symbol(name, 0x1000, 16) for name in aliases]).build())
    assert resolve(Resolver(store_of(tmp_path / "a")), [(0, 0x1000)]).name == [shown]


def test_symbols_of_the_debug_file_of_a_stripped_binary(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    text = BUILD_ID.hex()
    debug = tmp_path / "debug" / ".build-id" / text[:2] / f"{text[2:]}.debug"
    debug.parent.mkdir(parents=True)
    debug.write_bytes(program(symbols=[Symbol("hidden", 0x1000, 16)]).build())
    finder = Finder(debug_dirs=(str(tmp_path / "debug"),), buildid_dir="")
    store = ImageStore([str(tmp_path / "a").encode()], [Identity()], None, finder)
    store.image((0, 0))
    assert resolve(Resolver(store), [(0, 0x1000)]).name == ["hidden"]


def test_random_symbol_tables_are_survived(tmp_path: Path) -> None:
    draw = random.Random(5)
    for _ in range(100):
        elf = program(symbols=[Symbol(f"f{i}", 0x1000 + i, 4) for i in range(20)])
        sections = {section.name: i for i, section in enumerate(elf.sections)}
        for name in (".symtab", ".strtab"):
            i = sections[name]
            data = bytearray(elf.sections[i].data)
            for _ in range(20):
                data[draw.randrange(len(data))] = draw.choice((0, 255, draw.randrange(256)))
            elf.sections[i] = elf.sections[i]._replace(data=bytes(data), entry_size=draw.choice((0, 24, 1, 1 << 40)))
        (tmp_path / "a").write_bytes(elf.build())
        resolver = Resolver(store_of(tmp_path / "a"))
        resolve(resolver, [(0, draw.choice((0, 0x1000, 0x1010, (1 << 64) - 1))) for _ in range(50)])


# Compiled programs -----------------------------------------------------------------------------------------

SOURCE = """
#include <string>
#include <vector>
#include <iostream>
namespace ns {
struct A {
  A(); ~A();
  template <class T> __attribute__((noinline)) T twice(T x, std::vector<T> &v) { v.push_back(x); return x * 2; }
};
__attribute__((noinline)) A::A() { std::cout << "a"; }
A::~A() {}
}
static __attribute__((noinline)) int local(int x) { return x + 1; }
int main(int n, char **) {
  ns::A a; std::vector<int> v; std::string s(n, 'x');
  auto f = [&](int k) __attribute__((noinline)) { return a.twice(k, v) + local(k); };
  return f(n) + s.size();
}
"""


@pytest.fixture(
    scope="module",
    params=["", "-Wl,-z,ibtplt -fcf-protection", "-Wl,-z,now", "-s"],
    ids=["plain", "ibt", "now", "stripped"],
)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "a.cpp").write_text(SOURCE)
    command = ["g++", "-O1", *request.param.split(), "-Wl,--build-id", "-o", folder / "a", folder / "a.cpp"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"g++ does not know {request.param}")
    return folder / "a"


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_stubs_as_objdump_labels_them(compiled: Path) -> None:
    text = subprocess.run(["objdump", "-d", compiled], capture_output=True, text=True, check=True).stdout
    labels = {int(start, 16): name for start, name in re.findall(r"^([0-9a-f]{16}) <(\S+)@plt>:", text, re.M)}
    if not labels:
        pytest.skip("no stubs")
    resolver = Resolver(store_of(compiled), options=ResolverOptions(demangle=False))
    found = resolve(resolver, [(0, start + 1) for start in labels])
    ours = dict(zip([found.address[n] for n in found.number], names(found), strict=True))
    assert ours == {start: re.sub("@.*", "", name) + "@plt" for start, name in labels.items()}


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
@pytest.mark.parametrize("option", ["", "-fcf-protection -Wl,-z,ibtplt"], ids=["plain", "ibt"])
def test_plt_stubs_of_a_static_program_have_the_names_of_its_ifuncs(tmp_path: Path, option: str) -> None:
    source = tmp_path / "a.c"
    source.write_text("#include <string.h>\nint main(int n, char **v) { return memcmp(v[0], v[1], n); }\n")
    program = tmp_path / "a"
    command = ["gcc", "-O1", "-static", *option.split(), "-o", program, source]
    if shutil.which("gcc") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no static C library")

    def readelf(*options: str) -> str:
        return subprocess.run(["readelf", "-W", *options, program], capture_output=True, text=True, check=True).stdout

    # As everywhere, a weak symbol gives way to one that is not, then names without underscores are preferred.
    resolvers: dict[int, list[tuple[bool, int, str]]] = {}
    for address, bind, name in re.findall(r"([0-9a-f]{16}) +\d+ IFUNC +(\S+) +\S+ +\d+ (\S+)", readelf("-s")):
        order = (bind == "WEAK", len(name) - len(name.lstrip("_")), name)
        resolvers.setdefault(int(address, 16), []).append(order)
    slots = [(int(slot, 16), int(to, 16)) for slot, to in re.findall(r"^(\S+) .*IRELATIVE +(\S+)", readelf("-r"), re.M)]
    at, size = (int(field, 16) for field in re.findall(r" \.plt +PROGBITS +(\S+) \S+ (\S+)", readelf("-S"))[0])
    if not slots:
        pytest.skip("no indirect functions")
    assert size % len(slots) == 0
    step = size // len(slots)
    # The linker writes relocations in one order and stubs in another, so the set is what can be compared.
    expected = sorted(min(resolvers[to])[2] for _, to in slots)
    resolver = Resolver(store_of(program), options=ResolverOptions(demangle=False))
    found = resolve(resolver, [(0, at + step * i + 3) for i in range(len(slots))])
    assert sorted(name.removesuffix("@plt") for name in names(found)) == expected


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_names_and_starts_as_perf_prints_them(compiled: Path, tmp_path: Path) -> None:
    elf = ElfFile.open(compiled)
    code = [segment for segment in elf.segments if segment.type == 1 and segment.flags & 1]
    sections = [section for section in elf.sections if section.name in (".text", ".plt.sec", ".plt.got")]
    addresses = [at for section in sections for at in range(section.address, section.address + section.size)]
    addresses = random.Random(1).sample(addresses, min(3000, len(addresses)))
    mappings = [
        Mapping(
            BASE + (segment.offset & ~4095),
            (segment.file_size + (segment.offset & 4095) + 4095) & ~4095,
            segment.offset & ~4095,
            str(compiled).encode(),
            elf.build_id,
        )
        for segment in code
    ]
    ips = {address: BASE + (elf.offset_of_address(address) or 0) for address in addresses}
    recording = tmp_path / "perf.data"
    write_recording(recording, mappings, list(ips.values()))
    command = ["perf", "script", "-i", recording, "-F", "ip,sym,symoff"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line.split(None, 1) for line in done.stdout.splitlines() if line.strip()]
    theirs = {int(line[0], 16): line[1].strip() for line in lines if len(line) == 2}
    if len(theirs) < len(set(ips.values())):
        pytest.skip(f"this perf does not read the recording: {done.stderr[:200]}")
    as_perf = Resolver(store_of(compiled), ResolverOptions(starts=False))
    found = resolve(as_perf, [(0, address) for address in addresses])
    wrong = []
    for address, number in zip(addresses, found.number, strict=True):
        name = found.name[number]
        other = theirs[ips[address]]
        head, _, offset = other.rpartition("+")
        if name == "[unknown]" or name.endswith("@plt") or head in ("_init", "_fini"):
            # Padding behind a function without a size, and stubs, which old perf did not know.
            continue
        # Builds of perf with libbfd leave out a template's return type and all parameters.
        if offset != f"{address - found.address[number]:#x}" or head.split("(")[0] not in name.split("(")[0]:
            wrong.append((hex(address), name, other))
    assert wrong == []
