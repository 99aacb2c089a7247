"""The page as one file: document, style, script and parts; it loads nothing."""

import base64
import hashlib
from collections.abc import Mapping
from typing import BinaryIO

from undwarf.outputs.page.bundle import Bundle, bundle

_MARKS = ("SERVED", "POLICY", "STYLE", "PARTS", "SCRIPT")


def digest(text: str) -> str:
    """The source of a content security policy that permits an inline script or style sheet."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


def policy(page: Bundle, *, served: bool = False) -> str:
    """The page's content security policy: its own script and style, images that it draws, and if ``served`` parts from
    the server."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {digest(page.script)}",
            f"style-src {digest(page.style)}",
            "img-src data: blob:",
            "connect-src 'self'" if served else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def document(page: Bundle, parts: Mapping[str, bytes], *, served: bool = False) -> str:
    """The page with these parts, by name, as :func:`undwarf.outputs.page.parts.encode` gives them."""
    elements = "\n".join(
        f'<script type="text/plain" id="part-{name}">{base64.b64encode(data).decode("ascii")}</script>'
        for name, data in parts.items()
    )
    texts = {
        "SERVED": "true" if served else "false",
        "POLICY": policy(page, served=served),
        "STYLE": page.style,
        "PARTS": elements,
        "SCRIPT": page.script,
    }
    pieces: list[str] = []
    rest = page.document
    for mark in _MARKS:
        before, found, rest = rest.partition(f"@{mark}@")
        if not found:
            raise ValueError(f"the page's document has no mark {mark} in its place")
        pieces += [before, texts[mark]]
    return "".join((*pieces, rest))


def write(parts: Mapping[str, bytes], sink: BinaryIO, page: Bundle | None = None) -> None:
    """Write one self-contained page with these parts. ``page``: what is shown (default: the page of a profile)."""
    sink.write(document(page if page is not None else bundle(), parts).encode("utf-8"))
