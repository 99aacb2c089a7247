// A program that copies its code to anonymous memory at the same addresses, as is done to have it on large pages:
// main -> first -> second -> burn. NUMBER: 0: not at all; 1: memory that is executable at once (as node maps it); 2: only
// after it was written (as BOLT's hugify does). x86-64 only.
#define _DEFAULT_SOURCE
#include "workload.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

extern char etext[];

FRAME void burn(void) { workload_sink = workload_mix(workload_sink + 1, 20000); STAY; }
FRAME void second(void) { burn(); STAY; }
FRAME void first(void) { second(); STAY; }

#define CALL(number, result, address, size, protection)                                                                \
    __asm__ volatile("mov $0x32, %%r10\n mov $-1, %%r8\n xor %%r9d, %%r9d\n syscall"                                   \
                     : "=a"(result)                                                                                    \
                     : "0"(number), "D"(address), "S"(size), "d"(protection)                                           \
                     : "rcx", "r8", "r9", "r10", "r11", "memory")

// Calls nothing: what is copied is away in between.
__attribute__((always_inline)) static inline void copy(char *to, const char *from, size_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// In a section and page of its own, which stays.
__attribute__((noinline, section("moving"), aligned(4096))) static long move(char *from, size_t size, char *spare, long protection) {
    long result;
    copy(spare, from, size);
    CALL(9L, result, from, size, protection);
    if (result != (long)from)
        return 1;
    copy(from, spare, size);
    CALL(10L, result, from, size, (long)(PROT_READ | PROT_EXEC));
    return result;
}

int main(int argc, char **argv) {
    int how = workload_number(argc, argv, 0);
    char *from = (char *)((uintptr_t)burn & ~4095UL), *to = (char *)(((uintptr_t)etext + 4095) & ~4095UL);
    if ((char *)move > from && (char *)move < to)
        to = (char *)move;
    size_t size = (size_t)(to - from);
    char *spare = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (how && move(from, size, spare, PROT_READ | PROT_WRITE | (how == 1 ? PROT_EXEC : 0)))
        return 2;
    workload_begin(argc, argv);
    while (workload_runs())
        first();
    return 0;
}
