"""Which of several rows of types counts: the one with most known, then the first in the order of some columns."""

UNREAD = "unread"
"""The evidence of code that cannot be read."""
RANK = f"CASE WHEN described THEN 0 WHEN evidence = '{UNREAD}' THEN 2 ELSE 1 END"
"""In SQL: 0 for rows that knew the file with its types, 1 for the code alone, 2 for neither."""
TYPES_ORDER = ("type", "member", "member_offset", "evidence", "reason", "address", "access", "access_size", "layout")
"""Columns by which equally good rows are put in order, nulls last."""
IN_ORDER = ", ".join((RANK, *(f"{name} NULLS LAST" for name in TYPES_ORDER)))
"""In SQL: the order of rows, the one that counts first."""
