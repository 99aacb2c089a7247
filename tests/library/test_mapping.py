"""The list of mappings of a process."""

import os
from pathlib import Path

import undwarf


def test_all_lines_of_a_process_are_read() -> None:
    text = Path(f"/proc/{os.getpid()}/maps").read_bytes()
    mappings = undwarf.Mapping.parse_maps(text)
    assert len(mappings) == len(text.splitlines()) > 10
    assert "[stack]" in {one.path for one in mappings}
    assert any(one.executable and one.path.startswith("/") and one.inode for one in mappings)


def test_names_with_spaces_and_line_feeds_are_kept() -> None:
    line = b"1000-2000 r--p 00000010 08:01 5 /a b\\012c (deleted)\n"
    (mapping,) = undwarf.Mapping.parse_maps(line)
    assert (mapping.path, mapping.offset, mapping.device, mapping.executable) == (
        "/a b\nc (deleted)",
        16,
        (8, 1),
        False,
    )


def test_memory_without_a_file_has_no_path() -> None:
    (mapping,) = undwarf.Mapping.parse_maps("1000-2000 rwxp 00000000 00:00 0 \n")
    assert (mapping.path, mapping.inode, mapping.executable) == ("", 0, True)


def test_lines_that_are_no_mapping_are_left_out() -> None:
    good = "1000-2000 r-xp 00000000 00:00 0 /program\n"
    bad = "2000-1000 r-xp 0 00:00 0\nhello\n1-2 r-xp 0 00:00 " + "9" * 5000 + "\n" + "f" * 17 + "-1 r-xp 0 00:00 0\n"
    assert [one.path for one in undwarf.Mapping.parse_maps(bad + good + bad)] == ["/program"]
