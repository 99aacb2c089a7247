/* Small functions: recursion, tail calls, calls through pointers, arrays on the stack, variable arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned sink;

NOINLINE static unsigned leaf(unsigned a) { return a * 2654435761u >> 7; }
NOINLINE static unsigned pair(unsigned a, unsigned b) { return leaf(a) ^ leaf(b + 1); }
NOINLINE static unsigned tail(unsigned a) { return pair(a + 3, a ^ 5); }
NOINLINE static unsigned saves(unsigned a, unsigned b, unsigned c, unsigned d) {
    unsigned x = leaf(a), y = leaf(b), z = leaf(c), w = leaf(d);
    return pair(x + y, z) + pair(w, x ^ z) + a + b + c + d;
}

NOINLINE static unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
NOINLINE static unsigned odd(unsigned n);
NOINLINE static unsigned even(unsigned n) { return n ? odd(n - 1) : 1; }
NOINLINE static unsigned odd(unsigned n) { return n ? even(n - 1) : 0; }

NOINLINE static unsigned varying(unsigned n) {
    unsigned char bytes[n + 16];
    memset(bytes, (int)n, n + 16);
    return leaf(bytes[n]) + bytes[n / 2];
}

NOINLINE static unsigned sum(int count, ...) {
    va_list list;
    va_start(list, count);
    unsigned total = 0;
    while (count--)
        total += leaf(va_arg(list, unsigned));
    va_end(list);
    return total;
}

struct large {
    unsigned long words[12];
};
NOINLINE static struct large filled(unsigned a) {
    struct large it;
    for (int i = 0; i < 12; i++)
        it.words[i] = leaf(a + i);
    return it;
}

NOINLINE static unsigned early(unsigned a) {
    if (!(a & 3))
        return 0;
    if (!(a & 4))
        return leaf(a);
    unsigned t = 0;
    for (unsigned i = 0; i < (a & 7); i++)
        t += pair(t, i);
    return t;
}

NOINLINE static unsigned repeated(unsigned n) {
    static char from[512], to[512];
    void *source = from, *target = to;
    unsigned long count = n;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
    return to[n / 2];
}

static int compare(const void *one, const void *other) {
    unsigned a = leaf(*(const unsigned *)one), b = leaf(*(const unsigned *)other);
    return (a > b) - (a < b);
}

typedef unsigned (*function)(unsigned);
static function volatile table[] = {leaf, tail, fibonacci, even, varying, early};

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1000000;
    char text[64];
    for (unsigned i = 0; i < rounds; i++) {
        unsigned total = saves(i, i + 1, i + 2, i + 3) + sum(3, i, i * 3, i * 7) + repeated(i % 40);
        for (unsigned k = 0; k < sizeof table / sizeof *table; k++)
            total += table[k](i % 7 + k);
        struct large it = filled(i);
        unsigned some[12];
        for (int k = 0; k < 12; k++)
            some[k] = (unsigned)it.words[k];
        qsort(some, 12, sizeof *some, compare);
        snprintf(text, sizeof text, "%u %s", total, "done");
        sink += total + some[3] + (unsigned)strlen(text);
    }
    return 0;
}
