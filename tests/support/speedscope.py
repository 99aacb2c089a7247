"""Speedscope in a headless browser: what its importers make of a file, as it would save it."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHROME = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
VERSION = "1.25.0"
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --allow-file-access-from-files"
)
_SAVE = """
const done = arguments[0];
URL.createObjectURL = blob => { blob.text().then(done); return "#"; };
const press = () => window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true}));
const started = Date.now();
const wait = () => {
    if (document.querySelectorAll("canvas").length) press();
    else if (Date.now() - started > 15000) done("");
    else setTimeout(wait, 50);
};
wait();
"""


class Imported(NamedTuple):
    """A profile as speedscope read it: its name and unit, and by sample the functions, innermost first, with their
    weights. ``frames`` are all frames, with file and line."""

    name: str
    unit: str
    stacks: list[tuple[list[str], float]]
    frames: list[dict[str, Any]]


def page() -> Path:
    """Speedscope's page, of its npm package; installed below the tests' cache, or the test is skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "undwarf-tests" / f"speedscope-{VERSION}"
    found = cache / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
    if not found.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to install speedscope with")
        # Tests that run side by side install it apart; the first one to end is kept.
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache.parent) as folder:
            command = [npm, "install", "--silent", "--ignore-scripts", "--prefix", folder, f"speedscope@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode:
                pytest.skip(f"speedscope cannot be installed: {done.stderr.strip()[-200:]}")
            if not found.exists():
                shutil.copytree(folder, cache, dirs_exist_ok=True)
    return found


@contextmanager
def started() -> Iterator[Any]:
    """A browser, or the test is skipped."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    if CHROME is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROME
    for flag in _FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


def imported(browser: Any, folder: Path, name: str, data: bytes) -> list[Imported]:
    """The profiles that speedscope reads from a file with this name."""
    script = folder / "load.js"
    encoded = base64.b64encode(data).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(encoded)})")
    browser.get("about:blank")
    browser.get(f"{page().as_uri()}#localProfilePath={script}")
    text = browser.execute_async_script(_SAVE)
    assert text, f"speedscope does not read {name}"
    saved = json.loads(text)
    frames = saved["shared"]["frames"]
    return [
        Imported(profile["name"], profile["unit"], list(_stacks(profile, frames)), frames)
        for profile in saved["profiles"]
    ]


def _stacks(profile: Any, frames: list[dict[str, Any]]) -> Iterator[tuple[list[str], float]]:
    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            yield [frames[one]["name"] for one in reversed(stack)], weight
        return
    open_now: list[int] = []
    last = profile["startValue"]
    for event in profile["events"]:
        if event["at"] != last:
            yield [frames[one]["name"] for one in reversed(open_now)], event["at"] - last
            last = event["at"]
        if event["type"] == "O":
            open_now.append(event["frame"])
        else:
            assert open_now.pop() == event["frame"]
