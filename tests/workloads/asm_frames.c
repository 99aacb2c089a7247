// main -> round_trip -> frame_restored -> two -> frame_in_memory -> three -> frame_in_register -> leaf_burn.
#include "workload.h"

void frame_in_register(void (*next)(void));
void frame_in_memory(void (*next)(void));
void frame_restored(void (*next)(void));
void leaf_burn(void);

FRAME void three(void) {
    frame_in_register(leaf_burn);
    STAY;
}

FRAME void two(void) {
    frame_in_memory(three);
    STAY;
}

FRAME void round_trip(void) {
    frame_restored(two);
    STAY;
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    while (workload_runs())
        round_trip();
    return 0;
}
