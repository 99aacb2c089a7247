"""Pages of profiles in a real headless browser."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.page_profiles import PagePart, encode

from undwarf.outputs.page.html import write

CHROME = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1200,900"
)
WIDTH, HEIGHT = 1200, 900


@contextlib.contextmanager
def started(*, width: int = WIDTH, height: int = HEIGHT) -> Iterator[Any]:
    """A browser whose window has this size; tests are skipped without one."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROME is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROME
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        motion = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", motion)
        yield driver
    finally:
        driver.quit()


def page_of(parts: dict[str, PagePart], folder: Path) -> str:
    """The address of a page with these parts."""
    page = folder / "page.html"
    with page.open("wb") as sink:
        write({name: encode(part) for name, part in parts.items()}, sink)
    return page.as_uri()


def show(browser: Any, address: str, view: str = "") -> None:
    """Open a page, with what its address says behind "#", and wait until it is drawn."""
    browser.get("about:blank")
    browser.get(f"{address}#{view}" if view else address)
    browser.execute_async_script(
        """const done = arguments[0];
        const ready = () => document.documentElement.dataset.ready || !document.getElementById("problem").hidden;
        const look = () => (ready() ? done() : setTimeout(look, 10));
        look();"""
    )
    assert browser.execute_script("return document.documentElement.dataset.ready") == "true"
    settle(browser)


def settle(browser: Any) -> None:
    """Wait until what changed is drawn."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"
    )


def view(browser: Any) -> dict[str, str]:
    """What the address says is shown."""
    script = "return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
    return dict(browser.execute_script(script))


def text(browser: Any, selector: str) -> str:
    """The text of an element, with plain spaces."""
    found = browser.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
    return str(found).replace("\u00a0", " ")
