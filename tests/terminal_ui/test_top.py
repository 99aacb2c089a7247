"""What ``undwarf top`` shows on a terminal, and what its keys do, on pictures made by hand."""

import threading
from collections.abc import Awaitable, Callable, Sequence

from tests.support.profiles import S, make_profile
from tests.support.screens import LARGE, Driver, drive

from undwarf.column import zeros
from undwarf.live.top import Picture
from undwarf.terminal_ui.top_app import TopApp

SAMPLES = [
    S("main@app work@app", period=20),
    S("main@app read@kernel", period=30),
    S("do_idle@kernel pv_native_safe_halt@kernel", period=900, comm="swapper"),
    S("asm_sysvec@kernel net_rx_action@kernel", period=50, comm="swapper"),
]


def picture(samples: Sequence[S] = SAMPLES, events: Sequence[str] = ("cpu-clock",)) -> Picture:
    counts = zeros("I", len(samples))
    counts[:] = memoryview(b"\1\0\0\0" * len(samples)).cast("I")
    return Picture(make_profile(samples, events), counts, len(samples), 2.0, 0, 1)


class Pictures:
    """Shows pictures when a test asks for them."""

    def __init__(self, first: Picture) -> None:
        self._next, self._ready, self._over = first, threading.Event(), False
        self._ready.set()
        self.goes_on = True

    def sample(self, show: Callable[[Picture], bool]) -> None:
        while self._ready.wait(20) and not self._over:
            self._ready.clear()
            self.goes_on = show(self._next)
            if not self.goes_on:
                return

    def show(self, picture: Picture) -> None:
        self._next = picture
        self._ready.set()

    def end(self) -> None:
        self._over = True
        self._ready.set()


def top(
    scenario: Callable[[Driver, Pictures], Awaitable[None]],
    first: Picture | None = None,
    keys: tuple[str, ...] = ("sym",),
    **options: int,
) -> None:
    pictures = Pictures(first or picture())

    async def run(driver: Driver) -> None:
        try:
            await scenario(driver, pictures)
        finally:
            pictures.end()

    drive(TopApp(pictures.sample, keys, **options), run, LARGE)  # type: ignore[arg-type]  # rows, iterations


def symbols(driver: Driver) -> list[str]:
    return [row[-1] for row in driver.rows()]


def test_functions_are_sorted_by_what_they_take_themselves() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        assert symbols(driver) == ["net_rx_action", "read", "work", "asm_sysvec", "main"]

    top(scenario)


def test_waiting_cpus_are_left_out_and_i_shows_them() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        assert "90.0 % idle, not shown" in driver.lines()[0]
        assert driver.rows()[0][:2] == ["50.00%", "50.00%"]
        await driver.press("i")
        assert symbols(driver)[0] == "pv_native_safe_halt"
        assert "idle" not in driver.lines()[0]

    top(scenario)


def test_c_and_s_change_the_order() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("c")
        assert symbols(driver)[:3] == ["asm_sysvec", "main", "net_rx_action"] or symbols(driver)[0] == "net_rx_action"
        assert "Total▼" in driver.text()
        await driver.press("s")
        assert symbols(driver)[1] == "read"

    top(scenario)


def test_a_filter_shows_rows_with_its_text_alone() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("slash")
        await driver.type("REA")
        assert symbols(driver) == ["read"]
        await driver.press("enter")
        assert symbols(driver) == ["read"]
        await driver.press("escape")
        assert len(symbols(driver)) == 5

    top(scenario)


def test_keys_of_a_filter_are_no_commands() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("slash", "q")
        assert symbols(driver) == []
        assert driver.app.is_running

    top(scenario)


def test_enter_shows_callers_and_callees() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("down", "enter")
        assert driver.rows("#callers")[0][0] == "30.00%" and "main" in driver.rows("#callers")[0]
        assert driver.rows("#callees") == []
        await driver.press("escape")
        assert symbols(driver)[0] == "net_rx_action"

    top(scenario)


def test_the_next_picture_takes_the_place_unless_paused() -> None:
    async def scenario(driver: Driver, pictures: Pictures) -> None:
        pictures.show(picture([S("main@app later@app")]))
        await driver.pilot.pause(0.2)
        assert symbols(driver) == ["later", "main"]
        await driver.press("p")
        pictures.show(picture())
        await driver.pilot.pause(0.2)
        assert symbols(driver) == ["later", "main"]
        assert "paused" in driver.lines()[0]

    top(scenario)


def test_k_and_u_hide_functions_of_the_kernel_and_of_programs() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("K")
        assert symbols(driver) == ["work", "main"]
        await driver.press("K", "U")
        assert "main" not in symbols(driver) and "read" in symbols(driver)

    top(scenario)


def test_r_makes_rows_of_other_things() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("r")
        assert driver.rows()[0][-1] == "[kernel.kallsyms]"

    top(scenario)


def test_the_last_of_so_many_pictures_ends_it() -> None:
    async def scenario(driver: Driver, pictures: Pictures) -> None:
        await driver.pilot.pause(0.1)
        assert not pictures.goes_on

    top(scenario, iterations=1)


def test_events_come_one_after_the_other() -> None:
    samples = [S("a@app", event=0), S("b@app", event=1)]

    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        assert symbols(driver) == ["a"]
        await driver.press("e")
        assert symbols(driver) == ["b"]

    top(scenario, picture(samples, ("cpu-clock", "page-faults")))


def test_all_keys_are_shown() -> None:
    async def scenario(driver: Driver, _pictures: Pictures) -> None:
        await driver.press("h")
        assert "pause the display" in driver.text()
        await driver.press("escape")
        assert symbols(driver)

    top(scenario)
