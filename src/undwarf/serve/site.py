"""What `undwarf view` serves: the page of a recording, or a list of several with a page each."""

from collections.abc import Mapping, Sequence
from html import escape

from undwarf.outputs.page.bundle import Bundle, bundle
from undwarf.outputs.page.html import digest, document, policy
from undwarf.outputs.terminal.escape import printable
from undwarf.serve.page_parts import PageParts
from undwarf.serve.server import Answer

_HTML = "text/html; charset=utf-8"
_STYLE = """
:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
"""


class Recordings:
    """The pages of some recordings, by title; a list of them if there are several."""

    def __init__(self, recordings: Sequence[tuple[str, PageParts]], page: Bundle | None = None) -> None:
        self._recordings = recordings
        self._bundle = page if page is not None else bundle()
        self._page = Answer(document(self._bundle, {}, served=True).encode(), _HTML, policy(self._bundle, served=True))

    def answer(self, path: str, query: Mapping[str, str]) -> Answer | None:
        """The page, a part of it, or the list."""
        if len(self._recordings) == 1:
            return self._of_recording(self._recordings[0][1], path, query)
        if not path:
            return self._list()
        number, slash, rest = path.partition("/")
        if not slash or not number.isascii() or not number.isdecimal() or len(number) > 4:
            return None
        index = int(number)
        return self._of_recording(self._recordings[index][1], rest, query) if index < len(self._recordings) else None

    def _of_recording(self, parts: PageParts, path: str, query: Mapping[str, str]) -> Answer | None:
        if not path:
            return self._page
        name = path.removeprefix("part/")
        if name == path:
            return None
        part = parts.part(name, query)
        return Answer(part) if part is not None else None

    def _list(self) -> Answer:
        rows = "".join(
            f'<li><a href="{number}/">{escape(printable(title))}</a>\n'
            for number, (title, _parts) in enumerate(self._recordings)
        )
        text = (
            f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>undwarf</title><style>{_STYLE}</style>\n"
            f"<h1>Recordings</h1>\n<ul>\n{rows}</ul>\n"
        )
        return Answer(text.encode(), _HTML, f"default-src 'none'; style-src {digest(_STYLE)}")
