"""Programs for the terminal, driven by keys and the mouse without one."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from undwarf.api import OpenedRecording, open_recording
from undwarf.profile.model import Profile
from undwarf.terminal_ui.browse_app import BrowseApp
from undwarf.terminal_ui.keys_line import SearchLine
from undwarf.terminal_ui.opened_file import OpenedFile, opened_recording
from undwarf.terminal_ui.profile_app import ProfileApp
from undwarf.terminal_ui.rows_view import RowsView

RECORDINGS = Path(__file__).parent.parent.parent / "examples" / "recording"
SMALL, LARGE = (80, 24), (160, 50)


def printed(*arguments: object) -> Any:
    """What ``undwarf`` prints as JSON."""
    command = [sys.executable, "-m", "undwarf", *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


class Driver:
    """Presses keys, clicks, and reads what is shown."""

    def __init__(self, app: ProfileApp, pilot: "Pilot[int]") -> None:
        self.app, self.pilot = app, pilot

    async def settle(self) -> None:
        """Wait until everything is computed and drawn."""
        for _round in range(400):
            await self.pilot.pause()
            if not self.app.busy and not self.app.workers._workers and self.app.analysis() is not None:
                break
            await asyncio.sleep(0.01)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys, then wait."""
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Type a text into the field that has the focus."""
        names = {" ": "space", "_": "underscore", ".": "full_stop", "*": "asterisk", "$": "dollar_sign"}
        names |= {"^": "circumflex_accent", ",": "comma", "[": "left_square_bracket", "%": "percent_sign"}
        await self.pilot.press(*(names.get(char, char) for char in text))
        await self.settle()

    async def search(self, text: str) -> None:
        """Search for a text."""
        await self.press("slash")
        assert self.app.screen.query_one(SearchLine).has_focus
        await self.type(text)
        await self.press("enter")

    def lines(self) -> list[str]:
        """The lines of the screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        """The screen."""
        return "\n".join(self.lines()) + "\n"

    def view(self, name: str = "#rows") -> RowsView:
        """A list of the screen."""
        return self.app.screen.query_one(name, RowsView)

    def rows(self, name: str = "#rows") -> list[list[str]]:
        """All rows of a list, in sight or not, as the words of their line."""
        view = self.view(name)
        assert view.rows is not None
        return [view.line(row).plain.split() for row in range(len(view.rows))]

    def current(self, name: str = "#rows") -> str:
        """The text of the current row."""
        view = self.view(name)
        return view.line(view.cursor).plain


def drive(app: ProfileApp, scenario: Callable[[Driver], Awaitable[None]], size: tuple[int, int] = SMALL) -> None:
    """Run a program without a terminal of this size."""

    async def run() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.settle()
            await scenario(driver)
        if app.failure is not None:
            raise app.failure

    asyncio.run(run())


def browse_profile(profile: Profile, path: str = "some.data") -> BrowseApp:
    """The pages of a profile that is there already."""
    return BrowseApp(OpenedFile(path, lambda _lines: profile, fields=None))


def browse_file(path: Path, scenario: Callable[[Driver], Awaitable[None]], size: tuple[int, int] = SMALL) -> None:
    """Drive the pages of a file."""
    with open_recording(path, symfs=RECORDINGS) as source:
        if isinstance(source, OpenedRecording):
            opened = opened_recording(source, lambda lines: source.profile(lines=lines), str(RECORDINGS))
        else:
            opened = OpenedFile(str(path), lambda _lines: source.profile(), fields=source.origin.fields)
        drive(BrowseApp(opened), scenario, size)
