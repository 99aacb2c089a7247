"""A bar of activity over time, of which a part can be selected."""

from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from undwarf.terminal_ui.texts import strip, style
from undwarf.views.activity import Activity

BLOCKS = " ▁▂▃▄▅▆▇█"
HEIGHT = 2
"""Lines of the bar; the axis is one more."""


class TimeBrush(Widget, can_focus=True):
    """The activity in columns of the screen. With the focus, a cursor moves over them and selects."""

    DEFAULT_CSS = f"TimeBrush {{ height: {HEIGHT + 1}; }} TimeBrush.-absent {{ display: none; }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", show=False),
        Binding("right,l", "move(1)", show=False),
        Binding("shift+left,H", "move(-1, True)", show=False),
        Binding("shift+right,L", "move(1, True)", show=False),
        Binding("home", "end(False)", show=False),
        Binding("end", "end(True)", show=False),
        Binding("space", "mark", show=False),
        Binding("enter", "choose", show=False),
        Binding("backspace,delete", "clear", show=False),
        Binding("escape,t", "leave", show=False),
    ]

    class Selected(Message):
        """A part of the time was selected (ns, both inclusive), or none any more."""

        def __init__(self, span: tuple[int, int] | None) -> None:
            super().__init__()
            self.span = span

    class Focused(Message):
        """It has the focus."""

    class Resized(Message):
        """There are more columns, or fewer."""

    class Left(Message):
        """The focus is to go back to the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.activity: Activity | None = None
        self._unit: Callable[[float], str] = lambda _rate: ""
        self._selected: tuple[int, int] | None = None
        self._cursor = 0
        self._mark: int | None = None
        self._is_dragging = False

    def show(self, activity: Activity, unit: Callable[[float], str], selected: tuple[int, int] | None) -> None:
        """Show this activity, and the selected time. ``unit`` writes a weight per ns."""
        self.activity, self._unit, self._selected = activity, unit, selected
        self._cursor = min(self._cursor, len(activity.weights) - 1)
        self.refresh()

    @property
    def parts(self) -> int:
        """The columns of the screen."""
        return max(1, self.size.width)

    def _range(self) -> tuple[int, int] | None:
        """The parts that are marked, or selected."""
        if self._mark is not None:
            return min(self._mark, self._cursor), max(self._mark, self._cursor)
        if self._selected is None or self.activity is None:
            return None
        return self.activity.part(self._selected[0]), self.activity.part(self._selected[1])

    def action_move(self, step: int, extend: bool = False) -> None:
        """Move the cursor; with ``extend`` from a mark on."""
        if extend and self._mark is None:
            self._mark = self._cursor
        self._cursor = max(0, min(self._cursor + step, self.parts - 1))
        self.refresh()

    def action_end(self, last: bool) -> None:
        """The first or the last column."""
        self._cursor = self.parts - 1 if last else 0
        self.refresh()

    def action_mark(self) -> None:
        """Begin to select here, or select what is marked."""
        if self._mark is None:
            self._mark = self._cursor
            self.refresh()
        else:
            self.action_choose()

    def action_choose(self) -> None:
        """Select what is marked."""
        found = self._range()
        if self._mark is not None and self.activity is not None and found is not None:
            self._mark = None
            self._selected = self.activity.span(*found)
            self.post_message(self.Selected(self._selected))
            self.refresh()

    def action_clear(self) -> None:
        """Select all of the time."""
        self._mark = None
        if self._selected is not None:
            self._selected = None
            self.post_message(self.Selected(None))
        self.refresh()

    def action_leave(self) -> None:
        """Give up the mark, then the focus."""
        if self._mark is not None:
            self._mark = None
            self.refresh()
        else:
            self.post_message(self.Left())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to drag."""
        self._is_dragging = True
        self._cursor = self._mark = max(0, min(event.x, self.parts - 1))
        self.capture_mouse()
        self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag on."""
        if self._is_dragging:
            self._cursor = max(0, min(event.x, self.parts - 1))
            self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Select what was dragged over; a click selects all."""
        if not self._is_dragging:
            return
        self._is_dragging = False
        self.release_mouse()
        self._cursor = max(0, min(event.x, self.parts - 1))
        if self._mark == self._cursor:
            self.action_clear()
        else:
            self.action_choose()

    def on_resize(self) -> None:
        """Each column is another part of the time."""
        self.post_message(self.Resized())

    def on_focus(self) -> None:
        """The cursor appears."""
        self.post_message(self.Focused())
        self.refresh()

    def on_blur(self) -> None:
        """The cursor goes, and a mark with it."""
        self._mark = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the bar, or the axis below it."""
        if self.activity is None:
            return Strip.blank(self.size.width)
        line = self._bars(y) if y < HEIGHT else self._axis()
        return strip(line, self.size.width, self.app.console)

    def _bars(self, y: int) -> Text:
        assert self.activity is not None
        weights = self.activity.weights
        most = max(weights) or 1
        steps = HEIGHT * (len(BLOCKS) - 1)
        found = self._range()
        line = Text(end="", no_wrap=True)
        # Equal styles in one piece, of which less is written to the terminal.
        piece, of_piece = "", Style()
        for part, weight in enumerate(weights):
            # What is there at all is seen.
            level = max(1, round(weight * steps / most)) if weight else 0
            level -= (HEIGHT - 1 - y) * (len(BLOCKS) - 1)
            inside = found is None or found[0] <= part <= found[1]
            what = Style(color="green") if inside else style("detail")
            if self.has_focus and part == self._cursor:
                what += Style(reverse=True)
            if what != of_piece:
                line.append(piece, of_piece)
                piece, of_piece = "", what
            piece += BLOCKS[max(0, min(level, len(BLOCKS) - 1))]
        return line.append(piece, of_piece)

    def _axis(self) -> Text:
        """The times at both ends, the selected ones below their part, and the highest activity."""
        assert self.activity is not None
        activity, found = self.activity, self._range()
        width = self.parts
        line = ["─"] * width
        length = activity.last - activity.first + 1
        whole = f" {length / 1e9:.3f} s"
        line[:4], line[-len(whole) :] = "0 s ", whole

        def write(at: int, words: str) -> None:
            """Write between both ends."""
            at = max(4, min(at, width - len(whole) - len(words)))
            line[at : at + len(words)] = words

        if found is not None:
            for part in range(max(4, found[0]), min(found[1] + 1, width - len(whole))):
                line[part] = "━"
            start, end = activity.span(*found)
            if self._mark is None and self._selected is not None:
                start, end = self._selected
            words = f" {(start - activity.first) / 1e9:.3f} to {(end - activity.first) / 1e9:.3f} s "
            write((found[0] + found[1] + 1 - len(words)) // 2, words)
        elif self.has_focus:
            first, _last = activity.span(self._cursor, self._cursor)
            write(self._cursor - 4, f" {(first - activity.first) / 1e9:.3f} s ")
        else:
            most = self._unit(max(activity.weights) * len(activity.weights) / length)
            write((width - len(most) - 2) // 2, f" {most} " if most else "")
        return Text("".join(line[:width]), style("detail") if found is None else Style(), end="", no_wrap=True)
