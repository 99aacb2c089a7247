// main -> turn -> code written to memory -> burn. Prints its process, the code's address and its size, then runs.
#include "workload.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*given)(void (*callee)(void));

FRAME void burn(void) {
    workload_sink = workload_mix(workload_sink, 20000);
    STAY;
}

FRAME void turn(given code) {
    code(burn);
    STAY;
}

int main(int argc, char **argv) {
    // sub $0x28,%rsp; push %rbp; mov $1,%ebp; call *%rdi; pop %rbp; add $0x28,%rsp; ret
    static const unsigned char bytes[] = {0x48, 0x83, 0xec, 0x28, 0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d,
                                          0x48, 0x83, 0xc4, 0x28, 0xc3};
    unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memcpy(memory + 64, bytes, sizeof bytes);
    FILE *out = argc > 3 ? fopen(argv[3], "w") : stdout;
    if (!out)
        return 1;
    fprintf(out, "%d %lu %zu\n", getpid(), (unsigned long)(memory + 64), sizeof bytes);
    fclose(out);
    workload_begin(argc, argv);
    while (workload_runs())
        turn((given)(void *)(memory + 64));
    return 0;
}
