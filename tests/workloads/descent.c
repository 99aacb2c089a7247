// main -> descend x NUMBER, and burn from each level, downwards and upwards again: a small dump holds the inner levels.
#include "workload.h"

FRAME void burn(void) {
    workload_sink = workload_mix(workload_sink, 20000);
    STAY;
}

FRAME int descend(int depth) {
    volatile int keep[12];
    keep[depth % 12] = depth;
    burn();
    if (depth)
        keep[0] += descend(depth - 1);
    burn();
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
