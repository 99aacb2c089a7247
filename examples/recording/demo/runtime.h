// What the programs here need of a C library: a start, threads, a lock, memory, numbers as text. With it each is a file
// of some kilobytes that brings its whole world, so that its recording can be read on every machine.
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif

enum { SYS_MMAP = 9, SYS_NANOSLEEP = 35, SYS_FUTEX = 202, SYS_EXIT_GROUP = 231 };
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

static long system_call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = -1;
    register long sixth __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static void *allocate(unsigned long size) {
    return (void *)system_call(SYS_MMAP, 0, (long)size, 3, 0x22);
}

struct thread {
    int running; // the kernel sets it to 0, and wakes who waits for it
};

int spawn(unsigned long flags, void *stack, int *parent_tid, int *child_tid);
__asm__(".text\n.type spawn, @function\nspawn:\n"
        ".cfi_startproc\n"
        "mov $56, %eax\nmov %rcx, %r10\nsyscall\ntest %eax, %eax\njz thread_start\nret\n"
        ".cfi_endproc\n.size spawn, .-spawn\n"
        ".type thread_start, @function\nthread_start:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "xor %ebp, %ebp\nmov (%rsp), %rdi\nmov 8(%rsp), %rax\ncall *%rax\nmov $60, %eax\nxor %edi, %edi\nsyscall\n"
        ".cfi_endproc\n.size thread_start, .-thread_start\n");

static void start_thread(struct thread *thread, void (*function)(void *), void *argument) {
    enum { STACK = 1 << 16 };
    void **top = (void **)((char *)allocate(STACK) + STACK);
    *--top = (void *)function;
    *--top = argument;
    spawn(0x350f00, top, &thread->running, &thread->running);
}

static void join_thread(struct thread *thread) {
    int value;
    while ((value = __atomic_load_n(&thread->running, __ATOMIC_ACQUIRE)))
        system_call(SYS_FUTEX, (long)&thread->running, FUTEX_WAIT, value, 0);
}

struct mutex {
    int state; // 0: free, 1: locked, 2: locked, and others wait
};

FRAME static void mutex_wait(struct mutex *mutex) {
    system_call(SYS_FUTEX, (long)&mutex->state, FUTEX_WAIT, 2, 0);
}

FRAME static void mutex_lock(struct mutex *mutex) {
    int expected = 0;
    if (__atomic_compare_exchange_n(&mutex->state, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&mutex->state, 2, __ATOMIC_ACQUIRE))
        mutex_wait(mutex);
}

FRAME static void mutex_unlock(struct mutex *mutex) {
    if (__atomic_exchange_n(&mutex->state, 0, __ATOMIC_RELEASE) == 2)
        system_call(SYS_FUTEX, (long)&mutex->state, FUTEX_WAKE, 1, 0);
}

static unsigned long number_from(const char *text) {
    unsigned long value = 0;
    while (*text >= '0' && *text <= '9')
        value = value * 10 + (unsigned long)(*text++ - '0');
    return value;
}

void *memset(void *to, int value, unsigned long size) {
    for (char *out = to; size--; out++) {
        *out = (char)value;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

void *memcpy(void *to, const void *from, unsigned long size) {
    const char *in = from;
    for (char *out = to; size--; out++) {
        *out = *in++;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

__attribute__((noreturn)) void leave(int status) {
    system_call(SYS_EXIT_GROUP, status, 0, 0, 0);
    __builtin_unreachable();
}

__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "xor %ebp, %ebp\nmov (%rsp), %rdi\nlea 8(%rsp), %rsi\nand $-16, %rsp\n"
        "call main\nmov %eax, %edi\ncall leave\nhlt\n"
        ".cfi_endproc\n.size _start, .-_start\n");
