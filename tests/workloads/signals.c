// A timer signal interrupts main -> work (-> qsort, memmove, strtod ...) and runs on_signal -> handle -> burn.
// NUMBER 0: on the normal stack; 1: on an alternate stack elsewhere in the heap; 2: on an alternate stack right below the
// stack of the thread that works (start_thread -> worker -> work), so that a large dump holds both.
#include "workload.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

enum { COUNT = 4000, ALTERNATE = 1 << 14, STACK = 3 << 13 };

static char region[ALTERNATE + STACK] __attribute__((aligned(4096)));
static int values[COUNT];

FRAME void burn(void) {
    // longer than a sampling period, which may otherwise keep step with the timer and never meet the handler
    for (double end = workload_clock() + 0.003; workload_clock() < end;)
        workload_sink = workload_mix(workload_sink, 20000);
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

FRAME void work(void) {
    for (int i = 0; i < COUNT; i++)
        values[i] = (int)workload_mix((unsigned long)i, 2);
    qsort(values, COUNT, sizeof *values, compare);
    memmove(values, values + 1, sizeof *values * (COUNT - 1));
    workload_sink += (unsigned long)strtod("3.14159265358979e10", NULL);
    STAY;
}

static void use_alternate(char *place) {
    stack_t stack = {0};
    stack.ss_sp = place;
    stack.ss_size = ALTERNATE;
    sigaltstack(&stack, NULL);
}

FRAME void *worker(void *argument) {
    use_alternate(region);
    pthread_sigmask(SIG_UNBLOCK, argument, NULL);
    while (workload_runs())
        work();
    return argument;
}

static void work_in_thread(const struct itimerval *every) {
    sigset_t alarm;
    pthread_attr_t attributes;
    pthread_t thread;
    // all signals go to the worker
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    // the kernel copies a stack up to the first page that is not there
    memset(region, 1, sizeof region);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, region + ALTERNATE, STACK);
    if (pthread_create(&thread, &attributes, worker, &alarm))
        exit(2);
    setitimer(ITIMER_REAL, every, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    int mode = workload_number(argc, argv, 0);
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = mode ? SA_ONSTACK | SA_RESTART : SA_RESTART;
    if (mode == 1)
        use_alternate(malloc(ALTERNATE));
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 8000}, {0, 8000}};
    workload_begin(argc, argv);
    if (mode == 2)
        work_in_thread(&every);
    else
        setitimer(ITIMER_REAL, &every, NULL);
    while (workload_runs())
        work();
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
