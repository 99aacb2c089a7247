"""What is searched for: a regular expression, or text if it is none."""

import re

MOST_CHARACTERS = 2_000
"""Of a name: what is longer is not searched, so that no pattern takes long."""


class Search:
    """Finds a pattern in texts; capital letters count only if the pattern has some."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        flags = re.NOFLAG if pattern != pattern.lower() else re.IGNORECASE
        try:
            self._compiled = re.compile(pattern, flags)
        except (re.error, OverflowError, RecursionError):
            self._compiled = re.compile(re.escape(pattern), flags)

    def __call__(self, text: str) -> bool:
        """Whether a text has it."""
        return self._compiled.search(text[:MOST_CHARACTERS]) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where a text has it."""
        return [
            found.span() for found in self._compiled.finditer(text[:MOST_CHARACTERS]) if found.end() > found.start()
        ]
