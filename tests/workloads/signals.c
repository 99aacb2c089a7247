// A timer signal interrupts main -> work (-> qsort, memmove, strtod ...) and runs on_signal -> handle -> burn.
// NUMBER 0: on the normal stack, 1: on an alternate stack in the heap, 2: on one that lies in main's own frame.
#include "workload.h"
#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

FRAME void burn(void) {
    workload_sink = workload_mix(workload_sink, 60000);
    STAY;
}

FRAME void handle(int number) {
    burn();
    STAY;
    workload_sink += (unsigned long)number;
}

FRAME void on_signal(int number) {
    handle(number);
    STAY;
}

FRAME int compare(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

FRAME void work(int *values, int count) {
    for (int i = 0; i < count; i++)
        values[i] = (int)workload_mix((unsigned long)i, 2);
    qsort(values, (size_t)count, sizeof *values, compare);
    memmove(values, values + 1, sizeof *values * (size_t)(count - 1));
    workload_sink += (unsigned long)strtod("3.14159265358979e10", NULL);
    STAY;
}

int main(int argc, char **argv) {
    static int values[4000];
    int mode = workload_number(argc, argv, 0);
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    if (mode) {
        stack_t stack = {0};
        stack.ss_size = 1 << 14;
        stack.ss_sp = mode == 1 ? malloc(stack.ss_size) : alloca(stack.ss_size);
        sigaltstack(&stack, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    workload_begin(argc, argv);
    setitimer(ITIMER_REAL, &every, NULL);
    while (workload_runs())
        work(values, 4000);
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
