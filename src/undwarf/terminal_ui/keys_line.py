"""The last line of a screen: its keys, which can be clicked, and a line for the search."""

from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from undwarf.terminal_ui.texts import style


class Key(NamedTuple):
    """A key as it is shown, what it does in a word or two, and the action that a click runs."""

    key: str
    label: str
    action: str


class KeysLine(Widget):
    """The most important keys, as many as there is space for; the last one is always shown."""

    DEFAULT_CSS = "KeysLine { height: 1; dock: bottom; }"

    def __init__(self, keys: list[Key]) -> None:
        super().__init__()
        self._keys = keys
        self._places: list[tuple[int, int, str]] = []

    def _fitting(self, width: int) -> list[Key]:
        last = self._keys[-1]
        left = width - self._space_of(last)
        shown = []
        for key in self._keys[:-1]:
            left -= self._space_of(key)
            if left < 0:
                break
            shown.append(key)
        return [*shown, last]

    @staticmethod
    def _space_of(key: Key) -> int:
        return len(key.key) + len(key.label) + 3

    def render(self) -> RenderResult:
        """The keys."""
        line = Text(no_wrap=True, end="")
        self._places = []
        for key in self._fitting(self.size.width):
            start = len(line.plain)
            line.append(key.key, style("heading"))
            line.append(f" {key.label}", style("detail"))
            self._places.append((start, len(line.plain), key.action))
            line.append("  ")
        return line

    async def on_click(self, event: events.Click) -> None:
        """Do what the key does."""
        for start, end, action in self._places:
            if start <= event.x < end and action:
                await self.screen.run_action(action)


class SearchLine(Input):
    """Where the search is typed: it is searched at once."""

    DEFAULT_CSS = """
    SearchLine { display: none; height: 1; border: none; padding: 0; dock: bottom; background: ansi_default; }
    SearchLine:focus { border: none; }
    SearchLine.-typing { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    class Left(Message):
        """The search was given up, or done."""

        def __init__(self, done: bool) -> None:
            super().__init__()
            self.done = done

    def __init__(self) -> None:
        super().__init__(placeholder="search: a text or a regular expression; Enter, then n and N", compact=True)

    def start(self) -> None:
        """Type a new search."""
        self.value = ""
        self.add_class("-typing")
        self.focus()

    def _end(self, done: bool) -> None:
        self.remove_class("-typing")
        self.post_message(self.Left(done))

    def action_leave(self) -> None:
        """Give it up."""
        self._end(False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """It is complete."""
        event.stop()
        self._end(bool(self.value))
