"""undwarf/unwind/caller_search.pxd"""

WORDS: int
