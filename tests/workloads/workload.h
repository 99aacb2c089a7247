// What every workload shares: run for a given time, burn cycles in a named function, keep calls where they are written.
// Usage of each program: PROGRAM [MILLISECONDS] [NUMBER]
#ifndef WORKLOAD_H
#define WORKLOAD_H
#include <stdlib.h>
#include <time.h>

// A frame that no optimiser may inline, clone or drop.
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define FRAME __attribute__((noinline, noipa))
#endif
#endif
#ifndef FRAME
#define FRAME __attribute__((noinline))
#endif
// Put behind a call: the call can then not become a jump that leaves no frame behind.
#define STAY __asm__ volatile("" ::: "memory")

static double workload_end;
static volatile unsigned long workload_sink;

// Time on a CPU, not on the wall: a busy machine takes none of the samples away.
static inline double workload_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void workload_begin(int argc, char **argv) {
    workload_end = workload_clock() + (argc > 1 ? atof(argv[1]) : 500.0) / 1000.0;
}

static inline int workload_number(int argc, char **argv, int otherwise) {
    return argc > 2 ? atoi(argv[2]) : otherwise;
}

static inline int workload_runs(void) {
    return workload_clock() < workload_end;
}

static inline unsigned long workload_mix(unsigned long value, int rounds) {
    for (int i = 0; i < rounds; i++) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        value ^= value >> 29;
    }
    return value;
}
#endif
