// Coroutines on stacks of their own: __start_context -> body -> step -> burn, beside main -> schedule -> burn.
#include "workload.h"
#include <ucontext.h>

enum { COUNT = 4, STACK = 1 << 16 };
static ucontext_t scheduler, routines[COUNT];
static int finished;

FRAME void burn(int rounds) {
    workload_sink = workload_mix(workload_sink, rounds);
    STAY;
}

FRAME void step(int number, int depth) {
    if (depth > 0)
        step(number, depth - 1);
    else
        burn(8000);
    STAY;
}

FRAME void body(int number) {
    while (!finished) {
        step(number, number);
        swapcontext(&routines[number], &scheduler);
    }
}

FRAME void schedule(void) {
    for (int i = 0; i < COUNT; i++)
        swapcontext(&scheduler, &routines[i]);
    burn(8000);
    STAY;
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    for (int i = 0; i < COUNT; i++) {
        getcontext(&routines[i]);
        routines[i].uc_stack.ss_sp = malloc(STACK);
        routines[i].uc_stack.ss_size = STACK;
        routines[i].uc_link = &scheduler;
        makecontext(&routines[i], (void (*)(void))body, 1, i);
    }
    while (workload_runs())
        schedule();
    finished = 1;
    for (int i = 0; i < COUNT; i++)
        swapcontext(&scheduler, &routines[i]);
    return 0;
}
