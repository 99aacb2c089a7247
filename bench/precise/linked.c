/* Calls into a shared library through its procedure linkage table, bound at first use; the vDSO, system calls,
   callbacks, copies by string instructions. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

unsigned library_add(unsigned a, unsigned b);
unsigned library_apply(unsigned (*call)(unsigned), unsigned value);
unsigned library_tail(unsigned value);
void library_copy(void *to, const void *from, unsigned long size);

static volatile unsigned sink;

NOINLINE static unsigned callback(unsigned value) { return library_add(value, 1) ^ value; }
NOINLINE static unsigned now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned)time.tv_nsec;
}
NOINLINE static unsigned asks(void) { return (unsigned)getppid() + (unsigned)syscall(SYS_gettid); }

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1000000;
    char from[200], to[200];
    memset(from, 7, sizeof from);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned total = library_add(i, 2) + library_apply(callback, i) + library_tail(i) + now() + asks();
        library_copy(to, from, i % sizeof from);
        char *copy = strdup(i & 1 ? "short" : "somewhat longer than that");
        total += (unsigned)strlen(copy) + (unsigned)(strchr(copy, 't') - copy) + to[i % 7];
        free(copy);
        sink += total;
    }
    return 0;
}
