"""Build-ids, which identify the exact contents of a binary; as bytes, never as text."""


def same(one: bytes, other: bytes) -> bool:
    """Whether two build-ids are equal; old perf stored short ones padded with zeros to 20 bytes."""
    size = max(len(one), len(other))
    return bool(one) and bool(other) and one.ljust(size, b"\0") == other.ljust(size, b"\0")


def directory(build_id: bytes) -> str:
    """``xx/rest``, the path in ``.build-id`` directories; only hexadecimal digits and one slash."""
    text = build_id.hex()
    return f"{text[:2]}/{text[2:]}"
