/* A library that calls within itself, to another library and back to its caller. */
#include "shadow.h"

long two_leaf(long n);
long two_twice(long n);

FUNCTION long one_leaf(long n) {
    volatile long sum = 0;
    ENTER(one_leaf);
    for (long i = 0; i < n; i++)
        sum += i ^ n;
    LEAVE();
    return sum;
}

FUNCTION long one_step(long n) {
    ENTER(one_step);
    long found = one_leaf(n) + two_leaf(n / 2);
    LEAVE();
    return found;
}

FUNCTION long one_walk(long n) {
    volatile long kept[12];
    ENTER(one_walk);
    for (int i = 0; i < 12; i++)
        kept[i] = n + i;
    long found = one_step(n) + kept[n % 12];
    if (n & 1)
        found += two_twice(n);
    found += one_leaf(n / 2);
    LEAVE();
    return found;
}

FUNCTION long one_recursive(long n, long depth) {
    ENTER(one_recursive);
    long found = depth > 0 ? one_recursive(n, depth - 1) : one_step(n);
    found += one_leaf(n / 4);
    LEAVE();
    return found;
}

FUNCTION long one_each(long (*visitor)(long), long n) {
    long found = 0;
    ENTER(one_each);
    for (int i = 0; i < 3; i++)
        found += visitor(n + i);
    LEAVE();
    return found;
}
