"""Decodes a sample's ``data_src`` (memory level, snoop, TLB, lock) into perf's words.

The 64 bits are `union perf_mem_data_src` of `include/uapi/linux/perf_event.h`; the words are those of
`tools/perf/util/mem-events.c`.
"""

_OPERATIONS = ((1, "N/A"), (2, "LOAD"), (4, "STORE"), (8, "PFETCH"), (16, "EXEC"))
_HIT, _MISS = 2, 4
_LEVELS = (
    "N/A", "HIT", "MISS", "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)", "Remote RAM (2 hops)",
    "Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached",
)  # fmt: skip  # a table
_NUMBERED = {
    1: "L1", 2: "L2", 3: "L3", 4: "L4", 5: "L2 MHB", 6: "Memory-side Cache", 7: "L0", 8: "Uncached", 9: "CXL",
    10: "I/O", 11: "Any cache", 12: "LFB/MAB", 13: "RAM", 14: "PMEM",
}  # fmt: skip  # a table
_NO_NUMBER = 15
_HOPS = {1: "core, same node", 2: "node, same socket", 3: "socket, same board", 4: "board"}
_SNOOPS = ("N/A", "None", "Hit", "Miss", "HitM")
_MORE_SNOOPS = ("Fwd", "Peer")
_TLBS = ("N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault")


def _field(source: int, at: int, width: int) -> int:
    return source >> at & (1 << width) - 1


def _names(mask: int, names: tuple[str, ...]) -> list[str]:
    return [name for bit, name in enumerate(names) if mask >> bit & 1]


def operation(source: int) -> str:
    """LOAD, STORE, PFETCH, EXEC or N/A."""
    mask = _field(source, 0, 5)
    return next((name for bit, name in _OPERATIONS if mask & bit), "No")


def access_of(source: int) -> str:
    """``r``, ``w`` or ``rw`` as the hardware saw the access; empty if it was not recorded."""
    mask = _field(source, 0, 5)
    return ("r" if mask & 2 else "") + ("w" if mask & 4 else "")


def level(source: int) -> str:
    """Where the data was found, such as "L3 hit" or "Remote RAM hit"; N/A where that was not recorded."""
    mask, number, hops = _field(source, 5, 14), _field(source, 33, 4), _field(source, 43, 3)
    ending = "hit" if mask & _HIT else "miss" if mask & _MISS else ""
    if number and number != _NO_NUMBER:
        # Bits that only newer kernels define are ignored.
        parts = ["Remote" if _field(source, 37, 1) else "", _HOPS.get(hops, "")]
        parts += [_NUMBERED.get(number, f"Unknown level {number}"), ending]
        return " ".join(part for part in parts if part)
    names = _names(mask & ~(1 | _HIT | _MISS), _LEVELS)
    if not names:
        return "N/A"
    return f"{' or '.join(names)} {ending}".rstrip()


def snoop(source: int) -> str:
    """What other caches had: None, Hit, Miss, HitM (a changed line, taken from another cpu), Fwd, Peer."""
    names = _names(_field(source, 19, 5), _SNOOPS) + _names(_field(source, 38, 2), _MORE_SNOOPS)
    return " or ".join(names) or "N/A"


def tlb(source: int) -> str:
    """How the address was translated, such as "L1 hit" or "Walker miss"."""
    mask = _field(source, 26, 7)
    names = " or ".join(_names(mask & ~(_HIT | _MISS), _TLBS)) or "N/A"
    return names + (" hit" if mask & _HIT else "") + (" miss" if mask & _MISS else "")


def locked(source: int) -> str:
    """Whether the instruction had a lock prefix: Yes, No or N/A."""
    mask = _field(source, 24, 2)
    return "N/A" if mask & 1 else "Yes" if mask & 2 else "No"


def blocked(source: int) -> str:
    """Why a load was blocked: Data (of an earlier store, not available yet), Addr (a possible alias), or N/A."""
    mask = _field(source, 40, 3)
    return "N/A" if mask & 1 or not mask else " ".join(_names(mask >> 1, ("Data", "Addr")))


def text(source: int) -> str:
    """All parts in one line, as ``perf script -F data_src`` prints them after the number."""
    return (
        f"|OP {operation(source)}|LVL {level(source)}|SNP {snoop(source)}|TLB {tlb(source)}|LCK {locked(source)}"
        f"|BLK  {blocked(source)}"
    )


def missed(source: int) -> bool:
    """Whether the access missed the nearest cache (L1 or L0); meaningful only if the level is known."""
    mask, number = _field(source, 5, 14), _field(source, 33, 4)
    if number and number != _NO_NUMBER:
        return number not in (1, 7) or bool(mask & _MISS)
    return not mask & 8 or bool(mask & _MISS)


def from_other_cpu(source: int) -> bool:
    """Whether the data was in another CPU's cache, modified or forwarded by a peer."""
    return bool(_field(source, 19, 5) & 16 or _field(source, 38, 2) & 2)


def tlb_missed(source: int) -> bool:
    """Whether the access missed the first-level TLB."""
    mask = _field(source, 26, 7)
    return bool(mask & (_MISS | 0x20 | 0x40)) or mask & 0x18 == 0x10


def page_size(size: int) -> str:
    """Bytes of a page as perf prints them: 4K, 2M; N/A for 0."""
    if not size:
        return "N/A"
    if size >= 1 << 20:
        return f"{size >> 20}M"
    return f"{size >> 10}K" if size >= 1 << 10 else str(size)
