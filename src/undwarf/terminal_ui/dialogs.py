"""Screens above the others: the keys, one text, and the filters."""

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from undwarf.outputs.terminal.escape import printable
from undwarf.terminal_ui.texts import style

MOST_SUGGESTIONS = 5_000
KEY_WIDTH = 14
HELP_WIDTH = 60
"""Columns of the keys, and of what they do: together they fit in a terminal of 80 columns."""
HelpPart = tuple[str, Sequence[tuple[str, str]]]
"""A title, and keys with what they do."""


class TextScreen(ModalScreen[None]):
    """A text in a box; Esc or any other of the usual keys leaves it."""

    AUTO_FOCUS = "VerticalScroll"
    DEFAULT_CSS = """
    TextScreen { align: center middle; background: ansi_default; }
    TextScreen > VerticalScroll {
        width: auto; min-width: 40; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
        border: round ansi_default; background: ansi_default; scrollbar-size-vertical: 1;
    }
    TextScreen Static { width: auto; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,i", "dismiss", show=False),
        Binding("j", "down", show=False),
        Binding("k", "up", show=False),
    ]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The box."""
        with VerticalScroll() as box:
            box.border_title = Text(self._title).markup
            box.border_subtitle = "Esc: back"
            yield Static(self._text, markup=False)

    def action_down(self) -> None:
        """Scroll down."""
        self.query_one(VerticalScroll).scroll_down(animate=False)

    def action_up(self) -> None:
        """Scroll up."""
        self.query_one(VerticalScroll).scroll_up(animate=False)


def help_screen(parts: Sequence[HelpPart]) -> TextScreen:
    """All keys."""
    text = Text()
    for title, keys in parts:
        text.append(("\n" if text else "") + title + "\n", style("heading"))
        for key, words in keys:
            for number, line in enumerate(wrap(words, HELP_WIDTH)):
                text.append(f" {'' if number else key:<{KEY_WIDTH}}", style("good"))
                text.append(line + "\n")
    text.rstrip()
    return TextScreen("Keys", text)


class Field(Input):
    """One filter."""

    DEFAULT_CSS = """
    Field { height: 1; border: none; padding: 0; background: ansi_default; text-style: underline; }
    Field:focus { border: none; text-style: none; }
    """


class FilterScreen(ModalScreen[dict[str, str] | None]):
    """Asks for filters; gives their texts by name, or None if nothing changes."""

    AUTO_FOCUS = "Field"
    DEFAULT_CSS = """
    FilterScreen { align: center middle; background: ansi_default; }
    FilterScreen > Vertical {
        width: 76; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
        border: round ansi_default; background: ansi_default;
    }
    FilterScreen Grid { grid-size: 2; grid-columns: 12 1fr; grid-rows: 1; height: auto; }
    FilterScreen .words { margin-top: 1; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("ctrl+u", "clear", show=False, priority=True),
    ]

    def __init__(
        self, fields: Sequence[tuple[str, str, str]], values: dict[str, str], suggested: dict[str, list[str]]
    ) -> None:
        super().__init__()
        self._fields, self._values, self._suggested = fields, values, suggested

    def compose(self) -> ComposeResult:
        """A line for each filter."""
        with Vertical() as box:
            box.border_title = "Only samples that pass"
            box.border_subtitle = "Enter: apply   Esc: back   Ctrl+U: clear all"
            with Grid():
                for name, title, words in self._fields:
                    yield Static(Text(title), markup=False)
                    names = [one for one in self._suggested.get(name, [])[:MOST_SUGGESTIONS] if printable(one) == one]
                    yield Field(
                        self._values.get(name, ""),
                        placeholder=words,
                        id=name,
                        compact=True,
                        suggester=SuggestFromList(names, case_sensitive=False) if names else None,
                    )
            yield Static(Text("* and ? are wildcards; → takes what is suggested", style("detail")), classes="words")

    def on_input_submitted(self) -> None:
        """Apply."""
        self.dismiss({field.id or "": field.value.strip() for field in self.query(Field) if field.value.strip()})

    def action_cancel(self) -> None:
        """Nothing changes."""
        self.dismiss(None)

    def action_clear(self) -> None:
        """Empty all fields."""
        for field in self.query(Field):
            field.value = ""
