/* A second library. */
#include "shadow.h"

long one_leaf(long n);

FUNCTION long two_leaf(long n) {
    volatile long sum = 0;
    ENTER(two_leaf);
    for (long i = 0; i < n; i++)
        sum += i * n;
    LEAVE();
    return sum;
}

FUNCTION long two_twice(long n) {
    ENTER(two_twice);
    long found = two_leaf(n) - two_leaf(n / 3);
    LEAVE();
    return found;
}

FUNCTION long two_back(long (*back)(long), long n) {
    volatile long kept[30];
    ENTER(two_back);
    kept[n % 30] = n;
    long found = back(n) + kept[n % 30];
    LEAVE();
    return found;
}

FUNCTION long two_spread(long n) {
    volatile char name[64 + n % 64];
    ENTER(two_spread);
    name[n % 64] = 1;
    long found = one_leaf(n) + two_twice(n / 2) + name[n % 64];
    LEAVE();
    return found;
}
