// A runtime of sorts that does as CPython does with -X perf: each of its functions has a copy of a template in anonymous
// memory, through which evaluate() is called, and a perf map says which function each copy stands for.
//
// main -> evaluate -> copy of first -> evaluate -> copy of second -> evaluate -> copy of third -> evaluate -> burn
// The environment's COPIES_FILE is the file that the map says the functions are of.
// Usage: copies [MILLISECONDS] [0: with a map; 1: with one whose code has another length; 2: without]
// -DPOINTER: the template keeps a frame pointer, as CPython's does from 3.14 on.
#define _DEFAULT_SOURCE
#include "workload.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__asm__(".text\n"
        ".globl _Py_trampoline_func_start\n_Py_trampoline_func_start:\n"
#ifdef POINTER
        "push %rbp\n mov %rsp, %rbp\n call *%rcx\n pop %rbp\n ret\n"
#else
        "sub $8, %rsp\n call *%rcx\n add $8, %rsp\n ret\n"
#endif
        ".globl _Py_trampoline_func_end\n_Py_trampoline_func_end:\n"
        "nop\n");
extern const char _Py_trampoline_func_start[], _Py_trampoline_func_end[];

typedef long (*Evaluator)(long depth, long unused, int also_unused);
typedef long (*Copy)(long depth, long unused, int also_unused, Evaluator);
static const char *const names[] = {"first", "second", "third"};
#define COUNT (long)(sizeof names / sizeof *names)
static Copy copies[3];

FRAME void burn(void) { workload_sink = workload_mix(workload_sink + 1, 20000); STAY; }

FRAME long evaluate(long depth, long unused, int also_unused) {
    long result = unused + also_unused;
    if (depth == COUNT)
        burn();
    else
        result += copies[depth](depth + 1, 0, 0, evaluate);
    STAY;
    return result + 1;
}

int main(int argc, char **argv) {
    int map = workload_number(argc, argv, 0);
    size_t size = (size_t)(_Py_trampoline_func_end - _Py_trampoline_func_start), step = (size + 31) & ~(size_t)31;
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *source = getenv("COPIES_FILE");
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *file = map == 2 ? NULL : fopen(path, "w");
    for (long i = 0; i < COUNT; i++) {
        char *here = memory + (size_t)i * step;
        memcpy(here, _Py_trampoline_func_start, size);
        memcpy(&copies[i], &here, sizeof here);
        if (file)
            fprintf(file, "%lx %lx py::%s:%s\n", (unsigned long)here, (unsigned long)size + (map == 1), names[i],
                    source ? source : "made.py");
    }
    if (file)
        fclose(file);
    mprotect(memory, 65536, PROT_READ | PROT_EXEC);
    puts("ready");
    fflush(stdout);
    workload_begin(argc, argv);
    while (workload_runs())
        workload_sink += (unsigned long)evaluate(0, 0, 0);
    return 0;
}
