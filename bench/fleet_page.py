"""How fast the page of a store is: the first picture, another span, other labels, a comparison, going back.

    python bench/fleet_bench.py --folder /tmp/fleet store
    python bench/fleet_page.py /tmp/fleet/store-1

Each step is a new load of `undwarf fleet serve` in Chromium; the time is from the press or the address to the flame
graph of the new choice. ``first`` is with a server that has computed nothing, ``again`` with one that has the result.
Needs chromium, chromedriver and selenium.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
SHOWN = """return location.href !== arguments[0]
  && document.documentElement.dataset.ready === "true"
  && Number(document.getElementById("flame-canvas")?.dataset.boxes) > 0"""


def browser() -> Any:
    """A Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS.split(), "--window-size=1400,900"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def until_shown(driver: Any, start: Callable[[], object], before: str) -> float:
    """Seconds from a start to the picture of another address than ``before``."""
    started = time.perf_counter()
    start()
    while True:
        try:
            if driver.execute_script(SHOWN, before):
                return time.perf_counter() - started
        except Exception:  # noqa: BLE001 - between two pages there is none
            pass
        if time.perf_counter() - started > 120:
            sys.exit("the page does not show a flame graph")
        time.sleep(0.005)


def press(driver: Any, selector: str) -> None:
    """Click on an element."""
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def used(process: int) -> tuple[float, int]:
    """Seconds of CPU and peak memory (MB) of a process."""
    folder = Path(f"/proc/{process}")
    user, system = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
    peak = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) // 1024


def measured(driver: Any, address: str) -> dict[str, float]:
    """Seconds of each step, with a server that is new."""
    found: dict[str, float] = {}

    def change(name: str, start: Callable[[], object]) -> None:
        before = driver.execute_script("return location.href")
        found[name] = until_shown(driver, start, before)
        # The bar is complete a moment later.
        while not driver.execute_script("return document.getElementById('fleet').dataset.loaded"):
            time.sleep(0.01)

    driver.get("about:blank")
    change("first", lambda: driver.get(address))
    driver.get("about:blank")
    change("again", lambda: driver.get(address))
    change("last hour", lambda: press(driver, ".fleet-presets button:first-child"))
    change("all, kept", lambda: press(driver, ".fleet-presets button:last-child"))
    change("one release", lambda: driver.get(f"{address}?span=release%3D3.0"))
    change("back", lambda: driver.execute_script("history.back()"))
    change("two releases", lambda: driver.get(f"{address}?span=release%3D3.0&before=release%3D1.0"))
    return found


def main() -> None:
    """Print the best of some runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    driver = browser()
    runs: list[dict[str, float]] = []
    servers: list[tuple[float, int]] = []
    try:
        for _run in range(arguments.runs):
            command = [sys.executable, "-m", "undwarf", "fleet", "serve", arguments.store]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
                assert server.stdout is not None
                runs.append(measured(driver, server.stdout.readline().strip()))
                servers.append(used(server.pid))
                server.terminate()
    finally:
        driver.quit()
    for name in runs[0]:
        print(f"{name}: {min(run[name] for run in runs):.2f} s")
    print("server: {:.2f} s of CPU, {} MB at its peak".format(*min(servers)))


if __name__ == "__main__":
    main()
