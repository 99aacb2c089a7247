// main -> calls -> tiny (in libtiny.so), through the procedure linkage table: many samples fall into the stub itself.
#include "workload.h"

int tiny(int value);

FRAME int calls(int count) {
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += tiny(i);
    STAY;
    return sum;
}

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    int sum = 0;
    while (workload_runs())
        sum += calls(20000);
    return sum == 1;
}
