// NUMBER short processes, every second one with an exec of this program: main -> spawn -> child -> burn.
#include "workload.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

FRAME void burn(void) {
    workload_sink = workload_mix(workload_sink, 3000000);
    STAY;
}

FRAME void child(void) {
    burn();
    STAY;
}

FRAME void spawn(const char *self, int number) {
    pid_t pid = fork();
    if (pid == 0) {
        if (number & 1) {
            execl(self, self, "child", (char *)NULL);
            _exit(127);
        }
        child();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    STAY;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) {
        child();
        return 0;
    }
    int count = workload_number(argc, argv, 100);
    for (int i = 0; i < count; i++)
        spawn(argv[0], i);
    return 0;
}
