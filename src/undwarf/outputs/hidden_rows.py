"""What stands below a table of which not all rows are shown."""

__all__ = ["hidden_text"]


def hidden_text(count: int, percent_limit: float, *, cut: bool, what: str = "more") -> str:
    """How many rows are hidden and which option shows them. ``cut``: there were as many as ``--rows`` allows; else they
    are below ``--percent-limit``."""
    way = "--rows 0" if cut else f"below {percent_limit:g} %: --percent-limit 0"
    return f"and {count:,} {what} ({way} shows them)"
