// main -> descend x NUMBER -> burn: stacks that do not fit in a small dump.
#include "workload.h"

FRAME void burn(void) {
    workload_sink = workload_mix(workload_sink, 20000);
    STAY;
}

FRAME int descend(int depth) {
    volatile int keep[12];
    keep[depth % 12] = depth;
    if (depth == 0)
        burn();
    else
        keep[0] += descend(depth - 1);
    STAY;
    return keep[0];
}

int main(int argc, char **argv) {
    int depth = workload_number(argc, argv, 40);
    workload_begin(argc, argv);
    while (workload_runs())
        descend(depth);
    return 0;
}
