"""Text of perf script from any bytes."""

from mutate import main
from profile_views import show


def one_input(data: bytes) -> None:
    """The file."""
    show(data, "perf-script")


def seeds() -> list[bytes]:
    """Texts with different fields, with and without frames."""
    frames = (
        b"\tffffffff8100 do_syscall_64+0x71 ([kernel.kallsyms])\n"
        b"\t  401126 f(int) (inlined)\n\t  401126 main+0x4 (/tmp/a b (deleted))\n  a.c:12\n"
        b"\t      bf [unknown] ([unknown])\n\n"
    )
    return [
        b"# captured\na b 12/13 [001] 5.000001:    250000 cycles:u: \n" + frames,
        b"perl 27633  4328.153275:    2004008 cpu-clock: \n" + frames * 3,
        b"comm \n" + frames + frames,
        b"             dd  12 [000] 5.1:  1 cycles:u:      7f0001 read+0x1 (/lib/libc.so.6)\n"
        b"  dd 12 [000] 5.2: sched:sched_switch: prev_comm=dd prev_pid=12\n dd 12 5.3: PERF_RECORD_MMAP2 12/12: []\n",
        frames,
    ]


if __name__ == "__main__":
    main(one_input, seeds())
