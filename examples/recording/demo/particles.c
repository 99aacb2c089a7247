// Moves particles, and counts in each thread how many left the field. Two layouts cost time: what a step needs of a
// particle is spread over three cache lines, and the counters of all threads share one. `particles [STEPS]`
//   gcc -O2 -g -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables particles.c -o particles
#include "runtime.h"

enum { PARTICLES = 1 << 15, THREADS = 2 };

struct particle {
    double position;
    char name[56];
    double speed;
    char history[56];
    int alive;
    int colour;
    char owner[56];
};

struct counter {
    unsigned long left;
    unsigned long moved;
};

static struct particle *field[THREADS];
static struct counter counters[THREADS];
static unsigned long steps = 200;

FRAME static void move_all(struct particle *all) {
    for (struct particle *one = all; one < all + PARTICLES; one++)
        if (one->alive)
            one->position += one->speed;
}

FRAME static void count_all(volatile struct counter *counter, const struct particle *all) {
    for (const struct particle *one = all; one < all + PARTICLES; one++) {
        counter->moved++;
        if (one->position > 1000.0)
            counter->left++;
    }
}

static void run(void *number) {
    long thread = (long)number;
    for (unsigned long i = 0; i < steps; i++) {
        move_all(field[thread]);
        count_all(&counters[thread], field[thread]);
    }
}

int main(int argc, char **argv) {
    struct thread threads[THREADS];
    if (argc > 1)
        steps = number_from(argv[1]);
    for (long i = 0; i < THREADS; i++) {
        field[i] = allocate(PARTICLES * sizeof *field[i]);
        for (int j = 0; j < PARTICLES; j++) {
            field[i][j].position = j;
            field[i][j].speed = j % 7;
            field[i][j].alive = j % 3 != 0;
        }
    }
    for (long i = 0; i < THREADS; i++)
        start_thread(&threads[i], run, (void *)i);
    for (long i = 0; i < THREADS; i++)
        join_thread(&threads[i]);
    return 0;
}
