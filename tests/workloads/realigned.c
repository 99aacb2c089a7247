// main -> outer -> vary -> align64 -> burn: frames of unknown size (alloca, variable arrays) and a realigned stack
// (the compiler keeps the old stack pointer in a register or in the frame: CFA by expression).
#include "workload.h"
#include <alloca.h>
#include <string.h>

FRAME void burn(float *values, int count) {
    for (int round = 0; round < 300; round++)
        for (int i = 0; i < count; i++)
            values[i] = values[i] * 0.99f + 1.0f;
    STAY;
}

FRAME float align64(int n, int a, int b, int c, int d, int e, int f, int g) {
    float wide[64] __attribute__((aligned(64)));
    char *more = alloca((size_t)n);
    memset(wide, 0, sizeof wide);
    memset(more, a + b + c, (size_t)n);
    burn(wide, 64);
    STAY;
    return wide[n & 63] + (float)more[0] + (float)(d + e + f + g);
}

FRAME float vary(int n) {
    int array[n + 1];
    for (int i = 0; i <= n; i++)
        array[i] = i;
    STAY;
    float sum = align64(n, array[0], array[n], 3, 4, 5, 6, 7);
    STAY;
    return sum + (float)array[n / 2];
}

FRAME float outer(int n) {
    char small[16] __attribute__((aligned(32)));
    memset(small, n, sizeof small);
    float sum = vary(n + 8) + vary(n + 40);
    STAY;
    return sum + (float)small[n & 15];
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    float sum = 0;
    for (int n = 0; workload_runs(); n = (n + 1) & 255)
        sum += outer(n);
    return sum == 1.25f;
}
