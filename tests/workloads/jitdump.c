// A just-in-time compiler of sorts: main -> turn -> made code -> burn_*, which writes ./jit-PID.dump about the code.
//
// The code keeps no frame pointer, so that only the dump's unwind information leads through it. It is made four times:
// `first`; `second` at the same address; `second` moved elsewhere; `third` where `second` was. Each calls a function of
// its own, burn_first ... burn_third, so that the caller of a burning function tells whether names are of their time.
// Usage: jitdump [MILLISECONDS] [0: eh_frame before its header, as perf has it; 1: behind, as the specification has it;
// 2: no unwind information; 3: as 0, in a dump that names no machine]
#include "workload.h"
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

// push rbx; sub rsp,32; mov rbx,rdi; mov ebp,edi (no chain of frame pointers here); call rbx; add rsp,32; pop rbx; ret
// The caller's rbp is saved by turn(), which is told that it is clobbered.
static const unsigned char code[] = {0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xfb, 0x89, 0xfd, 0xff, 0xd3,
                                     0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
#define CODE sizeof code

static const unsigned char frames[] = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,   // CIE: rsp and -8, ra in 16, pcrel sdata4
    0x0c, 7, 8, 0x90, 1, 0, 0,                                      // cfa is rsp+8, ra at cfa-8
    32, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, CODE, 0, 0, 0, 0,         // FDE; where its code is comes at 32
    0x41, 0x0e, 16, 0x83, 2, 0x44, 0x0e, 48, 0x4b, 0x0e, 16, 0x41, 0x0e, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
static const unsigned char table[20] = {1, 0x1b, 0x03, 0x3b};

static FILE *dump;
static uint64_t records;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void put(const void *data, size_t size) { fwrite(data, 1, size, dump); }
static void put32(uint32_t word) { put(&word, 4); }
static void put64(uint64_t word) { put(&word, 8); }

static void open_dump(int order) {
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", getpid());
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
    char here[4096];
    if (fd < 0 || !getcwd(here, sizeof here))
        exit(2);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);  // the marker
    dump = fdopen(fd, "w");
    uint32_t head[] = {0x4a695444, 1, 40, order == 3 ? EM_NONE : EM_X86_64, 0, (uint32_t)getpid()};
    put(head, sizeof head);
    put64(now());
    put64(0);
}

static void unwinding(int order) {
    if (order == 2)
        return;
    unsigned char bytes[sizeof frames];
    memcpy(bytes, frames, sizeof frames);
    int32_t back = -(int32_t)(CODE + 32 + (order == 1 ? sizeof table : 0));
    memcpy(bytes + 32, &back, 4);
    put32(4);
    put32(40 + sizeof bytes + sizeof table);
    put64(now());
    put64(sizeof bytes + sizeof table);
    put64(sizeof table);
    put64(0);
    if (order == 1)
        put(table, sizeof table);
    put(bytes, sizeof bytes);
    if (order != 1)
        put(table, sizeof table);
}

static void lines(uint64_t address, const char *file, uint32_t line) {
    put32(2);
    put32(32 + 16 + (uint32_t)strlen(file) + 1 + 16 + 2);
    put64(now());
    put64(address);
    put64(2);
    put64(address);
    put32(line);
    put32(1);
    put(file, strlen(file) + 1);
    put64(address + 10);
    put32(line + 1);
    put32(2);
    put("\xff", 2);  // the same file
}

static void load(void *address, const char *name, uint64_t index, int order) {
    lines((uint64_t)address, "made.src", 10 * (uint32_t)index);
    unwinding(order);
    put32(0);
    put32(56 + (uint32_t)strlen(name) + 1 + CODE);
    put64(now());
    put32((uint32_t)getpid());
    put32((uint32_t)getpid());
    put64((uint64_t)address);
    put64((uint64_t)address);
    put64(CODE);
    put64(index);
    put(name, strlen(name) + 1);
    put(code, CODE);
    fflush(dump);
    records++;
}

static void move(void *from, void *to, uint64_t index) {
    put32(1);
    put32(64);
    put64(now());
    put32((uint32_t)getpid());
    put32((uint32_t)getpid());
    put64((uint64_t)to);
    put64((uint64_t)from);
    put64((uint64_t)to);
    put64(CODE);
    put64(index);
    fflush(dump);
}

#define BURN(name) \
    FRAME void name(void) { workload_sink = workload_mix(workload_sink + 1, 20000); STAY; }
BURN(burn_first)
BURN(burn_second)
BURN(burn_moved)
BURN(burn_third)

FRAME void turn(void *place, void (*burn)(void), double until) {
    while (workload_clock() < until) {
        void *target = (void *)burn;
        __asm__ volatile("push %%rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\tsub $136, %%rsp\n\t"
                         ".cfi_adjust_cfa_offset 136\n\tcall *%1\n\tadd $136, %%rsp\n\t.cfi_adjust_cfa_offset -136\n\t"
                         "pop %%rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbp"
                         : "+D"(target)
                         : "r"(place)
                         : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
    }
    STAY;
}

int main(int argc, char **argv) {
    int order = workload_number(argc, argv, 0);
    workload_begin(argc, argv);
    double start = workload_clock(), step = (workload_end - start) / 4;
    open_dump(order);
    unsigned char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *other = memory + 32768;
    memcpy(memory, code, CODE);
    memcpy(other, code, CODE);
    load(memory, "first", 1, order);
    mprotect(memory, 65536, PROT_READ | PROT_EXEC);  // the kernel records this as a mapping over the code
    turn(memory, burn_first, start + step);
    load(memory, "second", 2, order);
    turn(memory, burn_second, start + 2 * step);
    move(memory, other, 2);
    turn(other, burn_moved, start + 3 * step);
    load(memory, "third", 3, order);
    turn(memory, burn_third, start + 4 * step);
    put32(3);
    put32(16);
    put64(now());
    fclose(dump);
    return workload_sink == 1;
}
