/* Calls of all kinds at random: direct, by pointer, recursive, between libraries, through qsort, by tail calls. */
#include "shadow.h"
#include <stdlib.h>

long one_leaf(long n), one_step(long n), one_walk(long n), one_recursive(long n, long depth);
long one_each(long (*visitor)(long), long n);
long two_leaf(long n), two_twice(long n), two_back(long (*back)(long), long n), two_spread(long n);

struct shadow *shadow;
static unsigned long state = 88172645463325252UL;

static unsigned long next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

FUNCTION static long inner(long n) {
    volatile long sum = 0;
    ENTER(inner);
    for (long i = 0; i < n; i++)
        sum += i + n;
    LEAVE();
    return sum;
}

FUNCTION long leaf(long n) {
    ENTER(leaf);
    long found = inner(n) + 1;
    LEAVE();
    return found;
}

FUNCTION long small(long n) {
    ENTER(small);
    long found = leaf(n) + one_leaf(n / 2);
    LEAVE();
    return found;
}

FUNCTION long big(long n) {
    volatile long kept[100];
    ENTER(big);
    for (int i = 0; i < 100; i++)
        kept[i] = i;
    long found = small(n) + leaf(n / 2) + kept[n % 100];
    found += inner(n / 3);
    LEAVE();
    return found;
}

FUNCTION long variable(long n) {
    volatile char kept[16 + n % 200];
    ENTER(variable);
    kept[n % 16] = 1;
    long found = leaf(n) + one_walk(n / 2) + kept[n % 16];
    LEAVE();
    return found;
}

FUNCTION long factorial(long n, long depth) {
    ENTER(factorial);
    long found = depth > 0 ? depth * factorial(n, depth - 1) : leaf(n);
    found += inner(n / 4);
    LEAVE();
    return found;
}

FUNCTION long odd(long n, long depth);

FUNCTION long even(long n, long depth) {
    ENTER(even);
    long found = depth > 0 ? odd(n, depth - 1) + 1 : small(n);
    LEAVE();
    return found;
}

FUNCTION long odd(long n, long depth) {
    volatile long kept[5];
    ENTER(odd);
    kept[n % 5] = 2;
    long found = depth > 0 ? even(n, depth - 1) + kept[n % 5] : two_twice(n);
    LEAVE();
    return found;
}

FUNCTION long after_jump(long n) {
    ENTER(after_jump);
    long found = inner(n) + leaf(n / 2);
    LEAVE();
    return found;
}

FUNCTION long before_jump(long n) {
    ENTER(before_jump);
    long found = inner(n);
#ifdef __OPTIMIZE__
    LEAVE();
    return after_jump(n + (found & 1));
#else
    found = after_jump(n + (found & 1));
    LEAVE();
    return found;
#endif
}

FUNCTION static int compare(const void *one, const void *other) {
    ENTER(compare);
    long found = leaf(100) & 0;
    LEAVE();
    return found + *(const int *)one - *(const int *)other;
}

FUNCTION long sorter(long n) {
    int numbers[16];
    ENTER(sorter);
    for (int i = 0; i < 16; i++)
        numbers[i] = next() & 1023;
    qsort(numbers, 16, sizeof(int), compare);
    LEAVE();
    return numbers[n % 16];
}

FUNCTION long visit(long n) {
    ENTER(visit);
    long found = n & 1 ? small(n) : two_spread(n);
    LEAVE();
    return found;
}

FUNCTION long chain(long n) {
    ENTER(chain);
    long found = two_back(visit, n) + one_each(leaf, n);
    LEAVE();
    return found;
}

static long (*const table[])(long) = {leaf, small, big, variable, sorter, chain, before_jump, one_walk, two_spread};

FUNCTION long pick(long n) {
    ENTER(pick);
    long found = table[next() % (sizeof table / sizeof *table)](n);
    LEAVE();
    return found;
}

FUNCTION long dispatch(long n) {
    long found = 0;
    ENTER(dispatch);
    switch (next() % 8) {
    case 0: found = factorial(n, next() % 7); break;
    case 1: found = even(n, next() % 6); break;
    case 2: found = one_recursive(n, next() % 6); break;
    case 3: found = one_each(visit, n); break;
    case 4: found = two_back(pick, n); break;
    case 5: found = big(n); break;
    default: found = pick(n);
    }
    LEAVE();
    return found;
}

FUNCTION long work(long n) {
    ENTER(work);
    long found = dispatch(n) + leaf(n / 8);
    LEAVE();
    return found;
}

int main(int count, char **arguments) {
    struct shadow kept = {{MAGIC_1, MAGIC_2}, 0, {0}};
    long found = 0;
    long rounds = count > 1 ? atol(arguments[1]) : 1000;
    shadow = &kept;
    ENTER(main);
    for (long i = 0; i < rounds; i++)
        found += work(30000 + (next() & 8191));
    LEAVE();
    return found == 42;
}
