// NUMBER threads: start_thread -> entry -> task -> burn; main only waits.
#include "workload.h"
#include <pthread.h>
#include <stdint.h>

FRAME unsigned long burn(unsigned long seed) {
    unsigned long value = workload_mix(seed, 20000);
    STAY;
    return value;
}

FRAME unsigned long task(unsigned long seed) {
    unsigned long value = burn(seed) + 1;
    STAY;
    return value;
}

FRAME void *entry(void *argument) {
    unsigned long value = (unsigned long)(uintptr_t)argument;
    while (workload_runs())
        value += task(value);
    return (void *)(uintptr_t)value;
}

int main(int argc, char **argv) {
    int count = workload_number(argc, argv, 4);
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    workload_begin(argc, argv);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, entry, (void *)(uintptr_t)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
