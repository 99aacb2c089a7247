"""A cache that is limited by size."""

from undwarf.types.sources.lru import LruCache


def test_the_least_recently_used_entry_is_dropped_first() -> None:
    kept: LruCache[str, int] = LruCache(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.used) == (1, None, 3, 8)


def test_the_last_entry_stays_whatever_its_size() -> None:
    kept: LruCache[int, str] = LruCache(1)
    kept.put(1, "x", 100)
    assert (kept.get(1), len(kept)) == ("x", 1)


def test_a_replaced_key_counts_once() -> None:
    kept: LruCache[int, str] = LruCache(100)
    kept.put(1, "x", 10)
    kept.put(1, "y", 20)
    assert (kept.get(1), kept.used) == ("y", 20)
