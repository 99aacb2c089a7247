"""undwarf/unwind/call_tables.pxd"""

MAX_SITES: int
