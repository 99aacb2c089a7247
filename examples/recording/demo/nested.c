// Evaluates expressions with many brackets, by recursion: its stacks are larger than a small stack dump.
// `nested [ROUNDS]`
//   gcc -O2 -g -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables nested.c -o nested
#include "runtime.h"

static const char *at;

static long sum(void);

FRAME static long number(void) {
    char digits[64];
    unsigned long length = 0;
    memset(digits, 0, sizeof digits);
    while (*at >= '0' && *at <= '9' && length < sizeof digits - 1)
        digits[length++] = *at++;
    return (long)number_from(digits);
}

FRAME static long factor(void) {
    if (*at != '(')
        return number();
    at++;
    long value = sum();
    at++;
    return value;
}

FRAME static long product(void) {
    volatile char scratch[96];
    scratch[0] = *at;
    long value = factor();
    while (*at == '*') {
        at++;
        value *= factor() + scratch[0] % 2;
    }
    return value;
}

FRAME static long sum(void) {
    long value = product();
    while (*at == '+') {
        at++;
        value += product();
    }
    return value;
}

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? number_from(argv[1]) : 20000;
    static char text[4096];
    char *end = text;
    for (int depth = 0; depth < 24; depth++, end += 6)
        memcpy(end, "(12*3+", 6);
    *end++ = '7';
    for (int depth = 0; depth < 24; depth++, end += 6)
        memcpy(end, "*45+6)", 6);
    long total = 0;
    for (unsigned long i = 0; i < rounds; i++) {
        at = text;
        total += sum();
    }
    return total == 1;
}
