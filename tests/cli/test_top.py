"""What ``undwarf top`` prints where there is no terminal, of pictures made by hand."""

import pytest
from tests.support.profiles import S, make_profile

from undwarf.cli.top import TextView
from undwarf.column import zeros
from undwarf.live.top import Picture

SAMPLES = [
    S("main@app work@app", period=20),
    S("main@app read@kernel", period=30),
    S("do_idle@kernel pv_native_safe_halt@kernel", period=900, comm="swapper"),
    S("asm_sysvec@kernel net_rx_action@kernel", period=50, comm="swapper"),
]


def lines(**options: bool) -> list[str]:
    counts = zeros("I", len(SAMPLES))
    view = TextView(("sym",), None, None, **{"children": False, "idle": False, **options})
    return list(view.lines(Picture(make_profile(SAMPLES, ("cpu-clock",)), counts, len(SAMPLES), 2.0, 0, 1)))


def symbols(shown: list[str]) -> list[str]:
    return [line.split()[-1] for line in shown[2:]]


def test_functions_are_sorted_by_what_they_take_themselves() -> None:
    assert symbols(lines()) == ["net_rx_action", "read", "work", "asm_sysvec", "main"]


def test_waiting_cpus_are_left_out_and_their_share_is_shown() -> None:
    shown = lines()
    assert "90.0 % idle, not shown" in shown[0]
    assert "  50.00%  net_rx_action" in shown[2]
    assert symbols(lines(idle=True))[0] == "pv_native_safe_halt"


def test_children_sorts_by_what_functions_and_all_they_call_take() -> None:
    assert symbols(lines(children=True))[:3] == ["net_rx_action", "asm_sysvec", "main"]


def test_so_many_pictures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    counts = zeros("I", len(SAMPLES))
    view = TextView(("sym",), 2, 2, children=False, idle=False)
    picture = Picture(make_profile(SAMPLES, ("cpu-clock",)), counts, len(SAMPLES), 2.0, 0, 1)
    assert view.show(picture)
    assert not view.show(picture)
    assert capsys.readouterr().out.count("net_rx_action") == 2
