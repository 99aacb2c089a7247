// Loads ./swap_a.so and ./swap_b.so in turn: the second lies where the first lay. main -> turn -> first_a (or first_b)
// -> burn_a (burn_b), with frames of different sizes at the same addresses.
#include "workload.h"
#include <dlfcn.h>
#include <stdio.h>

FRAME int turn(const char *path, const char *symbol) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    int (*entry)(int) = (int (*)(int))dlsym(library, symbol);
    int result = 0;
    for (int i = 0; i < 100; i++)
        result += entry(i);
    dlclose(library);
    STAY;
    return result;
}

int main(int argc, char **argv) {
    char path[2][512];
    const char *directory = argc > 2 ? argv[2] : ".";
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/swap_%c.so", directory, 'a' + i);
    workload_begin(argc, argv);
    int sum = 0;
    while (workload_runs())
        sum += turn(path[0], "first_a") + turn(path[1], "first_b");
    return sum == 1;
}
