"""What ``undwarf top`` shows, and what its keys do, on pictures made by hand."""

from collections.abc import Sequence

import pytest
from tests.support.profiles import S, make_profile

from undwarf.cli.top import View, keys_in
from undwarf.column import zeros
from undwarf.live.top import Picture

SAMPLES = [
    S("main@app work@app", period=20),
    S("main@app read@kernel", period=30),
    S("do_idle@kernel pv_native_safe_halt@kernel", period=900, comm="swapper"),
    S("asm_sysvec@kernel net_rx_action@kernel", period=50, comm="swapper"),
]


class Screen:
    """A terminal whose user presses keys."""

    def __init__(self) -> None:
        self.typed = ""
        self.shown: list[str] = []
        self.marked = -1

    def size(self) -> tuple[int, int]:
        return 100, 24

    def draw(self, lines: list[str], marked: int = -1) -> None:
        self.shown, self.marked = lines, marked

    def pressed(self) -> str:
        typed, self.typed = self.typed, ""
        return typed


def picture(samples: Sequence[S] = SAMPLES, events: Sequence[str] = ("cpu-clock",)) -> Picture:
    counts = zeros("I", len(samples))
    counts[:] = memoryview(b"\1\0\0\0" * len(samples)).cast("I")
    return Picture(make_profile(samples, events), counts, len(samples), 2.0, 0, 1)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def view(screen: Screen) -> View:
    made = View(("sym",), None, None, screen)
    assert made.show(picture())
    return made


def press(view: View, screen: Screen, keys: str) -> bool:
    screen.typed = keys
    return view.keys()


def symbols(screen: Screen) -> list[str]:
    return [line.split()[-1] for line in screen.shown[2:-1] if "%" in line]


def test_functions_are_sorted_by_what_they_take_themselves(view: View, screen: Screen):
    assert symbols(screen) == ["net_rx_action", "read", "work", "asm_sysvec", "main"]


def test_waiting_cpus_are_left_out_and_their_share_is_shown(view: View, screen: Screen):
    assert "90.0 % idle, not shown" in screen.shown[0]
    assert "  50.00%  net_rx_action" in screen.shown[2]


def test_i_shows_waiting_cpus(view: View, screen: Screen):
    assert press(view, screen, "i")
    assert symbols(screen)[0] == "pv_native_safe_halt"
    assert "idle" not in screen.shown[0]


def test_c_sorts_by_what_functions_and_all_they_call_take(view: View, screen: Screen):
    press(view, screen, "c")
    assert symbols(screen)[:3] == ["net_rx_action", "asm_sysvec", "main"]
    press(view, screen, "s")
    assert symbols(screen)[1] == "read"


def test_a_filter_shows_rows_with_its_text_alone(view: View, screen: Screen):
    press(view, screen, "/REAF\x7fD")
    assert screen.shown[-1].startswith("filter: READ_")
    assert symbols(screen) == ["read"]
    press(view, screen, "\r")
    assert symbols(screen) == ["read"]
    press(view, screen, "\x1b")
    assert len(symbols(screen)) == 5


def test_keys_of_a_filter_are_no_commands(view: View, screen: Screen):
    assert press(view, screen, "/q")
    assert symbols(screen) == []


def test_enter_shows_the_callers_of_the_chosen_function(view: View, screen: Screen):
    press(view, screen, "\x1b[B\r")
    assert screen.marked == 3
    assert screen.shown[3].endswith("read")
    assert screen.shown[4].split() == ["30.00%", "main", "app"]
    press(view, screen, "\r")
    assert screen.shown[4].endswith("work")


def test_a_function_that_calls_itself_is_one_line_of_callers(screen: Screen):
    view = View(("sym",), None, None, screen)
    view.show(picture([S("main@app f@app f@app f@app leaf@app", period=3), S("main@app")]))
    press(view, screen, "\r")
    assert [line.split() for line in screen.shown[3:5]] == [
        ["75.00%", "f", "app", "3", "times"],
        ["75.00%", "main"],
    ]


def test_k_and_u_hide_functions_of_the_kernel_and_of_programs(view: View, screen: Screen):
    press(view, screen, "K")
    assert symbols(screen) == ["work", "main"]
    press(view, screen, "KU")
    assert symbols(screen) == ["net_rx_action", "read", "asm_sysvec"]


def test_r_makes_rows_of_other_things(view: View, screen: Screen):
    press(view, screen, "r")
    assert screen.shown[1].split() == ["Children", "Self", "Shared", "Object"]


def test_weights_of_two_events_are_not_added(screen: Screen):
    view = View(("sym",), None, None, screen)
    view.show(picture([S("a@app", period=1_000_000), S("b@app", period=1, event=1)], ("cpu-clock", "page-faults")))
    assert symbols(screen) == ["a"]
    press(view, screen, "e")
    assert symbols(screen) == ["b"]
    assert "samples of page-faults" in screen.shown[0]


def test_a_paused_picture_stays(view: View, screen: Screen):
    press(view, screen, "p")
    before = list(screen.shown)
    view.show(picture([S("new@app")]))
    assert screen.shown == before
    assert screen.shown[-1].startswith("paused")


def test_help_names_each_key_and_any_key_leaves_it(view: View, screen: Screen):
    press(view, screen, "h")
    assert any(line.startswith("Enter ") for line in screen.shown)
    assert press(view, screen, "x")
    assert len(symbols(screen)) == 5


@pytest.mark.parametrize("key", ["q", "Q", "\x03"])
def test_q_quits(view: View, screen: Screen, key: str):
    assert not press(view, screen, key)


def test_keys_that_a_terminal_sends_as_sequences_have_names():
    assert keys_in("a\x1b[A\x1bOB\x1b[6~\x1b[15~\r\x7f\x1b") == [
        "a", "up", "down", "page down", "enter", "delete", "escape",
    ]  # fmt: skip  # a table
