"""Pictures of `undwarf browse`: what it shows of a kept recording after some keys, as SVG."""

import asyncio
import io
import os
import shlex

from rich.console import Console
from rich.segment import Segment, Segments
from terminal import RECORDINGS, drawn

from undwarf.api import open_recording
from undwarf.terminal_ui.browse_app import BrowseApp
from undwarf.terminal_ui.opened_file import opened_recording

LONGEST_WAIT = 60.0
"""Seconds."""


def screen(command: str, keys: list[str], size: tuple[int, int]) -> str:
    """The screen after some keys, as text with colours. The command is `undwarf browse --symfs . FILE`, in the folder
    of the kept recordings. Raises RuntimeError if it takes too long."""
    *_options, name = shlex.split(command)
    os.environ.pop("NO_COLOR", None)
    with open_recording(RECORDINGS / name, format="perf.data", symfs=RECORDINGS, cache=False) as recording:
        app = BrowseApp(opened_recording(recording, lambda lines: recording.profile(lines=lines), str(RECORDINGS)))

        async def run() -> str:
            async with app.run_test(size=size) as pilot:

                async def settle() -> None:
                    async with asyncio.timeout(LONGEST_WAIT):
                        await pilot.pause(0.1)
                        while app.busy or app.shown is None:
                            await pilot.pause(0.05)
                    await pilot.pause(0.1)

                await settle()
                for key in keys:
                    await pilot.press(key)
                    await settle()
                strips = app.screen._compositor.render_strips()
            console = Console(
                file=io.StringIO(), force_terminal=True, color_system="standard", width=size[0], no_color=False
            )
            for strip in strips:
                console.print(Segments([*strip, Segment.line()]), end="")
            assert isinstance(console.file, io.StringIO)
            return console.file.getvalue()

        try:
            text = asyncio.run(run())
        except TimeoutError as error:
            raise RuntimeError(f"{command}: no picture after {LONGEST_WAIT:.0f} s") from error
    if app.failure is not None:
        raise RuntimeError(f"{command}: {app.failure}")
    return text


def picture(command: str, keys: list[str], size: tuple[int, int]) -> str:
    """The screen as SVG."""
    return drawn(command, screen(command, keys, size))
