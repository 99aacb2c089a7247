"""Browsers that tests drive: Chromium through chromedriver, Firefox through WebDriver BiDi, which it speaks itself."""

import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

CHROME = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1300,850"
)

KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "ArrowUp": "\ue013",
    "ArrowDown": "\ue015",
    "ArrowLeft": "\ue012",
    "ArrowRight": "\ue014",
    "Home": "\ue011",
    "End": "\ue010",
    "Backspace": "\ue003",
}
"""Code points of WebDriver for keys without a character."""

_WATCH = """() => {
  window.violations = [];
  const add = (text) => window.violations.push(text);
  document.addEventListener("securitypolicyviolation", (e) => add(`${e.violatedDirective} ${e.blockedURI}`));
  window.addEventListener("error", (e) => add(`error ${e.message}`));
  window.addEventListener("unhandledrejection", (e) => add(`rejected ${e.reason}`));
  window.alert = () => add("alert");
}"""
"""Runs before a page's own script: collects what its policy refused and what its script did not catch."""

_CENTRE = """(selector) => {
  const element = document.querySelector(selector);
  element.scrollIntoView({block: "nearest", inline: "nearest"});
  const box = element.getBoundingClientRect();
  return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
}"""


class Browser(Protocol):
    """What both drivers can do."""

    name: str

    def load(self, url: str) -> None: ...
    def call(self, function: str, *values: Any) -> Any:
        """The result of a JavaScript function, as JSON."""

    def press(self, *keys: str) -> None:
        """Press and release keys, given as KeyboardEvent.key has them."""

    def click_at(self, x: int, y: int) -> None: ...
    def hover_at(self, x: int, y: int) -> None: ...
    def drag(self, x: int, y: int, to_x: int) -> None:
        """Press at a place, move to another one of the same height, and release."""

    def resize(self, width: int, height: int) -> None: ...
    def quit(self) -> None: ...


class Chromium:
    """Chromium through chromedriver and Selenium."""

    name = "chromium"

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROME or ""
        for flag in FLAGS.split():
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": f"({_WATCH})()"})

    def load(self, url: str) -> None:
        # Another fragment of the same document would not load it anew.
        self.driver.get("about:blank")
        self.driver.get(url)

    def call(self, function: str, *values: Any) -> Any:
        return self.driver.execute_script(f"return ({function})(...arguments)", *values)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(KEYS.get(key, key)).perform()

    def _move(self, x: int, y: int) -> Any:
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver, duration=0)
        chain.w3c_actions.pointer_action.move_to_location(x, y)
        return chain

    def click_at(self, x: int, y: int) -> None:
        chain = self._move(x, y)
        chain.w3c_actions.pointer_action.click()
        chain.perform()

    def hover_at(self, x: int, y: int) -> None:
        self._move(x, y).perform()

    def drag(self, x: int, y: int, to_x: int) -> None:
        chain = self._move(x, y)
        pointer = chain.w3c_actions.pointer_action
        pointer.pointer_down()
        pointer.move_to_location((x + to_x) // 2, y)
        pointer.move_to_location(to_x, y)
        pointer.pointer_up()
        chain.perform()

    def resize(self, width: int, height: int) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def quit(self) -> None:
        self.driver.quit()


class Firefox:
    """Firefox through WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), which it speaks by itself."""

    name = "firefox"

    def __init__(self) -> None:
        import websocket

        self._folder = tempfile.TemporaryDirectory()
        (Path(self._folder.name) / "user.js").write_text(
            'user_pref("app.update.enabled", false);\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
            'user_pref("browser.shell.checkDefaultBrowser", false);\nuser_pref("browser.startup.page", 0);\n'
        )
        command = [
            FIREFOX or "",
            "--headless",
            "--no-remote",
            "--remote-debugging-port=0",
            "--profile",
            self._folder.name,
        ]
        self._log = Path(self._folder.name) / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        address = self._address()
        self._socket = websocket.create_connection(f"{address}/session", timeout=30, suppress_origin=True)
        self._last = 0
        self.send("session.new", {"capabilities": {}})
        self._context = self.send("browsingContext.getTree", {})["contexts"][0]["context"]
        self.send("script.addPreloadScript", {"functionDeclaration": _WATCH})
        self.resize(1300, 850)

    def _address(self) -> str:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            match = re.search(r"BiDi listening on (ws://\S+)", self._log.read_text(errors="replace"))
            if match:
                return match[1]
            time.sleep(0.05)
        self._process.kill()
        raise RuntimeError("Firefox does not offer WebDriver BiDi")

    def send(self, method: str, values: dict[str, Any]) -> Any:
        """The result of a command."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": values}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._last:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                return answer["result"]

    def load(self, url: str) -> None:
        for place in ("about:blank", url):
            self.send("browsingContext.navigate", {"context": self._context, "url": place, "wait": "complete"})

    def call(self, function: str, *values: Any) -> Any:
        text = f"JSON.stringify([({function})(...{json.dumps(values)})] )"
        result = self.send(
            "script.evaluate",
            {"expression": text, "target": {"context": self._context}, "awaitPromise": False},
        )
        if result["type"] != "success":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])[0]

    def _act(self, source: dict[str, Any]) -> None:
        self.send("input.performActions", {"context": self._context, "actions": [source]})

    def press(self, *keys: str) -> None:
        for key in keys:
            value = KEYS.get(key, key)
            self._act(
                {
                    "type": "key",
                    "id": "keys",
                    "actions": [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}],
                }
            )

    def click_at(self, x: int, y: int) -> None:
        self._point(x, y, [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def hover_at(self, x: int, y: int) -> None:
        self._point(x, y, [])

    def drag(self, x: int, y: int, to_x: int) -> None:
        moves = [{"type": "pointerMove", "x": place, "y": y} for place in ((x + to_x) // 2, to_x)]
        self._point(x, y, [{"type": "pointerDown", "button": 0}, *moves, {"type": "pointerUp", "button": 0}])

    def _point(self, x: int, y: int, then: list[dict[str, Any]]) -> None:
        self._act({"type": "pointer", "id": "mouse", "actions": [{"type": "pointerMove", "x": x, "y": y}, *then]})

    def resize(self, width: int, height: int) -> None:
        self.send(
            "browsingContext.setViewport", {"context": self._context, "viewport": {"width": width, "height": height}}
        )

    def quit(self) -> None:
        try:
            self.send("browser.close", {})
        except (OSError, RuntimeError, ValueError):
            self._process.terminate()
        self._socket.close()
        self._process.wait(30)
        self._folder.cleanup()


class PageUnderTest:
    """A page in a browser: what is shown, and how it is used."""

    def __init__(self, browser: Browser, path: Path) -> None:
        self.browser = browser
        self.path = path

    def open(self, fragment: str = "") -> "PageUnderTest":
        self.browser.load(self.path.as_uri() + (f"#{fragment}" if fragment else ""))
        self.wait("() => document.documentElement.dataset.ready === 'true'")
        return self

    def wait(self, condition: str, *values: Any, seconds: float = 10) -> None:
        """Until a JavaScript function gives something true."""
        until = time.monotonic() + seconds
        while not self.browser.call(f"(...values) => Boolean(({condition})(...values))", *values):
            if time.monotonic() > until:
                shown = self.browser.call("() => document.body.innerText.slice(0, 3000)")
                raise AssertionError(f"never: {condition} {values}; the page shows:\n{shown}")
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        return str(self.browser.call("(s) => document.querySelector(s)?.innerText ?? ''", selector)).strip()

    def texts(self, selector: str) -> list[str]:
        found = self.browser.call(
            "(s) => Array.from(document.querySelectorAll(s)).filter((e) => e.checkVisibility())"
            ".map((e) => e.innerText.trim())",
            selector,
        )
        return [str(one) for one in found]

    def values(self, selector: str) -> list[str]:
        """The exact values (``data-value``) of elements."""
        found = self.browser.call("(s) => Array.from(document.querySelectorAll(s), (e) => e.dataset.value)", selector)
        return [str(one) for one in found]

    def centre(self, selector: str) -> list[int]:
        """Where the middle of an element is, once it no longer moves: a page settles while it is drawn."""
        self.wait("(s) => document.querySelector(s)?.checkVisibility()", selector)
        before: list[int] = []
        for _ in range(50):
            place: list[int] = self.browser.call(_CENTRE, selector)
            if place == before:
                return place
            before = place
            time.sleep(0.05)
        raise AssertionError(f"{selector} keeps moving")

    def click(self, selector: str) -> None:
        self.browser.click_at(*self.centre(selector))

    def hover(self, selector: str) -> None:
        self.browser.hover_at(*self.centre(selector))

    def press(self, *keys: str) -> None:
        self.browser.press(*keys)

    def type(self, selector: str, text: str) -> None:
        """Replace the text of a field."""
        self.click(selector)
        self.browser.call("(s) => document.querySelector(s).select()", selector)
        if text:
            self.press(*text)
        else:
            self.press("Backspace")

    @property
    def address(self) -> str:
        return str(self.browser.call("() => location.hash"))

    def violations(self) -> list[str]:
        """What the content security policy refused, scripts that ran, errors that nothing caught."""
        return [str(one) for one in self.browser.call("() => window.violations")]
