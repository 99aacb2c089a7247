"""Takes pictures of every view of the page of `undwarf view`, from the recordings in `examples/recording`.

    python docs/make_page_pictures.py FOLDER

Each view is taken light, dark, on a narrow screen, and at 200 %. Needs Chromium, chromedriver and Selenium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
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
    try:
        for screen, (width, height, scale, theme) in SCREENS.items():
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
            )
            features = [{"name": "prefers-color-scheme", "value": theme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            for name, (recording, fragment) in SHOTS.items():
                driver.get("about:blank")
                driver.get(f"{made[recording].as_uri()}#{fragment}")
                until = time.monotonic() + 10
                while not driver.execute_script("return document.documentElement.dataset.ready"):
                    if time.monotonic() > until:
                        raise SystemExit(f"{recording}: the page does not start")
                # Curves over time, and code, come a moment later.
                time.sleep(0.4)
                driver.save_screenshot(str(folder / f"{name}-{screen}.png"))
    finally:
        driver.quit()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
