"""A program that is recorded."""

import os

import pytest
from tests.support.recording import compiled

from undwarf.live import perf_event as pe

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
int loops = 2000;
__attribute__((noinline)) void leaf(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void deep(int n) {
    char pad[1000];
    memset(pad, n, sizeof pad);
    if (n) deep(n - 1); else for (int i = 0; i < loops; i++) leaf();
    sink += pad[n & 255];
}
int main(int count, char **arguments) {
    if (count > 2) loops = atoi(arguments[2]);
    if (!strcmp(arguments[1], "forever")) { puts("ready"); fflush(stdout); for (;;) leaf(); }
    if (!strcmp(arguments[1], "sleep")) { for (int i = 0; i < 5; i++) { leaf(); usleep(20000); } return 3; }
    deep(atoi(arguments[1]));
    return 0;
}
"""


@pytest.fixture(scope="session")
def perf_events() -> None:
    """Skips tests that need perf events where these are not allowed."""
    try:
        os.close(pe.open_event(pe.parse_event("cpu-clock"), os.getpid(), -1))
    except OSError as error:
        pytest.skip(f"perf_event_open is not allowed here: {error}")


@pytest.fixture(scope="session")
def program(perf_events: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Arguments: the depth of its recursion, and how many loops it computes; or "forever" or "sleep"."""
    return compiled(tmp_path_factory.mktemp("program"), PROGRAM, "-fomit-frame-pointer")
