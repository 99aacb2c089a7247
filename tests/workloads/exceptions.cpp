// main -> attempt -> level(4..0) -> fail throws; handlers catch, change and rethrow on the way out. Samples fall into
// the C++ runtime's own unwinder, into cleanups and into handlers.
#include "workload.h"
#include <stdexcept>
#include <string>

struct Cleanup {
    int depth;
    explicit Cleanup(int value) : depth(value) {}
    FRAME ~Cleanup() { workload_sink = workload_mix(workload_sink, 200); }
};

FRAME void fail(int seed) {
    if (seed & 1)
        throw std::runtime_error("odd " + std::to_string(seed));
    throw seed;
}

FRAME int level(int depth, int seed) {
    Cleanup guard(depth);
    try {
        if (depth == 0)
            fail(seed);
        int result = level(depth - 1, seed);
        STAY;
        return result + 1;
    } catch (const std::runtime_error &error) {
        if (depth == 3)
            throw std::logic_error(error.what());
        throw;
    }
}

FRAME int attempt(int seed) {
    try {
        return level(4, seed);
    } catch (const std::exception &error) {
        workload_sink = workload_mix((unsigned long)error.what()[0], 100);
        return 1;
    } catch (int value) {
        return value;
    }
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    long sum = 0;
    for (int seed = 0; workload_runs(); seed++)
        sum += attempt(seed);
    return sum == 1;
}
