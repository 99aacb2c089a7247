"""undwarf/unwind/state_candidates.pxd"""

CANDIDATES: int
RETURNS: int
