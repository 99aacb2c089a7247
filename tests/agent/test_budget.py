"""The frequency follows the own cost."""

from undwarf.agent.budget import CALM_S, WINDOW_S, Budget


def run(budget: Budget, now: float, seconds: float, percent: float, cpu: float) -> tuple[float, float]:
    """Use so much CPU for so long; (time, CPU time) at the end."""
    for _ in range(int(seconds // 10)):
        now, cpu = now + 10, cpu + percent / 10
        budget.update(now, cpu)
    return now, cpu


def test_it_is_lowered_above_the_budget_after_the_window() -> None:
    budget = Budget(0.5, 4)
    now, cpu = run(budget, 0, WINDOW_S - 20, 0.8, 0)
    assert budget.step == 0
    run(budget, now, 60, 0.8, cpu)
    assert budget.step == 1
    assert 0.7 < budget.used < 0.9


def test_it_stays_below_the_budget() -> None:
    budget = Budget(0.5, 4)
    run(budget, 0, 20 * WINDOW_S, 0.45, 0)
    assert budget.step == 0


def test_a_short_peak_is_no_reason() -> None:
    budget = Budget(1.0, 4)
    now, cpu = run(budget, 0, WINDOW_S, 0.2, 0)
    run(budget, now, 2 * WINDOW_S, 0.2, cpu + 1.5)
    assert budget.step == 0


def test_it_goes_down_to_the_last_step_only() -> None:
    budget = Budget(0.5, 3)
    run(budget, 0, 10 * WINDOW_S, 5, 0)
    assert budget.step == 2


def test_it_is_raised_again_when_it_is_calm() -> None:
    budget = Budget(0.5, 4)
    now, cpu = run(budget, 0, WINDOW_S + 10, 0.8, 0)
    now, cpu = run(budget, now, CALM_S - 20, 0.1, cpu)
    assert budget.step == 1
    run(budget, now, 60, 0.1, cpu)
    assert budget.step == 0


def test_it_waits_twice_as_long_after_it_was_raised_too_soon() -> None:
    budget = Budget(0.5, 4)
    now, cpu = run(budget, 0, WINDOW_S + 10, 0.8, 0)
    now, cpu = run(budget, now, CALM_S + 40, 0.1, cpu)
    assert budget.step == 0
    now, cpu = run(budget, now, WINDOW_S + 20, 0.8, cpu)
    assert budget.step == 1
    now, cpu = run(budget, now, CALM_S + 40, 0.1, cpu)
    assert budget.step == 1
    run(budget, now, CALM_S + 40, 0.1, cpu)
    assert budget.step == 0
