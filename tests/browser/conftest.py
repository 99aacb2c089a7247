"""Browsers for the tests of pages."""

from collections.abc import Iterator

import pytest
from tests.support.page_browsers import CHROME, DRIVER, FIREFOX, Browser, Chromium, Firefox


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def page_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Each browser that this machine has."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    if request.param == "chromium" and (CHROME is None or DRIVER is None):
        pytest.skip("no chromium and chromedriver on this machine")
    if request.param == "firefox":
        pytest.importorskip("websocket", reason="websocket-client is not installed")
        if FIREFOX is None:
            pytest.skip("no firefox-esr on this machine")
    browser: Browser = Chromium() if request.param == "chromium" else Firefox()
    yield browser
    browser.quit()
