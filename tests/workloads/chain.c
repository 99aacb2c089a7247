// main -> alpha -> beta -> gamma_ -> burn: the plainest chain, for compilers, options and file forms.
#include "workload.h"

FRAME void burn(int rounds) {
    workload_sink = workload_mix(workload_sink, rounds);
    STAY;
}

FRAME int gamma_(int a, int b, int c) {
    burn(a + b + c + 20000);
    STAY;
    return a ^ b;
}

FRAME int beta(int a, int b) {
    int left = gamma_(a, b, 1);
    STAY;
    return left + b;
}

FRAME int alpha(int a) {
    int sum = beta(a, a + 1);
    STAY;
    return sum * a;
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    int sum = 0;
    while (workload_runs())
        sum += alpha(sum & 7);
    return sum == 12345;
}
