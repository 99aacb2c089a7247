/* Calls of many shapes: leaves, tail calls, saved registers, large and variable frames, pointers, recursion. */
#include <stdlib.h>
#include <string.h>
#define FRAME __attribute__((noinline, noipa))

static volatile long sink;

FRAME long leaf(long a) { return a * 3 + 1; }

FRAME long many(long a, long b, long c, long d) {
    long e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d);
    long i = leaf(e + f), j = leaf(g + h), k = leaf(i + j);
    return leaf(a + b + c + d + e + f + g + h + i + j + k);
}

FRAME long tail(long a) { return many(a, a + 1, a + 2, a + 3); }

FRAME long variable(long n) {
    char *room = __builtin_alloca(16 + n * 16);
    memset(room, (int)n, 16 + n * 16);
    sink = leaf(room[n]);
    return room[0] + tail(n);
}

FRAME long large(long n) {
    char room[40000];
    room[n] = (char)n;
    sink = leaf((long)room[n]);
    return room[n] + leaf(n);
}

FRAME long descend(long n) { return n ? descend(n - 1) + leaf(n) : variable(3); }

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    int numbers[] = {3, 1, 2};
    sink = descend(3);
    sink = large(100);
    qsort(numbers, 3, sizeof *numbers, ascending);
    return (int)(sink & 1);
}
