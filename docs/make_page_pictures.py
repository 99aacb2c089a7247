"""Takes pictures of every view of the page of `undwarf view`, and of the page of `undwarf fleet serve`.

What they show are the recordings in `examples/recording`.

    python docs/make_page_pictures.py FOLDER

Each view is taken light, dark, on a narrow screen, and at 200 %. Needs Chromium, chromedriver and Selenium.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDINGS = ROOT / "examples" / "recording"

SHOTS = {
    "flame": ("words-sum", "view=flame"),
    "flame-callers": ("requests", "view=flame&tree=callers"),
    "flame-sandwich": ("words-sum", "view=flame&tree=sandwich&chosen=count_words%40words-sum"),
    "table": ("words-sum", "view=table&chosen=count_words%40words-sum"),
    "table-threads": ("requests", "view=table&table=threads"),
    "table-lines": ("words-sum", "view=table&table=lines"),
    "code": ("particles", "view=code"),
    "types": ("particles", "view=types"),
    "quality": ("nested-512", "view=quality"),
    "filters": ("words-sum", "view=table&focus=main&hide=%5Emalloc&range=%5B1000%2C4000%5D&search=count"),
}
"""Name of the picture: the recording, and what its page shows."""

STORED = {"words-sum": ("1.0", 0), "words": ("1.1", 4), "words-product": ("1.2", 8)}
"""Recordings of a store: the release that they are called, and when they ended, in seconds."""
STORE_SHOTS = {
    "fleet": ("split=release", "view=flame"),
    "fleet-values": ("", "view=flame"),
    "fleet-empty": ("span=host%3Dnone", ""),
}
"""Name of the picture: what is asked of the store, and what its page shows."""

SCREENS = {
    "light": (1400, 900, 1.0, "light"),
    "dark": (1400, 900, 1.0, "dark"),
    "narrow": (360, 780, 2.0, "light"),
    "large": (700, 450, 2.0, "light"),
}
"""Name: width and height in CSS pixels, device pixels in one, theme; "large" is 1400 x 900 at 200 %."""


def pages(folder: Path) -> dict[str, Path]:
    """The pages of the recordings, written to a folder."""
    written = {}
    for name in sorted({recording for recording, _ in SHOTS.values()}):
        out = folder / f"{name}.html"
        words = ["view", str(RECORDINGS / f"{name}.data"), "--symfs", str(RECORDINGS), "--types", "-o", str(out)]
        subprocess.run([sys.executable, "-m", "undwarf", *words], check=True, stdout=subprocess.DEVNULL)
        written[name] = out
    return written


def store(folder: Path) -> Path:
    """A store of recordings, written to a folder."""
    made = folder / "store"
    shutil.rmtree(made, ignore_errors=True)
    for name, (release, seconds) in STORED.items():
        copy = folder / f"{name}.data"
        shutil.copy(RECORDINGS / copy.name, copy)
        # The end of a recording of perf is the time of its file.
        os.utime(copy, (1_795_867_200 + seconds, 1_795_867_200 + seconds))
        words = ["fleet", "ingest", str(made), str(copy), "--workers", "0", "--symfs", str(RECORDINGS)]
        words += ["--label", "service=words", "--label", f"release={release}", "--label", f"host=build-{seconds // 4}"]
        subprocess.run([sys.executable, "-m", "undwarf", *words], check=True, stdout=subprocess.DEVNULL)
        copy.unlink()
    return made


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a store's page."""
    # The page shows the path.
    words = [sys.executable, "-m", "undwarf", "fleet", "serve", folder.name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder.parent, env=environment) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def browser() -> Any:
    """A Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    # With both paths Selenium looks for nothing in the network.
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,900"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages(folder)
    driver = browser()
    with served(store(folder)) as address:
        for screen, (width, height, scale, theme) in SCREENS.items():
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
            )
            features = [{"name": "prefers-color-scheme", "value": theme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            for name, (recording, fragment) in SHOTS.items():
                shoot(driver, f"{made[recording].as_uri()}#{fragment}", folder / f"{name}-{screen}.png")
            for name, (query, fragment) in STORE_SHOTS.items():
                opened = "[data-label=release]" if name == "fleet-values" else ""
                shoot(driver, f"{address}?{query}#{fragment}", folder / f"{name}-{screen}.png", opened)
    driver.quit()


def shoot(driver: Any, address: str, picture: Path, press: str = "") -> None:
    """Take a picture of a page, with an element pressed."""
    driver.get("about:blank")
    driver.get(address)
    until = time.monotonic() + 20
    shown = "return document.documentElement.dataset.ready || document.querySelector('.fleet-empty') !== null"
    while not driver.execute_script(shown):
        if time.monotonic() > until:
            raise SystemExit(f"{picture.name}: the page does not start")
    # Curves over time, code, and labels come a moment later.
    time.sleep(0.5)
    if press:
        driver.find_element("css selector", press).click()
    driver.save_screenshot(str(picture))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
