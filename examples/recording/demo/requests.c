// Workers answer requests. Each also writes a line to a log that all of them share, and waits for the disk while it
// holds the log's lock: with more workers there are hardly more answers. `requests [WORKERS] [REQUESTS of each]`
//   gcc -O2 -g -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables requests.c -o requests
#include "runtime.h"

static struct mutex log_lock;
static char log_lines[1024][128];
static unsigned long log_next;

FRAME static unsigned long compute_answer(unsigned long seed) {
    for (int i = 0; i < 100000; i++)
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return seed;
}

FRAME static void format_line(char *line, unsigned long answer) {
    for (int copy = 0; copy < 50; copy++) {
        char digits[24], *first = digits + sizeof digits;
        for (unsigned long rest = answer; rest; rest /= 10)
            *--first = (char)('0' + rest % 10);
        memcpy(line, "answer ", 7);
        memcpy(line + 7, first, (unsigned long)(digits + sizeof digits - first));
    }
}

// Stands for the write to a disk: half a millisecond.
FRAME static void flush_line(void) {
    long half_a_millisecond[2] = {0, 500000};
    system_call(SYS_NANOSLEEP, (long)half_a_millisecond, 0, 0, 0);
}

FRAME static void write_log(unsigned long answer) {
    mutex_lock(&log_lock);
    format_line(log_lines[log_next++ % 1024], answer);
    flush_line();
    mutex_unlock(&log_lock);
}

FRAME static void handle_request(unsigned long seed) {
    write_log(compute_answer(seed));
}

static void worker(void *count) {
    for (unsigned long i = 0; i < (unsigned long)count; i++)
        handle_request(i);
}

int main(int argc, char **argv) {
    unsigned long workers = argc > 1 ? number_from(argv[1]) : 4, count = argc > 2 ? number_from(argv[2]) : 2000;
    struct thread *threads = allocate(workers * sizeof *threads);
    for (unsigned long i = 0; i < workers; i++)
        start_thread(&threads[i], worker, (void *)count);
    for (unsigned long i = 0; i < workers; i++)
        join_thread(&threads[i]);
    return 0;
}
