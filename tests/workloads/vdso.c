// main -> ask -> clock_gettime -> code of the vdso.
#include "workload.h"

FRAME long ask(int times) {
    struct timespec now;
    long sum = 0;
    for (int i = 0; i < times; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum += now.tv_nsec;
    }
    STAY;
    return sum;
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    long sum = 0;
    while (workload_runs())
        sum += ask(2000);
    return sum == 1;
}
