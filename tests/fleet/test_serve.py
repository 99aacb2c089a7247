"""What the page of a store chooses from, and what it is given."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.fleets import name_frames, rows, take, write_host
from tests.support.page_parts import Part, decode

from undwarf.cli.main import run
from undwarf.errors import NothingUsable, UndwarfError, UnreadableInput, UsageError
from undwarf.fleet.computations import Computation, Computations, Outdated
from undwarf.fleet.database import Database
from undwarf.fleet.label_counts import label_counts
from undwarf.fleet.site import StoreSite
from undwarf.fleet.span import parse
from undwarf.fleet.store import Store
from undwarf.fleet.weight_over_time import MOST_BARS, MOST_SERIES, Times, bar_length, extent, weight_over_time
from undwarf.serve.server import Answer

NOON = 1_795_867_200
"""2026-11-28 12:00 UTC."""
HOUR = 3_600_000_000
HOSTILE = "<img src=x onerror=alert(1)>' OR true --"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Ten hosts of two releases, one after the other in two hours."""
    folder = tmp_path_factory.mktemp("store")
    store = Store(str(folder / "store"))
    for release in (1, 2):
        paths = []
        for host in range(5):
            path = write_host(folder / f"{release}-{host}.data", f"host-{host}", mix=(40 - 10 * release + host, 20, 30))
            os.utime(path, (NOON + 3600 * release, NOON + 3600 * release))
            paths.append(path)
        take(store, paths, names=False, service="web", release=f"{release}.0", region="eu" if release == 1 else HOSTILE)
    name_frames(store)
    return store


@pytest.fixture
def database(store: Store) -> Any:
    database = Database(store)
    yield database
    database.close()


def counted(database: Database, text: str = "", most: int = 200) -> dict[str, Any]:
    return {one.name: one for one in label_counts(database, parse(text), most)}


def test_labels_have_their_values_with_the_samples_of_each(database: Database, store: Store) -> None:
    found = counted(database)
    for name in ("service", "host", "release", "event", "comm"):
        query = f"SELECT {name}, count(*) AS n FROM samples GROUP BY ALL ORDER BY n DESC, 1"
        assert found[name].values == rows(store, query), name
        assert (found[name].more, found[name].unset) == (0, 0)
    assert len(found["host"].values) == 5
    assert dict(found["region"].values) == {"eu": 410, HOSTILE: 360}
    assert "container" not in found
    assert [one.name for one in label_counts(database, parse(""))] == [
        "service", "host", "release", "comm", "event", "region"
    ]  # fmt: skip  # a row


def test_a_label_has_the_values_that_could_be_chosen_instead(database: Database) -> None:
    found = counted(database, "host=host-1,region=eu")
    assert [value for value, _samples in found["host"].values] == [f"host-{n}" for n in (4, 3, 2, 1, 0)]
    assert found["release"].values == [("1.0", 81)]
    assert dict(found["region"].values) == {"eu": 81, HOSTILE: 71}


def test_labels_are_those_of_the_span(database: Database) -> None:
    found = counted(database, "2026-11-28T13:30..2026-11-28T15:00")
    assert found["release"].values == [("2.0", 360)]
    assert counted(database, "2026-11-27") == {}


def test_of_many_values_those_with_most_samples_are_listed(database: Database) -> None:
    found = counted(database, most=2)["host"]
    assert [value for value, _samples in found.values] == ["host-4", "host-3"]
    assert found.more == 3


def test_bars_add_up_to_what_the_store_has(database: Database, store: Store) -> None:
    times = extent(database)
    bars = weight_over_time(database, parse(""), times)
    weight, samples = rows(store, "SELECT sum(period)::BIGINT, count(*) FROM samples")[0]
    assert (sum(bars.weight), sum(bars.samples)) == (weight, samples)
    assert 0 < bars.count <= MOST_BARS
    assert bars.start <= times.start and bars.start + bars.step * bars.count >= times.end
    assert (bars.events, bars.series, set(bars.of_series)) == (["cpu-clock"], [], {-1})
    # Two hours apart: there is nothing between.
    assert max(bars.bar) > 100
    assert len(set(bars.bar)) < 10


@pytest.mark.parametrize(
    ("label", "samples"), [("release", {"1.0": 410, "2.0": 360}), ("region", {"eu": 410, HOSTILE: 360})]
)
def test_bars_by_the_values_of_a_label(database: Database, label: str, samples: dict[str, int]) -> None:
    bars = weight_over_time(database, parse(""), extent(database), label)
    assert bars.series == list(samples)
    assert sum(bars.samples) == sum(samples.values())
    for number, name in enumerate(bars.series):
        of_series = zip(bars.of_series, bars.samples, strict=True)
        assert sum(count for series, count in of_series if series == number) == samples[name]


def test_bars_are_of_the_labels_and_not_of_the_time_of_a_span(database: Database) -> None:
    whole = extent(database)
    bars = weight_over_time(database, parse("2026-11-28T13:30..2026-11-28T15:00,host=host-1"), whole)
    assert sum(bars.samples) == 152
    later = weight_over_time(database, parse("host=host-1"), Times(whole.end - HOUR // 2, whole.end))
    assert sum(later.samples) == 71


def test_values_beyond_the_most_frequent_are_one_series(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_SERIES > 2
    monkeypatch.setattr("undwarf.fleet.weight_over_time.MOST_SERIES", 2)
    bars = weight_over_time(database, parse(""), extent(database), "host")
    assert bars.series == ["host-4", "host-3"]
    assert set(bars.of_series) == {-1, 0, 1}
    assert sum(bars.samples) == 770


def test_a_histogram_of_too_many_bars_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.weight_over_time._MOST_ENTRIES", 3)
    with pytest.raises(UnreadableInput, match="so many events"):
        weight_over_time(database, parse(""), extent(database), "host")


def test_a_label_that_is_no_name_is_refused(database: Database) -> None:
    with pytest.raises(UsageError, match="is no name of a label"):
        weight_over_time(database, parse(""), extent(database), "x'] FROM recordings; --")


@pytest.mark.parametrize("length", [1, 999, 10**6, HOUR, 24 * HOUR, 40 * 365 * 24 * HOUR, 8000 * 365 * 24 * HOUR])
def test_any_time_has_a_bounded_number_of_bars(length: int) -> None:
    start = 1_795_867_200_123_457
    step = bar_length(Times(start, start + length))
    assert (start + length - 1) // step - start // step < MOST_BARS


# --- Computations ---


def waited(one: Computation) -> Computation:
    assert one.wait(10)
    return one


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    computations, runs, go = Computations(), [], threading.Event()

    def work(_task: Computation) -> Mapping[str, bytes]:
        assert go.wait(10)
        runs.append(1)
        return {"profile": b"x"}

    both = [computations.get("one", work) for _again in range(2)]
    go.set()
    assert both[0] is both[1] and waited(both[0]).parts == {"profile": b"x"}
    assert computations.get("one", work).parts == {"profile": b"x"}
    assert runs == [1]


def test_what_nobody_asks_for_any_more_is_ended() -> None:
    computations, interrupted, stopped = Computations(patience=0.1), threading.Event(), threading.Event()

    def work(task: Computation) -> Mapping[str, bytes]:
        task.step("waiting", interrupted.set)
        assert interrupted.wait(10)
        try:
            task.step("never")
        except Outdated:
            stopped.set()
            raise
        return {}

    one = computations.get("one", work)
    assert stopped.wait(10)
    assert waited(one).problem is not None
    # Who asks again gets another one.
    assert computations.get("one", lambda _task: {"profile": b"y"}) is not one


def test_a_failed_computation_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.computations._AGAIN", 0.0)
    computations = Computations()

    def fail(_task: Computation) -> Mapping[str, bytes]:
        raise RuntimeError("no disk")

    assert "RuntimeError: no disk" in str(waited(computations.get("one", fail)).problem)
    assert waited(computations.get("one", lambda _task: {"a": b""})).parts == {"a": b""}


@pytest.mark.parametrize("bounds", [{"most": 3}, {"most_bytes": 300}])
def test_the_results_that_are_kept_are_bounded(bounds: dict[str, int]) -> None:
    computations = Computations(**bounds)
    for key in "abcde":
        waited(computations.get(key, lambda _task: {"profile": bytes(100)}))
        if key == "c":
            computations.get("a", lambda _task: {})
    waited(computations.get("f", lambda _task: {"profile": bytes(100)}))
    kept = [key for key in "abcdef" if computations.known(key) is not None]
    assert "f" in kept and "b" not in kept
    assert 0 < len(kept) <= 4


# --- The site ---


def part(site: StoreSite, name: str, **query: str) -> Part:
    answer = site.answer(f"part/{name}", query)
    assert answer is not None and answer.status == 200, answer
    return decode(answer.body)


def ready(site: StoreSite, **query: str) -> Part:
    for _wait in range(30):
        found = part(site, "ready", **query)
        if found.ready or found.problem:
            return found
    raise AssertionError(f"never ready: {query}")


@pytest.fixture(scope="module")
def site(store: Store) -> StoreSite:
    return StoreSite(store)


def test_the_page_has_the_bar_and_a_policy_that_lets_it_ask_this_server_alone(site: StoreSite) -> None:
    page = site.answer("", {})
    assert page is not None and b'data-served="true"' in page.body and b"class StoreBar" in page.body
    assert page.kind.startswith("text/html")
    assert "default-src 'none'" in page.policy and "connect-src 'self'" in page.policy
    assert "unsafe" not in page.policy


def test_a_span_is_computed_and_then_its_parts_are_there(site: StoreSite) -> None:
    result = ready(site, span="release=2.0").result
    profile = part(site, "profile", result=result)
    assert sum(profile.row_count) == 360
    assert profile.title.endswith("store, release=2.0")
    assert "programs" in part(site, "code", result=result).problem
    assert site.answer("part/comparison", {"result": result}) is None


def test_two_spans_are_compared(site: StoreSite) -> None:
    result = ready(site, span="release=2.0", before="release=1.0").result
    compared, profile = part(site, "comparison", result=result), part(site, "profile", result=result)
    assert [sum(one["samples"] for one in side) for side in (compared.before, compared.after)] == [410, 360]
    assert sum(profile.row_count) == 770
    assert profile.title == "release=1.0 → release=2.0"


def test_a_comparison_has_the_rows_of_diff_with_their_intervals(
    site: StoreSite, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    result = ready(site, span="release=2.0", before="release=1.0").result
    sides = ["--before", "release=1.0", "--after", "release=2.0"]
    assert run(["fleet", "diff", store.address, *sides, "--by", "function,path,image,line,thread", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["events"][0]["tables"]
    found = part(site, "comparison", result=result).events[0]["tables"]
    assert [one["by"] for one in found] == [one["by"] for one in expected]
    for table, same in zip(found, expected, strict=True):
        # Frames have no lines here.
        assert len(table["rows"]) == len(same["rows"])
        assert table["rows"] or table["by"] == "line"
        for row, other in zip(table["rows"], same["rows"], strict=True):
            share = other["share"]
            assert row["name"] == other["name"]
            assert row["share"][:4] == [share[one] for one in ("before", "after", "difference_low", "difference_high")]
            assert (row["p_corrected"], row["significant"]) == (other["p_corrected"], other["significant"])


def test_the_last_hour_ends_with_the_minute_of_the_last_sample(site: StoreSite) -> None:
    about = part(site, "fleet", last="1h")
    assert about.span["end"] - about.span["start"] == HOUR
    assert 0 <= about.span["end"] - about.end < 60_000_000
    assert ready(site, last="1h").ready
    result = ready(site, last="1h").result
    assert sum(part(site, "profile", result=result).row_count) == 360


def test_both_sides_of_a_comparison_are_bars(site: StoreSite) -> None:
    times = part(site, "times", span="release=2.0", before="..")
    assert times.series == ["before", "after"]
    samples = [0, 0]
    for series, count in zip(times.bar_series, times.bar_samples, strict=True):
        samples[series] += count
    assert samples == [770, 360]


def test_the_histogram_of_a_short_time_has_what_is_around_it(site: StoreSite) -> None:
    times = part(site, "times", span="2026-11-28T13:00..2026-11-28T13:01")
    assert times.start + times.step * times.count <= (NOON + 3600 + 300) * 10**6
    assert part(site, "times", span="2026-11-28").start <= (NOON + 3600 - 10) * 10**6


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"span": "release"}, "is no term of a span"),
        ({"span": "2026-11-28,2026-11-29"}, "a span has one time"),
        ({"span": "x' OR 1=1 --=y"}, "is no term of a span"),
        ({"before": "2026-13-01"}, "is no term of a span"),
        ({"last": "5y"}, "last is one of"),
        ({"last": "1h", "span": "2026-11-28"}, "last is one of"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_as_text(site: StoreSite, query: dict[str, str], reason: str) -> None:
    for name in ("fleet", "ready"):
        answer = site.answer(f"part/{name}", query)
        assert answer is not None and answer.status == 400
        assert answer.kind.startswith("text/plain")
        assert reason in answer.body.decode()


@pytest.mark.parametrize("query", [{"shown": "1..x"}, {"shown": "5..1"}, {"split": "a'b"}])
def test_what_no_histogram_has_is_refused(site: StoreSite, query: dict[str, str]) -> None:
    answer = site.answer("part/times", query)
    assert answer is not None and answer.status == 400


def test_an_empty_span_says_so(site: StoreSite) -> None:
    found = ready(site, span=f"host={HOSTILE}")
    assert not found.ready and found.problem["empty"]
    found = ready(site, span="release=1.0,host=host-1", before="release=2.0")
    assert "one host and one recording" in found.problem["text"] and found.problem["hint"]


def test_a_value_with_the_characters_of_sql_is_a_value(site: StoreSite) -> None:
    quoted = HOSTILE.replace(" ", "\\ ")
    result = ready(site, span=f"region={quoted}").result
    assert sum(part(site, "profile", result=result).row_count) == 360


@pytest.mark.parametrize("path", ["part/ready/x", "part/", "x", "part/profile/..", "part"])
def test_other_paths_have_nothing(site: StoreSite, path: str) -> None:
    answer = site.answer(path, {})
    assert answer is None or answer.status == 410


def test_a_result_that_is_not_kept_says_what_to_do(site: StoreSite) -> None:
    answer = site.answer("part/profile", {"result": "0" * 32})
    assert answer is not None and answer.status == 410 and b"reload" in answer.body


def test_all_is_within_the_span_that_the_server_was_given(store: Store) -> None:
    site = StoreSite(store, parse("release=1.0"))
    assert part(site, "fleet").within == "release=1.0"
    labels = {one["name"]: dict(one["values"]) for one in part(site, "labels", span="release=2.0").labels}
    assert labels["release"] == {"1.0": 410}
    assert sum(part(site, "times").bar_samples) == 410
    assert ready(site, span="release=2.0").problem["empty"]
    assert sum(part(site, "profile", result=ready(site).result).row_count) == 410


def test_a_store_without_samples_of_the_span_is_not_served(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NothingUsable):
        StoreSite(store, parse("2020-01-01"))
    with pytest.raises(NothingUsable, match="has no recordings"):
        StoreSite(Store(str(tmp_path / "none")))


def test_what_is_added_while_it_is_served_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.site._LOOK_AGAIN", 0.0)
    store = Store(str(tmp_path / "store"))
    take(store, [write_host(tmp_path / "a.data", "a", samples=10)], names=False)
    site = StoreSite(store)
    before, first = part(site, "fleet").contents, ready(site).result
    take(store, [write_host(tmp_path / "b.data", "b", samples=20)], names=False)
    assert part(site, "fleet").contents != before
    assert sum(part(site, "profile", result=ready(site).result).row_count) == 30
    assert sum(part(site, "profile", result=first).row_count) == 10


def test_an_error_of_the_store_is_text(site: StoreSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_arguments: object) -> None:
        raise UndwarfError("cannot read the store", "it is damaged", "run compact")

    monkeypatch.setattr("undwarf.fleet.site.label_counts", damaged)
    answer: Answer | None = site.answer("part/labels", {})
    assert answer is not None and answer.status == 400
    assert answer.body == b"cannot read the store: it is damaged; run compact\n"


def test_a_store_in_no_folder_is_served(tmp_path: Path) -> None:
    store = Store(f"memory://{tmp_path.name}")
    take(store, [write_host(tmp_path / "a.data", "a", samples=10)], names=False)
    site = StoreSite(store)
    assert sum(part(site, "times").bar_samples) == 10
    assert sum(part(site, "profile", result=ready(site).result).row_count) == 10


def test_values_that_are_too_long_for_a_list_are_not_in_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.label_counts._LONGEST", 3)
    found = counted(database)
    assert "host" not in found
    assert dict(found["release"].values) == {"1.0": 410, "2.0": 360}


def test_commits_are_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undwarf.fleet.site._LOOK_AGAIN", 0.0)
    site = StoreSite(store)
    read: list[str] = []
    original: Callable[..., bytes] = Store.read

    def reading(self: Store, path: str, most: int | None = None) -> bytes:
        read.append(path)
        return original(self, path, most)

    monkeypatch.setattr(Store, "read", reading)
    assert part(site, "fleet").first < part(site, "fleet").end
    assert read == []
