// Unloads a library and lets run-time code run where its function lay: main -> run-time code -> burn, or with NUMBER 1
// only main -> run-time code, which is a loop. The library is DIRECTORY/reused.so. x86-64 only.
// Usage: reused MILLISECONDS NUMBER DIRECTORY
#define _DEFAULT_SOURCE
#include "workload.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

FRAME void burn(void) { workload_sink = workload_mix(workload_sink + 1, 20000); STAY; }

// sub $8,%rsp; call *%rdi; add $8,%rsp; ret
static const unsigned char calling[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
// mov $100000,%ecx; 1: dec %ecx; jnz 1b; ret
static const unsigned char looping[] = {0xb9, 0xa0, 0x86, 1, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

int main(int argc, char **argv) {
    char path[512];
    snprintf(path, sizeof path, "%s/reused.so", argc > 3 ? argv[3] : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *function = library ? dlsym(library, "of_library") : NULL;
    if (!function)
        return 2;
    char *page = (char *)((uintptr_t)function & ~4095UL);
    dlclose(library);
    if (mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
        return 3;
    if (workload_number(argc, argv, 0))
        memcpy(function, looping, sizeof looping);
    else
        memcpy(function, calling, sizeof calling);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    void (*code)(void (*)(void));
    memcpy(&code, &function, sizeof code);
    workload_begin(argc, argv);
    while (workload_runs()) {
        code(burn);
        STAY;
    }
    return 0;
}
